package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"emend/engine/provider"
)

const closed = `"type":"object","additionalProperties":false`

func TestCarryOfWhatTheAPICompiles(t *testing.T) {
	for name, schema := range map[string]string{
		"empty object": `{` + closed + `}`,
		"every keyword": `{"title":"t","description":"d",` + closed + `,"properties":{"z":{"type":["string","null"],"format":"date","pattern":"^a{1,3}(b|c)+$"},
			"a":{"type":"array","items":{"enum":[1,"x",null,true]},"minItems":1},"e":{"enum":["x","y"],"type":"string"},"i":{"type":"integer","enum":[1,2.0]},"c":{"const":1.50},
			"u":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/n~1a"}]},"m":{"type":"string","allOf":[{"type":"string","format":"uri"}]}},
			"required":["z","a","c","e","i"],"$defs":{"n/a":{` + closed + `,"properties":{"k":{"type":"string"}}}}}`,
		"root reference": `{"$ref":"#/$defs/a","$defs":{"a":{` + closed + `}}}`,
		"shared twice":   `{` + closed + `,"properties":{"a":{"$ref":"#/definitions/x"},"b":{"$ref":"#/definitions/x"}},"definitions":{"x":{"type":"string"}}}`,
	} {
		c := Carry(nil, []byte(schema))
		if !c.Whole || c.Form != "output_config.format" || string(c.Schema) != schema || c.Weakened != nil {
			t.Errorf("%s: %+v\n%s", name, c, c.Schema)
		}
	}
}

