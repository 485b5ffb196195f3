package wireschema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"emend/engine/provider"
)

func TestWriteKeepsOrderAndBytes(t *testing.T) {
	const schema = "{ \"type\": \"object\",\n \"properties\": {\"z\": {\"type\":\"string\", \"pattern\": \"^<é>&\"}, \"a/~\": { }}, \"x\": {\"properties\": {\"a\": 1.50}}, \"enum\": [1.0, 1e2] }"
	want := `{"type":"object","properties":{"z":{"type":"string","pattern":"^<é>&"},"a/~":{}},"x":{"properties": {"a": 1.50}},"enum":[1.0, 1e2]}`
	got, ok := Write([]byte(schema), func(Place) Edit { return Edit{} })
	if !ok || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, ok, want)
	}
}

func TestWriteAsksInDocumentOrder(t *testing.T) {
	const schema = `{"items":[true,{"not":{}}],"properties":{"a/b":{"items":false,"additionalProperties":{"if":{},"then":{}}}},
		"anyOf":[{"contains":{}}],"$defs":{"d":{"prefixItems":[{}],"dependentSchemas":{"x":{}}}},"enum":[{"items":{}}],"required":[{}],"allOf":{"a":{}}}`
	want := []string{" ", "/items/0 items", "/items/1 items", "/items/1/not not", "/properties/a~1b properties", "/properties/a~1b/items items",
		"/properties/a~1b/additionalProperties additionalProperties", "/properties/a~1b/additionalProperties/if if",
		"/properties/a~1b/additionalProperties/then then", "/anyOf/0 anyOf", "/anyOf/0/contains contains", "/$defs/d $defs",
		"/$defs/d/prefixItems/0 prefixItems", "/$defs/d/dependentSchemas/x dependentSchemas"}
	var asked []string
	got, ok := Write([]byte(schema), func(p Place) Edit { asked = append(asked, p.At+" "+p.Keyword); return Edit{} })
	if !ok || !slices.Equal(asked, want) || !json.Valid(got) {
		t.Errorf("asked %q\nwant  %q", asked, want)
	}
}

func TestWriteEdits(t *testing.T) {
	edit := func(p Place) (e Edit) {
		switch {
		case p.Schema.Kind() == provider.Bool:
			return Edit{Whole: `{"any":true}`}
		case p.At == "/definitions/gone":
			return Edit{Whole: `{}`}
		case p.At == "":
			e.First = `"$schema":"x","title":"t"`
			e.Drop("title")
			e.Set("definitions", Fate{Name: "$defs"})
			e.Set("const", Fate{Name: "enum", Value: "[7]"})
		}
		if p.Schema.Get("pattern").Present() {
			e.Drop("pattern")
		}
		return e
	}
	got, ok := Write([]byte(`{"title":"old","const":7,"items":true,"definitions":{"gone":{"items":{"pattern":"a"}},"kept":{"pattern":"b","minLength":2}}}`), edit)
	want := `{"$schema":"x","title":"t","enum":[7],"items":{"any":true},"$defs":{"gone":{},"kept":{"minLength":2}}}`
	if !ok || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, ok, want)
	}
}

func TestWriteRefuses(t *testing.T) {
	deep := strings.Repeat(`{"not":`, Depth+1) + `{}` + strings.Repeat(`}`, Depth+1)
	for _, schema := range []string{``, `true`, `[]`, `{"a"`, "{\"a\":\"\xff\"}", deep} {
		if got, ok := Write([]byte(schema), func(Place) Edit { return Edit{} }); ok {
			t.Errorf("%.40q became %.40s", schema, got)
		}
	}
	if _, ok := Write([]byte(deep[7:len(deep)-1]), func(Place) Edit { return Edit{} }); !ok {
		t.Error("a schema of the greatest depth was refused")
	}
}

func TestAsserts(t *testing.T) {
	for member, want := range map[string]bool{
		`"title":"x"`: false, `"x-mine":1`: false, `"nullable":true`: false, `"pattern":"a"`: true, `"uniqueItems":false`: false, `"uniqueItems":true`: true,
		`"minLength":0`: false, `"minLength":1`: true, `"maxLength":0`: true, `"required":[]`: false, `"required":["a"]`: true, `"const":null`: true,
		`"items":true`: false, `"items":false`: true, `"items":{}`: false, `"items":{"type":"string"}`: true, `"additionalProperties":false`: true, `"properties":{}`: false,
		`"minimum":0`: true, `"not":{}`: true,
	} {
		v, _ := provider.Parse(fmt.Appendf(nil, "{%s}", member))
		for key, value := range v.Members() {
			if name, _ := key.Text(); Asserts(name, value) != want {
				t.Errorf("%s asserts: %v", member, !want)
			}
		}
	}
}

// FuzzWrite: what is left is JSON, and nothing is left out unasked.
func FuzzWrite(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"items":[true]}},"$defs":{"b":{"anyOf":[{}]}}}`))
	f.Add([]byte(`{"a":1,"a":[],"items":3,"allOf":"x","\ud800":{}}`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		got, ok := Write(schema, func(Place) Edit { return Edit{} })
		if !ok {
			return
		}
		var a, b any
		if json.Unmarshal(schema, &a) != nil || json.Unmarshal(got, &b) != nil {
			t.Fatalf("%q became %q", schema, got)
		}
		if x, y := fmt.Sprint(a), fmt.Sprint(b); x != y {
			t.Errorf("%s became %s", x, y)
		}
	})
}
