package gemini

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"emend/engine/provider"
	pt "emend/engine/provider/providertest"
)

func TestCarryWhole(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object","title":"t","properties":{"z":{"type":"string","description":"d","enum":["b","a"]},"a":{"type":["integer","null"],"minimum":1,"maximum":2}},"required":["z"],"additionalProperties":false}`,
		`{"type":"array","items":{"anyOf":[{"type":"string","format":"date"},{"$ref":"#/$defs/n"}]},"minItems":1,"maxItems":3,"$defs":{"n":{"type":"number"}}}`,
		`{"$ref":"#/$defs/n","$defs":{"n":{"type":"array","prefixItems":[{"type":"string"}],"additionalProperties":{"type":"string"}}}}`,
		`{"properties":{"additionalProperties":{"type":"string"}},"additionalProperties":true}`,
	} {
		got := Carry(nil, []byte(schema))
		if !got.Whole || got.Form != "responseJsonSchema" || string(got.Schema) != schema || got.Weakened != nil {
			t.Errorf("%s\ncame to %s, %q", schema, got.Schema, got.Weakened)
		}
	}
}

func TestCarryWeakens(t *testing.T) {
	cases := map[string]struct{ schema, wire, lost string }{
		"pattern and lengths": {`{"type":"string","pattern":"^a","minLength":1,"title":"t"}`, `{"type":"string","title":"t"}`,
			"at the root: pattern is not enforced\nat the root: minLength is not enforced"},
		"annotations go in silence": {`{"$schema":"x","default":1,"x-mine":2,"uniqueItems":false,"minLength":0,"type":"string"}`, `{"type":"string"}`, ""},
		"bounds and places": {`{"properties":{"a/b":{"items":{"exclusiveMinimum":0,"multipleOf":2,"type":"number"}}}}`,
			`{"properties":{"a/b":{"items":{"type":"number"}}}}`,
			"at /properties/a~1b/items: exclusiveMinimum is not enforced\nat /properties/a~1b/items: multipleOf is not enforced"},
		"applicators": {`{"not":{"type":"null"},"allOf":[{}],"if":{},"then":{},"dependentRequired":{"a":["b"]},"contains":{}}`, `{}`,
			"at the root: not is not enforced\nat the root: allOf is not enforced\nat the root: if is not enforced\nat the root: then is not enforced\n" +
				"at the root: dependentRequired is not enforced\nat the root: contains is not enforced"},
		"nothing is made narrower": {`{"patternProperties":{"^x":{}},"additionalProperties":false,"type":"object"}`, `{"type":"object"}`,
			"at the root: patternProperties is not enforced\nat the root: additionalProperties is not enforced beside patternProperties"},
		"one of":               {`{"oneOf":[{"type":"string"},{"type":"null"}]}`, `{"anyOf":[{"type":"string"},{"type":"null"}]}`, "at the root: oneOf is enforced as anyOf"},
		"one of beside any of": {`{"oneOf":[{"type":"string"}],"anyOf":[{"type":"null"}]}`, `{"anyOf":[{"type":"null"}]}`, "at the root: oneOf is not enforced beside anyOf"},
		"format":               {`{"type":"string","format":"email"}`, `{"type":"string","format":"email"}`, "at the root: this format is sent, but it is not known that it is enforced"},
		"const":                {`{"const":"a"}`, `{"enum":["a"]}`, ""},
		"const 2":              {`{"const":1.0,"enum":[1]}`, `{"enum":[1]}`, "at the root: const is not enforced"},
		"const 3":              {`{"type":"boolean","const":true}`, `{"type":"boolean"}`, "at the root: const is not enforced"},
		"null in an enum": {`{"type":"object","properties":{"status":{"type":["string","null"],"enum":["pending","done",null]}},"required":["status"]}`,
			`{"type":"object","properties":{"status":{"type":["string","null"],"enum":["pending","done"]}},"required":["status"]}`, ""},
		"null in an enum without a type": {`{"enum":[null,1,2.50]}`, `{"type":["number","null"],"enum":[1,2.50]}`, ""},
		"mixed enum":                     {`{"enum":["a",1]}`, `{}`, "at the root: enum is not enforced, since it is not of texts or of numbers alone"},
		"enum of null":                   {`{"enum":[null]}`, `{}`, "at the root: enum is not enforced, since it is not of texts or of numbers alone"},
		"required of the unknown": {`{"properties":{"a":{}},"required":["b","a"]}`, `{"properties":{"a":{}},"required":["a"]}`,
			"at the root: required is not enforced for what properties does not describe"},
		"required of nothing known": {`{"type":"object","required":["b"]}`, `{"type":"object"}`, "at the root: required is not enforced for what properties does not describe"},
		"booleans": {`{"properties":{"a":true,"b":false},"items":true,"prefixItems":[false]}`, `{"properties":{"a":{},"b":{}},"prefixItems":[{}]}`,
			"at /properties/b: a schema that is false is not enforced\nat /prefixItems/0: a schema that is false is not enforced"},
		"closed tuple":     {`{"prefixItems":[{"type":"string"}],"items":false}`, `{"prefixItems":[{"type":"string"}]}`, "at the root: items is not enforced"},
		"tuple of draft 7": {`{"items":[{"type":"string","pattern":"a"}]}`, `{"prefixItems":[{"type":"string"}]}`, "at /items/0: pattern is not enforced"},
	}
	for name, c := range cases {
		checkCarried(t, name, c.schema, c.wire, c.lost)
	}
}

