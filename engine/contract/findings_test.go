package contract

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestFindings checks every field of a finding.
func TestFindings(t *testing.T) {
	schema := `{
  "type": "object",
  "required": ["items"],
  "properties": {
    "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
    "kind": {"enum": ["a", "b"]}
  },
  "additionalProperties": false,
  "$defs": {
    "item": {"type": "object", "properties": {"price": {"minimum": 1, "type": "number"}}, "required": ["price"],
      "additionalProperties": {"type": "string"}}
  }
}`
	text := ` {"items":[{"price":4},{"price":"4 USD"},{"price":0.50,"secret/name":7},{}],"kind":"c","own":[1, 2]} `
	item := `{"type": "object", "properties": {"price": {"minimum": 1, "type": "number"}}, "required": ["price"],
      "additionalProperties": {"type": "string"}}`
	price := `{"minimum": 1, "type": "number"}`
	want := []Finding{
		{Pointer: "", Masked: "", Keyword: "additionalProperties", Key: "own", Value: []byte(`[1, 2]`), Expected: []byte(`false`),
			Schema: []byte(schema), Message: `(root) has the key "own", which is not allowed`},
		{Pointer: "/items/1/price", Masked: "/items/1/price", Keyword: "type", Value: []byte(`"4 USD"`), Expected: []byte(`"number"`),
			Schema: []byte(price), Message: `items[1].price must be of type number, but is the string "4 USD"`},
		{Pointer: "/items/2/price", Masked: "/items/2/price", Keyword: "minimum", Value: []byte(`0.50`), Expected: []byte(`1`),
			Schema: []byte(price), Message: `items[2].price breaks minimum 1: it is 0.50`},
		{Pointer: "/items/2/secret~1name", Masked: "/items/2/*", Keyword: "type", Value: []byte(`7`), Expected: []byte(`"string"`),
			Schema: []byte(`{"type": "string"}`), Message: `items[2]["secret/name"] must be of type string, but is the number 7`},
		{Pointer: "/items/3", Masked: "/items/3", Keyword: "required", Key: "price", Expected: []byte(`["price"]`),
			Schema: []byte(item), Message: `items[3] lacks the required key "price"`},
		{Pointer: "/kind", Masked: "/kind", Keyword: "enum", Value: []byte(`"c"`), Expected: []byte(`["a", "b"]`),
			Schema: []byte(`{"enum": ["a", "b"]}`), Message: `kind must be one of ["a", "b"], but is "c"`},
	}
	v := schemaContract(t, schema).Judge([]byte(text))
	if v.Class != SchemaInvalid || string(v.Value) != strings.TrimSpace(text) || len(v.Findings) != len(want) {
		t.Fatalf("class %+v, value %s, findings %q", v.Class, v.Value, shown(v.Findings))
	}
	for i, f := range v.Findings {
		compareFindings(t, f, want[i])
	}
}

func compareFindings(t *testing.T, got, want Finding) {
	t.Helper()
	for _, field := range []struct{ name, got, want string }{
		{"pointer", got.Pointer, want.Pointer}, {"masked", got.Masked, want.Masked}, {"keyword", got.Keyword, want.Keyword},
		{"key", got.Key, want.Key}, {"message", got.Message, want.Message}, {"value", string(got.Value), string(want.Value)},
		{"expected", string(got.Expected), string(want.Expected)}, {"schema", string(got.Schema), string(want.Schema)},
	} {
		if field.got != field.want {
			t.Errorf("%s %s: %s %q, want %q", want.Pointer, want.Keyword, field.name, field.got, field.want)
		}
	}
	if (got.Value == nil) != (want.Value == nil) {
		t.Errorf("%s %s: value nil is %t", want.Pointer, want.Keyword, got.Value == nil)
	}
}

