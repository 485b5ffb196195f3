package contract

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// nested is {"c":{"c":...{}}}, n deep.
func nested(n int) string {
	return strings.Repeat(`{"c":`, n) + "{}" + strings.Repeat("}", n)
}

// TestTraps judges texts and schemas that cost a judge without bounds seconds to forever. Each must end within two
// seconds, most far below, in a verdict or in an error.
func TestTraps(t *testing.T) {
	list := func(n int, item func(int) string) string {
		items := make([]string, n)
		for i := range items {
			items[i] = item(i)
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	number := func(i int) string { return fmt.Sprint(i) }
	branching := func(keyword, inner string) string {
		return fmt.Sprintf(`{"$defs":{"n":{"%s":[{"properties":{"c":{"$ref":"#/$defs/n"}},"required":["x"]},
			{"properties":{"c":{"$ref":"#/$defs/n"}}%s}]}},"$ref":"#/$defs/n"}`, keyword, inner)
	}
	twice := `{"$defs":{"n":{"type":["array","number"],"maximum":1,"items":{"$ref":"#/$defs/n"},"contains":{"$ref":"#/$defs/n"}}},"not":{"$ref":"#/$defs/n"}}`
	cases := []struct {
		name, schema, text string
		want               Class // "" for an error
	}{
		{"anyOf", branching("anyOf", ""), nested(60), ""},
		{"oneOf", branching("oneOf", ""), nested(60), ""},
		{"oneOf of equals", branching("oneOf", `,"required":["y"]`), nested(60), ""},
		{"not in bool mode", twice, strings.Repeat("[", 60) + "2" + strings.Repeat("]", 60), ""},
		{"shallow anyOf", branching("anyOf", ""), nested(8), OK},
		{"huge number", `{"type":"integer","maximum":1}`, `1e1000001`, NumberOutRange},
		{"largest numbers", `{"items":{"multipleOf":1e-4096,"maximum":1e4096}}`, list(100_000, func(int) string { return "1.5e-4096" }), ""},
		{"largest integers", `{"items":{"type":"integer"}}`, list(100_000, func(int) string { return "1e4096" }), OK},
		{"million deep", `{"type":"array"}`, strings.Repeat("[", 1_000_000), TooDeep},
		{"uniqueItems", `{"uniqueItems":true}`, list(100_000, number), OK},
		{"uniqueItems of lists", `{"uniqueItems":true}`, list(100_000, func(i int) string { return fmt.Sprintf(`[%d,"a"]`, i) }), OK},
		{"uniqueItems, last twice", `{"uniqueItems":true}`, list(100_000, func(i int) string { return fmt.Sprint(i % 99_999) }), SchemaInvalid},
		{"multipleOf", `{"items":{"multipleOf":1e4096}}`, list(1000, func(int) string { return "1e4096" }), OK},
		{"large enum", `{"items":{"enum":` + list(50_000, number) + `}}`, list(100_000, func(i int) string { return fmt.Sprint(i % 50_000) }), OK},
		{"large enum, objects", `{"items":{"enum":` + list(20_000, func(i int) string { return fmt.Sprintf(`{"a":%d}`, i) }) + `}}`,
			list(50_000, func(int) string { return `{"a":20000}` }), SchemaInvalid},
		{"repetition in a pattern", `{"pattern":"^(a?){500}(a?b?){400}c$"}`, `"` + strings.Repeat("a", 1<<20) + `"`, ""},
		{"simple pattern", `{"pattern":"^[a-z ]+$"}`, `"` + strings.Repeat("a ", 1<<19) + `"`, OK},
		{"many faults", `{"items":{"type":"string"}}`, list(50_000, number), SchemaInvalid},
		{"too many faults", `{"items":{"type":"string"}}`, list(4_000_000, func(int) string { return "1" }), ""},
		{"regex of a model", `{"format":"regex"}`, `"` + strings.Repeat("(a{1000}){1000}", 100_000) + `"`, SchemaInvalid},
		{"many names", `{"propertyNames":{"pattern":"^k"}}`, "{" + strings.TrimSuffix(strings.ReplaceAll(manyKeys(50_000), `{"type":"null"}`, "1"), ",") + "}", OK},
		{"many unevaluated", `{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}],"$defs":{"a":{"patternProperties":{"^x":true}}},"unevaluatedProperties":true}`,
			"{" + strings.TrimSuffix(strings.ReplaceAll(manyKeys(50_000), `{"type":"null"}`, "1"), ",") + "}", OK},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			contract := schemaContract(t, c.schema)
			v := contract.Judge([]byte(c.text)) // the work budget bounds it; without the bound the test would not end
			if c.want == "" && !errors.Is(v.Err, ErrBudget) || v.Class != c.want || c.want != "" && v.Err != nil || v.Valid() != (c.want == OK) {
				t.Errorf("class %q, error %v, %.3v", v.Class, v.Err, shown(v.Findings[:min(3, len(v.Findings))]))
			}
		})
	}
}

func TestTooManyFindingsAreCounted(t *testing.T) {
	text := "[" + strings.TrimSuffix(strings.Repeat("1,", 1500), ",") + "]"
	v := schemaContract(t, `{"items":{"type":"string"}}`).Judge([]byte(text))
	if len(v.Findings) != maxFindings || v.Omitted != 500 || v.Class != SchemaInvalid {
		t.Errorf("%d findings, %d omitted, class %q", len(v.Findings), v.Omitted, v.Class)
	}
}

func TestTooLarge(t *testing.T) {
	c := mustCompile(t, Spec{Mode: "json", MaxBytes: 4})
	if v := c.Judge([]byte(`12345`)); !errors.Is(v.Err, ErrTooLarge) || v.Valid() || v.Class != "" {
		t.Errorf("verdict %+v", v)
	}
	if v := c.Judge([]byte(`1234`)); !v.Valid() {
		t.Errorf("verdict %+v", v)
	}
}

// TestPanicIsNoVerdict breaks a judge from inside.
func TestPanicIsNoVerdict(t *testing.T) {
	c := &Contract{mode: "json_schema", maxBytes: 100, schema: &schema{doc: func() {}}}
	if v := c.Judge([]byte(`{}`)); v.Err == nil || v.Valid() {
		t.Errorf("verdict %+v", v)
	}
	c.schema.judges.Put(&judge{})
	if v := c.Judge([]byte(`{}`)); v.Err == nil || v.Valid() {
		t.Errorf("verdict %+v", v)
	}
}

// TestConcurrentJudging judges cheap and endless texts by one contract at once: budgets must not mix.
func TestConcurrentJudging(t *testing.T) {
	c := schemaContract(t, `{"$defs":{"n":{"anyOf":[{"properties":{"c":{"$ref":"#/$defs/n"}},"required":["x"]},
		{"properties":{"c":{"$ref":"#/$defs/n"},"v":{"type":"string"}}}]}},"$ref":"#/$defs/n"}`)
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			if i == 0 {
				if v := c.Judge([]byte(nested(60))); !errors.Is(v.Err, ErrBudget) {
					t.Errorf("endless: %+v", v)
				}
				return
			}
			for range 100 {
				if v := c.Judge([]byte(`{"c":{"v":"x"}}`)); !v.Valid() {
					t.Errorf("valid: %+v", v)
				}
				if v := c.Judge([]byte(`{"c":{"v":1}}`)); v.Class != SchemaInvalid {
					t.Errorf("invalid: %+v", v)
				}
			}
		})
	}
	wg.Wait()
}
