package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestRulesAreChecked(t *testing.T) {
	is := []Clause{{Field: "b", Bounds: Bounds{Equals: json.RawMessage("true")}}}
	one := []Clause{{Field: "n", Bounds: Bounds{Min: "1"}}}
	for _, c := range []struct {
		rule Rule
		want string
	}{
		{Rule{}, "it says nothing"},
		{Rule{Message: "m", Fields: []string{"n"}}, "it says nothing"},
		{Rule{CEL: "b", Field: "n"}, "an expression and a field with bounds at once"},
		{Rule{Field: "n", If: is, Then: one}, "a field with bounds and if and then at once"},
		{Rule{Bounds: Bounds{Min: "1"}}, "bounds without a field"},
		{Rule{If: is}, "if and then need each other"},
		{Rule{Then: one}, "if and then need each other"},
		{bounded("n", Bounds{}), "field n: it says nothing of its field"},
		{bounded("nn", Bounds{Min: "1"}), "field nn: the schema does not know this field; did you mean n?"},
		{bounded("o.xx", Bounds{Min: "1"}), "field o.xx: the schema does not know this field; did you mean o.x?"},
		{bounded("o.ab", Bounds{Min: "1"}), `did you mean o["a.b"]?`},
		{bounded("o.else_where", Bounds{Min: "1"}), "known there are a.b, x"},
		{bounded("l[*].pp", Bounds{Min: "1"}), "field l[*].pp: the schema does not know this field; did you mean l[*].p?"},
		{bounded("l.p", Bounds{Min: "1"}), "the schema makes l array, which has no keys"},
		{bounded("n.x", Bounds{Min: "1"}), "the schema makes n number, which has no keys"},
		{bounded("o[*]", Bounds{Min: "1"}), "the schema makes o object, which has no items"},
		{bounded("s[0]", Bounds{Min: "1"}), "the schema makes s string or null, which has no items"},
		{bounded("$.n", Bounds{Min: "1"}), "field $.n: the schema does not know this field"},
		{bounded("n-1", Bounds{Min: "1"}), `field n-1: "-1" should be a dot`},
		{Rule{Field: "n", Bounds: Bounds{Min: "1"}, Fields: []string{"n", "m"}}, "field m: the schema does not know this field"},
		{Rule{If: []Clause{{Field: "x", Bounds: Bounds{Min: "1"}}}, Then: one}, "field x: the schema"},
		{Rule{If: is, Then: []Clause{{Field: "x", Bounds: Bounds{Min: "1"}}}}, "field x: the schema"},
		{bounded("n", Bounds{MinLength: new(1)}), "the schema makes it number, and the bounds are for string"},
		{bounded("s", Bounds{Max: "1"}), "the schema makes it string or null, and the bounds are for number"},
		{bounded("l", Bounds{Pattern: "x"}), "the schema makes it array, and the bounds are for string"},
		{bounded("o", Bounds{MinItems: new(1)}), "the schema makes it object, and the bounds are for array"},
		{bounded("any", Bounds{Min: "1", MinLength: new(1)}), "two of a number, a text and a list"},
		{bounded("n", Bounds{Min: "2", Max: "1"}), "no number must be at least 2 and must be at most 1"},
		{bounded("n", Bounds{ExclusiveMin: "1", Max: "1.0"}), "no number must be greater than 1"},
		{bounded("n", Bounds{Min: "1", ExclusiveMax: "1"}), "no number must be at least 1"},
		{bounded("n", Bounds{Min: "one"}), `min is "one"; it must be a number`},
		{bounded("n", Bounds{Min: " 1"}), `min is " 1"; it must be a number`},
		{bounded("n", Bounds{Max: "1e9999"}), `max is "1e9999"; it must be a number`},
		{bounded("s", Bounds{MinLength: new(3), MaxLength: new(2)}), "nothing has at least 3 and at most 2 characters"},
		{bounded("l", Bounds{MinItems: new(-1)}), "min_items is -1; a length is never negative"},
		{bounded("s", Bounds{Pattern: "("}), `the pattern "(" cannot run`},
		{bounded("s", Bounds{Pattern: "(?=a)"}), "cannot run"},
		{bounded("n", Bounds{Equals: json.RawMessage("1"), Values: raws("1")}), "it has equals and values"},
		{bounded("n", Bounds{Equals: json.RawMessage("x")}), "equals holds \"x\", which is no sound JSON"},
		{bounded("n", Bounds{Equals: json.RawMessage(`"x"`)}), `equals holds "x", which the schema does not allow there`},
		{bounded("n", Bounds{Values: raws("1", `"x"`)}), `values holds "x", which the schema does not allow there`},
		{bounded("n", Bounds{Equals: json.RawMessage("3"), Max: "2"}), "equals holds 3, which breaks the other bounds"},
		{Rule{If: []Clause{{Field: "l[*].k", Bounds: Bounds{Equals: json.RawMessage(`"a"`)}}}, Then: []Clause{{Field: "l[*].m[*]", Bounds: Bounds{Min: "1"}}}}, ""},
		{Rule{If: []Clause{{Field: "any.a[*]", Bounds: Bounds{Min: "1"}}}, Then: []Clause{{Field: "l[*].p", Bounds: Bounds{Min: "1"}}}},
			"the items of both any.a[*] and l[*]"},
		{bounded("any.whatever[3].x", Bounds{Min: "1"}), ""},
	} {
		checkRefusal(t, c.rule, c.want)
	}
}

