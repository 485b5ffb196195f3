package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/cel-go/common/types"
)

// TestUndecidedRulesFail: a rule that cannot be evaluated on what the candidate holds has failed, so that a correction can tell; the
// finding is stored, logged and sent, and holds nothing of the text but its value.
func TestUndecidedRulesFail(t *testing.T) {
	for _, c := range []struct{ cel, text, want, fields string }{
		{`1.0 / n > 2.0`, `{"n":0}`, "a division by zero", "/n"},
		{`i % 0 == 1`, `{"i":77}`, "a division by zero", "/i"},
		{`output.n % 2 == 1`, `{"n":77.5}`, "% needs two integers", "/n"},
		{`output.any > 1`, `{"any":"secret77"}`, "a value is of a type that the rule cannot use", "/any"},
		{`output.any[s] == 1`, `{"any":{},"s":"secret77"}`, "it reads a key that is not there", "/any,/s"},
		{`l[i].p > 0`, `{"l":[],"i":77}`, "it reads an item that is not there", "/l,/i"},
		{`l[output.i].p > 0.0`, `{"l":[],"i":77}`, "it reads an item that is not there", "/l,/i"},
		{`n * n > 1.0`, `{"n":1e1077}`, "a number has more than 1000 places and cannot be calculated with", "/n"},
		{`sum(output.any) > 1.0`, `{"any":["secret77"]}`, "an item of a sum is no number", "/any"},
		{`sum(output.any) > 1.0`, `{"any":[1e1077,1]}`, "a number has more than 1000 places and cannot be calculated with", "/any"},
		{`double(s) > 1.0`, `{"s":"secret77"}`, "a text is no number", "/s"},
		{`uint(i) > 1u`, `{"i":-77}`, "a number is outside of the range of a conversion", "/i"},
		{`int(s) > 1`, `{"s":"secret77"}`, "a text cannot be converted", "/s"},
		{`bool(s)`, `{"s":"secret77"}`, "a text cannot be converted", "/s"},
		{`duration(s) > duration("1s")`, `{"s":"secret77"}`, "a text cannot be converted", "/s"},
		{`timestamp(s) > timestamp("2020-01-01T00:00:00Z")`, `{"s":"secret77"}`, "a text is no time in RFC 3339, such as 2026-03-15T00:00:00Z", "/s"},
	} {
		said := unevaluated + c.want
		for message, want := range map[string]string{"": said + ": " + quoted(c.cel), "Correct it.": "Correct it.; " + said} {
			v := ruled(t, ruleSchema, bounded("n", Bounds{Min: "-1"}), Rule{CEL: c.cel, Message: message}).Judge([]byte(c.text))
			if v.Err != nil || v.Class != RuleFailed || v.Valid() || v.Rules.Failed != 1 || len(v.Findings) != 1 {
				t.Errorf("%s: %v, class %s, %+v", c.cel, v.Err, v.Class, v.Rules)
				continue
			}
			f := v.Findings[0]
			if f.Keyword != KeywordRule || f.Message != want || strings.Join(f.Fields, ",") != c.fields || f.Pointer != f.Fields[0] || strings.Contains(f.Message, "77") {
				t.Errorf("%s: %+v, want %s", c.cel, f, want)
			}
		}
	}
}

// TestUndecidedRulesAreSkipped: where the schema refuses the text, or an item lacks what is read, the rule says nothing, as ever.
func TestUndecidedRulesAreSkipped(t *testing.T) {
	for cel, text := range map[string]string{
		`1 / i > 2`:                    `{"i":0,"n":"of another type"}`,
		`l.all(x, x.p / x.q > 1.0)`:    `{"l":[{"p":1,"q":0},{"p":1}]}`,
		`s != "" && double(s) > 1.0`:   `{}`,
		`double(output.o.x) / 0.0>1.0`: `{"o":{}}`,
	} {
		if v := ruled(t, ruleSchema, Rule{CEL: cel}).Judge([]byte(text)); v.Err != nil || v.Rules != (RuleCounts{Skipped: 1}) {
			t.Errorf("%s: %v, %+v", cel, v.Err, v.Rules)
		}
	}
}

// TestOverTheBudget: too much work is no verdict, and the error names the rule.
func TestOverTheBudget(t *testing.T) {
	items := `[` + strings.Repeat(`{"p":1},`, 2000) + `{"p":1}]`
	for cel, text := range map[string]string{
		`l.all(a, l.all(b, a.p + b.p > 0))`:                          `{"l":` + items + `}`,
		`s.matches("` + strings.Repeat("a{500}", 20) + `")`:          `{"s":"` + strings.Repeat("a", 100_000) + `"}`,
		`sum(output.any) > 1.0`:                                      `{"any":[` + strings.Repeat("1,", maxSummed) + `1]}`,
		`output.any.all(x, sum(output.any) / 0.0 > x + double(s+s))`: `{"s":"1","any":[` + strings.Repeat("1,", maxSummed) + `1]}`,
	} {
		v := ruled(t, ruleSchema, bounded("n", Bounds{Min: "-1"}), Rule{CEL: cel}).Judge([]byte(text))
		if !errors.Is(v.Err, ErrBudget) || v.Class != "" || v.Valid() || !strings.Contains(v.Err.Error(), "rule 2 cannot be decided on this text: ") {
			t.Errorf("%.60s: %v, class %s", cel, v.Err, v.Class)
		}
	}
}

// TestFaultsOfTheJudge: what is no error value of CEL is no verdict on the text, and is not told in its words.
func TestFaultsOfTheJudge(t *testing.T) {
	if words, ofValue := faultOf(errors.New("internal error: secret")); ofValue || words != "" {
		t.Errorf("%q, %t", words, ofValue)
	}
	if words, ofValue := faultOf(types.NewErr("unheard of: secret").(error)); !ofValue || words == "" || strings.Contains(words, "secret") {
		t.Errorf("%q, %t", words, ofValue)
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
