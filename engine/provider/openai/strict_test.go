package openai

import (
	"fmt"
	"strings"
	"testing"

	"emend/engine/provider"
)

func TestFitsStrict(t *testing.T) {
	const object = `"type":"object","additionalProperties":false`
	fits := map[string]string{
		"empty object": `{` + object + `}`,
		"nested":       `{"$schema":"x",` + object + `,"title":"t","properties":{"a":{"type":["string","null"],"description":"d"},"b":{"type":"array","items":{"enum":[1],"type":"integer"}}},"required":["b","a"]}`,
		"recursive":    `{` + object + `,"properties":{"kids":{"type":"array","items":{"$ref":"#"}},"n":{"$ref":"#/$defs/n~1a"}},"required":["kids","n"],"$defs":{"n/a":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/n~1a"}]}}}`,
	}
	for name, schema := range fits {
		if c := Carry(nil, []byte(schema)); !c.Whole || c.Form != formStrict || string(c.Schema) != schema {
			t.Errorf("%s does not fit: %+v", name, c)
		}
	}
	misfits := []struct{ schema, why string }{
		{`{"type":"array","items":{"type":"string"}}`, "at the root: the root is not of type object"},
		{`{` + object + `,"anyOf":[]}`, "at the root: the root has anyOf"},
		{`{"type":"object"}`, "at the root: additionalProperties is not false"},
		{`{` + object + `,"properties":{"a/b":{"type":"string"}}}`, "at /properties/a~1b: is not in required"},
		{`{` + object + `,"properties":{"a":{"type":"string","maxLength":3}},"required":["a"]}`, "at /properties/a: strict mode does not carry maxLength"},
		{`{` + object + `,"properties":{"a":{}},"required":["a"]}`, "at /properties/a: has neither type nor anyOf"},
		{`{` + object + `,"properties":{"a":true},"required":["a"]}`, "at /properties/a: is not an object schema"},
		{`{` + object + `,"properties":{"a":{"type":"array"}},"required":["a"]}`, "at /properties/a: is an array without"},
		{`{` + object + `,"properties":{"a":{"$ref":"#/$defs/x"}},"required":["a"]}`, "at /properties/a: $ref does not name"},
		{`{` + object + `,"properties":{"a":{"$ref":"http://x"}},"required":["a"]}`, "at /properties/a: $ref does not name"},
		{`{` + object + `,"properties":{"a":{"$ref":"#","title":"t"}},"required":["a"]}`, "at /properties/a: title stands beside $ref"},
		{`{` + object + `,"properties":{"a":{"anyOf":[{"type":"object"}]}},"required":["a"]}`, "at /properties/a/anyOf/0: additionalProperties"},
		{deep(12), "nested deeper than 10"},
	}
	for _, c := range misfits {
		got := Carry(nil, []byte(c.schema))
		if got.Whole || got.Form != formLoose || string(got.Schema) != c.schema || !strings.Contains(strings.Join(got.Weakened, "\n"), c.why) {
			t.Errorf("%s: got %+v; want %q", c.schema, got, c.why)
		}
	}
}

// TestManyNamesFitStrict: a requester's schema may have thousands of names and references; each is looked up, not searched for.
func TestManyNamesFitStrict(t *testing.T) {
	var properties, required, defs []string
	for i := range 4000 {
		properties = append(properties, fmt.Sprintf(`"p%d":{"$ref":"#/$defs/d%d"}`, i, i))
		required = append(required, fmt.Sprintf(`"p%d"`, i))
		defs = append(defs, fmt.Sprintf(`"d%d":{"type":"string"}`, i))
	}
	schema := `{"type":"object","additionalProperties":false,"properties":{` + strings.Join(properties, ",") + `},"required":[` +
		strings.Join(required, ",") + `],"$defs":{` + strings.Join(defs, ",") + `}}`
	if c := Carry(nil, []byte(schema)); !c.Whole {
		t.Errorf("%q", c.Weakened)
	}
}

func deep(n int) string {
	schema := `{"type":"string"}`
	for range n {
		schema = `{"type":"object","properties":{"a":` + schema + `},"required":["a"],"additionalProperties":false}`
	}
	return schema
}

func TestCarryOfWhatIsNoSchema(t *testing.T) {
	for _, schema := range []string{`{"type"`, `true`, `[]`, ``, "{\"title\":\"\xff\"}"} {
		for _, strict := range []string{"auto", "never"} {
			got := Carry(map[string]any{"strict": strict}, []byte(schema))
			if got.Schema != nil || got.Form != provider.FormNone || got.Whole || len(got.Weakened) != 1 {
				t.Errorf("%q: %+v", schema, got)
			}
		}
	}
}

func TestStrictNeverEnforcesNothing(t *testing.T) {
	const schema = `{"type":"object","additionalProperties":false}`
	got := Carry(map[string]any{"strict": "never"}, []byte(schema))
	if got.Whole || got.Form != formLoose || string(got.Schema) != schema || len(got.Weakened) != 1 || !strings.Contains(got.Weakened[0], "strict is never") {
		t.Errorf("got %+v", got)
	}
}
