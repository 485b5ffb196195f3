package contract

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"emend/schemas"
)

// text reads a JSON string and returns what it means.
func (s *scanner) text() (string, bool) {
	s.pos++
	start := s.pos
	for s.pos < len(s.src) {
		if s.pos += schemas.Inside(s.src[s.pos:]); s.pos == len(s.src) {
			break
		}
		switch c := s.src[s.pos]; {
		case c == '"':
			s.pos++
			return s.src[start : s.pos-1], true
		case c == '\\':
			return s.escaped(s.src[start:s.pos])
		case c < 0x20:
			return "", s.control()
		default:
			s.pos++
		}
	}
	return "", s.unterminated()
}

func (s *scanner) control() bool {
	return s.fail(NotJSON, s.pos, fmt.Sprintf("the control character %q stands unescaped in a string", s.src[s.pos]))
}

func (s *scanner) unterminated() bool {
	return s.fail(NotJSON, len(s.src), "the text ends inside a string")
}

// escaped reads the rest of a string whose head held no escape.
func (s *scanner) escaped(head string) (string, bool) {
	out := append(make([]byte, 0, len(head)+64), head...)
	for s.pos < len(s.src) {
		n := schemas.Inside(s.src[s.pos:])
		out = append(out, s.src[s.pos:s.pos+n]...)
		if s.pos += n; s.pos == len(s.src) {
			break
		}
		switch c := s.src[s.pos]; {
		case c == '"':
			s.pos++
			return string(out), true
		case c < 0x20:
			return "", s.control()
		}
		var ok bool
		if out, ok = s.escape(out); !ok {
			return "", false
		}
	}
	return "", s.unterminated()
}

const escapes = `"\/bfnrt`
const meanings = "\"\\/\b\f\n\r\t"

// escape reads one escape and appends its meaning.
func (s *scanner) escape(out []byte) ([]byte, bool) {
	if s.pos+1 >= len(s.src) {
		return nil, s.unterminated()
	}
	c := s.src[s.pos+1]
	if i := strings.IndexByte(escapes, c); i >= 0 {
		s.pos += 2
		return append(out, meanings[i]), true
	}
	if c != 'u' {
		return nil, s.fail(NotJSON, s.pos, fmt.Sprintf("\\%c is no escape of JSON", rune(c)))
	}
	return s.unicode(out)
}

// unicode reads \uXXXX, or a surrogate pair of them.
func (s *scanner) unicode(out []byte) ([]byte, bool) {
	at := s.pos
	first, ok := s.hex()
	if !ok {
		return nil, false
	}
	if !utf16.IsSurrogate(first) {
		return utf8.AppendRune(out, first), true
	}
	if first < 0xDC00 && strings.HasPrefix(s.src[s.pos:], `\u`) {
		back := s.pos
		second, ok := s.hex()
		if !ok {
			return nil, false
		}
		if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
			return utf8.AppendRune(out, r), true
		}
		s.pos = back
	}
	s.note(LoneSurrogate, at, "", fmt.Sprintf("\\u%04x is half of a surrogate pair without the other half", first))
	return utf8.AppendRune(out, utf8.RuneError), true
}

// hex reads the six bytes \uXXXX.
func (s *scanner) hex() (rune, bool) {
	digits := s.src[s.pos+2 : min(s.pos+6, len(s.src))]
	n := 0
	for n < len(digits) && isHex(digits[n]) {
		n++
	}
	if n < len(digits) {
		return 0, s.fail(NotJSON, s.pos, `\u is not followed by four hexadecimal digits`)
	}
	if n < 4 {
		return 0, s.unterminated()
	}
	v, err := strconv.ParseUint(digits, 16, 16)
	s.pos += 6
	return rune(v), err == nil
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// digits skips a run of digits and returns its length; none is a fault.
func (s *scanner) digits() (int, bool) {
	start := s.pos
	for s.pos < len(s.src) && s.src[s.pos] >= '0' && s.src[s.pos] <= '9' {
		s.pos++
	}
	if s.pos == start {
		return 0, s.fail(NotJSON, s.pos, s.found()+" stands where a digit should")
	}
	return s.pos - start, true
}

func (s *scanner) skip(set string) bool {
	if s.pos < len(s.src) && strings.IndexByte(set, s.src[s.pos]) >= 0 {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) number() (any, bool) {
	start := s.pos
	s.skip("-")
	n := 1
	if !s.skip("0") {
		var ok bool
		if n, ok = s.digits(); !ok {
			return nil, false
		}
	}
	if s.skip(".") {
		m, ok := s.digits()
		if !ok {
			return nil, false
		}
		n += m
	}
	if n > maxDigits {
		s.note(NumberOutRange, start, "", fmt.Sprintf("a number has more than %d digits", maxDigits))
	}
	if s.skip("eE") && !s.exponent(start) {
		return nil, false
	}
	if !s.build {
		return nil, true
	}
	return json.Number(s.src[start:s.pos]), true
}

func (s *scanner) exponent(start int) bool {
	s.skip("+-")
	from := s.pos
	if _, ok := s.digits(); !ok {
		return false
	}
	digits := strings.TrimLeft(s.src[from:s.pos], "0")
	if v, err := strconv.Atoi("0" + digits[:min(len(digits), 9)]); err != nil || len(digits) > 9 || v > maxExponent {
		s.note(NumberOutRange, start, "", fmt.Sprintf("a number's exponent is beyond %d", maxExponent))
	}
	return true
}