// checkRefusal compiles a rule as the second of two.
func checkRefusal(t *testing.T, rule Rule, want string) {
	t.Helper()
	_, err := Compile(Spec{Mode: "json_schema", Schema: json.RawMessage(ruleSchema), Rules: []Rule{bounded("n", Bounds{Min: "0"}), rule}})
	if want == "" {
		if err != nil {
			t.Errorf("%+v: %v", rule, err)
		}
		return
	}
	refused, ok := errors.AsType[*CompileError](err)
	if !ok || refused.Rule != 2 || !strings.Contains(refused.Reason, want) || !strings.HasPrefix(err.Error(), "contract: rule 2: ") {
		t.Errorf("%.200s: %v, want %s", rule.CEL+rule.Field, err, want)
	}
}

func TestExpressionsAreChecked(t *testing.T) {
	for _, c := range []struct {
		rule Rule
		want string
	}{
		{Rule{CEL: `n >`}, "Syntax error"},
		{Rule{CEL: `nn > 1.0`}, "field nn: the schema does not know this field; did you mean n?"},
		{Rule{CEL: `output.nn > 1`}, "field nn: the schema does not know this field; did you mean n?"},
		{Rule{CEL: `l.all(x, x.pp > 1)`}, "field l[*].pp: the schema does not know this field; did you mean l[*].p?"},
		{Rule{CEL: `l[0].m.exists(y, y.z > 1)`}, "which has no keys"},
		{Rule{CEL: `has(o.xx)`}, "did you mean o.x?"},
		{Rule{CEL: `o["xx"] == 1`}, "did you mean o.x?"},
		{Rule{CEL: `s > 1`}, ""},
		{Rule{CEL: `b > 1`}, "found no matching overload for '_>_' applied to '(bool, int)'"},
		{Rule{CEL: `n == 1`}, "write the integer with a point"},
		{Rule{CEL: `b && n`}, "expected type 'bool' but found 'double'"},
		{Rule{CEL: `n`}, "it is of type double; it must be true or false"},
		{Rule{CEL: `output.any`}, "it is of type dyn; it must be true or false"},
		{Rule{CEL: `true`}, "it reads no field"},
		{Rule{CEL: `lost(n)`}, "there is no function lost in rules"},
		{Rule{CEL: `s.matches("(")`}, `the pattern "(" cannot run`},
		{Rule{CEL: `s.matches(s)`}, "must be a text in the rule itself"},
		{Rule{CEL: `matches(s, "((((a{100}){100}){5}){1})")`}, "cannot run"},
		{Rule{CEL: `s.matches("(a{900}b{900}c{900}){9}(d{900}e{900}f{900}){9}")`}, "cannot run"},
		{Rule{CEL: `s.matches("` + strings.Repeat("a{900}", 30) + `")`}, "is too large"},
		{Rule{CEL: `n < 0.30000000000000000001`}, "the number 0.30000000000000000001 has more digits than an expression keeps"},
		{Rule{CEL: `n < -0.30000000000000000001`}, "has more digits than an expression keeps"},
		{Rule{CEL: `l.all(a, l.all(b, l.all(c, a.p + b.p + c.p > 0)))`}, "nest fewer loops"},
		{Rule{CEL: `l.all(a, l.all(b, a.p + b.p > 0))`}, ""},
		{Rule{CEL: strings.Repeat("b && ", maxExpression/5) + "b"}, "size exceeds limit"},
		{Rule{CEL: strings.Repeat("(", 2000) + "b" + strings.Repeat(")", 2000)}, "recursion limit"},
	} {
		checkRefusal(t, c.rule, c.want)
	}
}

