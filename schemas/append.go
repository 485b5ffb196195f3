package schemas

import (
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"
)

// What a worker writes of every run (events, the result, the conversation that it fingerprints) is appended by hand: the
// same bytes as Marshal's, at a fraction of its cost. What is rare is left to Marshal here too.

// appender writes the members of objects. An error of a part is kept, for whoever takes the whole.
type appender struct {
	buf []byte
	err error
}

// key begins a member; name is `"name":`. The comma before it is its business.
func (a *appender) key(name string) {
	if c := a.buf[len(a.buf)-1]; c != '{' && c != '[' {
		a.buf = append(a.buf, ',')
	}
	a.buf = append(a.buf, name...)
}

func (a *appender) open()  { a.buf = append(a.buf, '{') }
func (a *appender) close() { a.buf = append(a.buf, '}') }

// text, number and truth write a member, opt forms only one that is not zero.
func (a *appender) text(name, s string) {
	a.key(name)
	a.buf = AppendString(a.buf, s)
}

func (a *appender) optText(name, s string) {
	if s != "" {
		a.text(name, s)
	}
}

func (a *appender) number(name string, n int64) {
	a.key(name)
	a.buf = strconv.AppendInt(a.buf, n, 10)
}

func (a *appender) optNumber(name string, n int64) {
	if n != 0 {
		a.number(name, n)
	}
}

func (a *appender) optPointer(name string, n *int64) {
	if n != nil {
		a.number(name, *n)
	}
}

func (a *appender) unsigned(name string, n uint64) {
	if n != 0 {
		a.key(name)
		a.buf = strconv.AppendUint(a.buf, n, 10)
	}
}

func (a *appender) truth(name string, b bool) {
	a.key(name)
	a.buf = strconv.AppendBool(a.buf, b)
}

func (a *appender) moment(name string, t time.Time) {
	a.key(name)
	b, err := t.AppendText(append(a.buf, '"'))
	if err != nil {
		a.err = err
		return
	}
	a.buf = append(b, '"')
}

// raw writes a JSON value without its space.
func (a *appender) raw(name string, v json.RawMessage) {
	a.key(name)
	a.value(v)
}

// value appends a JSON value without its space; nil is null.
func (a *appender) value(v json.RawMessage) {
	if v == nil {
		a.buf = append(a.buf, "null"...)
		return
	}
	b, err := appendCompact(a.buf, v)
	if err != nil {
		a.err = err
		return
	}
	a.buf = b
}

// other writes what is rare.
func (a *appender) other(name string, v any) {
	b, err := Marshal(v)
	if err != nil {
		a.err = err
		return
	}
	a.key(name)
	a.buf = append(a.buf, b...)
}

// AppendString appends a JSON string, byte for byte as Marshal writes it.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			if i += Plain(s[i:]); i == len(s) {
				break
			}
		}
		escape, size := escaped(s[i:])
		if escape != "" {
			dst = append(append(dst, s[done:i]...), escape...)
			done = i + size
		}
		i += size
	}
	return append(append(dst, s[done:]...), '"')
}

// escapes are those of the control characters.
var escapes = func() (out [' ']string) {
	for c := range out {
		out[c] = `\u00` + string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15])
	}
	out['\b'], out['\f'], out['\n'], out['\r'], out['\t'] = `\b`, `\f`, `\n`, `\r`, `\t`
	return out
}()

// escaped is how the character that s begins with is written, "" if as it is, and its size in s. Bytes that are not UTF-8
// become U+FFFD; two line ends that JavaScript does not take in a string are always escaped.
func escaped(s string) (escape string, size int) {
	switch c := s[0]; {
	case c < ' ':
		return escapes[c], 1
	case c == '"':
		return `\"`, 1
	case c == '\\':
		return `\\`, 1
	}
	switch r, size := utf8.DecodeRuneInString(s); {
	case r == utf8.RuneError && size == 1:
		return `\ufffd`, 1
	case r == '\u2028':
		return `\u2028`, size
	case r == '\u2029':
		return `\u2029`, size
	default:
		return "", size
	}
}

// AppendJSON appends the message as MarshalJSON writes it.
func (m Message) AppendJSON(dst []byte) ([]byte, error) {
	a := appender{buf: dst}
	a.open()
	a.text(`"role":`, m.Role)
	if m.Parts == nil {
		a.text(`"content":`, m.Content)
	} else {
		a.raw(`"content":`, m.Parts)
	}
	a.optText(`"cache":`, m.Cache)
	a.close()
	return a.buf, a.err
}
