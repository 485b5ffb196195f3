package ollama

import (
	"strconv"
	"strings"
)

// patternFault says why a pattern cannot go out, or "". Ollama turns a pattern into a grammar by a reader of its own: what is
// not anchored at both ends is answered with 500 (providers.md), what it misreads makes the model write something else, and
// what matches a quotation mark lets the model leave the string. Only what it reads as a regular expression does is sent.
func patternFault(pattern string) string {
	inner, anchored := strings.CutPrefix(pattern, "^")
	inner, closed := strings.CutSuffix(inner, "$")
	if !anchored || !closed || strings.HasSuffix(inner, `\`) {
		return "it is not anchored at both ends"
	}
	r := patternReader{rest: inner}
	for r.rest != "" {
		if fault := r.next(); fault != "" {
			return fault
		}
	}
	if r.before == 0 || r.before == '|' {
		return "it has an empty branch"
	}
	return ""
}

// patternReader steps through a pattern. Before is the last thing read: a literal 'a', a quantifier '*', or ( ) | themselves.
type patternReader struct {
	rest   string
	before byte
	depth  int // of groups
}

// escapable are the characters that the reader knows escaped. Any other escape, such as \d, breaks its grammar.
const escapable = `^$.[](){}|*+?`

func (r *patternReader) next() string {
	c := r.rest[0]
	if c < ' ' || c >= 0x7f || strings.IndexByte(`".^$`, c) >= 0 {
		return "it has " + map[bool]string{true: "a " + string(c) + " within", false: "a character that is not plain ASCII"}[c > ' ' && c < 0x7f]
	}
	switch c {
	case '\\':
		if len(r.rest) < 2 || strings.IndexByte(escapable, r.rest[1]) < 0 {
			return "it has an escape for a class of characters"
		}
		r.take(2, 'a')
	case '[':
		return r.class()
	case '{':
		return r.repetition()
	case '*', '+', '?':
		return r.quantifier(1)
	case '(', '|', ')':
		return r.group(c)
	default:
		r.take(1, 'a')
	}
	return ""
}

func (r *patternReader) take(n int, as byte) { r.rest, r.before = r.rest[n:], as }

func (r *patternReader) group(c byte) string {
	opens := r.before == 0 || r.before == '(' || r.before == '|'
	switch {
	case c == '(' && strings.HasPrefix(r.rest, "(?"):
		return "it has a group of another kind than (...)"
	case c != '(' && opens:
		return "it has an empty branch"
	case c == '|' && r.depth == 0:
		return "it is not anchored at both ends of each branch"
	case c == '(':
		r.depth++
	case c == ')':
		r.depth--
	}
	r.take(1, c)
	return ""
}

// class reads a class of plain characters and ranges.
func (r *patternReader) class() string {
	end := strings.IndexByte(r.rest, ']')
	if end < 2 || r.rest[1] == '^' || strings.ContainsAny(r.rest[:end], "\\\"") || strings.IndexByte(r.rest[1:end], '[') >= 0 {
		return "it has a negated class, or one with escapes, quotes or brackets"
	}
	class := r.rest[1:end]
	for i := range len(class) {
		if class[i] < ' ' || class[i] >= 0x7f {
			return "it has a character that is not plain ASCII"
		}
		if i > 0 && i+1 < len(class) && class[i] == '-' && (within(class[i-1], class[i+1], '"') || within(class[i-1], class[i+1], '\\')) {
			return "it has a range with a quote or a backslash in it"
		}
	}
	r.take(end+1, 'a')
	return ""
}

func within(lo, hi, c byte) bool { return lo <= c && c <= hi }

func (r *patternReader) repetition() string {
	end := strings.IndexByte(r.rest, '}')
	if end < 0 {
		return "it has an unclosed brace"
	}
	least, most, _ := strings.Cut(r.rest[1:end], ",")
	for _, n := range []string{least, most} {
		if n == "" {
			continue
		}
		if count, err := strconv.Atoi(n); err != nil || count > repetitions {
			return tooOften
		}
	}
	return r.quantifier(end + 1)
}

// quantifier refuses what follows another one: it would make it lazy.
func (r *patternReader) quantifier(n int) string {
	if r.before != 'a' && r.before != ')' {
		return "it has a lazy or doubled quantifier"
	}
	r.take(n, '*')
	return ""
}
