package contract

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

// plain judges by the library as it is, without gates, meters and extensions.
func plain(schema []byte, value any) (valid, compiled bool) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.UseLoader(refuseLoads{})
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	if err != nil || c.AddResource(base, doc) != nil {
		return false, false
	}
	s, err := c.Compile(base)
	if err != nil {
		return false, false
	}
	return s.Validate(value) == nil, true
}

// checkVerdict checks what holds for every verdict.
func checkVerdict(t interface {
	Helper()
	Fatalf(string, ...any)
}, c *Contract, text []byte) Verdict {
	t.Helper()
	v := c.Judge(text)
	switch {
	case v.Err != nil && (v.Valid() || v.Class != ""):
		t.Fatalf("an error beside class %q", v.Class)
	case v.Err == nil && v.Valid() == (len(v.Findings) > 0):
		t.Fatalf("class %q with %d findings for %q", v.Class, len(v.Findings), text)
	case v.Class == SchemaInvalid && v.Value == nil:
		t.Fatalf("no value beside findings for %q", text)
	}
	for _, f := range v.Findings {
		if f.Keyword == "" || f.Message == "" || len(f.Message) > 4000 {
			t.Fatalf("finding %+v for %q", f, text)
		}
		if f.Value != nil && !json.Valid(f.Value) || f.Schema != nil && !json.Valid(f.Schema) {
			t.Fatalf("finding %+v holds no JSON for %q", f, text)
		}
	}
	return v
}

func FuzzJudge(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}`, `{"a":1.5,"b":2}`},
		{`{"anyOf":[{"type":"null"},{"items":{"enum":[1,"x"]}}]}`, `[1,2]`},
		{`{"$defs":{"n":{"properties":{"c":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}`, `{"c":{"c":1}}`},
		{`{"uniqueItems":true,"contains":{"const":1}}`, `[2,2]`},
		{`{"propertyNames":{"pattern":"^a"},"unevaluatedProperties":false}`, `{"b":1}`},
		{`{"if":{"minimum":0},"then":{"multipleOf":0.1},"else":false}`, `-1`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, schema, text []byte) {
		c, err := Compile(Spec{Mode: "json_schema", Schema: schema})
		if err != nil {
			if len(err.Error()) == 0 {
				t.Fatal("a refusal without a word")
			}
			return
		}
		v := checkVerdict(t, c, text)
		if v.Value == nil || v.Err != nil {
			return
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(v.Value)))
		if err != nil {
			t.Fatal(err)
		}
		if valid, compiled := plain(schema, value); compiled && valid != v.Valid() {
			t.Fatalf("schema %s, value %s: class %q, the library says %t", schema, v.Value, v.Class, valid)
		}
	})
}

// genSchema draws schemas of the keywords that the gates take over, and of those around them.
func genSchema(depth int) *rapid.Generator[string] {
	leaf := rapid.SampledFrom([]string{
		`true`, `false`, `{}`, `{"type":"integer"}`, `{"type":["string","null"]}`, `{"const":1.0}`, `{"enum":[1,"a",[1],{"a":null}]}`,
		`{"uniqueItems":true}`, `{"propertyNames":{"maxLength":1}}`, `{"minimum":1,"multipleOf":0.5}`, `{"required":["a","b"]}`,
		`{"format":"date"}`, `{"pattern":"^a","minLength":2}`, `{"additionalProperties":false,"properties":{"a":true}}`,
		`{"dependentRequired":{"a":["b"]}}`, `{"$ref":"#/$defs/s"}`, `{"type":"object","unevaluatedProperties":false}`,
	})
	if depth == 0 {
		return leaf
	}
	inner := genSchema(depth - 1)
	return rapid.Custom(func(t *rapid.T) string {
		a, b := inner.Draw(t, "a"), inner.Draw(t, "b")
		form := rapid.SampledFrom([]string{
			`{"anyOf":[%s,%s]}`, `{"oneOf":[%s,%s]}`, `{"allOf":[%s,%s]}`, `{"properties":{"a":%s,"b":%s},"unevaluatedProperties":false}`,
			`{"prefixItems":[%s],"items":%s}`, `{"if":%s,"then":%s}`, `{"not":%s,"items":%s}`, `{"contains":%s,"unevaluatedItems":%s}`,
			`{"patternProperties":{"^a":%s},"additionalProperties":%s}`, `{"dependentSchemas":{"a":%s,"b":%s}}`,
		}).Draw(t, "form")
		return fmt.Sprintf(form, a, b)
	})
}

func genValue(depth int) *rapid.Generator[string] {
	leaf := rapid.SampledFrom([]string{`null`, `true`, `1`, `1.0`, `0.5`, `-2`, `"a"`, `"2024-02-30"`, `""`, `[]`, `{}`})
	if depth == 0 {
		return leaf
	}
	inner := genValue(depth - 1)
	return rapid.Custom(func(t *rapid.T) string {
		a, b := inner.Draw(t, "a"), inner.Draw(t, "b")
		form := rapid.SampledFrom([]string{`[%s,%s]`, `{"a":%s,"b":%s}`, `{"ab":%s,"c":%s}`}).Draw(t, "form")
		return fmt.Sprintf(form, a, b)
	})
}

// TestAgreesWithTheLibrary: the gates change what a verdict costs, never what it is.
func TestAgreesWithTheLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		schema := genSchema(rapid.IntRange(0, 3).Draw(t, "schema depth")).Draw(t, "schema")
		schema = `{"$defs":{"s":{"type":"string"}},"allOf":[` + schema + `]}`
		text := genValue(rapid.IntRange(0, 3).Draw(t, "value depth")).Draw(t, "value")
		c, err := Compile(Spec{Mode: "json_schema", Schema: json.RawMessage(schema)})
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		v := checkVerdict(t, c, []byte(text))
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if valid, _ := plain([]byte(schema), value); valid != v.Valid() {
			t.Fatalf("schema %s, value %s: %+v, the library says %t", schema, text, v, valid)
		}
	})
}

// TestCanon: equal forms for equal values, and for no others.
func TestCanon(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		equal bool
	}{
		{`1`, `1.0`, true}, {`100`, `1e2`, true}, {`0`, `-0.0e5`, true}, {`0.5`, `5E-1`, true}, {`-1`, `1`, false}, {`10`, `1`, false},
		{`12e-1`, `1.2`, true}, {`{"a":1,"b":2}`, `{"b":2.0,"a":1}`, true}, {`[1,2]`, `[12]`, false}, {`["a","b"]`, `["ab"]`, false},
		{`["as1:b"]`, `["a","b"]`, false}, {`[[1],2]`, `[[1,2]]`, false}, {`"1"`, `1`, false}, {`null`, `"n"`, false}, {`true`, `"true"`, false},
		{`{"a":{"b":1}}`, `{"a":1,"b":1}`, false}, {`9007199254740993`, `9007199254740992`, false},
	} {
		a, b := scan([]byte(c.a), true, false).value, scan([]byte(c.b), true, false).value
		if got := string(appendCanon(nil, a)) == string(appendCanon(nil, b)); got != c.equal {
			t.Errorf("%s and %s: equal is %t", c.a, c.b, got)
		}
	}
}
