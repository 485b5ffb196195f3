package repair

import "testing"

func TestMembersKeepTheirOrderAndStopAtAFault(t *testing.T) {
	for text, want := range map[string]string{
		`{"b":1,"a":{"c":2}}`: `b=1 a={"c":2} `,
		`{"a":1,"a":2}`:       `a=1 a=2 `,
		`{"a":1,"b":`:         `a=1 `,
		`{"a":1,7}`:           `a=1 `,
		`[1]`:                 ``, `"x"`: ``, ``: ``, `null`: ``,
	} {
		got := ""
		for _, m := range members([]byte(text)) {
			got += m.key + "=" + string(m.value) + " "
		}
		if got != want {
			t.Errorf("%s: %q, expected %q", text, got, want)
		}
	}
	if got := lookup(members([]byte(`{"a":1,"a":2}`)), "a"); string(got) != "2" {
		t.Errorf("the last of two counts: %s", got)
	}
}
