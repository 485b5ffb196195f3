package contract

import (
	"strings"
	"testing"
)

func TestContradictions(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`{"properties":{"a":{}},"required":["a"],"additionalProperties":false}`, ""},
		{`{"properties":{"a":{}},"required":["a","b"]}`, ""},
		{`{"properties":{"a":{}},"required":["a","b"],"additionalProperties":{"type":"string"}}`, ""},
		{`{"patternProperties":{"^b":{}},"required":["b"],"additionalProperties":false}`, ""},
		{`{"properties":{"a":{}},"required":["a","b"],"additionalProperties":false}`, `(root) "b" additionalProperties: false refuses it`},
		{`{"properties":{"b":false},"required":["b"]}`, `(root) "b" properties refuse it`},
		{`{"allOf":[{"required":["b"]}],"properties":{"a":{}},"additionalProperties":false}`, `allOf[0] "b" additionalProperties: false refuses it`},
		{`{"$ref":"#/$defs/d","$defs":{"d":{"required":["b"],"additionalProperties":false}}}`, `$defs.d "b" additionalProperties: false refuses it`},
		{`{"properties":{"a":{"required":["b"],"additionalProperties":false}},"required":["a"]}`, `properties.a "b" additionalProperties: false refuses it`},
		{`{"properties":{"a":{"required":["b"],"additionalProperties":false}}}`, ""},
		{`{"anyOf":[{"required":["b"],"additionalProperties":false},{}]}`, ""},
		{`{"not":{"required":["b"],"additionalProperties":false}}`, ""},
		{`{"properties":{"a":{"$ref":"#"}},"required":["a"],"additionalProperties":false}`, ""},
		{`{"required":["b","c"],"additionalProperties":false}`, `(root) "b" additionalProperties: false refuses it; (root) "c" additionalProperties: false refuses it`},
		{`true`, ""},
		{`false`, ""},
	} {
		var got []string
		for _, e := range schemaContract(t, c.schema).Contradictions() {
			key, rest, _ := strings.Cut(strings.TrimPrefix(e.Reason, "the key "), " is required, but ")
			why, _, _ := strings.Cut(rest, ",")
			got = append(got, DisplayPath(e.Pointer)+" "+key+" "+why)
			if e.Keyword != "required" {
				t.Errorf("%+v", e)
			}
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: %s, want %s", c.schema, strings.Join(got, "; "), c.want)
		}
	}
	if got := mustCompile(t, Spec{Mode: "json"}).Contradictions(); got != nil {
		t.Errorf("%v", got)
	}
}
