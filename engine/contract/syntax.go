package contract

import (
	"bytes"
	"strings"

	"github.com/kaptinlin/jsonrepair"
)

// Bounds of what is handed to jsonrepair (design section 9).
const (
	maxMend      = 256 << 10 // bytes
	maxMendDepth = 128
	// maxMendWork bounds bytes times places where the library copies what it has written so far: about 0.3 s on a slow
	// core. Prose may use the whole size; a text of nothing but short members ends near 55 KiB.
	maxMendWork = 1 << 30
)

// mendSyntax corrects the syntax of a complete object or array: quotes, commas, colons, comments, unescaped characters.
// ok is false where the library may not run, gives up, or does more than that.
func mendSyntax(text []byte) (fixed []byte, ok bool) {
	if !complete(text) || !harmless(text) {
		return nil, false
	}
	defer func() {
		if recover() != nil {
			fixed, ok = nil, false
		}
	}()
	out, err := jsonrepair.Repair(string(text))
	if err != nil || !sameTokens(string(text), out) {
		return nil, false
	}
	return []byte(out), true
}

// complete reports whether the text is one object or array that ends with its partner, no deeper than the bound, so that
// what is cut is never completed.
func complete(text []byte) bool {
	if len(text) < 2 || len(text) > maxMend || text[0] != '{' && text[0] != '[' {
		return false
	}
	var open []byte
	quote, before := byte(0), byte(0) // the quote of the string that is read; the last byte outside that is no space
	for i := 0; i < len(text); i++ {
		b := text[i]
		switch {
		case quote != 0 && b == '\\':
			i++
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case b == '"' || b == '\'' && bytes.IndexByte([]byte("{[,:"), before) >= 0:
			quote = b
		case b == '{' || b == '[':
			open = append(open, b+2) // '}' is '{'+2, and ']' is '['+2
		case b == '}' || b == ']':
			if len(open) == 0 || open[len(open)-1] != b || len(open) == 1 && i < len(text)-1 {
				return false
			}
			open = open[:len(open)-1]
		}
		if quote == 0 && !isSpace(b) {
			before = b
		}
		if len(open) > maxMendDepth {
			return false
		}
	}
	return quote == 0 && len(open) == 0
}

// harmless keeps from the library what would end or stall the process. A fatal stack overflow, which no recover stops,
// came of texts like {"a": "y"\, "b": "z"} (case J09): a string that is read again up to a comma found in it stepped over
// that comma, where a backslash stands before it, and was read again for ever. v0.4.8 stops there; here no version gets
// the chance: with a backslash only before what JSON, or JavaScript for a quote, escapes, no comma is ever stepped over.
// Every other recursion takes an opening bracket or a plus sign, and each costs work, so the bound on work bounds the
// stack too: to some 10,000 frames.
func harmless(text []byte) bool {
	copies := 0
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case b == '\\':
			i++
			if i == len(text) || strings.IndexByte(escapes+"u'", text[i]) < 0 {
				return false
			}
			copies += weight(text[i])
		case gap(text[i:]):
			copies++
		default:
			copies += weight(b)
		}
	}
	return copies*len(text) <= maxMendWork
}

// weight counts a byte at which the library may copy its output or recurse. 0xC2 and 0xE2 lead the quotes and spaces
// that Unicode adds.
func weight(b byte) int {
	switch b {
	case '{', '[', '(':
		return 4
	case ',', ':', '+', '/', '"', '\'', '`', 0xC2, 0xE2:
		return 1
	}
	return 0
}

// gap reports whether a number or a literal ends here before white space: a comma may be missing there.
func gap(text []byte) bool {
	if len(text) > 1 && text[0] >= '0' && text[0] <= '9' {
		return isSpace(text[1])
	}
	for _, word := range words {
		if rest, ok := bytes.CutPrefix(text, word.source); ok {
			return len(rest) > 0 && isSpace(rest[0])
		}
	}
	return false
}
