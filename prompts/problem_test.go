package prompts

import (
	"strings"
	"testing"
)

func TestProblemString(t *testing.T) {
	for _, c := range []struct {
		p    Problem
		want string
	}{
		{Problem{Message: "m"}, "m"},
		{Problem{Path: "a.b", Message: "m"}, "a.b: m"},
		{Problem{File: "f", Message: "m"}, "f: m"},
		{Problem{File: "f", Line: 3, Path: "a", Message: "m"}, "f:3: a: m"},
	} {
		if got := c.p.String(); got != c.want {
			t.Errorf("%+v: %s", c.p, got)
		}
	}
}

func TestErrorsAreSortedAndNotRepeated(t *testing.T) {
	got := Errors(sorted([]Problem{{"g", 1, "", "m"}, {"f", 10, "a", "m"}, {"f", 9, "b", "m"}, {"f", 9, "a", "n"}, {"f", 9, "a", "m"}, {"f", 9, "b", "m"}}))
	if want := "f:9: a: m\nf:9: a: n\nf:9: b: m\nf:10: a: m\ng:1: m"; got.Error() != want {
		t.Errorf("got\n%s", got.Error())
	}
}

func TestLines(t *testing.T) {
	r := newReport("f")
	r.lines[""], r.lines["a"], r.lines["a.b"], r.lines["a.b[1]"] = 1, 2, 3, 4
	for at, want := range map[string]int{"": 1, "x": 1, "a": 2, "a.x": 2, "a.b": 3, "a.b[0]": 3, "a.b[1]": 4, "a.b[1].c.d": 4} {
		if got := r.line(at); got != want {
			t.Errorf("%s: line %d, want %d", at, got, want)
		}
	}
	r.once("a", "first")
	r.once("a", "second")
	r.fault("a", "third")
	if len(r.problems) != 2 || r.problems[1].Message != "third" {
		t.Errorf("%v", r.problems)
	}
}

func TestQuoted(t *testing.T) {
	for in, want := range map[string]string{"a": `"a"`, "a\n\x00é": `"a\n\x00\u00e9"`, strings.Repeat("x", 65): `"` + strings.Repeat("x", 64) + `"... (65 bytes)`} {
		if got := quoted(in); got != want {
			t.Errorf("%q: %s", in, got)
		}
	}
	if bounded("a_1") != "a_1" || bounded("a.b") != `"a.b"` {
		t.Error("a name that is none stands bare in a path")
	}
}
