package repair

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Bounds of what is said about one place, in bytes.
const (
	shapeLimit   = 4096
	excerptLimit = 512
	// summaryDepth bounds how deep the shape of an item or a key is described.
	summaryDepth = 3
)

// shapeLines puts a sub-schema into plain words: its type, then one line per constraint, its keys, its items and its
// description (seed 001, "derive the expected shape section from the schema"). What it has no words for is not said.
func shapeLines(raw json.RawMessage) []string {
	s := members(raw)
	var lines []string
	if t := typeWords(lookup(s, "type"), true); t != "" {
		lines = append(lines, "Type: "+t+".")
	}
	for _, c := range constraints(s, summaryDepth) {
		lines = append(lines, "Constraint: "+c+".")
	}
	for _, part := range list(lookup(s, "allOf")) {
		lines = append(lines, shapeLines(part)...)
	}
	if text := unquote(lookup(s, "description")); text != "" {
		lines = append(lines, "Description: "+cut(oneLine(text), excerptLimit))
	}
	return lines
}

// typeWords names the types of the keyword type. Long words say how one type is written, since that is what a model
// that wrote another one missed.
func typeWords(raw json.RawMessage, long bool) string {
	if name := unquote(raw); name != "" {
		if note := typeNotes[name]; long && note != "" {
			return name + " (" + note + ")"
		}
		return name
	}
	var names []string
	for _, item := range list(raw) {
		names = append(names, unquote(item))
	}
	words := strings.Join(names, " or ")
	if long && strings.Contains(words, "null") {
		words += " (null without quotes)"
	}
	return words
}

var typeNotes = map[string]string{
	"number":  "a JSON number: no quotes, no unit, no currency symbol",
	"integer": "a whole JSON number: no quotes, no unit",
	"string":  "in double quotes",
	"boolean": "true or false, without quotes",
	"null":    "without quotes",
	"array":   "a JSON array, not text that holds one",
	"object":  "a JSON object, not text that holds one",
}

// summary describes a sub-schema within one line.
func summary(raw json.RawMessage, depth int) string {
	s := members(raw)
	words := typeWords(lookup(s, "type"), false)
	if more := strings.Join(constraints(s, depth), ", "); more != "" {
		words = strings.TrimPrefix(words+", "+more, ", ")
	}
	if words == "" {
		return "any value"
	}
	return words
}

// compact is a value of the schema on one line, bounded.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return ""
	}
	return bounded(b.String())
}

func bounded(s string) string {
	if len(s) <= excerptLimit {
		return s
	}
	return cut(s, excerptLimit) + "..."
}

// some joins as many parts as have room, and counts the rest.
func some(parts []string, between string) string {
	size := 0
	for i, p := range parts {
		if size += len(p); size > excerptLimit && i > 0 {
			return fmt.Sprintf("%s and %d more", strings.Join(parts[:i], between), len(parts)-i)
		}
	}
	return strings.Join(parts, between)
}
