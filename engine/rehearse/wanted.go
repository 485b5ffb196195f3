package rehearse

import (
	"encoding/json"
	"regexp"
	"strings"
)

// wanted is the value that the lines of an EXPECTED SHAPE ask for in place of old; known is false where they do not tell.
func wanted(old any, there bool, lines []string) (value any, known bool) {
	said := func(prefix string) (string, bool) { return line(lines, prefix) }
	if _, ok := said("Nothing is allowed here"); ok {
		return absent, true
	}
	kind, _ := said("Type: ")
	kind, _, _ = strings.Cut(strings.TrimSuffix(kind, "."), " ")
	exactly, constant := said("Constraint: exactly ")
	oneOf, enum := said("Constraint: one of ")
	if value, ok := converted(old, kind); ok && there && !constant && !enum {
		return value, true
	}
	if text, ok := said("Example of a valid value for this path: "); ok {
		return read(text)
	}
	if constant || enum {
		return read(exactly + oneOf)
	}
	return smallest(kind, lines)
}

// line returns the rest of the line that begins with a prefix.
func line(lines []string, prefix string) (string, bool) {
	for _, l := range lines {
		if rest, ok := strings.CutPrefix(l, prefix); ok {
			return rest, true
		}
	}
	return "", false
}

// read is the first JSON value of a text.
func read(text string) (v any, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return v, d.Decode(&v) == nil
}

// leading is the number that a text begins with.
var leading = regexp.MustCompile(`^\s*(-?\d+)(?:[.,](\d+))?`)

// converted keeps the meaning of a value under another type, as "4.25 USD" is 4.25.
func converted(old any, kind string) (any, bool) {
	text, isText := old.(string)
	switch kind {
	case "number", "integer":
		n := leading.FindStringSubmatch(text)
		if n == nil {
			return nil, false
		}
		if n[2] != "" && strings.Trim(n[2], "0") != "" {
			return json.Number(n[1] + "." + n[2]), kind == "number"
		}
		return json.Number(n[1]), true
	case "array", "object":
		v, ok := read(text)
		return v, isText && ok
	case "boolean":
		return text == "yes" || text == "true", isText && text != ""
	case "string":
		n, ok := old.(json.Number)
		return n.String(), ok
	}
	return nil, false
}

// counted is a bound in words.
var counted = regexp.MustCompile(`^Constraint: (at least|greater than) (-?[0-9.eE+-]+)( characters?| items?)?\.$`)

// smallest makes the least value of a type that keeps the bounds that are named.
func smallest(kind string, lines []string) (any, bool) {
	least := 1
	for _, l := range lines {
		if m := counted.FindStringSubmatch(l); m != nil {
			if n, err := json.Number(m[2]).Float64(); err == nil && n >= 0 && n < 1000 {
				least = max(least, int(n)+1)
			}
		}
	}
	switch kind {
	case "string":
		return strings.Repeat("x", least), true
	case "number", "integer":
		return least, true
	case "boolean":
		return true, true
	case "array":
		return []any{}, true
	case "object":
		return map[string]any{}, true
	}
	return nil, false
}
