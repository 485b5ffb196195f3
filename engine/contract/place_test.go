package contract

import (
	"slices"
	"strings"
	"testing"
)

// placesText lists parts as their pointers, those of branches with a question mark.
func placesText(parts []part) string {
	var out []string
	for _, p := range parts {
		tokens, _ := location(p.Location)
		text := pointer(tokens)
		if !p.certain {
			text += "?"
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// TestParts: which sub-schemas speak about a value, and for certain.
func TestParts(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`{}`, ""},
		{`{"allOf":[{"$ref":"#/$defs/a"},{}],"$defs":{"a":{"anyOf":[{}]}}}`, " /allOf/0 /$defs/a /allOf/1 /$defs/a/anyOf/0?"},
		{`{"anyOf":[{"allOf":[{}]}],"oneOf":[{}]}`, " /anyOf/0? /anyOf/0/allOf/0? /oneOf/0?"},
		{`{"not":{"allOf":[{}]}}`, ""},
		{`{"if":{},"then":{},"else":{}}`, " /if? /then? /else?"},
		{`{"dependentSchemas":{"b":{},"a":{}}}`, " /dependentSchemas/a? /dependentSchemas/b?"},
		{`{"anyOf":[{"$ref":"#/$defs/a"}],"$ref":"#/$defs/a","$defs":{"a":{}}}`, " /$defs/a /anyOf/0?"},
		{`{"$dynamicRef":"#x","$defs":{"a":{"$dynamicAnchor":"x"}}}`, " /$defs/a?"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/a","allOf":[{}],"definitions":{"a":{}}}`, " /definitions/a"},
	} {
		s := schemaContract(t, c.schema).schema
		if got := placesText(inPlaceOf([]part{{s.top, true}})); got != c.want {
			t.Errorf("%s: %q, want %q", c.schema, got, c.want)
		}
	}
}

// TestMember: what schemas say of the key a, and whether they let it stand.
func TestMember(t *testing.T) {
	for _, c := range []struct {
		schema, want string
		ok           bool
	}{
		{`{"properties":{"a":{}}}`, "/properties/a", true},
		{`{"properties":{"a":{}},"patternProperties":{"a":{},"^.$":{},"b":{}}}`, "/patternProperties/^.$ /patternProperties/a /properties/a", true},
		{`{"additionalProperties":{}}`, "/additionalProperties", true},
		{`{"additionalProperties":true,"properties":{"b":{}}}`, "", true},
		{`{"additionalProperties":false}`, "", false},
		{`{"unevaluatedProperties":{},"properties":{"b":{}}}`, "/unevaluatedProperties", true},
		{`{"unevaluatedProperties":false,"properties":{"b":{}}}`, "", false},
		{`{"properties":{"b":{}}}`, "", false},
		{`{"patternProperties":{"^b":{}}}`, "", false},
		{`{"required":["a"]}`, "", true},
		{`{"properties":{"a":false}}`, "", false},
		{`{"properties":{"a":true}}`, "/properties/a", true},
		{`{"anyOf":[{"properties":{"a":{}}},{"properties":{"a":false}}]}`, "/anyOf/0/properties/a? /anyOf/1/properties/a?", true},
		{`{"allOf":[{"properties":{"a":{}}},{"additionalProperties":false}]}`, "", false},
		{`{"anyOf":[{"additionalProperties":false},{"properties":{"b":{}}}]}`, "", false},
	} {
		s := schemaContract(t, c.schema).schema
		next, ok := member([]part{{s.top, true}}, "a")
		if got := placesText(next); got != c.want || ok != c.ok {
			t.Errorf("%s: %q, %t; want %q, %t", c.schema, got, ok, c.want, c.ok)
		}
	}
}

// TestItem: what schemas say of the second item, and of every item.
func TestItem(t *testing.T) {
	const draft7 = `"$schema":"http://json-schema.org/draft-07/schema#",`
	for _, c := range []struct{ schema, second, every string }{
		{`{"items":{}}`, "/items", "/items"},
		{`{"prefixItems":[{}],"items":{}}`, "/items", "/prefixItems/0? /items?"},
		{`{"prefixItems":[{},{}]}`, "/prefixItems/1", "/prefixItems/0? /prefixItems/1?"},
		{`{"prefixItems":[{}],"items":false}`, "none", "/prefixItems/0?"},
		{`{"unevaluatedItems":{}}`, "/unevaluatedItems", "/unevaluatedItems"},
		{`{` + draft7 + `"items":{}}`, "/items", "/items"},
		{`{` + draft7 + `"items":[{}],"additionalItems":{}}`, "/additionalItems", "/items/0? /additionalItems?"},
		{`{"anyOf":[{"items":{}},{"maxItems":1}]}`, "/anyOf/0/items?", "/anyOf/0/items?"},
		{`{}`, "", ""},
	} {
		s := schemaContract(t, c.schema).schema
		next, ok := item([]part{{s.top, true}}, 1)
		second := placesText(next)
		if !ok {
			second = "none"
		}
		every, ok := item([]part{{s.top, true}}, -1)
		if got := placesText(every); second != c.second || got != c.every || !ok {
			t.Errorf("%s: %q and %q, want %q and %q", c.schema, second, got, c.second, c.every)
		}
	}
}

// TestSchemaAt: the sub-schema of a place, if one can be named.
func TestSchemaAt(t *testing.T) {
	for _, c := range []struct{ schema, place, want string }{
		{`{"properties":{"a":{"items":{"properties":{"b":{}}}}}}`, "a 3 b", "/properties/a/items/properties/b"},
		{`{"properties":{"1":{}},"items":{"type":"null"}}`, "1", "/properties/1"},
		{`{"anyOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}]}`, "a", "/anyOf/0/properties/a"},
		{`{"anyOf":[{"properties":{"a":{}}},{"properties":{"a":{}}}]}`, "a", "none"},
		{`{"anyOf":[{"properties":{"a":{}}}],"allOf":[{"properties":{"a":{}}}]}`, "a", "/allOf/0/properties/a"},
		{`{"properties":{"a":{}}}`, "b", "none"},
		{`{"$ref":"#/$defs/n","$defs":{"n":{"properties":{"n":{"$ref":"#/$defs/n"},"v":{}}}}}`, "n n n v", "/$defs/n/properties/v"},
	} {
		s := schemaContract(t, c.schema).schema
		got := "none"
		if at := s.schemaAt(strings.Fields(c.place)); at != nil {
			tokens, _ := location(at.Location)
			got = pointer(tokens)
		}
		if got != c.want {
			t.Errorf("%s at %s: %s, want %s", c.schema, c.place, got, c.want)
		}
	}
}

func TestNamesOf(t *testing.T) {
	s := schemaContract(t, `{"properties":{"b":{},"a":{}},"anyOf":[{"properties":{"c":{}}}],"not":{"properties":{"d":{}}}}`).schema
	if got := namesOf([]part{{s.top, true}}); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("%q", got)
	}
}

// TestNearestField: what a message proposes for a name that the schema does not know.
func TestNearestField(t *testing.T) {
	many := `{"properties":{`
	for i := range maxKnown + 1 {
		many += `"field` + strings.Repeat("x", i) + `":{},`
	}
	many = strings.TrimSuffix(many, ",") + `}}`
	for _, c := range []struct{ schema, name, want string }{
		{`{"properties":{"confidence":{},"verdict":{}}}`, "confidnce", "; did you mean confidence?"},
		{`{"properties":{"confidence":{},"verdict":{}}}`, "Verdict", "; did you mean verdict?"},
		{`{"properties":{"confidence":{},"verdict":{}}}`, "total", "; known there are confidence, verdict"},
		{`{"additionalProperties":false}`, "total", "; correct the path or add it to the schema"},
		{many, "something", "; correct the path or add it to the schema"},
	} {
		s := schemaContract(t, c.schema).schema
		if got := nearestField([]part{{s.top, true}}, nil, c.name); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
