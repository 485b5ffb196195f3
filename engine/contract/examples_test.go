package contract

import (
	"fmt"
	"strings"
	"testing"
)

func TestBadExamples(t *testing.T) {
	for _, c := range []struct {
		schema string
		want   []string
	}{
		{`{"type":"integer","examples":[1,2.0],"default":3,"enum":[1,2,3]}`, nil},
		{`{"type":"integer","examples":[1,"x",1.5]}`, []string{" examples[1]", " examples[2]"}},
		{`{"properties":{"a":{"type":"string","default":null}}}`, []string{"/properties/a default"}},
		{`{"type":"string","const":1}`, []string{" const"}},
		{`{"type":"string","enum":["a",null]}`, []string{" enum[1]"}},
		{`{"type":["string","null"],"enum":["pending","done",null]}`, nil},
		{`{"enum":["a","b"],"default":"c"}`, []string{" default"}},
		{`{"$defs":{"unused":{"minimum":1,"default":0}}}`, []string{"/$defs/unused default"}},
		{`{"properties":{"a b/c~%":{"minimum":1,"default":0}}}`, []string{"/properties/a b~1c~0% default"}},
		{`{"properties":{"a":{"$ref":"#/$defs/d","default":"x"}},"$defs":{"d":{"type":"integer"}}}`, []string{"/properties/a default"}},
		{`{"properties":{"a":{"$ref":"#/$defs/d","default":7}},"$defs":{"d":{"type":"integer"}}}`, nil},
		{`{"$id":"https://x.example/s","properties":{"a":{"$id":"sub","$defs":{"d":{"type":"null"}},"$ref":"#/$defs/d","default":1}}}`,
			[]string{"/properties/a default"}},
		{`{"properties":{"default":{"type":"string"},"examples":{"type":"array"},"enum":{},"const":{}}}`, nil},
		{`{"properties":{"a":{"type":"object","required":["b"],"properties":{"b":{"default":1}},"default":{}}}}`, []string{"/properties/a default"}},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":{"type":"string","examples":[1]}}`, []string{"/items examples[0]"}},
		{`{"format":"date","examples":["2026-03-15","15.3.2026"]}`, []string{" examples[1]"}},
		{`{"$defs":{"a":{"$ref":"#/$defs/a","default":1}}}`, nil},
		{`{"$defs":{"a":{"$ref":"#/$defs/lost","default":1}}}`, nil},
		{`true`, nil},
	} {
		var got []string
		for _, bad := range schemaContract(t, c.schema).BadExamples() {
			name, _, _ := strings.Cut(bad.Reason, " is ")
			got = append(got, bad.Pointer+" "+name)
			if bad.Keyword != strings.Split(name, "[")[0] || !strings.Contains(bad.Error(), "which its own sub-schema refuses: (root)") {
				t.Errorf("%s: %v", c.schema, bad)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %q, want %q", c.schema, got, c.want)
		}
	}
}

func TestBadExamplesSaysWhy(t *testing.T) {
	bad := schemaContract(t, `{"properties":{"price":{"type":"number","examples":["4 USD"]}}}`).BadExamples()
	want := `contract: schema at properties.price, keyword examples: examples[0] is "4 USD", which its own sub-schema refuses: ` +
		`(root) must be of type number, but is the string "4 USD"; correct the value or the sub-schema`
	if len(bad) != 1 || bad[0].Error() != want {
		t.Errorf("%v", bad)
	}
}

func TestBadExamplesAreBounded(t *testing.T) {
	c := schemaContract(t, `{"type":"string","examples":[`+strings.Repeat("1,", 500)+`1]}`)
	if n := len(c.BadExamples()); n != maxBadExamples {
		t.Errorf("%d", n)
	}
	if list := mustCompile(t, Spec{Mode: "json"}).BadExamples(); list != nil {
		t.Errorf("%v", list)
	}
}
