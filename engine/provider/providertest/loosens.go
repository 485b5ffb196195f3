package providertest

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"emend/engine/contract"
	"emend/engine/provider"
	"emend/schemas"
)

// Loosens checks that a dialect whose provider takes any object never makes a schema narrower: whatever the original allows
// is allowed by what goes out, or the model could not give an answer that is right. It draws schemas and values.
func Loosens(t *testing.T, carry provider.Carry) {
	rapid.Check(t, func(rt *rapid.T) {
		schema := drawRoot(rt)
		original, err := contract.Compile(contract.Spec{Mode: schemas.ModeJSONSchema, Schema: schema})
		if err != nil {
			return // drawn schemas may refer to themselves in place
		}
		carried := carry(nil, schema)
		if carried.Schema == nil {
			rt.Fatalf("%s is not carried: %q", schema, carried.Weakened)
		}
		wire, err := contract.Compile(contract.Spec{Mode: schemas.ModeJSONSchema, Schema: carried.Schema})
		if err != nil {
			rt.Fatalf("%s became %s: %v", schema, carried.Schema, err)
		}
		for range 20 {
			value := encode(rt, drawValue(rt, 3))
			if original.Judge(value).Class == contract.OK && wire.Judge(value).Class != contract.OK {
				rt.Fatalf("%s\nbecame %s\nwhich refuses %s", schema, carried.Schema, value)
			}
		}
	})
}

func encode(rt *rapid.T, v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		rt.Fatal(err)
	}
	return raw
}

type object = map[string]any

func drawRoot(rt *rapid.T) json.RawMessage {
	root := drawObject(rt, 3)
	root["$defs"] = object{"p": drawObject(rt, 1), "q": drawObject(rt, 2)}
	return encode(rt, root)
}

// drawSchema draws a schema, which may be a boolean.
func drawSchema(rt *rapid.T, depth int) any {
	if rapid.IntRange(0, 9).Draw(rt, "kind") == 0 {
		return rapid.Bool().Draw(rt, "boolean")
	}
	return drawObject(rt, depth)
}

// families are kinds of keywords; those of a type are named for it.
func families() map[string]func(*rapid.T, object, int) {
	return map[string]func(*rapid.T, object, int){"string": drawString, "integer": drawNumber, "number": drawNumber, "array": drawArray,
		"object": drawProperties, "union": drawUnion, "reference": drawReference, "none": func(*rapid.T, object, int) {}}
}

var familyNames = []string{"string", "integer", "number", "array", "object", "union", "reference", "none"}

// drawObject draws the keywords of a family or two, with their type or without.
func drawObject(rt *rapid.T, depth int) object {
	s := object{}
	for range rapid.IntRange(1, 2).Draw(rt, "families") {
		name := rapid.SampledFrom(familyNames).Draw(rt, "family")
		if depth == 0 && (name == "array" || name == "object" || name == "union") {
			name = "string"
		}
		families()[name](rt, s, depth)
		if name != "union" && name != "reference" && name != "none" && maybe(rt) {
			addType(s, name)
		}
	}
	if maybe(rt) {
		s["description"] = "d"
	}
	return s
}

func addType(s object, name string) {
	switch before := s["type"].(type) {
	case nil:
		s["type"] = name
	case string:
		if before != name {
			s["type"] = []string{before, name}
		}
	}
}

func maybe(rt *rapid.T) bool { return rapid.Bool().Draw(rt, "maybe") }

// some sets a keyword now and then.
func some[T any](rt *rapid.T, s object, keyword string, g *rapid.Generator[T]) {
	if rapid.IntRange(0, 2).Draw(rt, keyword+"?") == 0 {
		s[keyword] = g.Draw(rt, keyword)
	}
}

var (
	small    = rapid.IntRange(0, 3)
	patterns = rapid.SampledFrom([]string{"^a$", "a", "^[a-c]{1,2}$", "^(a|b)+$", `^\w*$`, "^a.*$"})
	formats  = rapid.SampledFrom([]string{"date", "email", "uuid"})
	names    = rapid.SampledFrom([]string{"a", "b", "c", "d"})
	nameSets = rapid.SliceOfNDistinct(names, 1, 3, rapid.ID)
	texts    = rapid.SampledFrom([]string{"", "a", "b", "ab", "abc", "2020-01-01", "\"", "x y"})
)

func drawString(rt *rapid.T, s object, _ int) {
	some(rt, s, "minLength", small)
	some(rt, s, "maxLength", rapid.SampledFrom([]int{1, 2, 2500}))
	some(rt, s, "pattern", patterns)
	some(rt, s, "format", formats)
	some(rt, s, "enum", rapid.SliceOfNDistinct(texts, 1, 4, rapid.ID))
	some(rt, s, "const", texts)
}

func drawNumber(rt *rapid.T, s object, _ int) {
	bounds := rapid.SampledFrom([]any{0, 1, 2, 1.5, -1})
	for _, keyword := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} {
		some(rt, s, keyword, bounds)
	}
	some(rt, s, "multipleOf", rapid.IntRange(1, 2))
}

func drawArray(rt *rapid.T, s object, depth int) {
	sub := rapid.Custom(func(rt *rapid.T) any { return drawSchema(rt, depth-1) })
	some(rt, s, "items", sub)
	some(rt, s, "prefixItems", rapid.SliceOfN(sub, 1, 2))
	some(rt, s, "minItems", small)
	some(rt, s, "maxItems", rapid.SampledFrom([]int{1, 2, 5000}))
	some(rt, s, "uniqueItems", rapid.Bool())
	some(rt, s, "contains", sub)
}

func drawProperties(rt *rapid.T, s object, depth int) {
	sub := rapid.Custom(func(rt *rapid.T) any { return drawSchema(rt, depth-1) })
	some(rt, s, "properties", rapid.MapOfN(names, sub, 1, 3))
	some(rt, s, "patternProperties", rapid.MapOfN(patterns, sub, 1, 1))
	some(rt, s, "additionalProperties", sub)
	some(rt, s, "required", nameSets)
	some(rt, s, "minProperties", small)
	some(rt, s, "dependentRequired", rapid.MapOfN(names, nameSets, 1, 1))
	some(rt, s, "propertyNames", sub)
}

func drawUnion(rt *rapid.T, s object, depth int) {
	sub := rapid.Custom(func(rt *rapid.T) any { return drawSchema(rt, depth-1) })
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		some(rt, s, keyword, rapid.SliceOfN(sub, 1, 3))
	}
	for _, keyword := range []string{"not", "if", "then", "else"} {
		some(rt, s, keyword, sub)
	}
}

func drawReference(rt *rapid.T, s object, _ int) {
	s["$ref"] = rapid.SampledFrom([]string{"#/$defs/p", "#/$defs/q", "#"}).Draw(rt, "$ref")
}

// drawValue draws a value from the few that drawn schemas speak of.
func drawValue(rt *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 7).Draw(rt, "value")
	if depth == 0 {
		kind %= 4
	}
	switch kind {
	case 0:
		return rapid.SampledFrom([]any{nil, true, false}).Draw(rt, "word")
	case 1, 2:
		return rapid.SampledFrom([]any{-1, 0, 1, 2, 3, 0.5, 1.5}).Draw(rt, "number")
	case 3:
		return texts.Draw(rt, "text")
	case 4, 5:
		return rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) any { return drawValue(rt, depth-1) }), 0, 3).Draw(rt, "list")
	}
	return rapid.MapOfN(names, rapid.Custom(func(rt *rapid.T) any { return drawValue(rt, depth-1) }), 0, 3).Draw(rt, "members")
}
