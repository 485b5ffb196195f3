package contract

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Seed 002's skill, as its short form compiles.
const skillSchema = `{"type":"object","required":["verdict","confidence","reasoning"],"properties":{
	"verdict":{"enum":["pass","fail"]},"confidence":{"type":"number","minimum":0,"maximum":1},"reasoning":{"type":"string"}}}`

var skillRules = []Rule{
	{
		If:   []Clause{{Field: "verdict", Bounds: Bounds{Equals: json.RawMessage(`"fail"`)}}},
		Then: []Clause{{Field: "confidence", Bounds: Bounds{Max: "0.5"}}}, Message: "Failed verdict should have confidence <= 0.5",
	},
	{Field: "reasoning", Bounds: Bounds{MinLength: new(20)}, Message: "Reasoning must be at least 20 characters"},
}

func ruled(t testing.TB, schema string, rules ...Rule) *Contract {
	t.Helper()
	return mustCompile(t, Spec{Mode: "json_schema", Schema: json.RawMessage(schema), Rules: rules})
}

// TestSeed002: the worked examples of the seed, both tiers in one verdict.
func TestSeed002(t *testing.T) {
	c := ruled(t, skillSchema, skillRules...)
	v := c.Judge([]byte(`{"verdict": "pass", "confidence": 1.5, "reasoning": "ok"}`))
	if got := strings.Join(shown(v.Findings), "; "); v.Class != SchemaInvalid || got != "/confidence maximum; /reasoning rule" {
		t.Errorf("class %s, %s", v.Class, got)
	}
	if v.Rules != (RuleCounts{Held: 1, Failed: 1}) {
		t.Errorf("rules %+v", v.Rules)
	}
	f := v.Findings[1]
	if f.Message != "Reasoning must be at least 20 characters" || string(f.Value) != `"ok"` || fmt.Sprint(f.Fields) != "[/reasoning]" ||
		string(f.Expected) != `{"field":"reasoning","min_length":20}` || string(f.Shape) != `{"type":"string"}` || f.Schema != nil || f.Path() != "/reasoning" {
		t.Errorf("%+v", f)
	}
	v = c.Judge([]byte(`{"verdict": "fail", "confidence": 0.8, "reasoning": "The code follows all quality standards."}`))
	if got := strings.Join(shown(v.Findings), "; "); v.Class != RuleFailed || got != "/confidence rule" || v.Valid() {
		t.Errorf("class %s, %s", v.Class, got)
	}
	f = v.Findings[0]
	if f.Message != "Failed verdict should have confidence <= 0.5" || string(f.Value) != "0.8" || f.Masked != "/confidence" ||
		string(f.Expected) != `{"if":{"verdict":"fail"},"then":{"confidence":{"max":0.5}}}` || string(f.Shape) != `{"type":"number","minimum":0,"maximum":1}` {
		t.Errorf("%+v", f)
	}
	v = c.Judge([]byte(`{"verdict": "pass", "confidence": 0.85, "reasoning": "The code follows all quality standards and has good test coverage."}`))
	if !v.Valid() || v.Rules != (RuleCounts{Held: 2}) {
		t.Errorf("%+v", v)
	}
}

// TestSeed001Prices: the three bad prices of the seed are one finding each, at the place and with the shape that it names.
func TestSeed001Prices(t *testing.T) {
	c := ruled(t, `{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","required":["price"],"properties":{
		"price":{"type":"number","examples":[4.25]}}}}}}`, Rule{Field: "items[*].price", Bounds: Bounds{ExclusiveMin: "0"}, Message: "greater than 0"})
	for _, price := range []string{`"4.25 USD"`, `"4,25"`, `null`} {
		v := c.Judge([]byte(`{"items":[{"price":1},{"price":2},{"price":` + price + `}]}`))
		if v.Class != SchemaInvalid || len(v.Findings) != 1 || v.Rules != (RuleCounts{Held: 1}) {
			t.Fatalf("%s: %s %s %+v", price, v.Class, shown(v.Findings), v.Rules)
		}
		f := v.Findings[0]
		if f.Path() != "/items/2/price" || DisplayPath(f.Path()) != "items[2].price" || f.Keyword != "type" || string(f.Example) != "4.25" {
			t.Errorf("%s: %+v", price, f)
		}
	}
	v := c.Judge([]byte(`{"items":[{"price":1},{"price":0.00},{"price":-4.25}]}`))
	if got := strings.Join(shown(v.Findings), "; "); v.Class != RuleFailed || got != "/items/1/price rule; /items/2/price rule" || v.Rules.Failed != 1 {
		t.Errorf("%s %s", v.Class, got)
	}
}

