package wireschema

import (
	"slices"

	"emend/engine/provider"
)

// Keywords whose values are schemas: by name, in a list, or one. Items was a list too, before prefixItems.
var (
	named  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
	listed = []string{"allOf", "anyOf", "oneOf", "prefixItems", "items"}
	single = []string{"items", "not", "if", "then", "else", "contains", "propertyNames", "additionalProperties", "additionalItems",
		"unevaluatedItems", "unevaluatedProperties"}
)

// assertions are the keywords of drafts 4 to 2020-12 that can make a value invalid. Then and else do so through if.
var assertions = []string{"$dynamicRef", "$recursiveRef", "$ref", "additionalItems", "additionalProperties", "allOf", "anyOf", "const",
	"contains", "dependencies", "dependentRequired", "dependentSchemas", "else", "enum", "exclusiveMaximum", "exclusiveMinimum", "format",
	"if", "items", "maxContains", "maxItems", "maxLength", "maxProperties", "maximum", "minContains", "minItems", "minLength",
	"minProperties", "minimum", "multipleOf", "not", "oneOf", "pattern", "patternProperties", "prefixItems", "properties",
	"propertyNames", "required", "then", "type", "unevaluatedItems", "unevaluatedProperties", "uniqueItems"}

// Asserts says whether a keyword with that value can make anything invalid: title cannot, nor can uniqueItems: false or
// minLength: 0. What it does not know, such as a misspelt keyword, asserts nothing.
func Asserts(keyword string, value provider.Value) bool {
	if !slices.Contains(assertions, keyword) {
		return false
	}
	switch keyword {
	case "uniqueItems", "minLength", "minItems", "minProperties", "required", "properties", "patternProperties":
		return value.Filled()
	case "additionalProperties", "additionalItems", "items", "unevaluatedItems", "unevaluatedProperties":
		return string(value.Raw()) != "true" && (value.Kind() != provider.Object || value.Filled())
	}
	return true
}

// Assertions lists the keywords that can make a value invalid, by name.
func Assertions() []string { return slices.Clone(assertions) }
