package contract

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestSkippedUnderTypes: a field with a type finding, or under one, is not judged by a rule, whatever the schema says of
// it elsewhere.
func TestSkippedUnderTypes(t *testing.T) {
	const schema = `{"properties":{"k":{},"v":{"minimum":-5},"o":{},"l":{"type":"array","items":{"properties":{"v":{}}}}},
		"if":{"properties":{"k":{"const":"text"}}},
		"then":{"properties":{"v":{"type":"string"},"o":{"type":"string"},"l":{"items":{"properties":{"v":{"type":"string"}}}}}}}`
	for _, c := range []struct {
		rule Rule
		text string
		want string
	}{
		{bounded("v", Bounds{Min: "5"}), `{"k":"number","v":1}`, "m /v"},
		{bounded("v", Bounds{Min: "5"}), `{"k":"text","v":1}`, "skipped"},
		{bounded("o.x", Bounds{Min: "5"}), `{"k":"number","o":{"x":1}}`, "m /o/x"},
		{bounded("o.x", Bounds{Min: "5"}), `{"k":"text","o":{"x":1}}`, "skipped"},
		{bounded("l[*].v", Bounds{Min: "5"}), `{"k":"text","l":[{"v":1}]}`, "skipped"},
		{bounded("l[0].v", Bounds{Min: "5"}), `{"k":"number","l":[{"v":1}]}`, "m /l/0/v"},
		{Rule{CEL: "output.v >= 5"}, `{"k":"number","v":1}`, "m /v"},
		{Rule{CEL: "output.v >= 5"}, `{"k":"text","v":1}`, "skipped"},
		{Rule{CEL: "output.o.x >= 5"}, `{"k":"text","o":{"x":1}}`, "skipped"},
		{Rule{CEL: "l.all(i, i.v >= 5)"}, `{"k":"number","l":[{"v":1}]}`, "m /l"},
		{Rule{CEL: "l.all(i, i.v >= 5)"}, `{"k":"text","l":[{"v":"5"},{"v":1}]}`, "skipped"},
		{bounded("v", Bounds{Min: "5"}), `{"k":"number","v":-6}`, "m /v"}, // a finding of another kind does not skip
	} {
		c.rule.Message = "m"
		if got := ruleText(ruled(t, schema, c.rule).Judge([]byte(c.text))); got != c.want {
			t.Errorf("%+v on %s: %s, want %s", c.rule, c.text, got, c.want)
		}
	}
}

// TestRuleFindings: every field of the findings of rules, in the order of their places among those of the schema.
func TestRuleFindings(t *testing.T) {
	const schema = `{"properties":{"a":{"type":"integer","maximum":1,"default":0},"b":{"$ref":"#/$defs/d"},"secret":{"type":"object"}},
		"additionalProperties":{"type":"object"},"$defs":{"d":{"type":"string","examples":["long enough"]}}}`
	v := ruled(t, schema,
		Rule{Field: "b", Bounds: Bounds{MinLength: new(5)}},
		Rule{CEL: "a + 1 < 3", Message: "a is too large"},
		Rule{CEL: "size(output.own) > 1", Fields: []string{"own.list[1]", "b"}, Message: "own is too small"},
	).Judge([]byte(`{"b":"x" , "a":5,"own":{}}`))
	var got []string
	for _, f := range v.Findings {
		got = append(got, fmt.Sprintf("%s|%s|%s|%s|%s|%s|%s|%s|%s", f.Pointer, f.Masked, f.Keyword, f.Message, f.Value, f.Expected, f.Shape, f.Example,
			strings.Join(f.Fields, ",")))
		if f.Keyword == KeywordRule && (f.Schema != nil || f.Key != "" || f.Path() != f.Pointer) {
			t.Errorf("%+v", f)
		}
	}
	want := []string{
		`/a|/a|maximum|a breaks maximum 1: it is 5|5|1|{"type":"integer","maximum":1,"default":0}|0|`,
		`/a|/a|rule|a is too large|5|"a + 1 < 3"|{"type":"integer","maximum":1,"default":0}|0|/a`,
		`/b|/b|rule|b must be at least 5 characters, but has 1|"x"|{"field":"b","min_length":5}|{"type":"string","examples":["long enough"]}|"long enough"|/b`,
		`/own/list/1|/*/*/*|rule|own is too small||"size(output.own) > 1"|||/own/list/1,/b`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if v.Class != SchemaInvalid || v.Rules != (RuleCounts{Failed: 3}) {
		t.Errorf("%s, %+v", v.Class, v.Rules)
	}
}

// TestItemsOfLists: a rule with [*] over nested lists, with fields of the same item and of others.
func TestItemsOfLists(t *testing.T) {
	const schema = `{"properties":{"orders":{"type":"array","items":{"type":"object","properties":{"limit":{"type":"number"},"state":{"type":"string"},
		"lines":{"type":"array","items":{"type":"object","properties":{"price":{"type":"number"},"note":{"type":"string"}}}}}}}}}`
	rule := Rule{
		If:     []Clause{{Field: "orders[*].state", Bounds: Bounds{Values: raws(`"open"`, `"new"`)}}, {Field: "orders[*].limit", Bounds: Bounds{Min: "10"}}},
		Then:   []Clause{{Field: "orders[*].lines[*].price", Bounds: Bounds{Max: "10"}}},
		Fields: []string{"orders[*].lines[*].price", "orders[*].limit", "orders[*].lines[0].note"},
	}
	text := `{"orders":[
		{"state":"open","limit":10,"lines":[{"price":1},{"price":11}]},
		{"state":"done","limit":10,"lines":[{"price":99}]},
		{"state":"new","limit":9,"lines":[{"price":99}]},
		{"state":"new","limit":20,"lines":[{"price":99},{"note":"no price"}]},
		{"state":"new","lines":[{"price":99}]},
		{"state":"new","limit":20}]}`
	want := `orders[0].lines[1].price must be at most 10, but is 11, since orders[0].state is "open" and orders[0].limit is 10 ` +
		`/orders/0/lines/1/price,/orders/0/limit,/orders/0/lines/0/note; ` +
		`orders[3].lines[0].price must be at most 10, but is 99, since orders[3].state is "new" and orders[3].limit is 20 ` +
		`/orders/3/lines/0/price,/orders/3/limit,/orders/3/lines/0/note`
	if got := ruleText(ruled(t, schema, rule).Judge([]byte(text))); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func raws(list ...string) (out []json.RawMessage) {
	for _, s := range list {
		out = append(out, json.RawMessage(s))
	}
	return out
}
