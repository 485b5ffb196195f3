package provider

import (
	"strconv"
	"unicode/utf8"

	"emend/schemas"
)

// Encoder appends JSON to one buffer. Unlike encoding/json it writes given bytes byte for byte (a schema's property
// order is generation order, and its author's), escapes no "<", and costs one allocation a request. Commas are its
// business, nesting is its caller's. The zero value is ready.
type Encoder struct{ buf []byte }

// Grow makes room for n bytes.
func (e *Encoder) Grow(n int) { e.buf = append(make([]byte, 0, len(e.buf)+n), e.buf...) }

// Bytes returns what was written.
func (e *Encoder) Bytes() []byte { return e.buf }

// Open begins an object ('{') or an array ('[').
func (e *Encoder) Open(bracket byte) {
	e.comma()
	e.buf = append(e.buf, bracket)
}

// Close ends an object ('}') or an array (']').
func (e *Encoder) Close(bracket byte) { e.buf = append(e.buf, bracket) }

// Key begins a member.
func (e *Encoder) Key(name string) {
	e.String(name)
	e.buf = append(e.buf, ':')
}

// RawKey begins a member whose name is a JSON string already.
func (e *Encoder) RawKey(name []byte) {
	e.Raw(name)
	e.buf = append(e.buf, ':')
}

// String writes text. Bytes that are not UTF-8 become U+FFFD, so that the body is JSON whatever a model wrote before.
func (e *Encoder) String(s string) {
	e.comma()
	e.buf = appendString(e.buf, s)
}

// Int writes an integer.
func (e *Encoder) Int(n int64) {
	e.comma()
	e.buf = strconv.AppendInt(e.buf, n, 10)
}

// Float writes a finite number in its shortest form.
func (e *Encoder) Float(f float64) {
	e.comma()
	e.buf = strconv.AppendFloat(e.buf, f, 'g', -1, 64)
}

// Bool writes true or false.
func (e *Encoder) Bool(b bool) {
	e.comma()
	e.buf = strconv.AppendBool(e.buf, b)
}

// Raw writes a JSON value as it is.
func (e *Encoder) Raw(value []byte) {
	e.comma()
	e.buf = append(e.buf, value...)
}

// comma separates a value from the one before it. No value ends in one of these three bytes.
func (e *Encoder) comma() {
	if n := len(e.buf); n > 0 {
		switch e.buf[n-1] {
		case '{', '[', ':':
		default:
			e.buf = append(e.buf, ',')
		}
	}
}

const hexDigits = "0123456789abcdef"

func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			if i += schemas.Plain(s[i:]); i == len(s) {
				break
			}
		}
		c, size := s[i], 1
		if c >= utf8.RuneSelf {
			var r rune
			if r, size = utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		dst = appendEscape(append(dst, s[done:i]...), c)
		i += size
		done = i
	}
	return append(append(dst, s[done:]...), '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch {
	case c == '"' || c == '\\':
		return append(dst, '\\', c)
	case c == '\n':
		return append(dst, '\\', 'n')
	case c == '\r':
		return append(dst, '\\', 'r')
	case c == '\t':
		return append(dst, '\\', 't')
	case c < ' ':
		return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	}
	return utf8.AppendRune(dst, utf8.RuneError)
}
