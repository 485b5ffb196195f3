package scripted

import (
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	s, err := Parse([]byte(`
latency: 20ms
concurrency: 2
rules:
  - match: {contains: invoice, model: m}
    replies:
      - {status: 429, retry_after: "1", headers: {X-A: b}, delay: 1s}
      - {text: "", truncate: 0, usage: {input: 3, cached: 1}}
      - {json: {b: 1.50, a: [true, null, 12345678901234567890, "x<y", 0x10, yes], "": {}}, usage: none}
    then: cycle
default: {replies: [{echo: true}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	r := s.Rules[0].Replies
	if time.Duration(s.Latency) != 20*time.Millisecond || time.Duration(*r[0].Delay) != time.Second || *r[1].Usage.Cached != 1 || r[1].Usage.Output != nil || !r[2].Usage.None {
		t.Errorf("got %+v", s)
	}
	if want := `{"b":1.50,"a":[true,null,12345678901234567890,"x<y",16,"yes"],"":{}}`; *r[2].Text != want {
		t.Errorf("json became %s, want %s", *r[2].Text, want)
	}
}

func TestParseEmpty(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "{}"} {
		if _, err := Parse([]byte(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	cases := map[string]string{
		"rulez: []":                                                    "line 1: unknown field rulez; did you mean rules?",
		"\n\nrules:\n - {replys: []}":                                  "line 4: unknown field replys; did you mean replies?",
		"rules: [{replies: [{}], then: stop}]":                         `rules[0].then is "stop"`,
		"rules: [{match: {model: m}}]":                                 "rules[0].replies is empty",
		"rules: [{replies: [{text: a, echo: true}]}]":                  "rules[0].replies[0]: text and echo exclude each other",
		"rules: [{replies: [{status: 99}]}]":                           "status is 99",
		"rules: [{replies: [{truncate: -1}]}]":                         "truncate must not",
		"rules:\n- replies:\n  - {delay: soon}":                        `line 3: "soon" is not a duration`,
		"rules:\n- replies:\n  - {usage: some}":                        "line 3: usage must be",
		"rules:\n- replies:\n  - {usage: {in: 1}}":                     "line 3: usage has no field in",
		"rules:\n- replies:\n  - {usage: {input: -1}}":                 "line 3: usage.input must be",
		"rules:\n- replies:\n  - {json: .inf}":                         "line 3: .inf has no JSON form",
		"rules:\n- replies:\n  - {json: {[a]: 1}}":                     "line 3: a member's name",
		"default: {match: {model: m}, replies: [{}]}":                  "default.match",
		"concurrency: -1":                                              "must not be negative",
		"{}\n---\n{}":                                                  "more than one YAML document",
		"latency: [":                                                   "line 1: ",
		"rules:\n- replies:\n  - json: &a [*a]":                        "line 3: ",
		"rules: [{replies: [{text: a}, {refusal: x, drop: true}]}, 1]": "line 1",
		"rules:\n- {match: {contain: a},\n   reply: []}":               "line 2: unknown field contain; did you mean contains?\nline 3: unknown field reply; known are match, replies, then",
		"rules: [{colour: red}]":                                       "line 1: unknown field colour; known are match, replies, then",
	}
	for text, want := range cases {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "scripted.") {
			t.Errorf("%q: got %v, want %q in it", text, err, want)
		}
	}
}

func TestParseBoundsAliases(t *testing.T) {
	var text strings.Builder
	text.WriteString("rules:\n- replies:\n  - json:\n      a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 12; i++ {
		a := strings.Repeat(",*a"+string(rune('a'+i-1)), 10)[1:]
		text.WriteString("      a" + string(rune('a'+i)) + ": &a" + string(rune('a'+i)) + " [" + a + "]\n")
	}
	if _, err := Parse([]byte(strings.Replace(text.String(), "&a0", "&aa", 1))); err == nil || !strings.Contains(err.Error(), "too large") && !strings.Contains(err.Error(), "aliasing") {
		t.Errorf("got %v", err)
	}
}

func TestTurnsForgetTheLeastRecentlyUsed(t *testing.T) {
	turns := newTurns(2)
	a, b, c := key{1}, key{2}, key{3}
	var got []int
	for _, k := range []key{a, b, a, c, a, b} {
		got = append(got, turns.next(k))
	}
	want := []int{0, 0, 1, 0, 2, 0}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("turns %v, want %v", got, want)
		}
	}
	if turns.len() != 2 {
		t.Errorf("%d conversations are remembered", turns.len())
	}
}
