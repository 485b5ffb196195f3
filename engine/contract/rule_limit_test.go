package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestExpressionErrors: what could not be known before is an error that names the rule, and never a verdict.
func TestExpressionErrors(t *testing.T) {
	items := `[` + strings.Repeat(`{"p":1},`, 2000) + `{"p":1}]`
	for _, c := range []struct{ cel, text, want string }{
		{`1.0 / n > 2.0`, `{"n":0}`, "a division by zero"},
		{`i % 0 == 1`, `{"i":1}`, "a division by zero"},
		{`output.n % 2 == 1`, `{"n":1.5}`, "needs two integers"},
		{`output.any > 1`, `{"any":"x"}`, "no such overload"},
		{`l[i].p > 0`, `{"l":[],"i":3}`, "index out of bounds"},
		{`n * n > 1.0`, `{"n":1e1001}`, "more than 1000 places"},
		{`double(s) > 1.0`, `{"s":"x"}`, "the text is no number"},
		{`uint(i) > 1u`, `{"i":-1}`, "unsigned integer overflow"},
		{`l.all(a, l.all(b, a.p + b.p > 0))`, `{"l":` + items + `}`, "work budget"},
		{`s.matches("` + strings.Repeat("a{500}", 20) + `")`, `{"s":"` + strings.Repeat("a", 100_000) + `"}`, "work budget"},
	} {
		cel := ruled(t, ruleSchema, bounded("n", Bounds{Min: "-1"}), Rule{CEL: c.cel})
		v := cel.Judge([]byte(c.text))
		if v.Err == nil || v.Class != "" || v.Valid() || !strings.Contains(v.Err.Error(), "rule 2 cannot be decided on this text: ") ||
			!strings.Contains(v.Err.Error(), c.want) {
			t.Errorf("%s: %v, class %s; want %s", c.cel, v.Err, v.Class, c.want)
		}
	}
}

// TestFaultsHoldNothingOfTheText: an error of a rule is stored and logged.
func TestFaultsHoldNothingOfTheText(t *testing.T) {
	for _, c := range []struct{ cel, want string }{
		{`timestamp(s) > timestamp("2020-01-01T00:00:00Z")`, "invalid RFC 3339 timestamp"}, {`duration(s) > duration("1s")`, "type conversion error"},
		{`int(s) > 1`, "type conversion error"}, {`output.any[s] == 1`, "no such key"}, {`bool(s)`, "type conversion error"},
		{`l[output.i].p > 0.0`, "index out of bounds"},
	} {
		v := ruled(t, ruleSchema, Rule{CEL: c.cel}).Judge([]byte(`{"s":"secret77","any":{},"l":[],"i":77}`))
		if v.Err == nil || !strings.Contains(v.Err.Error(), c.want) || strings.Contains(v.Err.Error(), "77") {
			t.Errorf("%s: %v", c.cel, v.Err)
		}
	}
}

// TestIndexFromTheOutput: an index may stand anywhere in the output.
func TestIndexFromTheOutput(t *testing.T) {
	for _, cel := range []string{"l[i].p == 2.0", "l[output.i].p == 2.0", "output.l[output.i].p == 2.0", "l[l[0].k2].p == 2.0", "l[int(output.i)].p == 2.0"} {
		c := mustCompile(t, Spec{Mode: "json_schema", Schema: json.RawMessage(strings.Replace(ruleSchema, `"p":`, `"k2":{"type":"integer"},"p":`, 1)), Rules: []Rule{{CEL: cel}}})
		if v := c.Judge([]byte(`{"l":[{"p":1,"k2":1},{"p":2,"k2":0}],"i":1}`)); !v.Valid() || v.Rules.Held != 1 {
			t.Errorf("%s: %+v", cel, v)
		}
	}
}

