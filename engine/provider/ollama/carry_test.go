package ollama

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"emend/engine/provider"
	pt "emend/engine/provider/providertest"
)

// TestCarryWhole: what Ollama was tried with and enforced (providers.md) goes out byte for byte.
func TestCarryWhole(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object","title":"t","properties":{"z":{"type":"string","minLength":1,"maxLength":9},"a":{"type":["integer","null"],"minimum":1,"exclusiveMaximum":3}},"required":["z"],"additionalProperties":false}`,
		`{"type":"array","items":{"anyOf":[{"type":"string","format":"date"},{"$ref":"#/$defs/n"}]},"minItems":1,"maxItems":3,"$defs":{"n":{"type":"number"}}}`,
		`{"type":"object","properties":{"next":{"$ref":"#/properties/next"},"v":{"const":1,"minimum":0},"e":{"type":"string","enum":["a",null]}},"required":[]}`,
		`{"type":"string","pattern":"^[A-Z]{2,4}-(a|b)+\\.$"}`,
		`{"allOf":[{"$ref":"#/$defs/a"},{"properties":{"y":{"type":"null"}},"required":["y"]}],"$defs":{"a":{"properties":{"x":{"type":"boolean"}},"required":["x"]}}}`,
		`{"anyOf":[{"type":"string","format":"uuid"},{"properties":{},"additionalProperties":true}]}`,
	} {
		got := Carry(nil, []byte(schema))
		if !got.Whole || got.Form != "format" || string(got.Schema) != schema || got.Weakened != nil {
			t.Errorf("%s\ncame to %s, %q", schema, got.Schema, got.Weakened)
		}
	}
}

// TestCarrySilently: what Ollama takes and does not enforce goes out all the same, and is said.
func TestCarrySilently(t *testing.T) {
	for schema, lost := range map[string]string{
		`{"type":"number","minimum":0,"multipleOf":2}`:                                            "minimum multipleOf",
		`{"type":"integer","minimum":0,"exclusiveMinimum":3}`:                                     "exclusiveMinimum",
		`{"type":["number","integer"],"maximum":7}`:                                               "maximum",
		`{"type":"array","items":{"type":"null"},"uniqueItems":true}`:                             "uniqueItems",
		`{"type":"array","minItems":1}`:                                                           "minItems",
		`{"type":"string","format":"email"}`:                                                      "format",
		`{"type":"string","format":"date","minLength":3}`:                                         "minLength",
		`{"type":"string","pattern":"^a$","format":"date","maxLength":3}`:                         "format maxLength",
		`{"type":"object","properties":{},"dependentRequired":{"a":["b"]}}`:                       "dependentRequired",
		`{"type":"object","required":["a"],"minProperties":1}`:                                    "minProperties required",
		`{"enum":["a"],"minLength":1}`:                                                            "minLength",
		`{"type":"array","allOf":[{"enum":[[]]}]}`:                                                "allOf",
		`{"items":{"$ref":"#/$defs/a","minimum":1,"title":"t"},"$defs":{"a":{"type":"integer"}}}`: "minimum",
	} {
		got := Carry(nil, []byte(schema))
		var names []string
		for _, clause := range got.Weakened {
			_, what, _ := strings.Cut(clause, ": ")
			name, _, _ := strings.Cut(what, " is not enforced")
			names = append(names, name)
		}
		if string(got.Schema) != schema || got.Whole || strings.Join(names, " ") != lost {
			t.Errorf("%s\ncame to %s, %q", schema, got.Schema, got.Weakened)
		}
	}
}