// ruleText says what became of one rule on one text: held, skipped, or the findings.
func ruleText(v Verdict) string {
	var out []string
	for _, f := range v.Findings {
		if f.Keyword == KeywordRule {
			out = append(out, f.Message+" "+strings.Join(f.Fields, ","))
		}
	}
	switch {
	case v.Err != nil:
		return "error " + v.Err.Error()
	case v.Rules.Failed > 0:
		return strings.Join(out, "; ")
	case v.Rules.Held > 0:
		return "held"
	}
	return "skipped"
}

const ruleSchema = `{"type":"object","properties":{"n":{"type":"number"},"i":{"type":"integer"},"s":{"type":["string","null"]},"b":{"type":"boolean"},
	"any":{},"l":{"type":"array","items":{"type":"object","properties":{"k":{"type":"string"},"p":{"type":"number"},"q":{"type":"number"},
	"m":{"type":"array","items":{"type":"number"}}}}},"o":{"type":"object","properties":{"x":{"type":"integer"},"a.b":{"type":"string"}}}}}`

func bounded(field string, b Bounds) Rule { return Rule{Field: field, Bounds: b} }

func TestBounds(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	for _, c := range []struct {
		rule       Rule
		text, want string
	}{
		{bounded("n", Bounds{Min: "0", Max: "1"}), `{"n":0}`, "held"},
		{bounded("n", Bounds{Min: "0", Max: "1"}), `{"n":1.0e0}`, "held"},
		{bounded("n", Bounds{Min: "0", Max: "1"}), `{"n":1.5}`, "n must be at most 1, but is 1.5 /n"},
		{bounded("n", Bounds{Max: "0.5"}), `{"n":0.50000000000000000000001}`, "n must be at most 0.5, but is 0.50000000000000000000001 /n"},
		{bounded("n", Bounds{Max: "9007199254740992"}), `{"n":9007199254740993}`, "n must be at most 9007199254740992, but is 9007199254740993 /n"},
		{bounded("n", Bounds{ExclusiveMin: "0"}), `{"n":-0.0}`, "n must be greater than 0, but is -0.0 /n"},
		{bounded("n", Bounds{ExclusiveMax: "1e2"}), `{"n":100}`, "n must be less than 1e2, but is 100 /n"},
		{bounded("n", Bounds{Equals: raw("1.0")}), `{"n":1}`, "held"},
		{bounded("i", Bounds{Values: []json.RawMessage{raw("1"), raw("2")}}), `{"i":3}`, "i must be one of [1, 2], but is 3 /i"},
		{bounded("s", Bounds{MinLength: new(2), MaxLength: new(3)}), `{"s":"äöü"}`, "held"},
		{bounded("s", Bounds{MinLength: new(2)}), `{"s":"ä"}`, "s must be at least 2 characters, but has 1 /s"},
		{bounded("s", Bounds{MaxLength: new(0)}), `{"s":"ab"}`, "s must be at most 0 characters, but has 2 /s"},
		{bounded("s", Bounds{Pattern: "^a"}), `{"s":"ba"}`, `s must match the pattern "^a", but is "ba" /s`},
		{bounded("s", Bounds{Pattern: "a", MinLength: new(3)}), `{"s":"b"}`, `s must be at least 3 characters and must match the pattern "a", but has 1 /s`},
		{bounded("s", Bounds{Equals: raw(`null`)}), `{"s":null}`, "held"},
		{bounded("s", Bounds{Equals: raw(`null`)}), `{"s":"x"}`, `s must be null, but is "x" /s`},
		{bounded("b", Bounds{Equals: raw(`true`)}), `{"b":false}`, "b must be true, but is false /b"},
		{bounded("l", Bounds{MinItems: new(1), MaxItems: new(2)}), `{"l":[]}`, "l must have at least 1 items, but has 0 /l"},
		{bounded("any", Bounds{Equals: raw(`{"a":1,"b":[2]}`)}), `{"any":{"b":[2.0],"a":1}}`, "held"},
		{bounded("any", Bounds{Equals: raw(`[1]`)}), `{"any":[1,2]}`, "any must be [1], but is an array /any"},
		{bounded(`o["a.b"]`, Bounds{MinLength: new(1)}), `{"o":{"a.b":""}}`, `o["a.b"] must be at least 1 characters, but has 0 /o/a.b`},
		{bounded("(root)", Bounds{Equals: raw(`{}`)}), `{}`, "held"},
		{bounded("l[1].p", Bounds{Min: "1"}), `{"l":[{"p":0},{"p":0}]}`, "l[1].p must be at least 1, but is 0 /l/1/p"},
		{bounded("l[].p", Bounds{Min: "1"}), `{"l":[{"p":0},{"p":1},{},{"p":-1}]}`,
			"l[0].p must be at least 1, but is 0 /l/0/p; l[3].p must be at least 1, but is -1 /l/3/p"},
		{bounded("l[*].m[*]", Bounds{Min: "1"}), `{"l":[{"m":[1]},{"m":[1,0]}]}`, "l[1].m[1] must be at least 1, but is 0 /l/1/m/1"},

		{bounded("n", Bounds{Min: "1"}), `{}`, "skipped"},
		{bounded("n", Bounds{Min: "1"}), `{"n":"0"}`, "skipped"},
		{bounded("n", Bounds{Min: "1"}), `{"n":null}`, "skipped"},
		{bounded("i", Bounds{Min: "1"}), `{"i":0.5}`, "skipped"},
		{bounded("s", Bounds{MinLength: new(1)}), `{"s":null}`, "skipped"},
		{bounded("any", Bounds{Min: "1"}), `{"any":"0"}`, "skipped"},
		{bounded("o.x", Bounds{Min: "1"}), `{"o":[]}`, "skipped"},
		{bounded("o.x", Bounds{Min: "1"}), `{"o":{"x":0},"n":"other"}`, "o.x must be at least 1, but is 0 /o/x"},
		{bounded("l[*].p", Bounds{Min: "1"}), `{"l":[]}`, "held"},
		{bounded("l[*].p", Bounds{Min: "1"}), `{"l":{}}`, "skipped"},
		{bounded("l[*].p", Bounds{Min: "1"}), `{"l":[{},{"p":"x"}]}`, "skipped"},
		{bounded("l[*].p", Bounds{Min: "1"}), `{"l":[{},{"p":1}]}`, "held"},
		{bounded("l[9].p", Bounds{Min: "1"}), `{"l":[]}`, "skipped"},
	} {
		if got := ruleText(ruled(t, ruleSchema, c.rule).Judge([]byte(c.text))); got != c.want {
			t.Errorf("%+v on %s: %s, want %s", c.rule, c.text, got, c.want)
		}
	}
}

