package corrupt_test

import (
	"encoding/json"
	"errors"
	"testing"

	"emend/engine/contract"
	"emend/engine/corrupt"
	"emend/schemas"
)

func TestInstance(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"order", orderSchema, `{"id":"text","items":[{"price":1}],"note":"text","paid":true,"state":"open"}`},
		{"the schema's own example", `{"examples":[{"a":7}],"required":["a"]}`, `{"a":7}`},
		{"the example is none", `{"examples":[{}],"required":["a"],"properties":{"a":{"const":5}}}`, `{"a":5}`},
		{"examples and defaults below", `{"properties":{"a":{"type":"number","examples":[4.25]},"b":{"default":"x"}}}`, `{"a":4.25,"b":"x"}`},
		{"reference", `{"$defs":{"n":{"type":"object","required":["v"],"properties":{"v":{"type":"integer","minimum":3}}}},"$ref":"#/$defs/n"}`, `{"v":3}`},
		{"recursion ends", `{"$defs":{"n":{"type":"object","required":["v"],"properties":{"v":{"type":"integer"},"kids":{"type":"array","items":{"$ref":"#/$defs/n"}}}}},"$ref":"#/$defs/n"}`, ``},
		{"all of", `{"allOf":[{"required":["a"],"properties":{"a":{"type":"string"}}},{"required":["b"],"properties":{"b":{"type":"boolean"}}}]}`, `{"a":"text","b":true}`},
		{"first branch", `{"oneOf":[{"properties":{"kind":{"const":"x"}},"required":["kind"]},{"properties":{"kind":{"const":"y"}},"required":["kind"]}]}`, `{"kind":"x"}`},
		{"nullable union", `{"properties":{"u":{"anyOf":[{"type":"string","minLength":6},{"type":"null"}]}},"required":["u"]}`, `{"u":"textxx"}`},
		{"array", `{"type":"array","minItems":3,"uniqueItems":true,"items":{"type":"integer"}}`, `[1,2,3]`},
		{"array of texts", `{"type":"array","minItems":2,"uniqueItems":true,"items":{"type":"string"}}`, `["text","textx"]`},
		{"no items", `{"type":"array","maxItems":0}`, `[]`},
		{"tuple", `{"prefixItems":[{"type":"string"},{"type":"null"}],"items":false,"minItems":2}`, `["text",null]`},
		{"keys of one's own", `{"type":"object","minProperties":2,"additionalProperties":{"type":"integer"}}`, `{"key0":1,"key1":1}`},
		{"exclusive bounds", `{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}`, `0.5`},
		{"narrow bounds", `{"type":"number","minimum":0.5,"maximum":0.9}`, `0.7`},
		{"upper bound", `{"type":"integer","exclusiveMaximum":-3}`, `-4`},
		{"multiple", `{"type":"number","exclusiveMinimum":0,"multipleOf":0.01}`, `0.01`},
		{"multiple above a bound", `{"type":"integer","minimum":5,"multipleOf":4}`, `8`},
		{"date", `{"type":"string","format":"date"}`, `"2026-03-15"`},
		{"pattern", `{"type":"string","pattern":"^[A-Z]{2}-\\d{3,}(x|y)?$"}`, `"AA-000"`},
		{"pattern of classes", `{"type":"string","pattern":"^[^a-z]+\\.(jpe?g|png)\\b"}`, ``},
		{"length", `{"type":"string","maxLength":2}`, `"te"`},
		{"draft 4", `{"$schema":"http://json-schema.org/draft-04/schema#","type":"integer","minimum":1,"exclusiveMinimum":true}`, `2`},
		{"several types", `{"type":["null","integer"]}`, `1`}, {"null", `{"type":"null"}`, `null`}, {"boolean", `{"type":"boolean"}`, `true`},
		{"anything", `true`, ``}, {"enum", `{"enum":["b","a"]}`, `"b"`},
	} {
		got, err := corrupt.Instance(of(t, c.schema), json.RawMessage(c.schema))
		if err != nil || c.want != "" && string(got) != c.want {
			t.Errorf("%s: %s, %v; expected %s", c.name, got, err, c.want)
		}
	}
}

// Every format that the judge asserts has a value that it accepts.
func TestInstanceOfEveryFormat(t *testing.T) {
	for _, name := range []string{"date", "date-time", "time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6", "uuid", "uri",
		"uri-reference", "iri", "iri-reference", "uri-template", "json-pointer", "relative-json-pointer", "regex", "unknown"} {
		schema := `{"type":"string","format":"` + name + `"}`
		if got, err := corrupt.Instance(of(t, schema), json.RawMessage(schema)); err != nil {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func TestInstanceSaysWhatItCannotBuild(t *testing.T) {
	for _, schema := range []string{`false`, `{"not":{}}`, `{"type":"string","pattern":"^a$","minLength":5}`,
		`{"properties":{"a":{"type":"integer"}},"required":["a"],"if":{"required":["a"]},"then":{"required":["z"]}}`} {
		if got, err := corrupt.Instance(of(t, schema), json.RawMessage(schema)); !errors.Is(err, corrupt.ErrNotGood) {
			t.Errorf("%s: %s, %v", schema, got, err)
		}
	}
}

// FuzzInstance: what is made is accepted, and no schema makes it panic or run on.
func FuzzInstance(f *testing.F) {
	f.Add(orderSchema)
	f.Add(`{"$ref":"#","allOf":[{"$ref":"#/allOf/0"}]}`)
	f.Add(`{"$defs":{"a":{"required":["b"],"properties":{"b":{"$ref":"#/$defs/a"}}}},"$ref":"#/$defs/a"}`)
	f.Add(`{"$defs":{"a":{"required":["b","c"],"properties":{"b":{"$ref":"#/$defs/a"},"c":{"$ref":"#/$defs/a"}}}},"$ref":"#/$defs/a"}`)
	f.Add(`{"type":"string","pattern":"(a{500}){500}"}`)
	f.Fuzz(func(t *testing.T, schema string) {
		c, err := contract.Compile(contract.Spec{Mode: schemas.ModeJSONSchema, Schema: json.RawMessage(schema)})
		if err != nil {
			return
		}
		got, err := corrupt.Instance(c, json.RawMessage(schema))
		if err == nil && !c.Judge(got).Valid() {
			t.Errorf("%s of %s is refused", got, schema)
		}
	})
}