func TestCarryLeavesOutWhatBreaks(t *testing.T) {
	const any = `{"type":["object","array","string","number","boolean","null"]`
	const noRef = "$ref is not sent: it names no definition of the root by a plain name"
	cases := map[string]struct{ schema, wire, lost string }{
		"unanchored pattern": {`{"type":"string","pattern":"a","minLength":2}`, `{"type":"string","minLength":2}`, "at the root: pattern is not sent: it is not anchored at both ends"},
		"tuple": {`{"type":"array","prefixItems":[{"type":"string"}],"items":false,"minItems":1}`, `{"type":"array","minItems":1}`,
			"at the root: prefixItems is not sent: Ollama refuses tuples\nat the root: items is not sent: Ollama refuses tuples\nat the root: minItems is not enforced"},
		"tuple of draft 7": {`{"type":"array","items":[{"type":"string"}]}`, `{"type":"array"}`, "at the root: items is not sent: Ollama refuses tuples"},
		"a long minLength": {`{"properties":{"a":{"type":"string","minLength":2500,"maxLength":1000}}}`, `{"properties":{"a":{"type":"string","maxLength":1000}}}`,
			"at /properties/a: minLength is not sent: a repetition this long crashes Ollama's runner"},
		"a broken bound":   {`{"type":"integer","minimum":1.5,"exclusiveMaximum":1e30}`, `{"type":"integer"}`, "at the root: minimum is not sent: it is no whole number\nat the root: exclusiveMaximum is not sent: it is no whole number"},
		"a boolean bound":  {`{"type":"integer","minimum":1,"exclusiveMinimum":true}`, `{"type":"integer","minimum":1}`, "at the root: exclusiveMinimum is not sent: it is no whole number"},
		"no type":          {`{"description":"d"}`, any + `,"description":"d"}`, ""},
		"no type, lengths": {`{"minLength":2}`, any + `,"minLength":2}`, ""},
		"no type, a bound": {`{"minimum":2}`, any + `,"minimum":2}`, "at the root: minimum is not enforced"},
		"booleans": {`{"properties":{"a":true,"b":false},"additionalProperties":true}`, `{"properties":{"a":` + any + `},"b":` + any + `}},"additionalProperties":true}`,
			"at /properties/b: a schema that is false is not enforced"},
		"empty":                   {`{"items":{}}`, `{"items":` + any + `}}`, ""},
		"the root as a reference": {`{"$ref":"#/definitions/a","definitions":{"a":{"type":"null"}}}`, `{"anyOf":[{"$ref":"#/definitions/a"}],"definitions":{"a":{"type":"null"}}}`, ""},
		"references elsewhere": {`{"properties":{"a":{"$ref":"#"},"b":{"$ref":"#/$defs/x~1y"},"c":{"$ref":"#/$defs/gone","type":"null"}},"$defs":{"x/y":{"type":"null"}}}`,
			`{"properties":{"a":` + any + `},"b":` + any + `},"c":{"type":"null"}},"$defs":{"x/y":{"type":"null"}}}`,
			"at /properties/a: " + noRef + "\nat /properties/b: " + noRef + "\nat /properties/c: " + noRef},
		"patterns of names": {`{"properties":{"a":{"type":"null"}},"patternProperties":{"^x":{"type":"null"}}}`,
			`{"additionalProperties":true,"properties":{"a":{"type":"null"}}}`, "at the root: patternProperties is not sent: Ollama does not read it"},
		"patterns of names alone": {`{"type":"object","patternProperties":{"^x":{"type":"null"}},"additionalProperties":false}`,
			`{"type":"object","additionalProperties":true}`,
			"at the root: additionalProperties is not enforced beside patternProperties\nat the root: patternProperties is not sent: Ollama does not read it"},
		"what is not read": {`{"type":"string","not":{"pattern":"x"},"if":{"$ref":"#"},"then":{"minLength":9999}}`, `{"type":"string"}`,
			"at the root: not is not sent: Ollama does not read it\nat the root: if is not sent: Ollama does not read it\nat the root: then is not sent: Ollama does not read it"},
		"one of":               {`{"oneOf":[{"type":"null"}]}`, `{"anyOf":[{"type":"null"}]}`, "at the root: oneOf is enforced as anyOf"},
		"one of beside any of": {`{"anyOf":[{"type":"null"}],"oneOf":[{"type":"null"}]}`, `{"anyOf":[{"type":"null"}]}`, "at the root: oneOf is not sent: Ollama reads one union alone"},
		"a union beside $ref":  {`{"$ref":"#/$defs/a","oneOf":[{"type":"null"}],"$defs":{"a":{"type":"null"}}}`, `{"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"type":"null"}}}`, "at the root: oneOf is not sent: it stands beside $ref"},
		"required of the unknown": {`{"properties":{"a":{"type":"null"}},"required":["a","b"]}`, `{"properties":{"a":{"type":"null"}},"required":["a","b"]}`,
			"at the root: required is not enforced for what properties does not describe"},
		"a union beside properties": {`{"properties":{"a":{"type":"null"}},"anyOf":[{"required":["a"]}],"allOf":[{"required":["a"]}]}`, `{"properties":{"a":{"type":"null"}}}`,
			"at the root: anyOf is not sent: it would replace the properties beside it\nat the root: allOf is not sent: it would replace the properties beside it"},
		"allOf that would require": {`{"type":"object","allOf":[{"properties":{"a":{"type":"null"}}}]}`, `{"type":"object"}`,
			"at the root: allOf is not sent: a branch is no object all of whose properties are required, and no enum"},
		"allOf of something else": {`{"allOf":[{"$ref":"#/$defs/s"}],"$defs":{"s":{"type":"string"}}}`, any + `,"$defs":{"s":{"type":"string"}}}`,
			"at the root: allOf is not sent: a branch is no object all of whose properties are required, and no enum"},
	}
	for name, c := range cases {
		got := Carry(nil, []byte(c.schema))
		if string(got.Schema) != c.wire || strings.Join(got.Weakened, "\n") != c.lost || got.Whole != (c.lost == "") {
			t.Errorf("%s:\ngot  %s\nwant %s\nlost %s\nwant %s", name, got.Schema, c.wire, strings.Join(got.Weakened, "\n"), c.lost)
		}
	}
}

