package provider

import (
	"bytes"
	"iter"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"emend/schemas"
)

// Value is one JSON value of a reply, read in place: it tells absent from null from empty, matches names exactly (which
// encoding/json does not) and costs no allocation. The zero Value is an absent one; every method works on it.
// A Value lives as long as the body that it was parsed from.
type Value struct{ raw []byte }

// ValueKind is the JSON type of a Value.
type ValueKind byte

// Kinds of a Value.
const (
	Absent ValueKind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// String names the kind as a message would.
func (k ValueKind) String() string {
	return [...]string{"missing", "null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// Parse returns the one JSON value of a body, or false if it is not exactly one.
func Parse(body []byte) (Value, bool) {
	if !schemas.Valid(body) {
		return Value{}, false
	}
	return Value{raw: bytes.Trim(body, " \t\r\n")}, true
}

// Kind returns the type.
func (v Value) Kind() ValueKind {
	if len(v.raw) == 0 {
		return Absent
	}
	switch v.raw[0] {
	case 'n':
		return Null
	case 't', 'f':
		return Bool
	case '"':
		return String
	case '[':
		return Array
	case '{':
		return Object
	}
	return Number
}

// Present reports that the value is neither absent nor null.
func (v Value) Present() bool { return v.Kind() > Null }

// Filled reports that the value is present and not "", [], {}, 0 or false: that it says something.
func (v Value) Filled() bool {
	switch v.Kind() {
	case Absent, Null:
		return false
	case Bool:
		return v.raw[0] == 't'
	case Number:
		return string(v.raw) != "0"
	}
	return len(bytes.Trim(v.raw[1:len(v.raw)-1], " \t\r\n")) > 0
}

// Raw returns the bytes of the value, which are the body's own.
func (v Value) Raw() []byte { return v.raw }

// Get returns an object's member; the last one of that name, as most readers do. Absent if v is no object.
func (v Value) Get(name string) Value {
	var found Value
	v.Pick(Field{name, &found})
	return found
}

// Field is a member that Pick looks for, and where it goes.
type Field struct {
	Name string
	To   *Value
}

// Pick is Get for several members in one pass. What is absent is left alone.
func (v Value) Pick(fields ...Field) {
	for key, member := range v.Members() {
		for _, f := range fields {
			if key.Is(f.Name) {
				*f.To = member
			}
		}
	}
}

// Is reports whether a member's name, as Members gives it, is name. It decodes nothing, unless there are escapes.
func (v Value) Is(name string) bool {
	if v.Kind() != String {
		return false
	}
	inner := v.raw[1 : len(v.raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == name
	}
	return unquote(inner) == name
}

// Members ranges over an object's names and values, in order.
func (v Value) Members() iter.Seq2[Value, Value] {
	return func(yield func(Value, Value) bool) {
		if v.Kind() != Object {
			return
		}
		for rest := next(v.raw[1:]); rest[0] != '}'; rest = next(rest) {
			var key, member Value
			key, rest = split(rest)
			member, rest = split(next(rest))
			if !yield(key, member) {
				return
			}
		}
	}
}

// Elements ranges over an array's elements.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != Array {
			return
		}
		for rest := next(v.raw[1:]); rest[0] != ']'; rest = next(rest) {
			var element Value
			element, rest = split(rest)
			if !yield(element) {
				return
			}
		}
	}
}

// First returns an array's first element.
func (v Value) First() Value {
	for element := range v.Elements() {
		return element
	}
	return Value{}
}

// Text returns a string's text. Bytes that are not UTF-8 stay as they are, since the text is somebody's candidate; an
// escaped lone surrogate, which no text can hold, becomes the three bytes that would encode it: they are not UTF-8, so
// that a JSON contract refuses the candidate instead of taking a replacement for what the model said.
func (v Value) Text() (string, bool) {
	if v.Kind() != String {
		return "", false
	}
	return unquote(v.raw[1 : len(v.raw)-1]), true
}

// Float returns a number's value; false also if it is out of range.
func (v Value) Float() (float64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v.raw), 64)
	return f, err == nil
}

// next skips what stands between values. The document is valid, so there is always a byte left.
func next(b []byte) []byte {
	for b[0] == ' ' || b[0] == '\t' || b[0] == '\r' || b[0] == '\n' || b[0] == ',' || b[0] == ':' {
		b = b[1:]
	}
	return b
}

// split cuts the value that b begins with.
func split(b []byte) (Value, []byte) {
	n := 0
	switch b[0] {
	case '"':
		n = stringEnd(b)
	case '{', '[':
		n = nestedEnd(b)
	default:
		n = bytes.IndexAny(b, ",]} \t\r\n")
	}
	return Value{raw: b[:n:n]}, b[n:]
}

func stringEnd(b []byte) int {
	for i := 1; ; i++ {
		i += schemas.Inside(b[i:])
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
}

func nestedEnd(b []byte) int {
	depth := 0
	for i := 0; ; i++ {
		switch b[i] {
		case '"':
			i += stringEnd(b[i:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}

func unquote(b []byte) string {
	slash := bytes.IndexByte(b, '\\')
	if slash < 0 {
		return string(b)
	}
	var out strings.Builder
	out.Grow(len(b))
	var few [utf8.UTFMax]byte
	for slash >= 0 {
		out.Write(b[:slash])
		one, rest := unescape(few[:0], b[slash+1:])
		out.Write(one)
		b = rest
		slash = bytes.IndexByte(b, '\\')
	}
	out.Write(b)
	return out.String()
}

// unescape decodes one escape sequence whose backslash is gone.
func unescape(out, b []byte) ([]byte, []byte) {
	switch b[0] {
	case 'b':
		return append(out, '\b'), b[1:]
	case 'f':
		return append(out, '\f'), b[1:]
	case 'n':
		return append(out, '\n'), b[1:]
	case 'r':
		return append(out, '\r'), b[1:]
	case 't':
		return append(out, '\t'), b[1:]
	case 'u':
		r, n := codePoint(b)
		if utf16.IsSurrogate(r) {
			return append(out, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f), b[n:]
		}
		return utf8.AppendRune(out, r), b[n:]
	}
	return append(out, b[0]), b[1:]
}

// codePoint decodes uXXXX, and a second one behind it if the two are a pair.
func codePoint(b []byte) (rune, int) {
	r := hex4(b[1:5])
	if !utf16.IsSurrogate(r) {
		return r, 5
	}
	if len(b) >= 11 && b[5] == '\\' && b[6] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(b[7:11])); pair != utf8.RuneError {
			return pair, 11
		}
	}
	return r, 5
}

func hex4(b []byte) rune {
	n, _ := strconv.ParseUint(string(b), 16, 32)
	return rune(n)
}
