package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestTypes holds every type against a value of every kind.
func TestTypes(t *testing.T) {
	values := []struct {
		text  string
		types []string
	}{
		{`null`, []string{"null"}},
		{`true`, []string{"boolean"}},
		{`false`, []string{"boolean"}},
		{`0`, []string{"number", "integer"}},
		{`-7`, []string{"number", "integer"}},
		{`1.0`, []string{"number", "integer"}},
		{`1e3`, []string{"number", "integer"}},
		{`10e-1`, []string{"number", "integer"}},
		{`1.5`, []string{"number"}},
		{`1e-1`, []string{"number"}},
		{`-0.0`, []string{"number", "integer"}},
		{`123456789012345678901234567890`, []string{"number", "integer"}},
		{`123456789012345678901234567890.5`, []string{"number"}},
		{`""`, []string{"string"}},
		{`"true"`, []string{"string"}},
		{`"1"`, []string{"string"}},
		{`[]`, []string{"array"}},
		{`{}`, []string{"object"}},
	}
	for _, name := range []string{"null", "boolean", "number", "integer", "string", "array", "object"} {
		c := schemaContract(t, fmt.Sprintf(`{"type":%q}`, name))
		for _, value := range values {
			v := c.Judge([]byte(value.text))
			if want := slices.Contains(value.types, name); v.Valid() != want {
				t.Errorf("%s as %s: %t, want %t", value.text, name, v.Valid(), want)
			}
		}
	}
}

// TestFormats holds a good and a bad text against the known formats, and every format against a value that is no text.
func TestFormats(t *testing.T) {
	for _, c := range []struct{ format, good, bad string }{
		{"date", `"2024-12-31"`, `"2024-13-01"`},
		{"time", `"23:59:59Z"`, `"24:00:00Z"`},
		{"date-time", `"2024-05-01T10:00:00+02:00"`, `"2024-05-01 10:00"`},
		{"duration", `"P1DT2H"`, `"1 day"`},
		{"email", `"a@example.com"`, `"a.example.com"`},
		{"hostname", `"example.com"`, `"-example.com"`},
		{"ipv4", `"127.0.0.1"`, `"127.0.0.256"`},
		{"ipv6", `"::1"`, `"12345::"`},
		{"uri", `"https://example.com/a?b#c"`, `"//example.com"`},
		{"uri-reference", `"/a/b"`, `"\\\\a"`},
		{"uuid", `"2eb8aa08-aa98-11ea-b4aa-73b441d16380"`, `"2eb8aa08"`},
		{"json-pointer", `"/a/b~1c"`, `"a/b"`},
		{"relative-json-pointer", `"1/a"`, `"/a"`},
		{"regex", `"^[a-z]+$"`, `"[a-z"`},
	} {
		contract := schemaContract(t, fmt.Sprintf(`{"format":%q}`, c.format))
		for _, good := range []string{c.good, `5`, `null`, `["x"]`} {
			if v := contract.Judge([]byte(good)); !v.Valid() {
				t.Errorf("%s refuses %s: %+v", c.format, good, v.Findings)
			}
		}
		v := contract.Judge([]byte(c.bad))
		if len(v.Findings) != 1 || v.Findings[0].Keyword != "format" || !strings.Contains(v.Findings[0].Message, c.format) {
			t.Errorf("%s accepts %s: %+v", c.format, c.bad, v)
		}
	}
}

// drafted is a schema of a draft with one more keyword.
func drafted(draft int, keyword, value string) string {
	uris := map[int]string{
		draft4:    "http://json-schema.org/draft-04/schema#",
		draft6:    "http://json-schema.org/draft-06/schema#",
		draft7:    "http://json-schema.org/draft-07/schema#",
		draft2019: "https://json-schema.org/draft/2019-09/schema",
		draft2020: "https://json-schema.org/draft/2020-12/schema",
	}
	return fmt.Sprintf(`{"$schema":%q,"properties":{"p":{%q:%s}}}`, uris[draft], keyword, value)
}

// TestKeywordsByDraft writes every keyword in every draft: it compiles where the draft knows it and is refused, with
// its place and name, where it would do nothing.
func TestKeywordsByDraft(t *testing.T) {
	sound := map[shape]string{oneShape: `{"minLength":1}`, listShape: `[{"minLength":1}]`, mapShape: `{"a":{"minLength":1}}`,
		eitherShape: `{"minLength":1}`}
	leaves := map[string]string{"id": `"https://example.com/i"`, "$id": `"https://example.com/i"`, "$anchor": `"here"`,
		"$recursiveRef": `"#"`, "$recursiveAnchor": `true`, "$dynamicRef": `"#"`, "$dynamicAnchor": `"there"`, "const": `1`,
		"minContains": `1`, "maxContains": `1`, "dependentRequired": `{"a":["b"]}`}
	for name, k := range keywords {
		value, ok := leaves[name]
		if !ok {
			value = sound[k.shape]
		}
		for _, draft := range []int{draft4, draft6, draft7, draft2019, draft2020} {
			_, err := Compile(Spec{Mode: "json_schema", Schema: json.RawMessage(drafted(draft, name, value))})
			if known := draft >= k.from && draft <= k.to; known != (err == nil) {
				t.Errorf("%s in %s: %v", name, draftName(draft), err)
			}
			refusal, ok := errors.AsType[*CompileError](err)
			if ok && (refusal.Pointer != "/properties/p" || refusal.Keyword != name || !strings.Contains(refusal.Reason, k.advice)) {
				t.Errorf("%s in %s: %v", name, draftName(draft), err)
			}
		}
	}
}