// TestCostFollowsTheSchema: lists that the schema bounds may be nested deeper.
func TestCostFollowsTheSchema(t *testing.T) {
	const triple = `l.all(a, l.all(b, l.all(c, a + b + c > 0)))`
	for most, want := range map[int]bool{10: true, 1000: false} {
		schema := fmt.Sprintf(`{"properties":{"l":{"type":"array","maxItems":%d,"items":{"type":"number"}}}}`, most)
		_, err := Compile(Spec{Mode: "json_schema", Schema: json.RawMessage(schema), Rules: []Rule{{CEL: triple}}})
		if (err == nil) != want {
			t.Errorf("%d items: %v", most, err)
		}
	}
}

// TestEveryBrokenRuleIsNamed: one error tells all of them, in their order.
func TestEveryBrokenRuleIsNamed(t *testing.T) {
	spec := Spec{Mode: "json_schema", Schema: json.RawMessage(ruleSchema), Rules: []Rule{
		bounded("x", Bounds{Min: "1"}), bounded("n", Bounds{Min: "1"}), {CEL: "n >"}, {CEL: "n > 1.0"}, {},
	}}
	_, err := Compile(spec)
	var got []int
	for _, f := range Faults(fmt.Errorf("wrapped: %w", err)) {
		got = append(got, f.Rule)
	}
	if fmt.Sprint(got) != "[1 3 5]" || !strings.Contains(err.Error(), "contract: rule 1: field x") || !strings.Contains(err.Error(), "\ncontract: rule 5: it says nothing") {
		t.Errorf("%v: %v", got, err)
	}
	if first, ok := errors.AsType[*CompileError](err); !ok || first.Rule != 1 {
		t.Errorf("%v", first)
	}
	_, err = Compile(Spec{Mode: "none", Rules: spec.Rules})
	if f := Faults(err); len(f) != 1 || f[0].Rule != 1 {
		t.Errorf("%v", err)
	}
	if f := Faults(errors.New("another")); f != nil || Faults(nil) != nil {
		t.Errorf("%v", f)
	}
}

// TestRulesNeedFields: what has no fields has no rules, and without a schema only output is known.
func TestRulesNeedFields(t *testing.T) {
	for _, c := range []struct {
		mode string
		rule Rule
		want string
	}{
		{"none", bounded("n", Bounds{Min: "1"}), "mode none takes any text, so a rule has no fields"},
		{"basic", Rule{CEL: "output.n > 1"}, "mode basic takes any text"},
		{"json", Rule{CEL: "n > 1"}, "field n: without a schema only output is known; write output.n"},
		{"json", Rule{CEL: "output.n > 1"}, ""},
		{"json", bounded("a.b[*].c", Bounds{Min: "1"}), ""},
		{"json", bounded("a b", Bounds{Min: "1"}), "should be a dot"},
	} {
		_, err := Compile(Spec{Mode: c.mode, Rules: []Rule{c.rule}})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %+v: %v, want %q", c.mode, c.rule, err, c.want)
		}
	}
	if _, err := Compile(Spec{Mode: "json", Rules: make([]Rule, maxRules+1)}); err == nil || !strings.Contains(err.Error(), "at most 200") {
		t.Errorf("too many rules: %v", err)
	}
}

