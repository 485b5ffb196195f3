package corrupt

import (
	"encoding/json"
	"iter"
	"strings"
)

// wrongType puts a value of another type in the place of one, such as models confuse.
func wrongType(n *node) []string {
	return map[string][]string{
		"string": {"0"}, "number": {"true", `"many"`}, "boolean": {`"yes"`}, "null": {`"none"`}, "array": {"{}"}, "object": {"[]"},
	}[n.kind]
}

// currency writes a number as text with a unit (seed 001).
func currency(n *node) []string {
	if n.kind != "number" {
		return nil
	}
	return []string{`"` + string(n.text()) + ` USD"`}
}

// decimalComma writes a number as text with a decimal comma (seed 001).
func decimalComma(n *node) []string {
	if n.kind != "number" {
		return nil
	}
	text := strings.Replace(string(n.text()), ".", ",", 1)
	if !strings.Contains(text, ",") {
		text += ",00"
	}
	return []string{`"` + text + `"`}
}

func null(n *node) []string {
	if n.kind == "null" {
		return nil
	}
	return []string{"null"}
}

// outside gives values of the same type that a bound is likely to refuse.
func outside(n *node) []string {
	switch n.kind {
	case "number":
		return []string{"-1", "0", "1000000000", "-1000000000", string(n.text()) + "001"}
	case "string":
		return []string{`""`, `"` + strings.Repeat("x", 2000) + `"`, `"?"`}
	case "array":
		item := "null"
		if len(n.children) > 0 {
			item = string(n.children[0].text())
		}
		return []string{"[]", "[" + strings.TrimSuffix(strings.Repeat(item+",", 100), ",") + "]"}
	}
	return nil
}

// offEnum puts a value beside those of an enum.
func offEnum(n *node) []string {
	switch n.kind {
	case "string":
		return []string{strings.TrimSuffix(string(n.text()), `"`) + ` or so"`}
	case "number":
		return []string{string(n.text()) + "7"}
	}
	return nil
}

// asText writes an array or an object as text that holds it (report W16).
func asText(n *node) []string {
	if n.kind != "array" && n.kind != "object" {
		return nil
	}
	return []string{quote(string(n.text()))}
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}

// lacking takes one key away from an object.
func lacking(doc, n *node, yield func(Corruption) bool) bool {
	for _, gone := range n.children {
		if n.kind != "object" {
			break
		}
		text := n.members(func(c *node) bool { return c != gone })
		if !yield(Corruption{Pointer: gone.pointer, Text: doc.with(n, text)}) {
			return false
		}
	}
	return true
}

func everyOne(*node) bool { return true }

// crowded adds a key to an object.
func crowded(doc, n *node, yield func(Corruption) bool) bool {
	if n.kind != "object" {
		return true
	}
	text := n.members(everyOne, `"additional_notes":"none"`)
	return yield(Corruption{Pointer: n.pointer + "/additional_notes", Text: doc.with(n, text)})
}

// duplicate gives one key of an object twice.
func duplicate(doc, n *node, yield func(Corruption) bool) bool {
	if n.kind != "object" || len(n.children) == 0 {
		return true
	}
	first := n.children[0]
	text := n.members(everyOne, first.key+":"+string(first.text()))
	return yield(Corruption{Pointer: first.pointer, Text: doc.with(n, text)})
}

// notANumber writes NaN for a number (report J01).
func notANumber(doc, n *node, yield func(Corruption) bool) bool {
	return n.kind != "number" || yield(Corruption{Pointer: n.pointer, Text: doc.with(n, "NaN")})
}

// cutOff ends the text in its middle, as a token limit does.
func cutOff(doc *node, _ json.RawMessage) iter.Seq[Corruption] {
	text := doc.text()
	end := len(text) * 2 / 3
	for end > 0 && text[end]&0xc0 == 0x80 {
		end--
	}
	return func(yield func(Corruption) bool) {
		if end > 0 {
			yield(Corruption{Text: text[:end:end], Cut: true})
		}
	}
}

// echoed gives the schema back in place of a value.
func echoed(_ *node, schema json.RawMessage) iter.Seq[Corruption] {
	return func(yield func(Corruption) bool) {
		if len(schema) > 0 {
			yield(Corruption{Text: schema})
		}
	}
}

func fence(text string) string { return "```json\n" + text + "\n```" }
func think(text string) string { return "<think>\nThe answer needs a few keys.\n</think>\n" + text }
func prose(text string) string {
	return "Here is the answer:\n\n" + text + "\n\nLet me know if anything is missing."
}
func two(text string) string     { return text + "\n" + text }
func wrapped(text string) string { return `{"answer":` + text + `}` }

// trailingComma stands before the last bracket.
func trailingComma(text string) string {
	last := len(text) - 1
	if last < 2 || text[last] != '}' && text[last] != ']' {
		return ""
	}
	return text[:last] + "," + text[last:]
}

// singleQuotes stand in place of double ones, where no text has any of its own.
func singleQuotes(text string) string {
	if strings.ContainsAny(text, `'\`) {
		return ""
	}
	return strings.ReplaceAll(text, `"`, "'")
}