// TestSubSchemasAreWalked hides a refusal below every keyword that holds sub-schemas.
func TestSubSchemasAreWalked(t *testing.T) {
	hidden := `{"pattern":"(?=x)"}`
	for name, k := range keywords {
		if k.to < draft2020 || k.shape == leafShape {
			continue
		}
		value, below := hidden, ""
		switch k.shape {
		case listShape:
			value, below = `[true,`+hidden+`]`, "/1"
		case mapShape:
			value, below = `{"a":true,"b":`+hidden+`}`, "/b"
		}
		_, err := Compile(Spec{Mode: "json_schema", Schema: json.RawMessage(drafted(draft2020, name, value))})
		refusal, ok := errors.AsType[*CompileError](err)
		if want := "/properties/p/" + name + below; !ok || refusal.Pointer != want || refusal.Keyword != "pattern" {
			t.Errorf("%s: %v, want a refusal at %s", name, err, want)
		}
	}
}

// TestCompileErrorText shows what an author reads.
func TestCompileErrorText(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`{"properties":{"a b":{"dependencies":{}}}}`, `contract: schema at properties["a b"], keyword dependencies: ` +
			`draft 2020-12 does not know dependencies and would ignore it; use dependentRequired or dependentSchemas`},
		{`{"items":{"$ref":"https://example.com/x.json#/a"}}`, `contract: schema at items, keyword $ref: the reference ` +
			`"https://example.com/x.json#/a" leads out of the schema and nothing is loaded; copy its target into $defs and point there`},
		{`{"items":{"$ref":"#/$defs/a"}}`, `contract: schema at items, keyword $ref: the target of the reference "#/$defs/a" ` +
			`is not found in the schema; define it or correct the reference`},
		{`{"items":[]}`, `contract: schema at (root), keyword items: draft 2020-12 has no items with an array; use prefixItems`},
		{`{"minLength":"3"}`, `contract: schema at (root), keyword minLength: its value "3" is not allowed: got string, ` +
			`want integer; correct it`},
		{`[]`, `contract: the schema is of type array; it must be an object or a boolean`},
	} {
		_, err := Compile(Spec{Mode: "json_schema", Schema: json.RawMessage(c.schema)})
		if err == nil || strings.ReplaceAll(err.Error(), "'", "") != c.want {
			t.Errorf("%s:\n%v, want\n%s", c.schema, err, c.want)
		}
	}
}

// TestNothingIsLoaded: no reference reaches a file or the network, whatever its form.
func TestNothingIsLoaded(t *testing.T) {
	for _, ref := range []string{
		"file:///etc/hostname", "/etc/hostname", "../contract.go", "http://localhost:1/x", "https://example.com/s.json",
		"ftp://example.com/s", "emend:///other", "urn:example:s", "//example.com/s", "s.json#/$defs/a", "?q",
	} {
		for _, keyword := range []string{"$ref", "$dynamicRef"} {
			schema := fmt.Sprintf(`{"properties":{"a":{%q:%q}}}`, keyword, ref)
			_, err := Compile(Spec{Mode: "json_schema", Schema: json.RawMessage(schema)})
			if refusal, ok := errors.AsType[*CompileError](err); !ok || !strings.Contains(refusal.Reason, "leads out") {
				t.Errorf("%s %s: %v", keyword, ref, err)
			}
		}
	}
}

// TestBoundsOfNumbers compares at the edge where floats would round.
func TestBoundsOfNumbers(t *testing.T) {
	for _, c := range []struct {
		schema, text string
		want         bool
	}{
		{`{"maximum":9007199254740992}`, `9007199254740993`, false},
		{`{"maximum":9007199254740993}`, `9007199254740993.0`, true},
		{`{"exclusiveMaximum":0.3}`, `0.29999999999999999999`, true},
		{`{"minimum":0.1}`, `1e-1`, true},
		{`{"minimum":-1}`, `-1.0000000000000000001`, false},
		{`{"exclusiveMinimum":0}`, `1e-4096`, true},
		{`{"exclusiveMinimum":0}`, `-0`, false},
		{`{"maximum":1e4096}`, `9e4095`, true},
		{`{"multipleOf":0.1}`, `0.3`, true},
		{`{"multipleOf":0.01}`, `4.35`, true},
		{`{"multipleOf":1e-8}`, `12391239123`, true},
		{`{"multipleOf":0.123456789}`, `1e308`, false},
		{`{"multipleOf":3}`, `1e30`, false},
		{`{"multipleOf":7}`, `0`, true},
		{`{"multipleOf":2.5}`, `-7.5`, true},
	} {
		if v := schemaContract(t, c.schema).Judge([]byte(c.text)); v.Valid() != c.want || v.Err != nil {
			t.Errorf("%s %s: %t, want %t", c.schema, c.text, v.Valid(), c.want)
		}
	}
}