func TestIfThen(t *testing.T) {
	is := func(field, value string) []Clause {
		return []Clause{{Field: field, Bounds: Bounds{Equals: json.RawMessage(value)}}}
	}
	two := []Clause{{Field: "n", Bounds: Bounds{Max: "1"}}, {Field: "i", Bounds: Bounds{Min: "5"}}}
	for _, c := range []struct {
		rule       Rule
		text, want string
	}{
		{Rule{If: is("b", "true"), Then: two}, `{"b":true,"n":1,"i":5}`, "held"},
		{Rule{If: is("b", "true"), Then: two}, `{"b":false,"n":2,"i":0}`, "held"},
		{Rule{If: is("b", "true"), Then: two}, `{"b":false}`, "held"},
		{Rule{If: is("b", "true"), Then: two}, `{"n":2}`, "skipped"},
		{Rule{If: is("b", "true"), Then: two}, `{"b":"true","n":2}`, "skipped"},
		{Rule{If: is("b", "true"), Then: two}, `{"b":true}`, "skipped"},
		{Rule{If: is("b", "true"), Then: two}, `{"b":true,"n":1}`, "skipped"},
		{Rule{If: is("b", "true"), Then: two}, `{"b":true,"n":2}`, "n must be at most 1, but is 2, since b is true /n"},
		{Rule{If: is("b", "true"), Then: two}, `{"b":true,"n":2,"i":1}`, "n must be at most 1, but is 2; i must be at least 5, but is 1, since b is true /n,/i"},
		{Rule{If: is("b", "true"), Then: two, Fields: []string{"i", "b"}, Message: "m"}, `{"b":true,"n":2,"i":5}`, "m /i,/b"},
		{Rule{If: is("l[*].k", `"x"`), Then: []Clause{{Field: "l[*].p", Bounds: Bounds{Min: "1"}}}},
			`{"l":[{"k":"x","p":0},{"k":"y","p":0},{"k":"x","p":1},{"p":0}]}`, `l[0].p must be at least 1, but is 0, since l[0].k is "x" /l/0/p`},
		{Rule{If: is("b", "true"), Then: []Clause{{Field: "l[*].p", Bounds: Bounds{Min: "1"}}}, Fields: []string{"l[*].q", "l", "n"}, Message: "m"},
			`{"b":true,"l":[{"p":1},{"p":0}]}`, `m /l/1/q,/l,/n`},
		{Rule{If: is("b", "true"), Then: two, Fields: []string{"l[*].q"}, Message: "m"}, `{"b":true,"n":2,"i":5,"l":[{},{}]}`, "m /l/0/q,/l/1/q"},
		{Rule{If: is("b", "true"), Then: two, Fields: []string{"l[*].q"}, Message: "m"}, `{"b":true,"n":2,"i":5}`, "m /l"},
		{Rule{If: is("b", "true"), Then: two, Fields: []string{"l[*].q"}, Message: "m"},
			`{"b":true,"n":2,"i":5,"l":[` + strings.Repeat("{},", maxFields) + `{}]}`, "m /l"},
	} {
		if got := ruleText(ruled(t, ruleSchema, c.rule).Judge([]byte(c.text))); got != c.want {
			t.Errorf("%+v on %s: %s, want %s", c.rule, c.text, got, c.want)
		}
	}
}