// TestMessages checks the sentence of the keywords that have one of their own.
func TestMessages(t *testing.T) {
	for _, c := range []struct{ schema, text, want string }{
		{`{"type":["string","null"]}`, `1`, `(root) must be of type [string,null], but is the number 1`},
		{`{"const":{"a":1}}`, `{"a":2}`, `(root) must be {"a":1}, but is {"a":2}`},
		{`{"format":"date"}`, `"x"`, `(root) must have the format "date", but is "x" (`},
		{`{"not":{"const":1}}`, `1`, `(root) must not match {"const":1}, but is 1`},
		{`{"uniqueItems":true}`, `[1,2,1]`, `(root) breaks uniqueItems: the items 0 and 2 are equal`},
		{`{"anyOf":[{"minimum":1},{"maximum":0}]}`, `0.5`, `(root) breaks anyOf: no alternative matches`},
		{`{"oneOf":[{"minimum":1},{"maximum":5}]}`, `2`, `(root) breaks oneOf: more than one alternative matches`},
		{`{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, `(root) has the key "ab", whose name is not allowed`},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `(root) lacks the key "b", which another key requires`},
		{`{"properties":{"a":{"maxLength":1}}}`, `{"a":"xy"}`, `a breaks maxLength 1: it is "xy"`},
		{`false`, `1`, `(root) is not allowed by the schema`},
	} {
		v := schemaContract(t, c.schema).Judge([]byte(c.text))
		if len(v.Findings) != 1 || !strings.HasPrefix(v.Findings[0].Message, c.want) {
			t.Errorf("%s: %+v, want %q", c.schema, v.Findings, c.want)
		}
	}
}

func TestMessagesAreBounded(t *testing.T) {
	long := strings.Repeat("é", 10_000)
	c := schemaContract(t, `{"properties":{"a":{"enum":["`+long+`"]}},"additionalProperties":false}`)
	v := c.Judge([]byte(`{"a":"` + long + `x","` + long + `":1}`))
	if len(v.Findings) != 2 {
		t.Fatalf("findings %d", len(v.Findings))
	}
	for _, f := range v.Findings {
		if len(f.Message) > 400 || !utf8.ValidString(f.Message) {
			t.Errorf("message of %d bytes", len(f.Message))
		}
	}
}

// TestExtraEmptyKey: an empty key is a key.
func TestExtraEmptyKey(t *testing.T) {
	v := schemaContract(t, `{"additionalProperties":false}`).Judge([]byte(`{"":5}`))
	if len(v.Findings) != 1 || string(v.Findings[0].Value) != "5" || v.Findings[0].Message != `(root) has the key "", which is not allowed` {
		t.Errorf("findings %+v", v.Findings)
	}
	v = schemaContract(t, `{"required":[""]}`).Judge([]byte(`{}`))
	if len(v.Findings) != 1 || v.Findings[0].Value != nil || v.Findings[0].Message != `(root) lacks the required key ""` {
		t.Errorf("findings %+v", v.Findings)
	}
}

// TestFindingsAreStable judges one text often: maps inside the library must not show.
func TestFindingsAreStable(t *testing.T) {
	c := schemaContract(t, `{"additionalProperties":{"type":"object","propertyNames":{"maxLength":1},"additionalProperties":false}}`)
	text := []byte(`{"b":{"xx":1,"y":2},"a":{"zz":1},"c":1,"d":{"q":1,"rr":2}}`)
	first := strings.Join(shown(c.Judge(text).Findings), "; ")
	want := "/a additionalProperties zz; /a propertyNames zz; /b additionalProperties xx; /b additionalProperties y; " +
		"/b propertyNames xx; /c type; /d additionalProperties q; /d additionalProperties rr; /d propertyNames rr"
	if first != want {
		t.Errorf("findings %s", first)
	}
	for range 50 {
		if again := strings.Join(shown(c.Judge(text).Findings), "; "); again != first {
			t.Fatalf("findings changed: %s", again)
		}
	}
}

func TestDisplayPath(t *testing.T) {
	for pointer, want := range map[string]string{
		"":                 "(root)",
		"/items/2/price":   "items[2].price",
		"/a.b":             `["a.b"]`,
		"/x/a.b/c":         `x["a.b"].c`,
		"/":                `[""]`,
		"/a~1b/~0":         `["a/b"]["~"]`,
		"/0":               "[0]",
		"/01":              `["01"]`,
		"/größe/$id/_x1":   "größe.$id._x1",
		"/1x":              `["1x"]`,
		"/with \"quote\"":  `["with \"quote\""]`,
		"/<b>":             `["<b>"]`,
		"/items/3/*":       "items[3].*",
		"/deep/~01":        `deep["~1"]`,
		"/a-b":             `["a-b"]`,
		"/items/10/0/name": "items[10][0].name",
	} {
		if got := DisplayPath(pointer); got != want {
			t.Errorf("%s: %s, want %s", pointer, got, want)
		}
	}
}

func TestHolder(t *testing.T) {
	for _, c := range []struct {
		path, parent, key string
		named             bool
	}{
		{"/items", "", "items", false},
		{"/properties/items", "", "properties", true},
		{"/properties/properties/properties/a", "/properties/properties", "properties", true},
		{"/items/0", "", "items", false},
		{"/items/additionalProperties", "/items", "additionalProperties", false},
		{"/$defs/a/allOf/1", "/$defs/a", "allOf", false},
		{"/allOf/0/not", "/allOf/0", "not", false},
	} {
		parent, key, named := holder(strings.Split(c.path, "/")[1:])
		if pointer(parent) != c.parent || key != c.key || named != c.named {
			t.Errorf("%s: %v %s %t", c.path, parent, key, named)
		}
	}
}
