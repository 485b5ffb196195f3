package repair

import (
	"strings"
	"testing"
)

func TestMembersKeepTheirOrderAndStopAtAFault(t *testing.T) {
	for text, want := range map[string]string{
		`{"b":1,"a":{"c":2}}`: `b=1 a={"c":2} `,
		`{"a":1,"a":2}`:       `a=1 a=2 `,
		`{"a":1,"b":`:         `a=1 `,
		`{"a":1,7}`:           `a=1 `,
		`{"a":1}`:             `a=1 `, ` { "a" : {"x":"}\"]"} , "b\u0041" : [1 ,{ } ] } `: `a={"x":"}\"]"} bA=[1 ,{ } ] `,
		`{"a":1,"b":"x`: `a=1 `, `{"a":[1,"b`: ``, `{"a" 1}`: ``, `{"a":,"b":2}`: ``, `{"a":1 2}`: `a=1 2 `, `{}`: ``, `{"a\q":1}`: ``,
		`[1]`: ``, `"x"`: ``, ``: ``, `null`: ``,
	} {
		var got strings.Builder
		for _, m := range members([]byte(text)) {
			got.WriteString(m.key + "=" + string(m.value) + " ")
		}
		if got.String() != want {
			t.Errorf("%s: %q, expected %q", text, got.String(), want)
		}
	}
	if got := lookup(members([]byte(`{"a":1,"a":2}`)), "a"); string(got) != "2" {
		t.Errorf("the last of two counts: %s", got)
	}
}

func TestListKeepsItsItems(t *testing.T) {
	for text, want := range map[string]string{
		`[]`: ``, ` [ 1 , "a,]" , {"b":[2]} ] `: `1|"a,]"|{"b":[2]}|`, `[1,[2`: `1|`, `{"a":1}`: ``, `null`: ``, `[1,]`: `1|`,
	} {
		var got strings.Builder
		for _, item := range list([]byte(text)) {
			got.Write(item)
			got.WriteByte('|')
		}
		if got.String() != want {
			t.Errorf("%s: %q, expected %q", text, got.String(), want)
		}
	}
}
