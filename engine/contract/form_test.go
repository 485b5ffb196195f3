package contract

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestShapes: the shape that a finding asks for, and the example that the schema gives of it.
func TestShapes(t *testing.T) {
	for _, c := range []struct{ name, schema, text, shape, example string }{
		{"plain", `{"properties":{"a":{"type":"integer","default":3}}}`, `{"a":"x"}`, `{"type":"integer","default":3}`, `3`},
		{"const first", `{"const":"k","examples":["x"],"default":"y"}`, `1`, `{"const":"k","examples":["x"],"default":"y"}`, `"k"`},
		{"enum before examples", `{"enum":["e","f"],"examples":["f"]}`, `1`, `{"enum":["e","f"],"examples":["f"]}`, `"e"`},
		{"an example that breaks the shape is not shown", `{"type":"number","examples":["4 USD",4.25]}`, `"4 USD"`,
			`{"type":"number","examples":["4 USD",4.25]}`, `4.25`},
		{"no valid example", `{"type":"number","default":"none"}`, `"x"`, `{"type":"number","default":"none"}`, ``},
		{"enum that its sibling forbids", `{"type":"string","enum":[1],"default":"x"}`, `true`, `{"type":"string","enum":[1],"default":"x"}`, ``},
		{"null is an example", `{"type":["integer","null"],"default":null}`, `"x"`, `{"type":["integer","null"],"default":null}`, `null`},
		{"required key", `{"required":["a"],"properties":{"a":{"type":"string","examples":["x"]}}}`, `{}`,
			`{"type":"string","examples":["x"]}`, `"x"`},
		{"required key by reference", `{"required":["a"],"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"$ref":"#/$defs/m"},"m":{"minimum":1,"default":2}}}`,
			`{}`, `{"minimum":1,"default":2}`, `2`},
		{"reference with a description", `{"required":["a"],"properties":{"a":{"$ref":"#/$defs/d","description":"a day"}},
			"$defs":{"d":{"type":"string","format":"date","description":"any","examples":["2026-03-15"]}}}`, `{}`,
			`{"description": "a day", "type": "string", "format": "date", "examples": ["2026-03-15"]}`, `"2026-03-15"`},
		{"reference with a constraint stays", `{"required":["a"],"properties":{"a":{"$ref":"#/$defs/d","maxLength":2}},"$defs":{"d":{"type":"string"}}}`,
			`{}`, `{"$ref":"#/$defs/d","maxLength":2}`, ``},
		{"an example is judged through references", `{"required":["a"],"properties":{"a":{"$ref":"#/$defs/d","maxLength":2,"examples":["xyz",1,"xy"]}},
			"$defs":{"d":{"type":"string"}}}`, `{}`, `{"$ref":"#/$defs/d","maxLength":2,"examples":["xyz",1,"xy"]}`, `"xy"`},
		{"anchor", `{"required":["a"],"properties":{"a":{"$ref":"#day"}},"$defs":{"d":{"$anchor":"day","type":"string"}}}`, `{}`,
			`{"$anchor":"day","type":"string"}`, ``},
		{"pattern", `{"required":["x-a"],"patternProperties":{"^x-":{"type":"boolean"}}}`, `{}`, `{"type":"boolean"}`, ``},
		{"additional", `{"required":["a"],"additionalProperties":{"type":"null"}}`, `{}`, `{"type":"null"}`, ``},
		{"nothing known", `{"required":["a"]}`, `{}`, ``, ``},
		{"required in a branch of its own", `{"properties":{"a":{"minimum":5}},"allOf":[{"required":["a"]}]}`, `{}`, `{"minimum":5}`, ``},
		{"several branches know the key", `{"required":["a"],"anyOf":[{"properties":{"a":{"minimum":5}}},{"properties":{"a":{"maximum":2}}}]}`, `{}`, ``, ``},
		{"dependentRequired", `{"dependentRequired":{"a":["b"]},"properties":{"b":{"type":"string"}}}`, `{"a":1}`, `{"type":"string"}`, ``},
		{"deep", `{"properties":{"l":{"items":{"required":["p"],"properties":{"p":{"const":1.50}}}}}}`, `{"l":[{"p":1.5},{}]}`, `{"const":1.50}`, `1.50`},
		{"extra key", `{"additionalProperties":false}`, `{"a":1}`, ``, ``},
		{"forbidden key", `{"properties":{"a":false}}`, `{"a":1}`, ``, ``},
		{"bad name", `{"propertyNames":{"maxLength":1},"additionalProperties":{"type":"null"}}`, `{"ab":null}`, ``, ``},
		{"union", `{"anyOf":[{"minimum":1},{"maximum":0}],"default":7}`, `0.5`, `{"anyOf":[{"minimum":1},{"maximum":0}],"default":7}`, `7`},
		{"recursive", `{"$ref":"#/$defs/n","$defs":{"n":{"required":["n"],"properties":{"n":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/n"}]}}}}}`, `{}`,
			`{"anyOf":[{"type":"null"},{"$ref":"#/$defs/n"}]}`, ``},
		{"scan", `{}`, `{`, ``, ``},
	} {
		v := schemaContract(t, c.schema).Judge([]byte(c.text))
		if len(v.Findings) != 1 {
			t.Errorf("%s: findings %v, error %v", c.name, shown(v.Findings), v.Err)
			continue
		}
		if f := v.Findings[0]; string(f.Shape) != c.shape || string(f.Example) != c.example {
			t.Errorf("%s: shape %s, example %s; want %s, %s", c.name, f.Shape, f.Example, c.shape, c.example)
		}
		if f := v.Findings[0]; f.Shape != nil && !json.Valid(f.Shape) {
			t.Errorf("%s: the shape is no JSON", c.name)
		}
	}
}

