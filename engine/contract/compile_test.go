package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestCompileRefuses holds a schema against each reason to refuse it.
func TestCompileRefuses(t *testing.T) {
	d4 := `"$schema":"http://json-schema.org/draft-04/schema#",`
	d7 := `"$schema":"http://json-schema.org/draft-07/schema#",`
	cases := []struct{ name, schema, pointer, keyword, reason string }{
		{"no JSON", `{"type":}`, "/type", "", "no sound JSON"},
		{"duplicate key", `{"type":"null","type":"string"}`, "", "", "twice"},
		{"two values", `{} {}`, "", "", "another JSON value"},
		{"list", `[]`, "", "", "must be an object or a boolean"},
		{"too large", `{"title":"` + strings.Repeat("x", MaxSchemaBytes) + `"}`, "", "", "larger than"},
		{"too deep", strings.Repeat(`{"not":`, 201) + `{}` + strings.Repeat(`}`, 201), strings.Repeat("/not", 200), "", "nested"},
		{"bad type", `{"properties":{"a":{"type":"strin"}}}`, "/properties/a", "type", "not allowed"},
		{"bad title", `{"title":5}`, "", "title", "want string"},
		{"bad required", `{"items":{"required":"a"}}`, "/items", "required", "want array"},
		{"negative count", `{"minLength":-1}`, "", "minLength", "minimum"},
		{"huge count", `{"maxLength":1e30}`, "", "maxLength", "larger than the judge can count"},
		{"huge exponent", `{"multipleOf":1e-9999}`, "/multipleOf", "", "exponent"},
		{"zero divisor", `{"multipleOf":0}`, "", "multipleOf", "not allowed"},
		{"unknown draft", `{"$schema":"https://example.com/s"}`, "", "$schema", "no draft"},
		{"draft-03", `{"$schema":"http://json-schema.org/draft-03/schema#"}`, "", "$schema", "no draft"},
		{"draft-04 id", `{"id":"https://example.com/a"}`, "", "id", "use $id"},
		{"boolean exclusiveMaximum", `{"items":{"maximum":1,"exclusiveMaximum":true}}`, "/items", "exclusiveMaximum", "only draft-04"},
		{"numeric exclusiveMinimum", `{` + d4 + `"exclusiveMinimum":1}`, "", "exclusiveMinimum", "draft-04 has only"},
		{"items list", `{"properties":{"a":{"items":[{"type":"null"}]}}}`, "/properties/a", "items", "use prefixItems"},
		{"additionalItems", `{"additionalItems":false}`, "", "additionalItems", "would ignore it"},
		{"dependencies", `{"dependencies":{"a":["b"]}}`, "", "dependencies", "dependentRequired"},
		{"recursiveRef", `{"$recursiveRef":"#"}`, "", "$recursiveRef", "would ignore it"},
		{"prefixItems in draft-07", `{` + d7 + `"prefixItems":[true]}`, "", "prefixItems", "draft-07 does not know"},
		{"const in draft-04", `{` + d4 + `"properties":{"a":{"const":1}}}`, "/properties/a", "const", "use enum"},
		{"if in draft-04", `{` + d4 + `"if":{}}`, "", "if", "newer draft"},
		{"dependentRequired in draft-07", `{` + d7 + `"dependentRequired":{}}`, "", "dependentRequired", "use dependencies"},
		{"unevaluated in draft-07", `{` + d7 + `"unevaluatedProperties":false}`, "", "unevaluatedProperties", "additionalProperties"},
		{"in unused $defs", `{"$defs":{"a":{"dependencies":{}}}}`, "/$defs/a", "dependencies", "would ignore"},
		{"behind a $ref", `{"components":{"s":{"items":[true]}},"$ref":"#/components/s"}`, "", "", "want boolean or object"},
		{"behind a $ref, ignored", `{"components":{"s":{"dependencies":{}}},"$ref":"#/components/s"}`, "/components/s", "dependencies", "would ignore"},
		{"remote ref", `{"properties":{"a":{"$ref":"https://example.com/a.json"}}}`, "/properties/a", "$ref", "https://example.com/a.json"},
		{"relative ref", `{"items":{"$ref":"other.json#/a"}}`, "/items", "$ref", "other.json#/a"},
		{"file ref", `{"$ref":"file:///etc/passwd"}`, "", "$ref", "file:///etc/passwd"},
		{"ref in a list", `{"allOf":[true,{"$ref":"x.json"}]}`, "/allOf/1", "$ref", "x.json"},
		{"dangling ref", `{"items":{"$ref":"#/$defs/none"}}`, "/items", "$ref", "not found"},
		{"dangling anchor", `{"items":{"$ref":"#none"}}`, "/items", "$ref", "not found"},
		{"cycle", `{"$ref":"#"}`, "", "$ref", "leads back"},
		{"cycle of two", `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`, "/$defs/a", "$ref", "leads back"},
		{"cycle through allOf", `{"allOf":[{"$ref":"#"}]}`, "", "", "leads back"},
		{"cycle through anyOf", `{"$defs":{"a":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/a"}]}},"items":{"$ref":"#/$defs/a"}}`, "/$defs/a", "", "leads back"},
		{"cycle through not", `{"not":{"$ref":"#"}}`, "", "", "leads back"},
		{"cycle through then", `{"if":true,"then":{"$ref":"#"}}`, "", "", "leads back"},
		{"cycle through dependentSchemas", `{"dependentSchemas":{"a":{"$ref":"#"}}}`, "", "", "leads back"},
		{"long chain", chain(300), "/$defs/100", "$ref", "flatten"},
		{"lookahead", `{"properties":{"a":{"pattern":"^(?=x)"}}}`, "/properties/a", "pattern", "cannot run"},
		{"backreference", `{"pattern":"(a)\\1"}`, "", "pattern", "cannot run"},
		{"repetition", `{"pattern":"a{5000}"}`, "", "pattern", "cannot run"},
		{"nested repetition", `{"pattern":"((a{100}){100}){100}"}`, "", "pattern", "cannot run"},
		{"patternProperties", `{"patternProperties":{"(?<!a)b":true}}`, "", "patternProperties", "cannot run"},
		{"too many parts", `{"properties":{` + strings.TrimSuffix(manyKeys(10_001), ",") + `}}`, "", "", "sub-schemas"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Compile(Spec{Mode: "json_schema", Schema: json.RawMessage(c.schema)})
			refusal, ok := errors.AsType[*CompileError](err)
			if !ok {
				t.Fatalf("no refusal: %v", err)
			}
			if refusal.Pointer != c.pointer && c.keyword+c.pointer != "" || refusal.Keyword != c.keyword && c.keyword != "" ||
				!strings.Contains(refusal.Error(), c.reason) {
				t.Errorf("pointer %q, keyword %q: %v", refusal.Pointer, refusal.Keyword, err)
			}
			if strings.Contains(err.Error(), base) || len(err.Error()) > 3000 {
				t.Errorf("message shows the inside or is endless: %.300s", err)
			}
		})
	}
}

