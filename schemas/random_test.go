package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

// TestFilledValuesValidate: a Go value with every field set is what its schema describes.
func TestFilledValuesValidate(t *testing.T) {
	for _, p := range pairings() {
		t.Run(p.name, func(t *testing.T) {
			schema := p.compile(t)
			doc, part := p.root(t)
			rapid.Check(t, func(rt *rapid.T) {
				v := reflect.New(p.typ).Elem()
				fill(rt, v, doc, part)
				b, err := Marshal(v.Interface())
				if err != nil {
					rt.Fatal(err)
				}
				validate(rt, schema, b)
			})
		})
	}
}

// TestGeneratedDocumentsDecode: what a schema describes decodes into its type with nothing unknown, and what the type
// writes of it is still what the schema describes, and says the same.
func TestGeneratedDocumentsDecode(t *testing.T) {
	for _, p := range pairings() {
		t.Run(p.name, func(t *testing.T) {
			schema := p.compile(t)
			doc, part := p.root(t)
			rapid.Check(t, func(rt *rapid.T) {
				in, err := Marshal(generate(rt, doc, part))
				if err != nil {
					rt.Fatal(err)
				}
				validate(rt, schema, in)
				v := reflect.New(p.typ)
				d := json.NewDecoder(bytes.NewReader(in))
				d.DisallowUnknownFields()
				if err := d.Decode(v.Interface()); err != nil {
					rt.Fatalf("%s: %v", in, err)
				}
				out, err := Marshal(v.Interface())
				if err != nil {
					rt.Fatal(err)
				}
				same(rt, in, out)
				strictly(rt, p.typ, in, out)
			})
		})
	}
}

// strictly: the strict decoders take the same documents, and understand the same.
func strictly(rt *rapid.T, typ reflect.Type, in, out []byte) {
	var v any
	var err error
	switch typ {
	case reflect.TypeFor[Request]():
		v, err = DecodeRequest(in)
	case reflect.TypeFor[RunRef]():
		v, err = DecodeRunRef(in)
	default:
		return
	}
	if err != nil {
		rt.Fatalf("%s: %v", in, err)
	}
	b, err := Marshal(v)
	if err != nil {
		rt.Fatal(err)
	}
	same(rt, out, b)
}

func validate(rt *rapid.T, s *jsonschema.Schema, b []byte) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		rt.Fatal(err)
	}
	if err := s.Validate(v); err != nil {
		rt.Fatalf("%s\n%v", b, err)
	}
}

// same compares two documents without the members that mean nothing: null, false, 0, "", [] and {}.
func same(rt *rapid.T, a, b []byte) {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil || !reflect.DeepEqual(prune(x), prune(y)) {
		rt.Fatalf("%s\nis not\n%s", a, b)
	}
}

func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, m := range v {
			if m = prune(m); m != nil {
				out[k] = m
			}
		}
		if len(out) > 0 {
			return out
		}
	case []any:
		out := make([]any, len(v))
		for i, m := range v {
			out[i] = prune(m)
		}
		if len(out) > 0 {
			return out
		}
	case string, bool, float64:
		if !reflect.ValueOf(v).IsZero() {
			return v
		}
	}
	return nil
}

// Generators. A schema's keyword that they do not know would make the tests blind, so they refuse it.
var knownKeywords = map[string]bool{"$schema": true, "$defs": true, "$ref": true, "title": true, "description": true, "type": true, "enum": true,
	"const": true, "format": true, "minimum": true, "maximum": true, "exclusiveMinimum": true, "minLength": true, "maxLength": true, "minItems": true,
	"maxProperties": true, "propertyNames": true, "items": true, "properties": true, "required": true, "additionalProperties": true, "anyOf": true}

func number(n node, keyword string, otherwise float64) float64 {
	if v, ok := n[keyword].(float64); ok {
		return v
	}
	return otherwise
}

// generate draws a document that the schema describes.
func generate(rt *rapid.T, doc, n node) any {
	for k := range n {
		if !knownKeywords[k] {
			rt.Fatalf("the generator does not know %s", k)
		}
	}
	if _, ok := n["$ref"]; ok {
		in, n := deref(doc, n)
		return generate(rt, in, n)
	}
	if branches, ok := n["anyOf"].([]any); ok {
		return generate(rt, doc, rapid.SampledFrom(branches).Draw(rt, "branch").(node))
	}
	kind := jsonType(n)
	if types, ok := n["type"].([]any); ok {
		kind = rapid.SampledFrom(types).Draw(rt, "type").(string)
	}
	switch kind {
	case "null":
		return nil
	case "object":
		return generateObject(rt, doc, n)
	case "array":
		out := make([]any, rapid.IntRange(int(number(n, "minItems", 0)), 3).Draw(rt, "items"))
		for i := range out {
			out[i] = generate(rt, doc, n["items"].(node))
		}
		return out
	case "":
		return json.RawMessage(free.Draw(rt, "free"))
	}
	return scalar(rt, kind, n)
}

