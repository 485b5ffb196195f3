package prompts

import (
	"encoding/json"
	"testing"
)

func TestValue(t *testing.T) {
	for _, c := range []struct {
		raw, text string
		truth     bool
		size      int
	}{
		{`"a\u00e9\n"`, "aé\n", true, 4},
		{`""`, "", false, 0},
		{` "x" `, "x", true, 1},
		{`"\ud800"`, "\ufffd", true, 3},
		{`0`, "0", false, 0},
		{`-0`, "-0", false, 0},
		{`0.000e10`, "0.000e10", false, 0},
		{`0E+5`, "0E+5", false, 0},
		{`1e-999`, "1e-999", true, 0},
		{`-0.001`, "-0.001", true, 0},
		{`12345678901234567890123`, "12345678901234567890123", true, 0},
		{`true`, "true", true, 0},
		{`false`, "false", false, 0},
		{`null`, "null", false, 0},
		{`[ ]`, "[]", false, 0},
		{`[ 1 , 2.50 ]`, "[1,2.50]", true, 2},
		{`{ }`, "{}", false, 0},
		{"{ \"b\" : 1 ,\n \"a\" : \"<&>\" }", `{"b":1,"a":"<&>"}`, true, 2},
	} {
		v := newValue("inputs.x", json.RawMessage(c.raw))
		if v.String() != c.text || v.true() != c.truth || v.size() != c.size {
			t.Errorf("%s: %q, %v, %d", c.raw, v.String(), v.true(), v.size())
		}
	}
}

func TestEqual(t *testing.T) {
	for _, c := range []struct {
		a, b     string
		same, ok bool
	}{
		{`1`, `1.0`, true, true},
		{`1`, `2`, false, true},
		{`1e400`, `1e400`, true, true},
		{`1e400`, `2e400`, false, true},
		{`1`, `"1"`, false, true},
		{`"a"`, `"\u0061"`, true, true},
		{`"a"`, `"b"`, false, true},
		{`true`, `true`, true, true},
		{`true`, `false`, false, true},
		{`null`, `null`, true, true},
		{`null`, `false`, false, true},
		{`[]`, `[]`, false, false},
		{`1`, `{}`, false, false},
	} {
		a, b := newValue("a", json.RawMessage(c.a)), newValue("b", json.RawMessage(c.b))
		if same, ok := a.equal(b); same != c.same || ok != c.ok {
			t.Errorf("%s, %s: %v, %v", c.a, c.b, same, ok)
		}
		if same, ok := b.equal(a); same != c.same || ok != c.ok {
			t.Errorf("%s, %s turned round: %v, %v", c.a, c.b, same, ok)
		}
	}
}

func TestSizeOf(t *testing.T) {
	for raw, want := range map[string]Size{``: 0, `"abc"`: 3, `"\n"`: 1, `"é"`: 2, `[ 1 ]`: 3, `null`: 4, ` 1.50 `: 4} {
		if got := sizeOf(json.RawMessage(raw)); got != want {
			t.Errorf("%s: %d", raw, got)
		}
	}
}
