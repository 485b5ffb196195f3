package pipeline

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func raws(values ...string) (out []json.RawMessage) {
	for _, v := range values {
		out = append(out, json.RawMessage(v))
	}
	return out
}

func expression(t *testing.T, source string, names ...string) *Expression {
	t.Helper()
	e, err := CompileExpression(source, false, names...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestMerge(t *testing.T) {
	for name, c := range map[string]struct {
		combine Combine
		outputs []json.RawMessage
		want    string
	}{
		"lists":               {Combine{By: ByConcatenate}, raws(`[1,2]`, `[]`, `[3]`), `[1,2,3]`},
		"values":              {Combine{By: ByConcatenate}, raws(`{"a":1}`, `2`), `[{"a":1},2]`},
		"texts":               {Combine{By: ByConcatenate, Separator: "\n"}, raws(`"a<b>"`, `"c"`), `"a<b>\nc"`},
		"under a member":      {Combine{By: ByConcatenate, At: []string{"x", "y"}}, raws(`{"x":{"y":[1]}}`, `{"x":{"y":[2,2.0]}}`), `[1,2,2.0]`},
		"all lists are empty": {Combine{By: ByConcatenate}, raws(`[]`, `[]`), `[]`},
		"unique by value":     {Combine{By: ByUnique}, raws(`[1,1.0,{"a":1,"b":2}]`, `[{"b":2,"a":1e0},"1"]`), `[1,{"a":1,"b":2},"1"]`},
		"unique by key":       {Combine{By: ByUnique, Key: [][]string{{"n"}, {"o", "p"}}}, raws(`[{"n":1,"o":{"p":1}},{"n":1,"o":{"p":2}}]`, `[{"n":1.0,"o":{"p":1},"late":true},{"n":1},{"n":1}]`), `[{"n":1,"o":{"p":1}},{"n":1,"o":{"p":2}},{"n":1},{"n":1}]`},
		"sorted":              {Combine{By: BySort}, raws(`["b",10,9,true]`, `[null,"a",false,[1]]`), `[null,false,true,9,10,"a","b",[1]]`},
		"sorted by keys":      {Combine{By: BySort, Key: [][]string{{"d"}, {"n"}}}, raws(`[{"n":2,"d":1},{"n":1,"d":1},{"n":0}]`, `[{"n":3,"d":0.5}]`), `[{"n":3,"d":0.5},{"n":1,"d":1},{"n":2,"d":1},{"n":0}]`},
		"sorted down, stable": {Combine{By: BySort, Key: [][]string{{"d"}}, Descending: true}, raws(`[{"d":1,"i":1},{"d":2},{"d":1,"i":2},{}]`), `[{"d":2},{"d":1,"i":1},{"d":1,"i":2},{}]`},
		"cel":                 {Combine{By: ByCEL, Expression: expression(t, `{"n": size(items), "all": items.map(i, i.v).flatten()}`, VarItems)}, raws(`{"v":[1,0.1]}`, `{"v":[9007199254740993]}`), `{"all":[1,0.1,9007199254740993],"n":2}`},
	} {
		got, err := c.combine.Merge(c.outputs)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s %v, want %s", name, got, err, c.want)
		}
	}
}

func TestMergeThatCannotBeMade(t *testing.T) {
	for want, c := range map[string]struct {
		combine Combine
		outputs []json.RawMessage
	}{
		"there is nothing to merge":              {Combine{By: ByConcatenate}, nil},
		"output 2: it has no x":                  {Combine{By: ByConcatenate, At: []string{"x"}}, raws(`{"x":[]}`, `{}`)},
		"output 1: its x is no list":             {Combine{By: ByUnique, At: []string{"x"}}, raws(`{"x":1}`)},
		"evaluated on these values: no such key": {Combine{By: ByCEL, Expression: expression(t, "items[0].secret", VarItems)}, raws(`{"a":1}`)},
		"more digits than an expression keeps":   {Combine{By: ByCEL, Expression: expression(t, "items[0]", VarItems)}, raws(`0.12345678901234567890123`)},
		"cost limit exceeded":                    {Combine{By: ByCEL, Expression: expression(t, "items.map(a, items.map(b, items.map(c, 1)))", VarItems)}, raws(strings.Split(strings.Repeat("1 ", 200)+"1", " ")...)},
		"Timestamp, which has no JSON form":      {Combine{By: ByCEL, Expression: expression(t, "[timestamp('2026-01-01T00:00:00Z')]", VarItems)}, raws(`1`)},
		"keys are no texts":                      {Combine{By: ByCEL, Expression: expression(t, "{1: 2}", VarItems)}, raws(`1`)},
		"makes a number that JSON has not":       {Combine{By: ByCEL, Expression: expression(t, "1.0 / 0.0", VarItems)}, raws(`1`)},
	} {
		got, err := c.combine.Merge(c.outputs)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s %v, want %s", got, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows what values hold: %v", err)
		}
	}
}

func TestApply(t *testing.T) {
	for want, c := range map[string]Combine{
		`[1,2,3]`: {By: BySort}, `[3,1,2]`: {By: ByUnique}, `3`: {By: ByCEL, Expression: expression(t, "size(merged.distinct())", VarMerged)},
	} {
		if got, err := c.Apply(json.RawMessage(`[3,1,2]`)); err != nil || string(got) != want {
			t.Errorf("%+v: %s %v", c, got, err)
		}
	}
}

func TestExpressionsThatAreRefused(t *testing.T) {
	for source, want := range map[string]string{
		"itms":                     "it may name items, merged",
		"items +":                  "line 1",
		"size(items)":              "it must be true or false",
		strings.Repeat("1+", 9999): "expression",
	} {
		if _, err := CompileExpression(source, true, VarItems, VarMerged); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: %v, want %s", source, err, want)
		}
	}
	e, err := CompileExpression("items", true, VarItems)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.holds(json.RawMessage("1")); err == nil {
		t.Error("1 holds")
	}
	if e.String() != "items" {
		t.Error(e)
	}
}

// Outputs are concatenated as if each were decoded.
func TestConcatenatedIsMerged(t *testing.T) {
	value := rapid.SampledFrom([]string{`[]`, ` [ ] `, `[1, "a b"]`, `[[], [2]]`, `{"a": [ ]}`, `"t"`, `null`, `[null]`, "[\n{\"b\": 1.50}\n]"})
	rapid.Check(t, func(rt *rapid.T) {
		var outputs, entries []json.RawMessage
		for _, text := range rapid.SliceOfN(value, 1, 6).Draw(rt, "outputs") {
			outputs = append(outputs, json.RawMessage(text))
			of, err := (Combine{}).entries(json.RawMessage(text))
			if err != nil {
				rt.Fatal(err)
			}
			entries = append(entries, of...)
		}
		want, err := (Combine{}).arrange(entries)
		if err != nil {
			rt.Fatal(err)
		}
		if got, err := concatenated(outputs); err != nil || string(got) != string(want) {
			rt.Errorf("%s, %v; want %s", got, err, want)
		}
	})
	if _, err := concatenated([]json.RawMessage{json.RawMessage(`[1]`), json.RawMessage(`[`)}); err == nil || !strings.Contains(err.Error(), "output 2") {
		t.Errorf("%v", err)
	}
}
