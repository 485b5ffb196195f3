package contract

import (
	"bytes"
	"slices"
	"strings"
)

// byteOrderMark, think and fences are what a model may put around a value.
var byteOrderMark = []byte("\ufeff")

var thinkTags = []string{"think", "thinking", "reasoning"}

// unwrap takes away, each at most once and in this order, a byte order mark, one closed think block and one fence, and
// calls whole with what is left after each, until whole reports that it is a sound value. Nothing but white space may
// stand outside. Cases W01 to W11: it never looks for a value inside a text, so that it finds none in a string, in
// prose or in a draft, and never takes the first of two. rest is what is left after the last layer, if none is sound.
func unwrap(text []byte, whole func([]byte) bool) (inner, rest []byte) {
	left := trim(text)
	for _, layer := range []func([]byte) [][]byte{unmark, unthink, unfence} {
		for _, next := range layer(left) {
			if next = trim(next); whole(next) {
				return next, nil
			}
			rest = next
		}
		if rest != nil {
			left = rest
		}
	}
	return nil, left
}

func trim(text []byte) []byte { return bytes.Trim(text, " \t\r\n") }

// unmark takes a byte order mark away.
func unmark(text []byte) [][]byte {
	if inner, ok := bytes.CutPrefix(text, byteOrderMark); ok {
		return [][]byte{inner}
	}
	return nil
}

// unthink returns what follows a think block, or, if nothing follows, what stands in it. A block in which another one
// opens is not closed, and what follows its first closing tag may still be thought.
func unthink(text []byte) [][]byte {
	for _, tag := range thinkTags {
		body, ok := bytes.CutPrefix(text, []byte("<"+tag+">"))
		if !ok {
			continue
		}
		thought, after, closed := bytes.Cut(body, []byte("</"+tag+">"))
		switch {
		case !closed || bytes.Contains(thought, []byte("<"+tag+">")):
			return nil
		case len(trim(after)) == 0:
			return [][]byte{thought}
		}
		return [][]byte{after}
	}
	return nil
}

// unfence returns what stands in a fence of at least three backticks or tildes: as it is, and without the word that
// tells a language.
func unfence(text []byte) [][]byte {
	if len(text) < 6 || text[0] != '`' && text[0] != '~' {
		return nil
	}
	mark := string(text[:1])
	body := bytes.TrimLeft(text, mark)
	inner := bytes.TrimRight(body, mark)
	opening, closing := len(text)-len(body), len(body)-len(inner)
	if opening < 3 || closing < opening {
		return nil
	}
	forms := [][]byte{inner}
	if bare, ok := withoutWord(inner); ok {
		forms = append(forms, bare)
	}
	return forms
}

// withoutWord takes away the info word of a fence; the literals of JSON are values, not words.
func withoutWord(inner []byte) ([]byte, bool) {
	line := bytes.TrimLeft(inner, " \t")
	end := bytes.IndexFunc(line, func(r rune) bool { return !isWordRune(r) })
	if end <= 0 || !isLetter(rune(line[0])) || slices.Contains([]string{"true", "false", "null"}, string(line[:end])) {
		return nil, false
	}
	return line[end:], strings.IndexByte(" \t\r\n{[\"", line[end]) >= 0
}

func isWordRune(r rune) bool {
	return isLetter(r) || r >= '0' && r <= '9' || strings.ContainsRune("_+-.#", r)
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
