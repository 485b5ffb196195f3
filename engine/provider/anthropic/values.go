package anthropic

import (
	"math"
	"regexp/syntax"
	"slices"
	"strings"

	"emend/engine/provider"
)

// formats are those that the API compiles.
var formats = []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}

func hasType(s provider.Value, name string) bool {
	kinds := s.Get("type")
	if word, ok := kinds.Text(); ok {
		return word == name
	}
	for kind := range kinds.Elements() {
		if word, _ := kind.Text(); word == name {
			return true
		}
	}
	return false
}

// ofType reports that a plain value is of a type of the schema.
func ofType(value, schema provider.Value) bool {
	switch value.Kind() {
	case provider.Null:
		return hasType(schema, "null")
	case provider.Bool:
		return hasType(schema, "boolean")
	case provider.String:
		return hasType(schema, "string")
	}
	f, ok := value.Float()
	return hasType(schema, "number") || hasType(schema, "integer") && ok && f == math.Trunc(f)
}

// allPlain reports an enum of texts, numbers, booleans and null alone.
func allPlain(enum provider.Value) bool {
	for value := range enum.Elements() {
		if value.Kind() >= provider.Array {
			return false
		}
	}
	return enum.Kind() == provider.Array
}

// mergeable reports an allOf that the API compiles: it takes no $ref there, and closed objects would contradict each other.
func mergeable(allOf provider.Value) bool {
	n := 0
	for branch := range allOf.Elements() {
		n++
		if !branch.Get("type").Present() || hasType(branch, "object") {
			return false
		}
		for _, keyword := range []string{"$ref", "properties", "allOf", "anyOf", "oneOf"} {
			if branch.Get(keyword).Kind() != provider.Absent {
				return false
			}
		}
	}
	return n > 0
}

// largestRepeat bounds a quantifier: the API refuses "large ranges" and names no number.
const largestRepeat = 100

// simplePattern reports a pattern within what the API compiles: groups, classes, quantifiers of small ranges.
func simplePattern(pattern string) bool {
	if pattern == "" || strings.Contains(pattern, "(?") {
		return false
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	return err == nil && simple(parsed)
}

func simple(r *syntax.Regexp) bool {
	switch r.Op {
	case syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return false
	case syntax.OpRepeat:
		if max(r.Min, r.Max) > largestRepeat {
			return false
		}
	}
	return !slices.ContainsFunc(r.Sub, func(sub *syntax.Regexp) bool { return !simple(sub) })
}