func generateObject(rt *rapid.T, doc, n node) any {
	out := node{}
	required := fmt.Sprint(n["required"])
	props, _ := n["properties"].(node)
	for name, p := range props {
		if bytes.Contains([]byte(required), []byte(name)) || rapid.Bool().Draw(rt, name) {
			out[name] = generate(rt, doc, p.(node))
		}
	}
	if extra := n["additionalProperties"]; extra != false {
		p, _ := extra.(node)
		for range rapid.IntRange(0, 2).Draw(rt, "extra") {
			out[rapid.StringN(1, 8, -1).Draw(rt, "name")] = generate(rt, doc, p)
		}
	}
	return out
}

var free = rapid.SampledFrom([]string{`1`, `-0.5e3`, `"a<b"`, `true`, `[1,{"x":[]}]`, `{"b":1,"a":{"c":"é"}}`})

// scalar draws a string, number or boolean within the bounds of its schema.
func scalar(rt *rapid.T, kind string, n node) any {
	if c, ok := n["const"]; ok {
		return c
	}
	if words, ok := n["enum"].([]any); ok {
		if w := rapid.SampledFrom(words).Draw(rt, "word"); w != nil {
			return w
		}
		return words[0]
	}
	switch kind {
	case "string":
		if n["format"] == "date-time" {
			return time.Unix(rapid.Int64Range(0, 4e9).Draw(rt, "time"), 0).UTC().Format(time.RFC3339)
		}
		return rapid.StringN(int(number(n, "minLength", 0)), 12, -1).Draw(rt, "string")
	case "boolean":
		return rapid.Bool().Draw(rt, "bool")
	case "number":
		return 0.25 * float64(rapid.IntRange(1, 4000).Draw(rt, "number"))
	}
	return rapid.Int64Range(int64(number(n, "minimum", math.MinInt32)), int64(number(n, "maximum", math.MaxInt32))).Draw(rt, "integer")
}

// fill sets every field of a Go value to one that its schema allows.
func fill(rt *rapid.T, v reflect.Value, doc, n node) {
	doc, n = deref(doc, n)
	switch {
	case v.Type() == rawType:
		v.SetBytes([]byte(free.Draw(rt, "free")))
	case v.Type() == timeType:
		v.Set(reflect.ValueOf(time.Unix(rapid.Int64Range(0, 4e9).Draw(rt, "time"), rapid.Int64Range(0, 999_999_999).Draw(rt, "ns")).UTC()))
	case v.Type() == dollarType:
		v.SetInt(rapid.Int64Range(1, int64(1000*Dollar)).Draw(rt, "usd"))
	case v.Type() == messageType:
		m := Message{Role: scalar(rt, "string", n["properties"].(node)["role"].(node)).(string), Content: rapid.String().Draw(rt, "content"), Cache: "5m"}
		if rapid.Bool().Draw(rt, "parts") {
			m.Content, m.Parts = "", json.RawMessage(`[{"type":"text","text":"x","n":1.50}]`)
		}
		v.Set(reflect.ValueOf(m))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(rt, v.Elem(), doc, n)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(rt, v.Index(0), doc, n["items"].(node))
		fill(rt, v.Index(1), doc, n["items"].(node))
	case v.Kind() == reflect.Map:
		x := reflect.New(v.Type().Elem()).Elem()
		p, _ := n["additionalProperties"].(node)
		fill(rt, x, doc, p)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf(rapid.StringN(0, 12, -1).Draw(rt, "name")), x)
	case v.Kind() == reflect.Struct:
		fillStruct(rt, v, doc, n)
	default:
		v.Set(reflect.ValueOf(scalar(rt, jsonType(n), n)).Convert(v.Type()))
	}
}

func fillStruct(rt *rapid.T, v reflect.Value, doc, n node) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous {
			fillStruct(rt, v.Field(i), doc, n)
			continue
		}
		for name, w := range wire(v.Type()) {
			if tag := f.Tag.Get("json"); tag == name || tag == name+",omitempty" || tag == name+",omitzero" {
				fill(rt, v.Field(i), doc, n["properties"].(node)[w.name].(node))
			}
		}
	}
}