// chain is a schema of n references in a row.
func chain(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"%d":{"$ref":"#/$defs/%d"},`, i, i+1)
	}
	fmt.Fprintf(&b, `"%d":{"type":"null"}}}`, n)
	return b.String()
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":{"type":"null"},`, i)
	}
	return b.String()
}

func TestSpecRefuses(t *testing.T) {
	for _, c := range []struct {
		spec   Spec
		reason string
	}{
		{Spec{}, "unknown mode"},
		{Spec{Mode: "xml"}, `unknown mode "xml"`},
		{Spec{Mode: "json_schema"}, "needs a schema"},
		{Spec{Mode: "json_schema", Schema: json.RawMessage("  ")}, "needs a schema"},
		{Spec{Mode: "json", Schema: json.RawMessage("{}")}, "takes no schema"},
		{Spec{Mode: "none", Schema: json.RawMessage("{}")}, "takes no schema"},
		{Spec{Mode: "json", MaxBytes: -1}, "negative"},
	} {
		_, err := Compile(c.spec)
		if _, ok := errors.AsType[*CompileError](err); !ok || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%+v: %v", c.spec, err)
		}
	}
}

// TestCompileAccepts holds what may look foreign and is not.
func TestCompileAccepts(t *testing.T) {
	for _, schema := range []string{
		`{"properties":{"id":{"type":"string"},"dependencies":{"type":"array"},"items":true}}`,
		`{"definitions":{"a":{"type":"null"}},"items":{"$ref":"#/definitions/a"}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","$defs":{"a":{"type":"null"}},"items":{"$ref":"#/$defs/a"}}`,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema#"}`,
		`{"$schema":"http://json-schema.org/draft-06/schema","contains":{"const":1},"examples":[1]}`,
		`{"x-vendor":{"items":[1]},"nullable":true,"format":"no-such"}`,
		`{"const":{"dependencies":{},"items":[]},"default":{"id":"x"},"enum":[{"$ref":"http://x"}]}`,
		`{"$defs":{"n":{"properties":{"next":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}`,
		`{"properties":{"a":{"$ref":"#"}},"items":{"$ref":"#"},"contains":{"$ref":"#"}}`,
		chain(150),
	} {
		if _, err := Compile(Spec{Mode: "json_schema", Schema: json.RawMessage(schema)}); err != nil {
			t.Errorf("%.80s: %v", schema, err)
		}
	}
}

func TestCompileOnce(t *testing.T) {
	spec := Spec{Mode: "json_schema", Schema: json.RawMessage(`{"title":"compiled once","type":"null"}`)}
	contracts := make([]*Contract, 8)
	var wg sync.WaitGroup
	for i := range contracts {
		wg.Go(func() { contracts[i], _ = Compile(spec) })
	}
	wg.Wait()
	for _, c := range contracts {
		if c == nil || c != contracts[0] {
			t.Fatal("the same spec compiled twice")
		}
	}
	if other := mustCompile(t, Spec{Mode: spec.Mode, Schema: spec.Schema, LastWins: true}); other == contracts[0] {
		t.Error("another flag shares the contract")
	}
}

func TestCacheIsBounded(t *testing.T) {
	c := newCache(3, 1000)
	spec := func(n int, size int) Spec {
		return Spec{Mode: "json_schema", Schema: json.RawMessage(fmt.Sprintf(`{"title":"%0*d"}`, size, n))}
	}
	first, err := c.get(spec(0, 1))
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < 10; i++ {
		if _, err := c.get(spec(i, 1)); err != nil {
			t.Fatal(err)
		}
		if again, _ := c.get(spec(0, 1)); again != first {
			t.Fatal("a contract in use was dropped")
		}
	}
	if c.order.Len() != 3 || len(c.byKey) != 3 {
		t.Errorf("%d entries, %d keys", c.order.Len(), len(c.byKey))
	}
	c.get(spec(1, 600))
	c.get(spec(2, 600))
	if c.held > 1000 || c.order.Len() != 1 {
		t.Errorf("%d bytes in %d entries", c.held, c.order.Len())
	}
}

func TestCompileKeepsItsSchema(t *testing.T) {
	text := []byte(`{"type":"string"}`)
	c := mustCompile(t, Spec{Mode: "json_schema", Schema: text})
	copy(text, `{"type":"number"}`)
	if f := c.Judge([]byte("1")).Findings; len(f) != 1 || string(f[0].Expected) != `"string"` {
		t.Errorf("findings %+v", f)
	}
}