// TestExampleIsBounded: an example whose check costs too much is not shown, and the verdict stands.
func TestExampleIsBounded(t *testing.T) {
	for doublings, want := range map[int]string{3: `"x"`, 20: ``} {
		c := schemaContract(t, fmt.Sprintf(`{"properties":{"a":{"$ref":"#/$defs/x","default":"x"}},"required":["a"],"$defs":{"x":%s}}`,
			strings.ReplaceAll(doubling(doublings), "#/", "#/$defs/x/")))
		v := c.Judge([]byte(`{}`))
		if v.Err != nil || len(v.Findings) != 1 || v.Findings[0].Shape == nil || string(v.Findings[0].Example) != want {
			t.Errorf("%d doublings: error %v, findings %+v", doublings, v.Err, v.Findings)
		}
	}
}

// doubling is a schema of texts that applies its innermost sub-schema two to the n times.
func doubling(n int) string {
	var defs strings.Builder
	defs.WriteString(`"d0":{"type":"string"}`)
	for i := range n {
		fmt.Fprintf(&defs, `,"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i+1, i, i)
	}
	return fmt.Sprintf(`{"$ref":"#/$defs/d%d","$defs":{%s}}`, n, defs.String())
}

func TestPath(t *testing.T) {
	for _, c := range []struct{ schema, text, want string }{
		{`{"required":[""]}`, `{}`, "/"},
		{`{"additionalProperties":false}`, `{"":1}`, "/"},
		{`{"required":["a/b"]}`, `{}`, "/a~1b"},
		{`{"items":{"dependentRequired":{"a":[""]}}}`, `[{"a":1}]`, "/0/"},
		{`{"propertyNames":{"minLength":1}}`, `{"":1}`, "/"},
		{`{"properties":{"":{"type":"string"}}}`, `{"":1}`, "/"},
		{`{"type":"object"}`, `1`, ""},
	} {
		v := schemaContract(t, c.schema).Judge([]byte(c.text))
		if len(v.Findings) != 1 || v.Findings[0].Path() != c.want {
			t.Errorf("%s: %+v, want %q", c.schema, v.Findings, c.want)
		}
	}
	twice := mustCompile(t, Spec{Mode: "json"}).Judge([]byte(`{"":1,"":2}`))
	if got := twice.Findings[0].Path(); got != "/" {
		t.Errorf("duplicate key at %q", got)
	}
}

// TestReportedShapes: cases of reports.jsonl in which the shape, or what is said once for each fault, matters.
func TestReportedShapes(t *testing.T) {
	shapes := map[string]string{
		"L03": `{"type": "string"}`, "S05": `{"type": "string", "pattern": "^a+$", "maxLength": 2}`,
		"S11":    `{"type": ["string", "null"], "not": {"const": "null"}}`,
		"L01.c0": `{"type": "integer"}`, "L06.c0": `{"enum": ["X", "Y"]}`,
	}
	examples := map[string]string{"L06.c0": `"X"`}
	for _, c := range recordedTexts(t) {
		want, ok := shapes[c.ID]
		if !ok {
			continue
		}
		delete(shapes, c.ID)
		text := strings.Replace(c.Text, "<10k chars>", strings.Repeat("x", 10_000), 1)
		v := mustCompile(t, c.spec()).Judge([]byte(text))
		said := 0
		for _, f := range v.Findings {
			said += len(f.Message) + len(f.Value)
			if string(f.Shape) != want || string(f.Example) != examples[c.ID] {
				t.Errorf("%s at %s: shape %s, example %s", c.ID, f.Path(), f.Shape, f.Example)
			}
		}
		if len(v.Findings) == 0 || said > 4000 {
			t.Errorf("%s: %d findings say %d bytes", c.ID, len(v.Findings), said)
		}
	}
	if len(shapes) > 0 {
		t.Errorf("not recorded: %v", shapes)
	}
}
