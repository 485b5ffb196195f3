package contract

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is one step of a field path: a key, an index, or every item of an array.
type token struct {
	name  string // the key, or the digits of an index
	index bool
	every bool
}

// fieldPath is a path of the display form, [*] or [] standing for every item.
type fieldPath []token

// parsePath reads a path as DisplayPath writes it. The error says what is wrong and how to write it.
func parsePath(text string) (fieldPath, error) {
	if text == "(root)" {
		return fieldPath{}, nil
	}
	if text == "" {
		return nil, fmt.Errorf("the path is empty; write a field like total or items[2].price")
	}
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("the path is not valid UTF-8")
	}
	var path fieldPath
	for rest := text; rest != ""; {
		t, after, err := nextToken(rest, len(path) == 0)
		if err != nil {
			return nil, err
		}
		path, rest = append(path, t), after
		if len(path) > maxDepth {
			return nil, fmt.Errorf("the path is deeper than %d", maxDepth)
		}
	}
	return path, nil
}

func nextToken(rest string, first bool) (token, string, error) {
	if rest[0] == '[' {
		return bracket(rest)
	}
	if !first {
		if rest[0] != '.' {
			return token{}, "", fmt.Errorf("%q should be a dot or a bracket", excerpt(rest))
		}
		rest = rest[1:]
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '$' })
	if end < 0 {
		end = len(rest)
	}
	name := rest[:end]
	if !isPlain(name) {
		return token{}, "", fmt.Errorf(`%q is no plain key; write an odd key as ["a.b"], an index as [2], every item as [*]`, excerpt(rest))
	}
	return token{name: name}, rest[end:], nil
}

// bracket reads [2], [*], [] or ["key"].
func bracket(rest string) (token, string, error) {
	if strings.HasPrefix(rest, `["`) {
		return quotedKey(rest)
	}
	inner, after, closed := strings.Cut(rest[1:], "]")
	switch {
	case !closed:
		return token{}, "", fmt.Errorf("%q lacks its closing bracket", excerpt(rest))
	case inner == "*" || inner == "":
		return token{every: true}, after, nil
	case isIndex(inner) && len(inner) < 10:
		return token{name: inner, index: true}, after, nil
	}
	return token{}, "", fmt.Errorf(`%q is no index; write [2], [*] for every item, or ["key"]`, excerpt("["+inner+"]"))
}

func quotedKey(rest string) (token, string, error) {
	s := &scanner{src: rest, pos: 1}
	name, ok := s.text()
	if !ok || s.soft != nil || s.pos >= len(rest) || rest[s.pos] != ']' {
		return token{}, "", fmt.Errorf(`%q is no quoted key; write it as JSON writes a string: ["a.b"]`, excerpt(rest))
	}
	return token{name: name}, rest[s.pos+1:], nil
}

// String renders the path in the form that parsePath reads.
func (p fieldPath) String() string {
	if len(p) == 0 {
		return "(root)"
	}
	var b strings.Builder
	for _, t := range p {
		switch {
		case t.every:
			b.WriteString("[*]")
		case t.index:
			b.WriteString("[" + t.name + "]")
		case isPlain(t.name) && t.name != "*":
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(t.name)
		default:
			b.WriteString("[" + quoted(t.name) + "]")
		}
	}
	return b.String()
}

// wild is how many of the path's tokens stand up to its last [*], 0 if there is none.
func (p fieldPath) wild() int {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i].every {
			return i + 1
		}
	}
	return 0
}

// at puts items, one after the other, in the place of [*].
func (p fieldPath) at(items []int) fieldPath {
	if p.wild() == 0 {
		return p
	}
	out := make(fieldPath, len(p))
	for i, t := range p {
		if t.every && len(items) > 0 {
			t = token{name: strconv.Itoa(items[0]), index: true}
			items = items[1:]
		}
		out[i] = t
	}
	return out
}

func (p fieldPath) tokens() []string {
	out := make([]string, len(p))
	for i, t := range p {
		out[i] = t.name
	}
	return out
}

// startsWith reports whether p leads to q or below it.
func (p fieldPath) startsWith(q fieldPath) bool {
	if len(q) > len(p) {
		return false
	}
	for i, t := range q {
		if p[i] != t {
			return false
		}
	}
	return true
}

// find follows a path without [*] in a decoded value.
func (p fieldPath) find(v any) (any, bool) {
	for _, t := range p {
		switch c := v.(type) {
		case map[string]any:
			next, ok := c[t.name]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(t.name)
			if err != nil || !isIndex(t.name) || i >= len(c) {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// each calls f with the items that stand for [*] in every place of the path in v, and reports whether there was an
// array for each of them. Places behind the last [*] need not exist.
func (p fieldPath) each(v any, f func(items []int)) bool {
	return p[:p.wild()].walk(v, nil, f)
}

func (p fieldPath) walk(v any, items []int, f func([]int)) bool {
	for i, t := range p {
		if !t.every {
			continue
		}
		found, ok := p[:i].find(v)
		list, isList := found.([]any)
		if !ok || !isList {
			return false
		}
		whole := true
		for n, item := range list {
			whole = p[i+1:].walk(item, append(items[:len(items):len(items)], n), f) && whole
		}
		return whole
	}
	f(items)
	return true
}
