package contract

import (
	"strings"
	"testing"

	"emend/schemas"
)

// A rule's reason names its message once, with every place; other findings are not in it.
func TestRuleReason(t *testing.T) {
	many := make([]Finding, 400)
	for i := range many {
		many[i] = Finding{Rule: 1, Message: strings.Repeat("x", 100) + string(rune('a'+i%26)) + strings.Repeat("y", i)}
	}
	for name, c := range map[string]struct {
		findings        []Finding
		guidance, cause string
	}{
		"places":  {[]Finding{{Rule: 2, Message: "other"}, {Rule: 1, Message: "m", Pointer: "/a/0"}, {Rule: 1, Message: "m", Pointer: "/a/1"}, {Rule: 1, Message: "n", Pointer: "/b"}}, "m (a[0], a[1]); n (b)", ""},
		"root":    {[]Finding{{Rule: 1, Message: "m"}}, "m", ""},
		"nothing": {nil, "", ""},
		"long":    {many, "", schemas.CauseCorrectionImpossible},
		"UTF-8":   {[]Finding{{Rule: 1, Message: "\xff"}}, "", schemas.CauseCorrectionImpossible},
	} {
		reasons, cause := RuleReason("code", 1, c.findings)
		if cause != c.cause || (cause == "") != (len(reasons) == 1) || cause == "" && reasons[0] != (schemas.Reason{Code: "code", Guidance: c.guidance}) {
			t.Errorf("%s: %+v %s", name, reasons, cause)
		}
	}
}

func TestAVerdictNumbersItsFailedRules(t *testing.T) {
	c, err := Compile(Spec{Mode: schemas.ModeJSON, Rules: []Rule{{CEL: "output.a > 0"}, {CEL: "output.b > 0"}, {CEL: "output.a < output.b"}}})
	if err != nil {
		t.Fatal(err)
	}
	v := c.JudgeText(`{"a":0,"b":0}`)
	if len(v.Failed) != 3 || v.Failed[0] != 1 || v.Failed[2] != 3 {
		t.Errorf("%v", v.Failed)
	}
	for _, f := range v.Findings {
		if f.Rule < 1 || f.Rule > 3 {
			t.Errorf("%+v", f)
		}
	}
	if v := c.JudgeText(`{"a":1,"b":2}`); v.Failed != nil || !v.Valid() {
		t.Errorf("%+v", v)
	}
}
