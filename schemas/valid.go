package schemas

import (
	"bytes"
	"encoding/json"
)

// Every run's request, inputs and answer are held to be JSON, and the answer is written without its space. The walk here does it
// at a quarter of the cost of encoding/json, which is asked wherever the walk is not sure: its word stands.

// Valid reports whether b is exactly one JSON value, as json.Valid does.
func Valid(b []byte) bool {
	w := walker{b: b}
	return w.document() || json.Valid(b)
}

// appendCompact appends a JSON value without the space between its tokens, as json.Compact does.
func appendCompact(dst, v []byte) ([]byte, error) {
	w := walker{b: v, out: dst, copies: true}
	if w.document() {
		return append(w.out, v[w.from:w.i]...), nil
	}
	b := bytes.NewBuffer(dst)
	err := json.Compact(b, v)
	return b.Bytes(), err
}

// surely bounds how deep the walk goes.
const surely = 200

// walker walks one JSON value. Each of its steps reports whether what it walked is sound for certain.
type walker struct {
	b []byte
	i int
	// out gets what is before from; spaces are left out.
	out    []byte
	from   int
	copies bool
}

// document walks a value with space around it, to the end.
func (w *walker) document() bool {
	w.space()
	if !w.value(0) {
		return false
	}
	end := w.i
	w.space()
	sound := w.i == len(w.b)
	if w.i = end; w.from > end {
		w.from = end // what was skipped last was the end
	}
	return sound
}

// space skips white space, and has what is before it copied.
func (w *walker) space() {
	i := w.i
	for i < len(w.b) && (w.b[i] == ' ' || w.b[i] == '\n' || w.b[i] == '\t' || w.b[i] == '\r') {
		i++
	}
	if i == w.i {
		return
	}
	if w.copies {
		w.out = append(w.out, w.b[w.from:w.i]...)
	}
	w.i, w.from = i, i
}

// next steps over c, if it is there.
func (w *walker) next(c byte) bool {
	if w.i < len(w.b) && w.b[w.i] == c {
		w.i++
		return true
	}
	return false
}

func (w *walker) value(depth int) bool {
	if w.i >= len(w.b) || depth > surely {
		return false
	}
	switch c := w.b[w.i]; c {
	case '"':
		return w.text()
	case '{':
		return w.nested(depth, '}', true)
	case '[':
		return w.nested(depth, ']', false)
	case 't':
		return w.word("true")
	case 'f':
		return w.word("false")
	case 'n':
		return w.word("null")
	}
	return w.number()
}

func (w *walker) word(s string) bool {
	end := w.i + len(s)
	if end > len(w.b) || string(w.b[w.i:end]) != s {
		return false
	}
	w.i = end
	return true
}

// nested walks the members of an object, or the items of an array.
func (w *walker) nested(depth int, closing byte, named bool) bool {
	w.i++
	w.space()
	if w.next(closing) {
		return true
	}
	for {
		if named && !w.name() || !w.value(depth+1) {
			return false
		}
		w.space()
		if w.next(closing) {
			return true
		}
		if !w.next(',') {
			return false
		}
		w.space()
	}
}

// name walks the name of a member and its colon.
func (w *walker) name() bool {
	if w.i >= len(w.b) || w.b[w.i] != '"' || !w.text() {
		return false
	}
	w.space()
	if !w.next(':') {
		return false
	}
	w.space()
	return true
}

func (w *walker) text() bool {
	for i := w.i + 1; i < len(w.b); i++ {
		if i += Inside(w.b[i:]); i == len(w.b) {
			return false
		}
		switch c := w.b[i]; {
		case c == '"':
			w.i = i + 1
			return true
		case c < ' ':
			return false
		case c == '\\':
			n := escape(w.b[i+1:])
			if n == 0 {
				return false
			}
			i += n
		}
	}
	return false
}

// escape is how many bytes behind a backslash belong to it; 0 for no escape.
func escape(b []byte) int {
	switch {
	case len(b) == 0:
		return 0
	case b[0] == 'u':
		for i := 1; i <= 4; i++ {
			if i == len(b) || !isHex(b[i]) {
				return 0
			}
		}
		return 5
	case bytes.IndexByte([]byte(`"\/bfnrt`), b[0]) >= 0:
		return 1
	}
	return 0
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func (w *walker) number() bool {
	w.next('-')
	if !w.next('0') && !w.digits() {
		return false
	}
	if w.next('.') && !w.digits() {
		return false
	}
	if w.next('e') || w.next('E') {
		if !w.next('+') {
			w.next('-')
		}
		return w.digits()
	}
	return true
}

func (w *walker) digits() bool {
	from := w.i
	for w.i < len(w.b) && w.b[w.i] >= '0' && w.b[w.i] <= '9' {
		w.i++
	}
	return w.i > from
}