func TestCarryMovesTheRestIntoTheDescription(t *testing.T) {
	for _, c := range []struct {
		schema, wire string
		weakened     []string
	}{
		{`{"type":"object","properties":{"b":{"type":"integer","minimum":1,"description":"Count."},"a":{"type":"string","maxLength":3}},"required":["b"]}`,
			`{"additionalProperties":false,"type":"object","properties":{"b":{"type":"integer","description":"Count.\n\nConstraints: {\"minimum\":1}"},` +
				`"a":{"description":"Constraints: {\"maxLength\":3}","type":"string"}},"required":["b"]}`,
			[]string{"at /properties/b: minimum is not enforced", "at /properties/a: maxLength is not enforced"}},
		{`{` + closed + `,"properties":{"a":{"type":"number","default":1.50,"examples":[2],"x-odd":1,"minLength":0}}}`,
			`{` + closed + `,"properties":{"a":{"description":"Constraints: {\"default\":1.50,\"examples\":[2]}","type":"number"}}}`, nil},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema",` + closed + `,"$comment":"c"}`, `{` + closed + `}`, nil},
		{`{"type":"object","properties":{"a":{"type":"null"}},"additionalProperties":{"type":"string"}}`,
			`{"type":"object","properties":{"a":{"type":"null"}},"additionalProperties":false}`,
			[]string{"at the root: additionalProperties goes out as false"}},
		{`{` + closed + `,"properties":{"a":{"type":["string","null"],"enum":["x",null]},"b":{"enum":["x"],"type":["string","null"]},"c":{"const":null,"type":["null","string"]}}}`,
			`{` + closed + `,"properties":{"a":{"enum":["x",null]},"b":{"enum":["x"]},"c":{"const":null}}}`, nil},
		{`{` + closed + `,"properties":{"a":{"type":"string","enum":["x",null]},"b":{"type":"integer","enum":[1,1.5]},"c":{"type":["string","null"],"const":true}}}`,
			`{` + closed + `,"properties":{"a":{"enum":["x",null]},"b":{"enum":[1,1.5]},"c":{"const":true}}}`,
			[]string{"at /properties/a: type is not enforced beside", "at /properties/b: type", "at /properties/c: type"}},
		{`{` + closed + `,"properties":{"a":{"oneOf":[{"type":"null"},{"type":"string"}]}}}`,
			`{` + closed + `,"properties":{"a":{"anyOf":[{"type":"null"},{"type":"string"}]}}}`, []string{"at /properties/a: oneOf goes out as anyOf"}},
		{`{` + closed + `,"properties":{"a":{"$ref":"#/$defs/x","title":"t","minLength":2}},"$defs":{"x":{"type":"string"}}}`,
			`{` + closed + `,"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string"}}}`, []string{"at /properties/a: minLength beside $ref"}},
		{`{` + closed + `,"properties":{"a":{"type":"string","format":"regex","pattern":"(?i)a"}}}`,
			`{` + closed + `,"properties":{"a":{"description":"Constraints: {\"format\":\"regex\",\"pattern\":\"(?i)a\"}","type":"string"}}}`,
			[]string{"at /properties/a: format", "at /properties/a: pattern"}},
		{`{` + closed + `,"properties":{"a":{"type":"array","minItems":2,"prefixItems":[true],"uniqueItems":true},"b":{"type":"integer","enum":[1,[2]]}}}`,
			`{` + closed + `,"properties":{"a":{"description":"Constraints: {\"minItems\":2,\"prefixItems\":[true],\"uniqueItems\":true}","type":"array"},` +
				`"b":{"description":"Constraints: {\"enum\":[1,[2]]}","type":"integer"}}}`,
			[]string{"at /properties/a: minItems", "at /properties/a: prefixItems", "at /properties/a: uniqueItems", "at /properties/b: enum"}},
		{`{` + closed + `,"properties":{"a":{"type":"string"},"b":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
			`{"description":"Constraints: {\"anyOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]}",` + closed + `,"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`,
			[]string{"at the root: anyOf is not enforced"}},
		{`{` + closed + `,"properties":{"a":{"type":"string","allOf":[{"$ref":"#/$defs/x"}]}},"$defs":{"x":{"type":"string"}}}`,
			`{` + closed + `,"properties":{"a":{"description":"Constraints: {\"allOf\":[{\"$ref\":\"#/$defs/x\"}]}","type":"string"}},"$defs":{"x":{"type":"string"}}}`,
			[]string{"at /properties/a: allOf is not enforced"}},
	} {
		got := Carry(nil, []byte(c.schema))
		if string(got.Schema) != c.wire || got.Whole != (c.weakened == nil) || len(got.Weakened) != len(c.weakened) {
			t.Errorf("%s\ngot  %s\nwant %s\nweakened %q", c.schema, got.Schema, c.wire, got.Weakened)
			continue
		}
		for i, want := range c.weakened {
			if !strings.HasPrefix(got.Weakened[i], want) {
				t.Errorf("%s: %q, want %q", c.schema, got.Weakened[i], want)
			}
		}
	}
}

// many renders an object of n properties.
func many(n int, property string, required bool) string {
	var properties, names []string
	for i := range n {
		properties = append(properties, fmt.Sprintf(`"p%d":%s`, i, property))
		names = append(names, fmt.Sprintf(`"p%d"`, i))
	}
	schema := `{` + closed + `,"properties":{` + strings.Join(properties, ",") + `}`
	if required {
		schema += `,"required":[` + strings.Join(names, ",") + `]`
	}
	return schema + `}`
}

var inexpressible = map[string]struct{ schema, why string }{
	"recursive":        {`{` + closed + `,"properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{` + closed + `,"properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/n"}}}}}}`, "at the root: is recursive"},
	"in a ring":        {`{` + closed + `,"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, "recursive"},
	"by the root":      {`{` + closed + `,"properties":{"n":{"$ref":"#"}}}`, "at /properties/n: has a $ref that names no definition"},
	"dangling":         {`{` + closed + `,"properties":{"n":{"$ref":"#/$defs/x"}}}`, "names no definition"},
	"deep reference":   {`{` + closed + `,"properties":{"n":{"$ref":"#/$defs/x/items"}},"$defs":{"x":{"type":"array","items":{"type":"null"}}}}`, "names no definition"},
	"free names":       {`{` + closed + `,"properties":{"m":{"type":"object","additionalProperties":{"type":"string"}}}}`, "at /properties/m: is an object whose members have no names"},
	"no type":          {`{` + closed + `,"properties":{"m":{}}}`, "at /properties/m: has no type"},
	"merged reference": {`{` + closed + `,"properties":{"m":{"allOf":[{"$ref":"#/$defs/x"}]}},"$defs":{"x":{"type":"null"}}}`, "at /properties/m: has no type that can be compiled"},
	"enum of objects":  {`{` + closed + `,"properties":{"m":{"enum":[{"a":1}]}}}`, "at /properties/m: has no type"},
	"constant object":  {`{` + closed + `,"properties":{"m":{"const":{"a":1}}}}`, "at /properties/m: has no type"},
	"properties only":  {`{` + closed + `,"properties":{"m":{"properties":{"a":{"type":"null"}}}}}`, "at /properties/m: has no type"},
	"boolean":          {`{` + closed + `,"properties":{"m":true}}`, "at /properties/m: a schema that is true or false"},
	"unnamed member":   {`{"type":"object","properties":{"a":{"type":"null"}},"required":["b"]}`, "at the root: requires a member that has no schema"},
	"too many options": {many(25, `{"type":"string"}`, false), "has 25 optional properties, and the API compiles at most 24"},
	"too many unions":  {many(17, `{"type":["string","null"]}`, true), "has 17 unions"},
	"too deep":         {strings.Repeat(`{"type":"array","items":`, 101) + `{"type":"null"}` + strings.Repeat(`}`, 101), "nests deeper than 100"},
}

func TestWhatAGrammarCannotExpress(t *testing.T) {
	for name, c := range inexpressible {
		got := Carry(nil, []byte(c.schema))
		if got.Schema != nil || got.Form != provider.FormNone || got.Whole || len(got.Weakened) != 1 || !strings.Contains(got.Weakened[0], c.why) {
			t.Errorf("%s: %+v, want %q", name, got, c.why)
		}
		tool := Carry(map[string]any{"native_fallback": "tool"}, []byte(c.schema))
		if wantTool := strings.HasPrefix(c.schema, `{"type":"object"`); wantTool != (string(tool.Schema) == c.schema) {
			t.Errorf("%s with a tool to fall back on: %+v", name, tool)
		}
	}
	for _, fits := range []string{many(24, `{"type":"string"}`, false), many(16, `{"type":["string","null"]}`, true)} {
		if !Carry(nil, []byte(fits)).Whole {
			t.Errorf("a schema at the API's limit is not carried: %s", fits)
		}
	}
}

// TestManyNamesAreCarried: a requester's schema may have thousands of names and references; each is looked up, not searched for.
func TestManyNamesAreCarried(t *testing.T) {
	var defs []string
	for i := range 4000 {
		defs = append(defs, fmt.Sprintf(`"d%d":{"type":"string"}`, i))
	}
	object := many(4000, `{"$ref":"#/$defs/d3999"}`, true)
	schema := strings.TrimSuffix(object, "}") + `,"$defs":{` + strings.Join(defs, ",") + `}}`
	if c := Carry(nil, []byte(schema)); !c.Whole || string(c.Schema) != schema {
		t.Errorf("%q", c.Weakened)
	}
}

func TestForms(t *testing.T) {
	const schema = `{"type":"object", "properties":{"a":{"type":"string","minLength":2}}, "required":["a"]}`
	old := Carry(map[string]any{"native_form": "output_format"}, []byte(schema))
	if old.Form != "output_format" || old.Whole || !strings.Contains(string(old.Schema), `"additionalProperties":false`) {
		t.Errorf("%+v", old)
	}
	tool := Carry(map[string]any{"native_form": "tool"}, []byte(schema))
	if tool.Form != "a forced tool" || tool.Whole || string(tool.Schema) != schema || len(tool.Weakened) != 1 {
		t.Errorf("%+v", tool)
	}
	for bad, why := range map[string]string{`{"type":"array"}`: "not of type object", `{"type":"object","anyOf":[{}]}`: "has anyOf", `{"type":"object","allOf":[]}`: "has allOf",
		`[]`: "not an object", `{"type"`: "not an object"} {
		if c := Carry(map[string]any{"native_form": "tool"}, []byte(bad)); c.Schema != nil || !strings.Contains(c.Weakened[0], why) {
			t.Errorf("%s: %+v, want %q", bad, c, why)
		}
	}
}

// FuzzCarry: whatever the schema, what goes out is JSON, and what is called whole lost nothing.
func FuzzCarry(f *testing.F) {
	for _, c := range inexpressible {
		f.Add([]byte(c.schema))
	}
	f.Add([]byte(`{"type":"object","properties":{"a":{"type":"string","minLength":2,"description":"\ud800"}},"anyOf":[{}]}`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		c := Carry(nil, schema)
		if (c.Schema == nil) != (c.Form == provider.FormNone) || c.Whole != (c.Weakened == nil) || c.Schema != nil && !json.Valid(c.Schema) {
			t.Fatalf("%q: %+v", schema, c)
		}
	})
}
