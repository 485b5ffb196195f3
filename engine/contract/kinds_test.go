package contract

import "testing"

func TestKindsNames(t *testing.T) {
	for k, want := range map[kinds]string{
		0: "no type", nullKind: "null", integerKind: "integer", fractionKind: "number", numberKind: "number",
		numberKind | nullKind: "number or null", integerKind | stringKind: "integer or string", stringKind | boolKind: "string or boolean",
		arrayKind | objectKind: "array or object", anyKind: "number or string or boolean or array or object or null",
	} {
		if got := k.String(); got != want {
			t.Errorf("%b: %s, want %s", k, got, want)
		}
	}
}

func TestKindOf(t *testing.T) {
	for text, want := range map[string]kinds{
		`null`: nullKind, `true`: boolKind, `1`: integerKind, `1.0`: integerKind, `10e-1`: integerKind, `1.5`: fractionKind, `1e-1`: fractionKind,
		`"1"`: stringKind, `[]`: arrayKind, `{}`: objectKind,
	} {
		if got := kindOf(scan([]byte(text), true, false).value); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestKindsAt: the types that a schema lets a value have, never too few.
func TestKindsAt(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`true`, "any"}, {`false`, "no type"}, {`{}`, "any"},
		{`{"type":"integer"}`, "integer"}, {`{"type":["number","integer"]}`, "number"}, {`{"type":["string","null"]}`, "string or null"},
		{`{"const":null}`, "null"}, {`{"const":2.0}`, "integer"}, {`{"enum":["a",1.5,null]}`, "string or null or number"}, {`{"enum":[[],{}]}`, "array or object"},
		{`{"type":"number","enum":[1,"a"]}`, "integer"}, {`{"type":"string","const":1}`, "no type"},
		{`{"allOf":[{"type":["string","number"]},{"type":["number","null"]}]}`, "number"},
		{`{"anyOf":[{"type":"string"},{"const":1}]}`, "integer or string"},
		{`{"oneOf":[{"type":"string"},{}]}`, "any"},
		{`{"anyOf":[{"type":"string"},{"type":"null"}],"oneOf":[{"type":"null"},{"type":"array"}]}`, "null"},
		{`{"$ref":"#/$defs/a","type":["string","null"],"$defs":{"a":{"type":["null","array"]}}}`, "null"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/a","type":"string","definitions":{"a":{"type":"array"}}}`, "array"},
		{`{"not":{"type":"string"}}`, "any"}, {`{"if":{"type":"string"},"then":{"type":"null"}}`, "any"},
		{`{"minimum":1,"maxLength":2}`, "any"},
		{`{"$dynamicRef":"#x","$defs":{"a":{"$dynamicAnchor":"x","type":"string"}}}`, "any"},
	} {
		s := schemaContract(t, c.schema).schema
		got := s.kindsAt([]part{{s.top, true}})
		if name := got.String(); name != c.want && (got != anyKind || c.want != "any") {
			t.Errorf("%s: %s, want %s", c.schema, name, c.want)
		}
		if k := s.kindsAt([]part{{s.top, false}}); k != anyKind {
			t.Errorf("%s: a branch makes it %s", c.schema, k)
		}
	}
}

// TestKindsAreCheap: sub-schemas that are reached again and again are looked at once.
func TestKindsAreCheap(t *testing.T) {
	s := schemaContract(t, doubling(60)).schema
	if k := s.kindsAt([]part{{s.top, true}}); k != stringKind {
		t.Errorf("%s", k)
	}
	if n := len(inPlaceOf([]part{{s.top, true}})); n != 182 {
		t.Errorf("%d parts", n)
	}
}
