package repair

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// said lists the keywords that have words, in the order in which they are said.
var said = []string{
	"const", "enum", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
	"pattern", "format", "minItems", "maxItems", "uniqueItems", "prefixItems", "items", "contains", "minProperties",
	"maxProperties", "properties", "required", "additionalProperties", "patternProperties", "propertyNames", "anyOf",
	"oneOf", "not", "$ref",
}

// phrases are the keywords that are said with their value as it stands.
var phrases = map[string]string{
	"const": "exactly %s", "minLength": "at least %s characters", "maxLength": "at most %s characters",
	"minItems": "at least %s items", "maxItems": "at most %s items", "minProperties": "at least %s keys",
	"maxProperties": "at most %s keys", "pattern": "matches the regular expression `%s`", "not": "does not match the schema %s",
	"$ref": "as %s of the schema says",
}

// constraints says what a schema asks for besides the type, looking depth levels deep.
func constraints(s []member, depth int) []string {
	var out []string
	for _, keyword := range said {
		if v := lookup(s, keyword); v != nil && depth > 0 {
			if words := constraint(keyword, v, s, depth-1); words != "" {
				out = append(out, words)
			}
		}
	}
	return out
}

// constraint is one keyword with its value v in the schema s; "" if it asks for nothing.
func constraint(keyword string, v json.RawMessage, s []member, depth int) string {
	switch phrase := phrases[keyword]; {
	case keyword == "const", keyword == "not":
		return fmt.Sprintf(phrase, compact(v))
	case phrase != "" && string(v) == "1":
		return fmt.Sprintf(strings.TrimSuffix(phrase, "s"), "1")
	case phrase != "":
		return fmt.Sprintf(phrase, text(v))
	case len(list(v)) == 0 && begins(v) == '[', string(v) == "null":
		return ""
	}
	switch keyword {
	case "enum":
		return "one of " + some(each(list(v), compact), ", ")
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return bound(keyword, v, s)
	case "multipleOf":
		return multiple(compact(v))
	case "format":
		return format(unquote(v))
	case "uniqueItems":
		return ifTrue(v, "no two items are equal")
	case "anyOf", "oneOf":
		return "one of these: " + some(summaries(list(v), depth), "; or ")
	}
	return parts(keyword, v, s, depth)
}

// parts says the keywords that describe items and keys.
func parts(keyword string, v json.RawMessage, s []member, depth int) string {
	switch keyword {
	case "prefixItems":
		return "the items are, in this order: " + some(summaries(list(v), depth), "; ")
	case "items":
		return items(v, depth)
	case "contains":
		return "at least one item is: " + summary(v, depth)
	case "properties":
		return keys(v, s, depth)
	case "required":
		return lone(v, s)
	case "additionalProperties":
		return others(v, depth)
	case "patternProperties":
		return "keys that match a pattern: " + some(pairs(v, depth), "; ")
	case "propertyNames":
		return "the name of every key: " + summary(v, depth)
	}
	return ""
}

func each[T any](in []T, f func(T) string) []string {
	out := make([]string, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	return out
}

func summaries(schemas []json.RawMessage, depth int) []string {
	return each(schemas, func(s json.RawMessage) string { return summary(s, depth) })
}

// text shows a string as it is and other values as JSON.
func text(v json.RawMessage) string {
	if s := unquote(v); s != "" && !strings.ContainsAny(s, "\r\n") {
		return bounded(s)
	}
	return compact(v)
}

func ifTrue(v json.RawMessage, words string) string {
	if string(v) == "true" {
		return words
	}
	return ""
}

// bound says a bound of a number. In draft-04 the exclusive ones are flags of the others.
func bound(keyword string, v json.RawMessage, s []member) string {
	exclusive := strings.HasPrefix(keyword, "exclusive")
	if string(v) == "true" || string(v) == "false" {
		return ""
	}
	if !exclusive {
		exclusive = string(lookup(s, "exclusive"+strings.ToUpper(keyword[:1])+keyword[1:])) == "true"
	}
	lower := strings.HasSuffix(strings.ToLower(keyword), "minimum")
	switch {
	case lower && exclusive:
		return "greater than " + compact(v)
	case lower:
		return "at least " + compact(v)
	case exclusive:
		return "less than " + compact(v)
	}
	return "at most " + compact(v)
}

// multiple says 0.01 as people do.
func multiple(of string) string {
	zeros, ok := strings.CutPrefix(of, "0.")
	if ok && strings.HasSuffix(zeros, "1") && strings.Trim(zeros[:len(zeros)-1], "0") == "" {
		return fmt.Sprintf("at most %d decimal places (a multiple of %s)", len(zeros), of)
	}
	return "a multiple of " + of
}

var formats = map[string]string{
	"date": "a date as YYYY-MM-DD", "date-time": "a date and time as RFC 3339 says, YYYY-MM-DDThh:mm:ss with Z or an offset such as +01:00",
	"time": "a time as hh:mm:ss with Z or an offset such as +01:00", "duration": "an ISO 8601 duration, beginning with P",
	"email": "an e-mail address", "uuid": "a UUID", "uri": "a URI with its scheme", "hostname": "a host name",
	"ipv4": "an IPv4 address", "ipv6": "an IPv6 address",
}

func format(name string) string {
	if words := formats[name]; words != "" || name == "" {
		return words
	}
	return "has the format " + bounded(oneLine(name))
}

func items(v json.RawMessage, depth int) string {
	switch {
	case string(v) == "false":
		return "no further items"
	case string(v) == "true":
		return ""
	case len(list(v)) > 0:
		return "the items are, in this order: " + some(summaries(list(v), depth), "; ")
	}
	return "each item is: " + summary(v, depth)
}

// keys says the declared keys, each with its shape and whether it must be there.
func keys(v json.RawMessage, s []member, depth int) string {
	required := each(list(lookup(s, "required")), unquote)
	var out []string
	for _, m := range members(v) {
		words := summary(m.value, depth)
		if slices.Contains(required, m.key) {
			words += ", required"
		}
		out = append(out, fmt.Sprintf("%s (%s)", bounded(oneLine(m.key)), words))
	}
	if len(out) == 0 {
		return ""
	}
	return "keys: " + some(out, "; ")
}

// lone says the required keys that are not declared, so that keys has not said them.
func lone(v json.RawMessage, s []member) string {
	declared := members(lookup(s, "properties"))
	var out []string
	for _, name := range list(v) {
		if lookup(declared, unquote(name)) == nil {
			out = append(out, compact(name))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "must have the keys " + some(out, ", ")
}

func others(v json.RawMessage, depth int) string {
	switch string(v) {
	case "false":
		return "no other keys"
	case "true":
		return ""
	}
	return "every other key is: " + summary(v, depth)
}

func pairs(v json.RawMessage, depth int) []string {
	return each(members(v), func(m member) string { return bounded(oneLine(m.key)) + " (" + summary(m.value, depth) + ")" })
}
