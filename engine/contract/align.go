package contract

import (
	"strings"
	"unicode/utf8"
)

// words are the literals of a source, and what they are in JSON. NaN, undefined and their like are none: there is no
// JSON for them, and whatever stood in their place would be invented.
var words = []struct {
	source  []byte
	meaning string
}{
	{[]byte("true"), "true"}, {[]byte("false"), "false"}, {[]byte("null"), "null"},
	{[]byte("True"), "true"}, {[]byte("False"), "false"}, {[]byte("None"), "null"},
}

// sameTokens reports whether out, which must be sound JSON, says the same as source: the same brackets, keys and
// scalars in the same order, none more and none less, numbers digit by digit. Source may differ in its quotes, in keys
// without quotes, in a comma or colon that is missing or stands at an end, in comments, and in characters of a string
// that JSON would escape. So nothing that jsonrepair guesses beyond that is taken over.
func sameTokens(source, out string) bool {
	if scan([]byte(out), false, true).fault != nil {
		return false
	}
	a := &aligner{src: source, out: &spanner{src: out}}
	a.out.space()
	a.gap()
	if !a.value() {
		return false
	}
	a.gap()
	return a.at == len(a.src)
}

// aligner walks a source and what was made of it side by side.
type aligner struct {
	src string
	at  int
	out *spanner
}

// gap skips white space and comments in the source.
func (a *aligner) gap() {
	for a.at < len(a.src) {
		r, size := utf8.DecodeRuneInString(a.src[a.at:])
		switch {
		case strings.ContainsRune(spaces, r):
			a.at += size
		case strings.HasPrefix(a.src[a.at:], "//"):
			a.skipPast("\n")
		case strings.HasPrefix(a.src[a.at:], "/*"):
			a.skipPast("*/")
		default:
			return
		}
	}
}

// spaces are the white space of JSON, and what models write for it.
const spaces = " \t\r\n\u00a0\u202f\u3000"

func (a *aligner) skipPast(end string) {
	if _, after, found := strings.Cut(a.src[a.at+2:], end); found {
		a.at = len(a.src) - len(after)
		return
	}
	a.at = len(a.src)
}

// take reads one of the source's own characters.
func (a *aligner) take(b byte) bool {
	if a.at < len(a.src) && a.src[a.at] == b {
		a.at++
		return true
	}
	return false
}

func (a *aligner) value() bool {
	switch a.out.src[a.out.pos] {
	case '{':
		return a.container('{', '}')
	case '[':
		return a.container('[', ']')
	case '"':
		return a.text(a.out.key())
	}
	return a.scalar()
}

// container walks an object or an array: at most one comma between two members and after the last. One that is missing
// between two numbers is no fault of syntax for certain: 10 500 may be one number.
func (a *aligner) container(opening, closing byte) bool {
	if !a.take(opening) {
		return false
	}
	a.gap()
	a.out.pos++
	parted := true
	for a.out.next(closing) {
		number := a.number()
		if number && !parted || opening == '{' && !a.key() || !a.value() {
			return false
		}
		a.gap()
		comma := a.take(',')
		parted = comma || !number
		if comma {
			a.gap()
		}
	}
	return a.take(closing)
}

// number reports whether a number follows.
func (a *aligner) number() bool {
	b := a.out.src[a.out.pos]
	return b == '-' || b >= '0' && b <= '9'
}

// key reads a key and the colon after it, which the source may lack.
func (a *aligner) key() bool {
	name := a.out.key()
	a.out.space()
	a.out.pos++
	a.out.space()
	if !a.text(name) && !a.bare(name) {
		return false
	}
	a.gap()
	if a.take(':') {
		a.gap()
	}
	return true
}

// bare reads a key that stands without quotes.
func (a *aligner) bare(name string) bool {
	for i, r := range name {
		if !isWordRune(r) && r != '$' || i == 0 && r >= '0' && r <= '9' {
			return false
		}
	}
	if name == "" || !strings.HasPrefix(a.src[a.at:], name) {
		return false
	}
	a.at += len(name)
	return a.at < len(a.src) && strings.IndexByte(": \t\r\n", a.src[a.at]) >= 0
}

// scalar reads a number or a literal, which must be spelled alike.
func (a *aligner) scalar() bool {
	start := a.out.pos
	a.out.value()
	spelled := a.out.src[start:a.out.pos]
	source := spelled
	for _, w := range words {
		if w.meaning == spelled && strings.HasPrefix(a.src[a.at:], string(w.source)) {
			source = string(w.source)
		}
	}
	if !strings.HasPrefix(a.src[a.at:], source) {
		return false
	}
	a.at += len(source)
	return a.at == len(a.src) || endsScalar(a.src[a.at]) || strings.HasPrefix(a.src[a.at:], "//") ||
		strings.HasPrefix(a.src[a.at:], "/*")
}

// partners are the quotes that a source may use.
var partners = map[rune]rune{'"': '"', '\'': '\'', '`': '`', '“': '”', '‘': '’'}

// text reads a quoted string that means content.
func (a *aligner) text(content string) bool {
	opening, size := utf8.DecodeRuneInString(a.src[a.at:])
	closing, ok := partners[opening]
	if !ok {
		return false
	}
	start := a.at
	a.at += size
	for content != "" {
		rest, ok := a.character(content, closing)
		if !ok {
			a.at = start
			return false
		}
		content = rest
	}
	if r, size := utf8.DecodeRuneInString(a.src[a.at:]); r == closing {
		a.at += size
		return true
	}
	a.at = start
	return false
}

// character reads what stands for the first character of content, and returns the rest of content.
func (a *aligner) character(content string, closing rune) (rest string, ok bool) {
	r, size := utf8.DecodeRuneInString(a.src[a.at:])
	switch {
	case size == 0:
		return "", false
	case r == '\\':
		return a.escaped(content)
	case r == closing && a.mayEnd(size):
		return "", false
	}
	rest, ok = strings.CutPrefix(content, a.src[a.at:a.at+size])
	a.at += size
	return rest, ok
}

// mayEnd reports whether the quote at the source's place could be the end of the string, or the start of another: then
// only its author knows which it is.
func (a *aligner) mayEnd(size int) bool {
	before := strings.TrimRight(a.src[:a.at], spaces)
	after := strings.TrimLeft(a.src[a.at+size:], spaces)
	return after == "" || strings.IndexByte(",:]}", after[0]) >= 0 || strings.IndexByte(",:[{", before[len(before)-1]) >= 0
}

// escaped reads an escape of JSON, or the quote that JavaScript escapes.
func (a *aligner) escaped(content string) (rest string, ok bool) {
	if strings.HasPrefix(a.src[a.at:], `\'`) {
		a.at += 2
		return strings.CutPrefix(content, "'")
	}
	s := &scanner{src: a.src, pos: a.at}
	meant, ok := s.escape(nil)
	if !ok || s.soft != nil {
		return "", false
	}
	a.at = s.pos
	return strings.CutPrefix(content, string(meant))
}
