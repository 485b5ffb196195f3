package contract

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestUnions: when one alternative is clearly meant its faults are reported, otherwise the union is.
func TestUnions(t *testing.T) {
	shapes := `"$defs":{
		"circle":{"type":"object","properties":{"kind":{"const":"circle"},"r":{"type":"number"}},"required":["kind","r"]},
		"square":{"type":"object","properties":{"kind":{"const":"square"},"side":{"type":"number"}},"required":["kind","side"]},
		"either":{"anyOf":[{"$ref":"#/$defs/circle"},{"$ref":"#/$defs/square"}]}}`
	for _, c := range []struct {
		name, schema, text string
		want               []string
	}{
		{"discriminator names circle", `{` + shapes + `,"$ref":"#/$defs/either"}`, `{"kind":"circle","r":"1"}`, []string{"/r type"}},
		{"discriminator names square", `{` + shapes + `,"$ref":"#/$defs/either"}`, `{"kind":"square"}`, []string{" required side"}},
		{"discriminator names none", `{` + shapes + `,"$ref":"#/$defs/either"}`, `{"kind":"line"}`, []string{" anyOf"}},
		{"discriminator missing", `{` + shapes + `,"$ref":"#/$defs/either"}`, `{"r":1}`, []string{" anyOf"}},
		{"inside a list", `{` + shapes + `,"items":{"$ref":"#/$defs/either"}}`, `[{"kind":"circle","r":1},{"kind":"circle","r":null}]`,
			[]string{"/1/r type"}},
		{"oneOf does the same", `{` + shapes + `,"oneOf":[{"$ref":"#/$defs/circle"},{"$ref":"#/$defs/square"}]}`, `{"kind":"circle"}`,
			[]string{" required r"}},
		{"nested unions", `{` + shapes + `,"anyOf":[{"type":"null"},{"$ref":"#/$defs/either"}]}`, `{"kind":"circle","r":[]}`,
			[]string{"/r type"}},
		{"nested unions without a branch", `{` + shapes + `,"anyOf":[{"type":"null"},{"$ref":"#/$defs/either"}]}`, `{"kind":"x"}`,
			[]string{" anyOf"}},
		{"list or text", `{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"integer"}}]}`, `[1,"2",3.5]`,
			[]string{"/1 type", "/2 type"}},
		{"nullable bound", `{"anyOf":[{"type":"null"},{"type":"integer","minimum":5}]}`, `3`, []string{" minimum"}},
		{"two objects", `{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, []string{" anyOf"}},
		{"enum or const", `{"anyOf":[{"const":1},{"enum":[2,3]}]}`, `4`, []string{" anyOf"}},
		{"false branch", `{"anyOf":[false,{"type":"object","required":["a"]}]}`, `{}`, []string{" required a"}},
		{"one branch alone", `{"anyOf":[{"type":"object","required":["a"]}]}`, `{}`, []string{" required a"}},
		{"one branch of another type", `{"anyOf":[{"type":"object"}]}`, `1`, []string{" anyOf"}},
		{"union beside a fault", `{"anyOf":[{"type":"null"},{"type":"string"}],"maximum":1}`, `2`, []string{" anyOf", " maximum"}},
		{"the same fault twice", `{"allOf":[{"$ref":"#/$defs/s"},{"$ref":"#/$defs/s"}],"$defs":{"s":{"type":"string"}}}`, `1`,
			[]string{" type"}},
		{"two schemas, one keyword", `{"allOf":[{"type":"string"},{"type":"null"}]}`, `1`, []string{" type", " type"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := schemaContract(t, c.schema).Judge([]byte(c.text))
			if v.Class != SchemaInvalid || !slices.Equal(shown(v.Findings), c.want) {
				t.Errorf("findings %q, want %q", shown(v.Findings), c.want)
			}
		})
	}
}

// TestUnionFinding: the finding of a union carries the whole value and the alternatives.
func TestUnionFinding(t *testing.T) {
	schema := `{"properties":{"a":{"oneOf":[{"type":"null"},{"type":"string"}],"title":"A"}}}`
	f := schemaContract(t, schema).Judge([]byte(`{"a":[1]}`)).Findings[0]
	if f.Pointer != "/a" || string(f.Value) != `[1]` || string(f.Expected) != `[{"type":"null"},{"type":"string"}]` ||
		!strings.HasSuffix(string(f.Schema), `"title":"A"}`) {
		t.Errorf("finding %+v", f)
	}
}

// TestUnevaluated: unevaluated keywords are believed only where nothing in place failed.
func TestUnevaluated(t *testing.T) {
	for _, c := range []struct {
		schema, text string
		want         []string
	}{
		{`{"properties":{"a":{"type":"null"}},"unevaluatedProperties":false}`, `{"a":1,"b":1}`,
			[]string{" unevaluatedProperties b", "/a type"}},
		{`{"$defs":{"d":{"properties":{"a":{"type":"null"}}}},"$ref":"#/$defs/d","unevaluatedProperties":false}`, `{"a":1}`,
			[]string{"/a type"}},
		{`{"if":true,"then":{"properties":{"a":{"type":"null"}}},"unevaluatedProperties":false}`, `{"a":1}`, []string{"/a type"}},
		{`{"dependentSchemas":{"a":{"properties":{"a":{"type":"null"}}}},"unevaluatedProperties":false}`, `{"a":1}`,
			[]string{"/a type"}},
		{`{"anyOf":[{"prefixItems":[{"type":"null"}]}],"unevaluatedItems":false}`, `[1]`, []string{"/0 type"}},
		{`{"unevaluatedProperties":{"type":"null"}}`, `{"a":1}`, []string{"/a type"}},
		{`{"items":{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}}`, `[{"a":1},{"b":1}]`,
			[]string{"/1 unevaluatedProperties b"}},
	} {
		v := schemaContract(t, c.schema).Judge([]byte(c.text))
		if !slices.Equal(shown(v.Findings), c.want) {
			t.Errorf("%s: findings %q, want %q", c.schema, shown(v.Findings), c.want)
		}
	}
}

// TestCyclesWhileJudging: a reference that ends up in itself only at run time is no verdict.
func TestCyclesWhileJudging(t *testing.T) {
	schema := `{"$id":"https://example.com/root","$dynamicAnchor":"x","$ref":"inner",
		"$defs":{"inner":{"$id":"inner","$defs":{"stop":{"$dynamicAnchor":"x"}},"$dynamicRef":"#x"}}}`
	c, err := Compile(Spec{Mode: "json_schema", Schema: []byte(schema)})
	if err != nil {
		if _, ok := errors.AsType[*CompileError](err); !ok {
			t.Fatal(err)
		}
		return
	}
	if v := c.Judge([]byte(`{}`)); v.Err == nil || v.Valid() || !strings.Contains(v.Err.Error(), "without end") {
		t.Errorf("verdict %+v", v)
	}
}

func TestMeter(t *testing.T) {
	m := &meter{}
	m.reset(20)
	m.charge(budget)
	defer func() {
		if p := recover(); p != ErrBudget {
			t.Errorf("recovered %v", p)
		}
	}()
	m.charge(1)
	t.Error("charged beyond the budget")
}

// TestProgramsAreShared: an expression compiles once for all copies of a schema, and its size is known.
func TestProgramsAreShared(t *testing.T) {
	ps := &programs{byExpr: map[string]program{}}
	a, err := ps.compile("^a{1,100}$")
	if err != nil {
		t.Fatal(err)
	}
	b, err := ps.compile("^a{1,100}$")
	if err != nil || a.Regexp != b.Regexp || a.size < 100 {
		t.Errorf("size %d, shared %t, error %v", a.size, a.Regexp == b.Regexp, err)
	}
	if _, err := ps.compile("("); err == nil || len(ps.byExpr) != 1 {
		t.Errorf("error %v, %d programs", err, len(ps.byExpr))
	}
}

func TestLocation(t *testing.T) {
	for address, want := range map[string]string{
		base + "#":                                "",
		base + "#/properties/a":                   "/properties/a",
		base + "#/properties/a~1b%25/items":       "/properties/a~1b%/items",
		base + "#/$defs/%C3%BC":                   "/$defs/ü",
		"https://json-schema.org/schema#/a":       "foreign",
		base + "#/patternProperties/%5E%5Ba-z%5D": "/patternProperties/^[a-z]",
	} {
		tokens, ok := location(address)
		if got := pointer(tokens); ok && got != want || !ok && want != "foreign" {
			t.Errorf("%s: %s, %t", address, got, ok)
		}
	}
}

// TestOddKeys: property names that need escaping keep their schema.
func TestOddKeys(t *testing.T) {
	for _, key := range []string{"a/b", "a~b", "a%b", "a b", "ü", "a#b", "~1", "%2F", "?", "", "0", "properties"} {
		c := schemaContract(t, `{"properties":{`+quoted(key)+`:{"type":"string"}}}`)
		v := c.Judge([]byte(`{` + quoted(key) + `:1}`))
		if len(v.Findings) != 1 || string(v.Findings[0].Expected) != `"string"` || string(v.Findings[0].Value) != "1" {
			t.Errorf("%q: %+v", key, v.Findings)
			continue
		}
		if f := v.Findings[0]; f.Pointer != "/"+escapeToken(key) || f.Masked != f.Pointer {
			t.Errorf("%q: pointer %q, masked %q", key, f.Pointer, f.Masked)
		}
	}
}
