package provider

import (
	"strings"
	"testing"
)

// What providers wrote, as their users reported it.
func TestNamedKeyword(t *testing.T) {
	for text, want := range map[string]string{
		"Invalid schema for response_format 'out': In context=('properties', 'a', 'items'), 'additionalProperties' is required to be supplied and to be false.": "additionalProperties",
		"Invalid schema for response_format 'out': In context=(), 'minLength' is not permitted.":                                                                "minLength",
		"output_config.format.schema: For 'object' type, 'additionalProperties: true' is not supported. Please set 'additionalProperties' to false":             "additionalProperties",
		"output_config.format.schema: For 'integer' type, property 'minimum' is not supported":                                                                  "minimum",
		"tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level":                                                    "oneOf",
		"Invalid JSON payload received. Unknown name \"pattern\" at 'generation_config.response_schema': Cannot find field.":                                    "pattern",
		"The grammar has an unsupported `format`":             "format",
		"no pattern of this format is required here":          "",
		"The compiled grammar is too large":                   "",
		"context=('properties'":                               "",
		"'secretProperty' is not supported":                   "",
		strings.Repeat("x ", DetailLimit) + "'minimum' of it": "",
		"":                   "",
		"'type":              "",
		"the minimumValue":   "",
		"$ref is recursive":  "$ref",
		"'not' and 'format'": "not",
	} {
		if got := namedKeyword(text); got != want {
			t.Errorf("%q names %q, want %q", text, got, want)
		}
	}
}

func TestStatusErrorTellsARefusedSchema(t *testing.T) {
	const body = `{"error":{"message":"Invalid schema: 'minLength' is not planted","param":"response_format"}}`
	for name, c := range map[string]struct {
		reply   Reply
		schema  bool
		keyword string
		reason  string
	}{
		"refused":           {Reply{Status: 400, Body: []byte(body), Asked: Asked{Native: true}}, true, "minLength", "refused the schema for its minLength: "},
		"422":               {Reply{Status: 422, Body: []byte(body), Asked: Asked{Native: true}}, true, "minLength", "refused the schema"},
		"no keyword":        {Reply{Status: 400, Body: []byte(`{"error":"failed to parse grammar"}`), Asked: Asked{Native: true}}, true, "", "refused the schema: "},
		"only the param":    {Reply{Status: 400, Body: []byte(`{"error":{"message":"unsupported","param":"response_format"}}`), Asked: Asked{Native: true}}, true, "", "refused the schema: "},
		"none was sent":     {Reply{Status: 400, Body: []byte(body)}, false, "", "refused response_format"},
		"of something else": {Reply{Status: 400, Body: []byte(`{"error":{"message":"bad temperature"}}`), Asked: Asked{Native: true}}, false, "", "refused the request"},
		"a known code":      {Reply{Status: 400, Body: []byte(`{"error":{"message":"a schema","code":"context_length_exceeded"}}`), Asked: Asked{Native: true}}, false, "", "longer than"},
		"no refusal":        {Reply{Status: 503, Body: []byte(body), Asked: Asked{Native: true}}, false, "", ""},
	} {
		e := StatusError(&c.reply)
		if e.Schema != c.schema || e.Keyword != c.keyword || !strings.Contains(e.Reason, c.reason) || strings.Contains(e.Error(), "planted") {
			t.Errorf("%s: %v, %+v", name, e, e)
		}
		if c.schema && (!e.Permanent || e.Account || e.Fallback) {
			t.Errorf("%s: permanent %v, account %v", name, e.Permanent, e.Account)
		}
	}
}

func FuzzNamedKeyword(f *testing.F) {
	f.Add("context=('a'), 'minLength' is not permitted")
	f.Fuzz(func(t *testing.T, text string) {
		if word := namedKeyword(text); word != "" && !strings.Contains(text, word) || !ownKeywords[word] && !plainKeywords[word] && word != "" {
			t.Errorf("%q names %q", text, word)
		}
	})
}
