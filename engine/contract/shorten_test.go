package contract

import (
	"fmt"
	"reflect"
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

// judgedBy judges text by one judge of the schema and returns what the judge charged beside the verdict.
func judgedBy(t interface{ Fatal(...any) }, s *schema, j *judge, text string) (v Verdict, charged int64) {
	o := scan([]byte(text), true, false)
	if o.fault != nil {
		t.Fatal(text, o.fault)
	}
	only := &schema{text: s.text, root: s.root, names: s.names, top: s.top, parts: s.parts}
	only.judges.New = func() any { return j }
	v = only.judge(Verdict{Class: OK, Value: o.raw(text)}, o)
	return v, budget - j.meter.left
}

// early are keywords under which the library stops at the first fault, in the order of a map, which changes what is charged.
var early = regexp.MustCompile(`"(if|not|oneOf)"`)

// bothWays judges text by a judge as the library compiles it and by a shortened one, which must agree in everything.
func bothWays(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, s *schema, text string) {
	plain, err := s.compile()
	if err != nil {
		t.Fatal(err)
	}
	short, err := s.compile()
	if err != nil {
		t.Fatal(err)
	}
	short.shorten()
	want, cost := judgedBy(t, s, plain, text)
	got, charged := judgedBy(t, s, short, text)
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("schema %s, value %s:\nplain %+v\nshort %+v", s.text, text, want, got)
	}
	if want.Valid() && cost != charged && !early.Match(s.text) {
		t.Fatalf("schema %s, value %s: charged %d, shortened %d", s.text, text, cost, charged)
	}
}

