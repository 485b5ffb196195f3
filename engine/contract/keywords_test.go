package contract

import (
	"slices"
	"testing"
)

// TestKeywords holds one text that passes and one that fails against every keyword of the drafts.
func TestKeywords(t *testing.T) {
	d7, d4, d19 := `"$schema":"http://json-schema.org/draft-07/schema#",`, `"$schema":"http://json-schema.org/draft-04/schema#",`,
		`"$schema":"https://json-schema.org/draft/2019-09/schema",`
	cases := []struct {
		name, schema, good, bad string
		want                    []string // pointer keyword key
	}{
		{"type", `{"type":"integer"}`, `1.0`, `1.5`, []string{" type"}},
		{"type integer is no boolean", `{"type":"boolean"}`, `true`, `"true"`, []string{" type"}},
		{"type big integer", `{"type":"integer"}`, `1e4000`, `1e-4000`, []string{" type"}},
		{"types", `{"type":["string","null"]}`, `null`, `[]`, []string{" type"}},
		{"const", `{"const":{"a":1.0,"b":[1]}}`, `{"b":[1e0],"a":1}`, `{"a":1}`, []string{" const"}},
		{"const beyond float", `{"const":9007199254740993}`, `9007199254740993`, `9007199254740992`, []string{" const"}},
		{"enum", `{"enum":["a",1,null]}`, `1.0`, `"1"`, []string{" enum"}},
		{"enum zero", `{"enum":[0]}`, `-0.0`, `false`, []string{" enum"}},
		{"minimum", `{"minimum":0.1}`, `0.1`, `0.09999999999999999999`, []string{" minimum"}},
		{"maximum", `{"maximum":10}`, `10`, `10.0000000000000000000001`, []string{" maximum"}},
		{"exclusiveMinimum", `{"exclusiveMinimum":1}`, `2`, `1`, []string{" exclusiveMinimum"}},
		{"exclusiveMaximum", `{"exclusiveMaximum":1}`, `0`, `1`, []string{" exclusiveMaximum"}},
		{"multipleOf", `{"multipleOf":0.01}`, `19.99`, `19.999`, []string{" multipleOf"}},
		{"minLength", `{"minLength":2}`, `"éé"`, `"é"`, []string{" minLength"}},
		{"maxLength", `{"maxLength":1}`, `"😀"`, `"ab"`, []string{" maxLength"}},
		{"pattern", `{"pattern":"^a"}`, `"ab"`, `"ba"`, []string{" pattern"}},
		{"format date", `{"format":"date"}`, `"2024-02-29"`, `"2023-02-29"`, []string{" format"}},
		{"format regex", `{"format":"regex"}`, `"^a"`, `"("`, []string{" format"}},
		{"format unknown", `{"format":"color","maxLength":3}`, `"red"`, `"blue"`, []string{" maxLength"}},
		{"minItems", `{"minItems":1}`, `[1]`, `[]`, []string{" minItems"}},
		{"maxItems", `{"maxItems":1}`, `[1]`, `[1,2]`, []string{" maxItems"}},
		{"uniqueItems", `{"uniqueItems":true}`, `[1,true,"1",[1]]`, `[1,2,1.0]`, []string{" uniqueItems"}},
		{"uniqueItems beside", `{"uniqueItems":true,"maxItems":1}`, `[1]`, `[1,1]`, []string{" maxItems", " uniqueItems"}},
		{"items", `{"items":{"type":"string"}}`, `["a"]`, `["a",1,2]`, []string{"/1 type", "/2 type"}},
		{"items false", `{"prefixItems":[{"type":"string"}],"items":false}`, `["a"]`, `["a",1]`, []string{"/1 items"}},
		{"prefixItems", `{"prefixItems":[{"type":"string"},{"type":"null"}]}`, `["a",null]`, `["a",1]`, []string{"/1 type"}},
		{"contains", `{"contains":{"const":1}}`, `[2,1]`, `[2]`, []string{" contains"}},
		{"minContains", `{"contains":{"const":1},"minContains":2}`, `[1,1]`, `[1]`, []string{" minContains"}},
		{"maxContains", `{"contains":{"const":1},"maxContains":1}`, `[1]`, `[1,1]`, []string{" maxContains"}},
		{"unevaluatedItems", `{"prefixItems":[true],"unevaluatedItems":false}`, `[1]`, `[1,2]`, []string{"/1 unevaluatedItems"}},
		{"minProperties", `{"minProperties":1}`, `{"a":1}`, `{}`, []string{" minProperties"}},
		{"maxProperties", `{"maxProperties":0}`, `{}`, `{"a":1}`, []string{" maxProperties"}},
		{"required", `{"required":["a","b"]}`, `{"a":1,"b":2}`, `{}`, []string{" required a", " required b"}},
		{"properties", `{"properties":{"a":{"type":"string"}}}`, `{"a":"x"}`, `{"a":1}`, []string{"/a type"}},
		{"properties false", `{"properties":{"a":false}}`, `{}`, `{"a":1}`, []string{" properties a"}},
		{"property named items", `{"properties":{"items":false}}`, `{}`, `{"items":1}`, []string{" properties items"}},
		{"patternProperties", `{"patternProperties":{"^x":{"type":"null"}}}`, `{"x":null}`, `{"xy":1}`, []string{"/xy type"}},
		{"additionalProperties", `{"properties":{"a":true},"additionalProperties":false}`, `{"a":1}`, `{"b":1,"c":1}`,
			[]string{" additionalProperties b", " additionalProperties c"}},
		{"additionalProperties schema", `{"additionalProperties":{"type":"null"}}`, `{"a":null}`, `{"a/b":1}`, []string{"/a~1b type"}},
		{"propertyNames", `{"propertyNames":{"maxLength":1}}`, `{"a":1}`, `{"ab":1,"cd":1}`, []string{" propertyNames ab", " propertyNames cd"}},
		{"propertyNames deep", `{"additionalProperties":{"additionalProperties":{"propertyNames":{"pattern":"^a"}}}}`,
			`{"p":{"q":{"a":1}}}`, `{"p":{"q":{"b":1},"r":{"a":1}},"s":{"t":{"a":1}}}`, []string{"/p/q propertyNames b"}},
		{"dependentRequired", `{"dependentRequired":{"a":["b","c"]}}`, `{"b":1}`, `{"a":1}`,
			[]string{" dependentRequired b", " dependentRequired c"}},
		{"dependentSchemas", `{"dependentSchemas":{"a":{"required":["b"]}}}`, `{"a":1,"b":1}`, `{"a":1}`, []string{" required b"}},
		{"dependentSchemas false", `{"dependentSchemas":{"a":false}}`, `{"b":1}`, `{"a":1}`, []string{" dependentSchemas a"}},
		{"unevaluatedProperties", `{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1}`, `{"a":1,"b":1}`,
			[]string{" unevaluatedProperties b"}},
		{"unevaluated beside a failure", `{"allOf":[{"properties":{"a":{"type":"null"}}}],"unevaluatedProperties":false}`,
			`{"a":null}`, `{"a":1}`, []string{"/a type"}},
		{"allOf", `{"allOf":[{"minimum":1},{"maximum":0}]}`, `"x"`, `0.5`, []string{" maximum", " minimum"}},
		{"allOf false", `{"properties":{"a":{"allOf":[false]}}}`, `{}`, `{"a":1}`, []string{"/a allOf"}},
		{"anyOf", `{"anyOf":[{"minimum":1},{"maximum":0}]}`, `1`, `0.5`, []string{" anyOf"}},
		{"anyOf types", `{"anyOf":[{"type":"null"},{"type":"string"}]}`, `null`, `1`, []string{" anyOf"}},
		{"anyOf nullable", `{"anyOf":[{"type":"null"},{"type":"object","properties":{"a":{"type":"string"}}}]}`, `null`, `{"a":1}`,
			[]string{"/a type"}},
		{"anyOf discriminator", `{"anyOf":[{"properties":{"k":{"const":"a"},"v":{"type":"string"}}},
			{"properties":{"k":{"const":"b"},"v":{"type":"null"}}}]}`, `{"k":"a","v":""}`, `{"k":"b","v":1}`, []string{"/v type"}},
		{"anyOf no discriminator fits", `{"anyOf":[{"properties":{"k":{"const":"a"}}},{"properties":{"k":{"const":"b"}}}]}`,
			`{"k":"a"}`, `{"k":"c"}`, []string{" anyOf"}},
		{"oneOf none", `{"oneOf":[{"minimum":1},{"maximum":0}]}`, `1`, `0.5`, []string{" oneOf"}},
		{"oneOf both", `{"oneOf":[{"minimum":1},{"maximum":5}]}`, `0`, `2`, []string{" oneOf"}},
		{"not", `{"not":{"type":"string"}}`, `1`, `"a"`, []string{" not"}},
		{"if then", `{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"a":1,"b":1}`, `{"a":1}`,
			[]string{" required b"}},
		{"if else", `{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"c":1}`, `{}`,
			[]string{" required c"}},
		{"then false", `{"if":{"required":["a"]},"then":false}`, `{}`, `{"a":1}`, []string{" then"}},
		{"$ref", `{"$defs":{"s":{"type":"string"}},"items":{"$ref":"#/$defs/s"}}`, `["a"]`, `[1]`, []string{"/0 type"}},
		{"$ref to an unusual place", `{"components":{"s":{"type":"string"}},"$ref":"#/components/s"}`, `"a"`, `1`, []string{" type"}},
		{"$ref with siblings", `{"$defs":{"s":{"type":"string"}},"$ref":"#/$defs/s","maxLength":1}`, `"a"`, `"ab"`, []string{" maxLength"}},
		{"$anchor", `{"$defs":{"s":{"$anchor":"here","type":"string"}},"$ref":"#here"}`, `"a"`, `1`, []string{" type"}},
		{"$id", `{"$id":"https://example.com/a","$defs":{"s":{"$id":"b","type":"string"}},"$ref":"b"}`, `"a"`, `1`, []string{" type"}},
		{"$dynamicRef", `{"$dynamicAnchor":"n","type":"object","properties":{"c":{"$dynamicRef":"#n"}}}`, `{"c":{}}`, `{"c":1}`,
			[]string{"/c type"}},
		{"false", `false`, ``, `1`, []string{" false"}},
		{"true", `true`, `1`, ``, nil},
		{"empty schema", `{}`, `[1]`, ``, nil},
		{"metaschema", `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, `{"type":"string"}`, `{"type":1}`, []string{"/type anyOf"}},
		{"draft-07 items list", `{` + d7 + `"items":[{"type":"string"}],"additionalItems":false}`, `["a"]`, `["a",1]`,
			[]string{" additionalItems"}},
		{"draft-07 dependencies", `{` + d7 + `"dependencies":{"a":["b"],"c":{"required":["d"]}}}`, `{"a":1,"b":1}`, `{"a":1,"c":1}`,
			[]string{" dependencies b", " required d"}},
		{"draft-07 $ref hides siblings", `{` + d7 + `"definitions":{"s":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/s","const":"x"}}}`,
			`{"a":"y"}`, `{"a":1}`, []string{"/a type"}},
		{"draft-04 bounds", `{` + d4 + `"maximum":3,"exclusiveMaximum":true}`, `2`, `3`, []string{" exclusiveMaximum"}},
		{"2019-09 recursion", `{` + d19 + `"$recursiveAnchor":true,"type":"object","additionalProperties":{"$recursiveRef":"#"}}`,
			`{"a":{}}`, `{"a":{"b":1}}`, []string{"/a/b type"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			contract := schemaContract(t, c.schema)
			if c.good != "" {
				if v := contract.Judge([]byte(c.good)); !v.Valid() {
					t.Errorf("refused %s: %s %v", c.good, shown(v.Findings), v.Err)
				}
			}
			if c.bad == "" {
				return
			}
			v := contract.Judge([]byte(c.bad))
			if v.Class != SchemaInvalid || !slices.Equal(shown(v.Findings), c.want) {
				t.Errorf("judged %s: class %q, findings %q, error %v; want %q", c.bad, v.Class, shown(v.Findings), v.Err, c.want)
			}
		})
	}
}