// TestLongListsEndInTime: what a list of many items costs grows with its length alone, so that a bound on the work is one on
// the time; no list makes a rule be skipped that is over its budget.
func TestLongListsEndInTime(t *testing.T) {
	list := func(item string, n int) string { return `{"l":[` + strings.Repeat(item+",", n) + `{"p":1}]}` }
	numbers := func(item string, n int) string { return `{"n":[` + strings.Repeat(item+",", n) + `1]}` }
	for _, c := range []struct {
		cel, text string
		over      bool
	}{
		{"l.all(x, x.p > 0.0)", list(`{"p":1}`, 40_000), false},
		{"l.all(x, x.p > 0.0)", list(`{"p":1}`, 150_000), true},
		{"l.all(x, x.p > 0.0)", list(`{}`, 150_000), true},
		{"l.exists(x, l.exists(y, x == y && y.p > 1.0))", list(`{"p":1}`, 2_000), true},
		{"l.all(x, x in l)", list(`{"p":1}`, 2_000), true},
		{"output.n.all(x, sum(output.n) > x)", numbers("1", 2_000), true},
		{"sum(output.n) > 0.0", numbers("1", 50_000), false},
		{"sum(output.n) > 0.0", numbers("1e-900", 50_000), true},
		{"output.n.all(x, x + x != 1.0)", numbers("1e-900", 50_000), true},
		{"output.n.all(x, output.s + output.s + string(x) != '')", `{"s":"` + strings.Repeat("s", 100_000) + `",` + numbers("1", 1_000)[1:], true},
		{"output.n.all(x, !output.s.contains('t'))", `{"s":"` + strings.Repeat("s", 100_000) + `",` + numbers("1", 1_000)[1:], true},
	} {
		spec := Spec{Mode: "json", Rules: []Rule{{CEL: c.cel}}}
		if strings.HasPrefix(c.cel, "l.") {
			spec = Spec{Mode: "json_schema", Schema: json.RawMessage(ruleSchema), Rules: spec.Rules}
		}
		v := mustCompile(t, spec).Judge([]byte(c.text))
		if over := errors.Is(v.Err, ErrBudget); over != c.over || !over && (v.Err != nil || v.Rules.Skipped > 0) {
			t.Errorf("%s: %v, %+v; over the budget %v expected", c.cel, v.Err, v.Rules, c.over)
		}
	}
}

// TestRulesShareABudget: many rules cost no more than a verdict may.
func TestRulesShareABudget(t *testing.T) {
	items := strings.Repeat(`{"p":1},`, 150) + `{"p":1}`
	var many []Rule
	for i := range 20 {
		many = append(many, Rule{CEL: fmt.Sprintf("l.all(a, l.all(b, a.p + b.p > %d.0 - 50.0))", i)})
	}
	v := ruled(t, ruleSchema, many...).Judge([]byte(`{"l":[` + items + `]}`))
	if !errors.Is(v.Err, ErrBudget) {
		t.Errorf("%v, %+v", v.Err, v.Rules)
	}
	slow := bounded("l[*].k", Bounds{Pattern: strings.Repeat("a{900}", 20)})
	v = ruled(t, ruleSchema, slow).Judge([]byte(`{"l":[` + strings.Repeat(`{"k":"`+strings.Repeat("a", 1000)+`"},`, 20) + `{}]}`))
	if !errors.Is(v.Err, ErrBudget) {
		t.Errorf("%v, %+v", v.Err, v.Rules)
	}
}

// TestRuleFindingsAreBounded: 1,000 findings with those of the schema, the rest counted.
func TestRuleFindingsAreBounded(t *testing.T) {
	c := ruled(t, ruleSchema, bounded("l[*].p", Bounds{Min: "1"}))
	v := c.Judge([]byte(`{"n":"x","l":[` + strings.Repeat(`{"p":0},`, 1499) + `{"p":0}]}`))
	if len(v.Findings) != maxFindings || v.Omitted != 501 || v.Class != SchemaInvalid || v.Rules.Failed != 1 {
		t.Errorf("%d findings, %d omitted, %s, %+v", len(v.Findings), v.Omitted, v.Class, v.Rules)
	}
}