// TestFieldsOfSchemas: which fields a schema knows, through references and branches.
func TestFieldsOfSchemas(t *testing.T) {
	for _, c := range []struct{ schema, field, want string }{
		{`{"properties":{"a":{}}}`, "b", "unknown"},
		{`{"properties":{"a":{}},"additionalProperties":true}`, "b", "any"},
		{`{"properties":{"a":{}},"additionalProperties":{"type":"string"}}`, "b", "string"},
		{`{"properties":{"a":{}},"patternProperties":{"^b":{"type":"boolean"}}}`, "b", "boolean"},
		{`{"properties":{"a":{}},"patternProperties":{"^b":{"type":"boolean"}}}`, "c", "unknown"},
		{`{"properties":{"a":false}}`, "a", "unknown"},
		{`{"additionalProperties":false}`, "a", "unknown"},
		{`{"type":"object"}`, "a", "any"},
		{`true`, "a.b[3]", "any"},
		{`{"$ref":"#/$defs/d","$defs":{"d":{"properties":{"a":{"type":["integer","null"]}}}}}`, "a", "integer or null"},
		{`{"allOf":[{"properties":{"a":{"type":"number"}}},{"properties":{"a":{"enum":[1,2]}}}]}`, "a", "integer"},
		{`{"allOf":[{"properties":{"a":{"type":"number"}}}],"additionalProperties":false}`, "a", "unknown"},
		{`{"allOf":[{"properties":{"a":{"type":"number"}}}],"unevaluatedProperties":false}`, "a", "number"},
		{`{"anyOf":[{"properties":{"a":{"type":"number"}}},{"properties":{"b":{}}}]}`, "a", "any"},
		{`{"anyOf":[{"properties":{"a":{"type":"number"}}},{"properties":{"b":{}}}]}`, "c", "unknown"},
		{`{"if":{"properties":{"k":{"const":1}}},"then":{"properties":{"a":{"type":"string"}}}}`, "a", "any"},
		{`{"dependentSchemas":{"x":{"properties":{"a":{}}}}}`, "a", "any"},
		{`{"not":{"properties":{"a":{}}},"properties":{"b":{}}}`, "a", "unknown"},
		{`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, "a", "string or null"},
		{`{"properties":{"a":{"oneOf":[{"const":1.5},{"const":true}]}}}`, "a", "boolean or number"},
		{`{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"number"}}`, "[0]", "string"},
		{`{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"number"}}`, "[1]", "number"},
		{`{"prefixItems":[{"type":"string"}],"items":{"type":"number"}}`, "[*]", "any"},
		{`{"type":"array","prefixItems":[{"type":"string"}],"items":false}`, "[1]", "no item"},
		{`{"items":{"properties":{"a":{"type":"null"}}}}`, "[*].a", "null"},
		{`{"properties":{"0":{"type":"string"}},"items":{"type":"number"}}`, "[0]", "any"},
		{`{"type":"object","properties":{"0":{"type":"string"}}}`, "[0]", "string"},
		{`{"type":"object","properties":{"n":{"$ref":"#"},"v":{"type":"integer"}}}`, "n.n.n.v", "integer"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"array","items":[{"type":"string"}],"additionalItems":{"type":"number"}}`, "[2]", "number"},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"$ref":"#/definitions/d","type":"null"}},"definitions":{"d":{"type":"string"}}}`, "a", "string"},
	} {
		s := schemaContract(t, c.schema).schema
		f, err := s.newField(c.field)
		got := f.kinds.String()
		switch {
		case err != nil && strings.Contains(err.Error(), "does not know this field"):
			got = "unknown"
		case err != nil && strings.Contains(err.Error(), "allows no item"):
			got = "no item"
		case err != nil:
			got = err.Error()
		case f.kinds == anyKind:
			got = "any"
		}
		if got != c.want {
			t.Errorf("%s: %s is %s, want %s", c.schema, c.field, got, c.want)
		}
	}
}