func TestPatternFault(t *testing.T) {
	for pattern, want := range map[string]string{
		`^$`: "empty branch", `^a$`: "", `^\d+$`: "escape", `^a\$`: "anchored", `a$`: "anchored", `^a.b$`: "a . within", `^(a$|^b)$`: "a $ within",
		`^[^,]*$`: "negated", `^[\d]$`: "negated", `^[a"]$`: "negated", `^[]a]$`: "negated", `^[a$`: "negated", `^"a$`: `a " within`, `^é$`: "plain ASCII",
		`^[é]$`: "plain ASCII", `^(?:a)$`: "another kind", `^(a|)$`: "empty branch", `^|a$`: "empty branch", `^a|$`: "each branch", `^a|b$`: "each branch", `^(a|b)$`: "", `^[A-z]$`: "range with", `^[!-#]$`: "range with", `^[+-]$`: "", `^a*?$`: "lazy", `^a{2}{3}$`: "lazy",
		`^a{1,2500}$`: "crashes", `^a{1001}$`: "crashes", `^a{2,}$`: "", `^a{$`: "unclosed", `^((a|bc)+x?){1,1000}$`: "", `^\+[0-9]{1,3}( [0-9]+)*$`: "", `^a\`: "anchored",
		"^a\tb$": "plain ASCII", `^()$`: "empty branch", `^+a$`: "lazy",
	} {
		if got := patternFault(pattern); got != want && (want == "" || !strings.Contains(got, want)) {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
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
	var properties, branches []string
	for i := range 8000 {
		properties = append(properties, fmt.Sprintf(`"p%d":{"type":"string"}`, i))
		branches = append(branches, `{"$ref":"#/$defs/big"}`)
	}
	names := strings.ReplaceAll(strings.Join(properties, ","), `:{"type":"string"}`, "")
	schema := fmt.Sprintf(`{"allOf":[%s],"$defs":{"big":{"properties":{%s},"required":[%s]}}}`, strings.Join(branches, ","), strings.Join(properties, ","), names)
	if got := Carry(nil, []byte(schema)); !got.Whole || string(got.Schema) != schema {
		t.Errorf("lost %q", got.Weakened)
	}
}

// FuzzCarry: what goes out is JSON whose keywords the original had, but for the type and the openness that are added.
func FuzzCarry(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"pattern":"^(a|b)[c-d]{2,3}$","not":{}}}}`))
	f.Add([]byte(`{"$ref":"#/definitions/a","definitions":{"a":{"minLength":9999}},"items":[true],"patternProperties":{}}`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		got := Carry(nil, schema)
		if got.Schema == nil {
			return
		}
		var before, after map[string]any
		if json.Unmarshal(schema, &before) != nil || json.Unmarshal(got.Schema, &after) != nil {
			t.Fatalf("%s became %s", schema, got.Schema)
		}
		for name := range after {
			if _, ok := before[name]; !ok && !slices.Contains([]string{"type", "additionalProperties", "anyOf"}, name) {
				t.Errorf("%q is new in %s", name, got.Schema)
			}
		}
	})
}

// TestCarryLoosens: what the schema allows, the wire schema allows.
func TestCarryLoosens(t *testing.T) { pt.Loosens(t, Carry) }