// TestRulesInJSON: without a schema rules hold what is there against their bounds.
func TestRulesInJSON(t *testing.T) {
	c := mustCompile(t, Spec{Mode: "json", Rules: []Rule{
		{CEL: "!has(output.total) || output.total >= 0", Message: "m1"}, bounded("items[*].price", Bounds{Min: "0"}),
	}})
	v := c.Judge([]byte(`{"total":-1,"items":[{"price":1},{"price":-2},{"price":"x"}]}`))
	if got := strings.Join(shown(v.Findings), "; "); got != "/items/1/price rule; /total rule" || v.Class != RuleFailed {
		t.Errorf("%s, %s", v.Class, got)
	}
	if f := v.Findings[0]; f.Masked != "/*/1/*" || f.Shape != nil || f.Message != "items[1].price must be at least 0, but is -2" {
		t.Errorf("%+v", f)
	}
	if v := c.Judge([]byte(`[1]`)); !v.Valid() || v.Rules != (RuleCounts{Skipped: 2}) {
		t.Errorf("%+v", v)
	}
}

// TestRulesAndMending: rules judge what unwrap or syntax leaves.
func TestRulesAndMending(t *testing.T) {
	c := mustCompile(t, Spec{Mode: "json_schema", Schema: json.RawMessage(skillSchema), Rules: skillRules, Local: LocalSyntax})
	v := c.Judge([]byte("```json\n{\"verdict\":\"fail\",\"confidence\":0.8,\"reasoning\":\"long enough to be accepted\"}\n```"))
	if v.Class != RuleFailed || v.Mended != LocalUnwrap || len(v.Findings) != 1 {
		t.Errorf("%+v", v)
	}
	v = c.Judge([]byte(`{'verdict':'fail','confidence':0.8,'reasoning':'long enough to be accepted'}`))
	if v.Class != RuleFailed || v.Mended != LocalSyntax || len(v.Findings) != 1 || string(v.Findings[0].Value) != "0.8" {
		t.Errorf("%+v", v)
	}
}

// TestRulesAreCached: contracts that differ in a rule alone are different, equal ones are shared.
func TestRulesAreCached(t *testing.T) {
	spec := func(r Rule) Spec { return Spec{Mode: "json", Rules: []Rule{r}} }
	variants := []Rule{
		{CEL: "output.a > 1"}, {CEL: "output.a > 2"}, {CEL: "output.a > 1", Message: "m"}, {CEL: "output.a > 1", Fields: []string{"a"}},
		bounded("a", Bounds{Min: "0"}), bounded("a", Bounds{Max: "0"}), bounded("a", Bounds{MinLength: new(0)}), bounded("a", Bounds{MaxLength: new(0)}),
		bounded("a", Bounds{MinItems: new(0)}), bounded("a", Bounds{Equals: json.RawMessage("0")}), bounded("a", Bounds{Values: []json.RawMessage{json.RawMessage("0")}}),
		bounded("a", Bounds{Pattern: "0"}), bounded("a", Bounds{ExclusiveMin: "0"}), bounded("a", Bounds{ExclusiveMax: "0"}),
		{If: []Clause{{Field: "a", Bounds: Bounds{Min: "0"}}}, Then: []Clause{{Field: "b", Bounds: Bounds{Min: "0"}}}},
		{If: []Clause{{Field: "b", Bounds: Bounds{Min: "0"}}}, Then: []Clause{{Field: "a", Bounds: Bounds{Min: "0"}}}},
	}
	seen := map[*Contract]int{}
	for i, r := range variants {
		c := mustCompile(t, spec(r))
		if c != mustCompile(t, spec(r)) {
			t.Errorf("rule %d is compiled twice", i)
		}
		if first, twice := seen[c]; twice {
			t.Errorf("the rules %d and %d are one contract", first, i)
		}
		seen[c] = i
	}
}

// TestRulesAreSafe judges with one contract from many goroutines.
func TestRulesAreSafe(t *testing.T) {
	c := ruled(t, ruleSchema, bounded("s", Bounds{Pattern: "^a"}), Rule{CEL: `l.all(x, x.p / 3.0 < n) && s.matches("a")`})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				v := c.Judge(fmt.Appendf(nil, `{"s":"a","n":%d,"l":[{"p":1},{"p":%d}]}`, i, i))
				if v.Valid() != (i > 0) {
					t.Errorf("%d: %+v", i, v)
				}
			}
		})
	}
	wg.Wait()
}
