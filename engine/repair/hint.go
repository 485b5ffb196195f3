package repair

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"emend/engine/contract"
)

// keyLimit bounds a key that a hint names, in bytes: a model may have invented it.
const keyLimit = 64

// hinted is what a hint is seen in: the candidate, the text that was judged, and its verdict.
type hinted struct {
	raw, text []byte
	v         contract.Verdict
	style     Style
}

// hintTable lists the mistakes that models make so often that to name them helps. Each row is one sentence where the
// mistake is seen, "" elsewhere.
var hintTable = []func(hinted) string{hinted.wrapper, hinted.several, hinted.whole, hinted.quoted}

// writeHints says what was seen under one label.
func writeHints(b *strings.Builder, candidate []byte, v contract.Verdict, s Style) {
	if s.Cut || len(v.Findings) == 0 {
		return
	}
	h := hinted{raw: bytes.TrimSpace(candidate), text: judged(candidate, v), v: v, style: s}
	var lines []string
	for _, look := range hintTable {
		if line := look(h); line != "" {
			lines = append(lines, line+"\n")
		}
	}
	if len(lines) > 0 {
		b.WriteString("HINT\n" + strings.Join(lines, "") + "\n")
	}
}

// wrapper sees what stands around the JSON (reports W01, W03, W06, W08).
func (h hinted) wrapper() string {
	switch {
	case bytes.HasPrefix(h.raw, []byte("```")):
		return "The answer stands in a Markdown fence; return the JSON alone."
	case bytes.HasPrefix(h.raw, []byte("<think>")):
		return "The answer begins with a thinking block; return the JSON alone."
	case bytes.HasPrefix(h.raw, []byte("\ufeff")):
		return "The answer begins with a byte order mark; return the JSON alone."
	}
	return ""
}

// several sees more than one value (report W11).
func (h hinted) several() string {
	if h.v.Class == contract.MultipleJSON {
		return "The answer holds more than one JSON value; return exactly one."
	}
	return ""
}

// whole sees what was given in place of the value that was asked for.
func (h hinted) whole() string { return cmp.Or(h.schema(), h.envelope(), h.list()) }

// root are the findings about the whole value.
func (h hinted) root() []contract.Finding {
	return slices.DeleteFunc(slices.Clone(h.v.Findings), func(f contract.Finding) bool { return f.Pointer != "" || f.Schema == nil })
}

// schema sees the schema given back in place of a value.
func (h hinted) schema() string {
	root := h.root()
	if len(root) == 0 || declares(root[0].Schema, "properties") {
		return ""
	}
	have := members(h.text)
	if members(lookup(have, "properties")) == nil || lookup(have, "type") == nil && lookup(have, "$schema") == nil {
		return ""
	}
	return "The answer repeats the schema; return a value that the schema describes."
}

// envelope sees the wanted keys inside one key that the schema does not name (reports W13, W14), also where the object
// is given as text.
func (h hinted) envelope() string {
	var want []string
	var schema json.RawMessage
	for _, f := range h.root() {
		if f.Keyword == "required" {
			want, schema = append(want, f.Key), f.Schema
		}
	}
	if len(want) == 0 {
		return ""
	}
	for _, m := range members(h.text) {
		if !declares(schema, m.key) && holds(m.value, want) {
			return fmt.Sprintf("What is asked for stands inside the key %s; return that alone, without anything around it.", name(m.key))
		}
	}
	return ""
}

// list sees a wanted array inside an object, and a wanted object inside an array.
func (h hinted) list() string {
	for _, f := range h.root() {
		if f.Keyword != "type" {
			continue
		}
		inside := members(h.text)
		items := list(h.text)
		switch {
		case wants(f, "array") && len(inside) == 1 && begins(inside[0].value) == '[':
			return fmt.Sprintf("The array stands inside the key %s; return the array alone.", name(inside[0].key))
		case wants(f, "object") && len(items) == 1 && begins(items[0]) == '{':
			return "The object stands inside an array; return the object alone."
		}
	}
	return ""
}

// quoted sees an array or an object that is given as text (report W16).
func (h hinted) quoted() string {
	var at []string
	what := ""
	for _, f := range h.v.Findings {
		inner := []byte(unquote(f.Value))
		kind := map[byte]string{'[': "array", '{': "object"}[begins(inner)]
		if f.Keyword == "type" && kind != "" && wants(f, kind) && json.Valid(inner) {
			at, what = append(at, h.style.path(f.Pointer)), kind
		}
	}
	if len(at) == 0 {
		return ""
	}
	return fmt.Sprintf("At %s the %s is given as text; write the %s itself, without quotes around it.", some(at, ", "), what, what)
}

func declares(schema json.RawMessage, key string) bool {
	return lookup(members(lookup(members(schema), "properties")), key) != nil
}

// holds reports whether a value, or the text in it, is an object with all of the keys.
func holds(value json.RawMessage, keys []string) bool {
	if text := unquote(value); text != "" {
		value = json.RawMessage(text)
	}
	have := members(value)
	return !slices.ContainsFunc(keys, func(k string) bool { return lookup(have, k) == nil })
}

func wants(f contract.Finding, kind string) bool {
	return unquote(f.Expected) == kind || slices.Contains(each(list(f.Expected), unquote), kind)
}

func name(key string) string {
	if len(key) > keyLimit {
		key = cut(key, keyLimit) + "..."
	}
	b, err := json.Marshal(key)
	if err != nil {
		return "in question"
	}
	return string(b)
}