func checkCarried(t *testing.T, name, schema, wire, lost string) {
	t.Helper()
	got := Carry(nil, []byte(schema))
	if string(got.Schema) != wire || strings.Join(got.Weakened, "\n") != lost || got.Whole != (lost == "") {
		t.Errorf("%s:\ngot  %s\nwant %s\nlost %s\nwant %s", name, got.Schema, wire, strings.Join(got.Weakened, "\n"), lost)
	}
}

func TestCarryReferences(t *testing.T) {
	const limited, cutOff = "a recursion is enforced to a limited depth", "$ref is not enforced: it names no member of the root's $defs, or it is a recursion through required properties"
	cases := map[string]struct{ schema, wire, lost string }{
		"siblings": {`{"properties":{"a":{"$ref":"#/$defs/n","description":"d","minimum":2,"$comment":"c"}},"$defs":{"n":{"type":"number"}}}`,
			`{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"number"}}}`, "at /properties/a: minimum is not enforced beside $ref"},
		"definitions":              {`{"$ref":"#/definitions/a~1b","definitions":{"a/b":{"type":"string"}}}`, `{"$ref":"#/$defs/a~1b","$defs":{"a/b":{"type":"string"}}}`, ""},
		"definitions beside $defs": {`{"$defs":{},"definitions":{"a":{}},"items":{"$ref":"#/definitions/a"}}`, `{"$defs":{},"items":{}}`, "at /items: " + cutOff},
		"elsewhere": {`{"properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a","title":"t"},"c":{"$ref":"http://x"},"d":{"$ref":"#/$defs/gone"}}}`,
			`{"properties":{"a":{"type":"string"},"b":{"title":"t"},"c":{},"d":{}}}`, "at /properties/b: " + cutOff + "\nat /properties/c: " + cutOff + "\nat /properties/d: " + cutOff},
		"optional recursion": {`{"properties":{"v":{"type":"string"},"next":{"$ref":"#"}},"required":["v"]}`,
			`{"properties":{"v":{"type":"string"},"next":{"$ref":"#"}},"required":["v"]}`, "at /properties/next: " + limited},
		"required recursion": {`{"properties":{"kids":{"type":"array","items":{"$ref":"#"}}},"required":["kids"]}`,
			`{"properties":{"kids":{"type":"array","items":{}}},"required":["kids"]}`, "at /properties/kids/items: " + cutOff},
		"two steps, one optional": {`{"$ref":"#/$defs/a","$defs":{"a":{"properties":{"b":{"$ref":"#/$defs/b"}},"required":["b"]},"b":{"additionalProperties":{"$ref":"#/$defs/a"}}}}`,
			`{"$ref":"#/$defs/a","$defs":{"a":{"properties":{"b":{"$ref":"#/$defs/b"}},"required":["b"]},"b":{"additionalProperties":{"$ref":"#/$defs/a"}}}}`,
			"at /$defs/a/properties/b: " + limited + "\nat /$defs/b/additionalProperties: " + limited},
		"two steps, both required": {`{"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/c"}]},"c":{}}}`,
			`{"$defs":{"a":{"anyOf":[{}]},"b":{"anyOf":[{},{"$ref":"#/$defs/c"}]},"c":{}}}`, "at /$defs/a/anyOf/0: " + cutOff + "\nat /$defs/b/anyOf/0: " + cutOff},
	}
	for name, c := range cases {
		checkCarried(t, name, c.schema, c.wire, c.lost)
	}
}

func TestCarryOfWhatIsNoSchema(t *testing.T) {
	deep := strings.Repeat(`{"items":`, 200) + "{}" + strings.Repeat("}", 200)
	for _, schema := range []string{``, `true`, `[]`, `{"a"`, "{\"title\":\"\xff\"}", deep} {
		if got := Carry(nil, []byte(schema)); got.Schema != nil || got.Form != provider.FormNone || got.Whole || len(got.Weakened) != 1 {
			t.Errorf("%.30q: %+v", schema, got)
		}
	}
}

// TestCarryOfALargeSchema: a requester's schema may have a megabyte, and a cost that grew with its square would be minutes.
func TestCarryOfALargeSchema(t *testing.T) {
	var properties, required, defs []string
	for i := range 8000 {
		properties = append(properties, fmt.Sprintf(`"p%d":{"$ref":"#/$defs/d%d"}`, i, i))
		required = append(required, fmt.Sprintf(`"p%d"`, i))
		defs = append(defs, fmt.Sprintf(`"d%d":{"items":{"$ref":"#/$defs/d%d"}}`, i, i+1))
	}
	schema := fmt.Sprintf(`{"properties":{%s},"required":[%s],"$defs":{%s,"d8000":{}}}`, strings.Join(properties, ","), strings.Join(required, ","), strings.Join(defs, ","))
	if got := Carry(nil, []byte(schema)); !got.Whole || string(got.Schema) != schema {
		t.Errorf("lost %q", got.Weakened)
	}
}

// FuzzCarry: what goes out is JSON of known keywords, without a reference that nothing answers to.
func FuzzCarry(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"enum":[null,"x"],"not":{}}}}`))
	f.Add([]byte(`{"definitions":{"a":{"$ref":"#"}},"required":["a"],"items":[true],"const":1}`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		got := Carry(nil, schema)
		if got.Schema == nil {
			return
		}
		var v map[string]any
		if err := json.Unmarshal(got.Schema, &v); err != nil {
			t.Fatalf("%s: %v", got.Schema, err)
		}
		for name := range v {
			if !slices.Contains(keywords, name) {
				t.Errorf("%q goes out with %s", name, schema)
			}
		}
	})
}

// TestCarryLoosens: what the schema allows, the wire schema allows. A null in an enum is the one thing that Gemini reads
// otherwise than JSON Schema, and none is drawn.
func TestCarryLoosens(t *testing.T) { pt.Loosens(t, Carry) }
