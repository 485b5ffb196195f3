package openai

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// FitsStrict reports whether a schema already fits OpenAI's strict subset, and if not, why: it then goes out whole with
// strict: false, never rewritten, since a model answers null for what was made nullable (providers.md, "What to do").
func FitsStrict(schema json.RawMessage) (bool, []string) {
	var v any
	if json.Unmarshal(schema, &v) != nil {
		return false, []string{"the schema is no JSON"}
	}
	root, ok := v.(map[string]any)
	if !ok || root["type"] != "object" || root["anyOf"] != nil {
		return false, []string{"the root is not an object schema without anyOf"}
	}
	var why []string
	strict("", v, &why)
	slices.Sort(why)
	return len(why) == 0, why
}

// strictKeywords are the keywords that strict mode is known to carry.
var strictKeywords = map[string]bool{"$schema": true, "$defs": true, "$ref": true, "type": true, "properties": true, "required": true,
	"additionalProperties": true, "items": true, "enum": true, "const": true, "anyOf": true, "title": true, "description": true}

func strict(at string, v any, why *[]string) {
	s, ok := v.(map[string]any)
	if !ok {
		*why = append(*why, at+": not an object schema")
		return
	}
	for k := range s {
		if !strictKeywords[k] {
			*why = append(*why, fmt.Sprintf("%s/%s: strict mode does not carry it", at, k))
		}
	}
	if s["type"] == "object" || s["properties"] != nil {
		strictObject(at, s, why)
	}
	for _, k := range []string{"properties", "$defs"} {
		sub, _ := s[k].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(sub)) {
			strict(at+"/"+k+"/"+name, sub[name], why)
		}
	}
	if items, ok := s["items"]; ok {
		strict(at+"/items", items, why)
	}
	any, _ := s["anyOf"].([]any)
	for i, b := range any {
		strict(fmt.Sprintf("%s/anyOf/%d", at, i), b, why)
	}
}

func strictObject(at string, s map[string]any, why *[]string) {
	if s["additionalProperties"] != false {
		*why = append(*why, at+": additionalProperties is not false")
	}
	required, _ := s["required"].([]any)
	props, _ := s["properties"].(map[string]any)
	for name := range props {
		if !slices.Contains(required, any(name)) {
			*why = append(*why, fmt.Sprintf("%s/properties/%s: not in required", at, name))
		}
	}
}
