package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
)

// The functions of this file walk the bytes of a document that json.Valid has accepted, without copying them.

// MaxDepth bounds the nesting of a message.
const MaxDepth = 200

// depth is the deepest nesting of b. It needs no valid document: it goes before the check for one.
func depth(b []byte) int {
	deepest, now, quoted := 0, 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}

// space is the index of the first byte from i on that is no white space.
func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// end is the index behind the value that begins at i.
func end(b []byte, i int) int {
	switch b[i] {
	case '"':
		for i++; b[i] != '"'; i++ {
			if b[i] == '\\' {
				i++
			}
		}
		return i + 1
	case '{', '[':
		return endNested(b, i)
	}
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] != ' ' && b[i] != '\t' && b[i] != '\n' && b[i] != '\r' {
		i++
	}
	return i
}

func endNested(b []byte, i int) int {
	for open := 0; ; i++ {
		switch b[i] {
		case '"':
			i = end(b, i) - 1
		case '{', '[':
			open++
		case '}', ']':
			if open--; open == 0 {
				return i + 1
			}
		}
	}
}

// elements yields the values of the array b.
func elements(b []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		n := 0
		for i := space(b, 1); b[i] != ']'; n++ {
			to := end(b, i)
			if !yield(n, b[i:to]) {
				return
			}
			if i = space(b, to); b[i] == ',' {
				i = space(b, i+1)
			}
		}
	}
}

// members yields the names and values of the object b, in order.
func members(b []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for i := space(b, 1); b[i] != '}'; {
			to := end(b, i)
			name := Unquote(b[i:to])
			i = space(b, space(b, to)+1)
			to = end(b, i)
			if !yield(name, b[i:to]) {
				return
			}
			if i = space(b, to); b[i] == ',' {
				i = space(b, i+1)
			}
		}
	}
}

// Unquote is the text of a valid JSON string.
func Unquote(b []byte) string {
	b = b[1 : len(b)-1]
	slash := bytes.IndexByte(b, '\\')
	if slash < 0 {
		return string(b)
	}
	var out strings.Builder
	out.Grow(len(b))
	rest := b
	for ; slash >= 0; slash = bytes.IndexByte(rest, '\\') {
		plain, ok := unescaped[rest[slash+1]]
		if !ok {
			return unquoteAny(b)
		}
		out.Write(rest[:slash])
		out.WriteByte(plain)
		rest = rest[slash+2:]
	}
	out.Write(rest)
	return out.String()
}

// unescaped are the short escapes.
var unescaped = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unquoteAny takes the long ones too; b has lost its quotes.
func unquoteAny(b []byte) string {
	var s string
	if err := json.Unmarshal(append(append([]byte{'"'}, b...), '"'), &s); err != nil {
		panic(fmt.Sprintf("schemas: a valid document holds no valid string: %v", err)) // json.Valid has seen it
	}
	return s
}

// kindOf names the JSON type of a value.
func kindOf(b []byte) string {
	switch b[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
