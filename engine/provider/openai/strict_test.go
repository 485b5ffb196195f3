package openai

import (
	"fmt"
	"strings"
	"testing"
)

func TestFitsStrict(t *testing.T) {
	const object = `"type":"object","additionalProperties":false`
	fits := map[string]string{
		"empty object": `{` + object + `}`,
		"nested":       `{"$schema":"x",` + object + `,"title":"t","properties":{"a":{"type":["string","null"],"description":"d"},"b":{"type":"array","items":{"enum":[1],"type":"integer"}}},"required":["b","a"]}`,
		"recursive":    `{` + object + `,"properties":{"kids":{"type":"array","items":{"$ref":"#"}},"n":{"$ref":"#/$defs/n~1a"}},"required":["kids","n"],"$defs":{"n/a":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/n~1a"}]}}}`,
	}
	for name, schema := range fits {
		if ok, why := FitsStrict([]byte(schema)); !ok {
			t.Errorf("%s does not fit: %q", name, why)
		}
	}
	misfits := []struct{ schema, why string }{
		{`{"type"`, "not a JSON object"},
		{`true`, "not a JSON object"},
		{`{"type":"array","items":{"type":"string"}}`, "/: the root is not of type object"},
		{`{` + object + `,"anyOf":[]}`, "/: the root has anyOf"},
		{`{"type":"object"}`, "/: additionalProperties is not false"},
		{`{` + object + `,"properties":{"a/b":{"type":"string"}}}`, "/properties/a~1b: is not in required"},
		{`{` + object + `,"properties":{"a":{"type":"string","maxLength":3}},"required":["a"]}`, "/properties/a/maxLength: strict mode does not carry"},
		{`{` + object + `,"properties":{"a":{}},"required":["a"]}`, "/properties/a: has neither type nor anyOf"},
		{`{` + object + `,"properties":{"a":true},"required":["a"]}`, "/properties/a: is not an object schema"},
		{`{` + object + `,"properties":{"a":{"type":"array"}},"required":["a"]}`, "/properties/a: is an array without"},
		{`{` + object + `,"properties":{"a":{"$ref":"#/$defs/x"}},"required":["a"]}`, "/properties/a/$ref: does not name"},
		{`{` + object + `,"properties":{"a":{"$ref":"http://x"}},"required":["a"]}`, "/properties/a/$ref: does not name"},
		{`{` + object + `,"properties":{"a":{"$ref":"#","title":"t"}},"required":["a"]}`, "/properties/a/title: stands beside $ref"},
		{`{` + object + `,"properties":{"a":{"anyOf":[{"type":"object"}]}},"required":["a"]}`, "/properties/a/anyOf/0: additionalProperties"},
		{deep(12), "nested deeper than 10"},
	}
	for _, c := range misfits {
		ok, why := FitsStrict([]byte(c.schema))
		if ok || !strings.Contains(strings.Join(why, "\n"), c.why) {
			t.Errorf("%s: fits %v because %q; want %q", c.schema, ok, why, c.why)
		}
	}
}

func deep(n int) string {
	schema := `{"type":"string"}`
	for range n {
		schema = `{"type":"object","properties":{"a":` + schema + `},"required":["a"],"additionalProperties":false}`
	}
	return schema
}

func TestMemoIsBounded(t *testing.T) {
	var m memo
	for i := range 10 * memoSize {
		schema := fmt.Appendf(nil, `{"type":"object","additionalProperties":false,"title":"%d"}`, i)
		for range 2 {
			if facts := m.of(schema); !facts.strict || !facts.wellFormed {
				t.Fatalf("%s: %+v", schema, facts)
			}
		}
	}
	if len(m.known) > memoSize {
		t.Errorf("the memo holds %d schemas", len(m.known))
	}
}
