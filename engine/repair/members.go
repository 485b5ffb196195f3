package repair

import (
	"bytes"
	"encoding/json"
)

// member is one key of a JSON object with the bytes of its value.
type member struct {
	key   string
	value json.RawMessage
}

// members lists the keys of a JSON object in their order; nil for anything else. Of a text that ends early or breaks
// off it lists what stands before the fault. Values are not looked into.
func members(raw []byte) []member {
	var out []member
	w := walker{src: raw}
	for more := w.open('{'); more; more = w.next() {
		key, ok := w.key()
		if !ok {
			break
		}
		value := w.value()
		if len(value) == 0 {
			break
		}
		out = append(out, member{key, value})
	}
	return out
}

// list lists the items of a JSON array as members does the keys of an object.
func list(raw []byte) []json.RawMessage {
	var out []json.RawMessage
	w := walker{src: raw}
	for more := w.open('['); more; more = w.next() {
		item := w.value()
		if len(item) == 0 {
			break
		}
		out = append(out, item)
	}
	return out
}

// lookup returns the value of a key; of one that stands twice the last.
func lookup(all []member, key string) json.RawMessage {
	var value json.RawMessage
	for _, m := range all {
		if m.key == key {
			value = m.value
		}
	}
	return value
}

// unquote returns the text of a JSON string, "" for anything else.
func unquote(raw json.RawMessage) string {
	var s string
	if begins(raw) != '"' || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// begins is the first byte of a text that is not white space, 0 without one.
func begins(text []byte) byte {
	if text = bytes.TrimLeft(text, space); len(text) > 0 {
		return text[0]
	}
	return 0
}

const space = " \t\r\n"

// walker goes over the members of one container.
type walker struct {
	src []byte
	pos int
}

// peek skips white space and returns the byte that follows, 0 at the end.
func (w *walker) peek() byte {
	for w.pos < len(w.src) && bytes.IndexByte([]byte(space), w.src[w.pos]) >= 0 {
		w.pos++
	}
	if w.pos == len(w.src) {
		return 0
	}
	return w.src[w.pos]
}

// open enters a container and reports whether a member may follow.
func (w *walker) open(bracket byte) bool {
	if w.peek() != bracket {
		return false
	}
	w.pos++
	return true
}

func (w *walker) next() bool {
	if w.peek() != ',' {
		return false
	}
	w.pos++
	return true
}

func (w *walker) key() (string, bool) {
	if w.peek() != '"' {
		return "", false
	}
	start := w.pos
	w.text()
	var key string
	if json.Unmarshal(w.src[start:w.pos], &key) != nil || w.peek() != ':' {
		return "", false
	}
	w.pos++
	return key, true
}

// text skips a string, or what there is of it.
func (w *walker) text() {
	for w.pos++; w.pos < len(w.src); w.pos++ {
		switch w.src[w.pos] {
		case '\\':
			w.pos++
		case '"':
			w.pos++
			return
		}
	}
	w.pos = len(w.src)
}

// value skips one value and returns its bytes; none of one that does not end.
func (w *walker) value() json.RawMessage {
	w.peek()
	start, depth := w.pos, 0
	for w.pos < len(w.src) {
		switch w.src[w.pos] {
		case '"':
			w.text()
			if depth == 0 && w.pos == len(w.src) {
				return nil
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if end := depth < 0 || depth == 0 && w.src[w.pos] == ','; end {
			return json.RawMessage(bytes.TrimRight(w.src[start:w.pos:w.pos], space))
		}
		w.pos++
	}
	return nil
}