// referring are sub-schemas that are shortened, and some that look as if they were.
var referring = []string{
	`{"$ref":"#/$defs/s"}`, `{"$ref":"#/$defs/r"}`, `{"$ref":"#/$defs/o","description":"x"}`, `{"$ref":"#/$defs/u"}`, `{"$ref":"#/$defs/f"}`,
	`{"$ref":"#/$defs/s","minLength":1}`, `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `{"anyOf":[{"$ref":"#/$defs/e"},{"type":"null"}]}`,
	`{"anyOf":[{"$ref":"#/$defs/u"},{"type":"null"}]}`, `{"anyOf":[{"const":1},{"enum":["a",[1]]}],"title":"y"}`,
	`{"anyOf":[{"type":"string","format":"date"},{"type":"null"}]}`, `{"anyOf":[{"type":"integer"},true]}`, `{"anyOf":[{"type":"null"}],"maxLength":1}`,
	`{"anyOf":[{"type":"number"},{"type":"null"}],"minimum":1}`, `{"type":["string","null"],"anyOf":[{"const":"a"},{"const":null}]}`, `true`, `{"type":"number"}`,
}

// genReferring draws schemas that are shortened: references and unions at every place that a part of a value has.
func genReferring(depth int) *rapid.Generator[string] {
	leaf := rapid.SampledFrom(referring)
	if depth == 0 {
		return leaf
	}
	inner := genReferring(depth - 1)
	return rapid.Custom(func(t *rapid.T) string {
		a, b := inner.Draw(t, "a"), inner.Draw(t, "b")
		form := rapid.SampledFrom([]string{
			`{"properties":{"a":%s,"b":%s},"additionalProperties":false}`, `{"properties":{"a":%s},"additionalProperties":%s}`,
			`{"prefixItems":[%s],"items":%s}`, `{"patternProperties":{"^a":%s},"unevaluatedProperties":%s}`, `{"contains":%s,"unevaluatedItems":%s}`,
			`{"anyOf":[%s,%s]}`, `{"oneOf":[%s,%s]}`, `{"allOf":[%s,%s],"unevaluatedProperties":false}`, `{"if":%s,"then":%s}`,
			`{"not":%s,"propertyNames":%s}`, `{"dependentSchemas":{"a":%s,"b":%s}}`,
		}).Draw(t, "form")
		return fmt.Sprintf(form, a, b)
	})
}

const referred = `"$defs":{"s":{"type":"string"},"r":{"$ref":"#/$defs/s"},"e":{"enum":["a",1]},"f":false,
	"o":{"type":"object","properties":{"a":{"$ref":"#/$defs/o"},"b":{"$ref":"#/$defs/u"}},"additionalProperties":{"$ref":"#/$defs/r"}},
	"u":{"anyOf":[{"$ref":"#/$defs/r"},{"type":"null"}]}}`

// Each of them where a member, an item, and the rest of an object stand, under values of every type.
func TestShortenedAgreesOnEach(t *testing.T) {
	values := []string{`null`, `true`, `1`, `1.5`, `"a"`, `"2024-02-30"`, `[1]`, `{}`, `{"a":{"a":null,"b":1},"c":"x"}`}
	for _, inner := range referring {
		s, err := newSchema(fmt.Appendf(nil, `{%s,"properties":{"a":%s},"items":%s,"additionalProperties":%s}`, referred, inner, inner, inner))
		if err != nil {
			t.Fatal(inner, err)
		}
		for _, v := range values {
			bothWays(t, s, v)
			bothWays(t, s, `{"a":`+v+`}`)
			bothWays(t, s, `{"x":`+v+`,"a":null}`)
			bothWays(t, s, `["a",`+v+`]`)
		}
	}
}

// TestShortenedAgrees: a shortened judge finds what the library finds, and charges for it alike.
func TestShortenedAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inner := genReferring(rapid.IntRange(0, 3).Draw(t, "schema depth")).Draw(t, "schema")
		s, err := newSchema([]byte(`{` + referred + `,"allOf":[` + inner + `]}`))
		if err != nil {
			t.Fatal(inner, err)
		}
		bothWays(t, s, genValue(rapid.IntRange(0, 3).Draw(t, "value depth")).Draw(t, "value"))
	})
}

// Drafts in which what stands beside a reference is ignored, items is a list, or an identifier opens a new resource.
func TestShortenedAgreesInOtherDrafts(t *testing.T) {
	for _, schema := range []string{
		`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"$ref":"#/definitions/s","type":"null"}],"additionalItems":{"$ref":"#/definitions/n"},` +
			`"definitions":{"s":{"type":"string"},"n":{"anyOf":[{"$ref":"#/definitions/s"},{"type":"null"}]}}}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","items":{"$ref":"#/definitions/s"},"definitions":{"s":{"enum":["a",1]}}}`,
		`{"$schema":"https://json-schema.org/draft/2019-09/schema","items":[{"$ref":"#/$defs/s"}],"unevaluatedItems":{"$ref":"#/$defs/s"},"$defs":{"s":{"type":"string"}}}`,
		`{"$defs":{"x":{"$id":"emend:///x","$ref":"#/$defs/y","$defs":{"y":{"type":"null"}}}},"items":{"$ref":"#/$defs/x"}}`,
		`{"$dynamicAnchor":"n","items":{"$dynamicRef":"#n"},"type":["array","string"]}`,
		`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"items":{"$recursiveRef":"#"},"type":["array","string"]}`,
		`{"items":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}`,
	} {
		s, err := newSchema([]byte(schema))
		if err != nil {
			t.Fatal(schema, err)
		}
		for _, text := range []string{`["a","b"]`, `[1,1]`, `[null,null]`, `["a",1]`, `[1,"a",null]`, `[[],["a"],[1]]`, `{}`, `[{"type":"x"},{"type":"null"},true]`} {
			bothWays(t, s, text)
		}
	}
}

// What is pinned here is what a shortened judge is for: each place of an invoice is one step of the library.
func TestShortened(t *testing.T) {
	s, err := newSchema([]byte(invoiceSchema))
	if err != nil {
		t.Fatal(err)
	}
	for range patience {
		j, err := s.borrow()
		if err != nil {
			t.Fatal(err)
		}
		s.giveBack(j)
	}
	j, err := s.borrow()
	if err != nil || j.first {
		t.Fatalf("after %d texts the first judge still serves, or %v", patience, err)
	}
	line := j.schema.Properties["lines"].Items2020
	if line.Ref != nil || line.Properties["note"].AnyOf != nil || j.gates[line.Properties["note"]].any == nil {
		t.Errorf("the lines are judged by %+v", line)
	}
	if kept := s.parts["/properties/lines/items"]; kept.Ref == nil || s.parts["/$defs/line/properties/note"].AnyOf == nil {
		t.Errorf("what is read of the schema was shortened: %+v", kept)
	}
}
