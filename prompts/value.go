package prompts

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"emend/schemas"
)

// value is one JSON value of an input, decoded as far as a template looks into it. Numbers stay as they are written.
type value struct {
	// at is its field path, for messages: inputs.order.lines[2].
	at  string
	raw json.RawMessage
	// What raw holds, decoded on first use; text is that of a string, and else the compact JSON that is shown.
	text    *string
	object  map[string]*value
	array   []*value
	decoded bool
}

func newValue(at string, raw json.RawMessage) *value {
	return &value{at: at, raw: bytes.TrimSpace(raw)}
}

func (v *value) kind() byte {
	switch c := v.raw[0]; c {
	case '{', '[', '"', 'n':
		return c
	case 't', 'f':
		return 'b'
	}
	return '0'
}

// decode fills the decoded forms; raw is a valid JSON value.
func (v *value) decode() {
	if v.decoded {
		return
	}
	v.decoded = true
	switch v.kind() {
	case '"':
		v.text = new(schemas.Unquote(v.raw))
	case '{':
		var members map[string]json.RawMessage
		_ = json.Unmarshal(v.raw, &members)
		v.object = make(map[string]*value, len(members))
		for name, raw := range members {
			v.object[name] = newValue(join(v.at, name), raw)
		}
	case '[':
		var elements []json.RawMessage
		_ = json.Unmarshal(v.raw, &elements)
		for i, raw := range elements {
			v.array = append(v.array, newValue(index(v.at, i), raw))
		}
	}
}

// String is a text as it is, and any other value as compact JSON.
func (v *value) String() string {
	if v.kind() == '"' {
		v.decode()
	}
	if v.text == nil {
		v.text = new(compact(v.raw))
	}
	return *v.text
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// true is the truth of text/template: neither false, null, zero nor empty.
func (v *value) true() bool {
	switch v.kind() {
	case 'n':
		return false
	case 'b':
		return v.raw[0] == 't'
	case '0':
		mantissa, _, _ := strings.Cut(strings.ToLower(string(v.raw)), "e")
		return strings.Trim(mantissa, "-0.") != ""
	}
	return v.size() > 0
}

// size is the number of elements, or of bytes of a text.
func (v *value) size() int {
	v.decode()
	if v.kind() == '"' {
		return len(*v.text)
	}
	return len(v.object) + len(v.array)
}

// names lists the members of an object, sorted, as text/template ranges over them.
func (v *value) names() []string {
	v.decode()
	return slices.Sorted(maps.Keys(v.object))
}

// equal compares texts, numbers, booleans and nulls; ok is false for anything else.
func (v *value) equal(o *value) (same, ok bool) {
	if v.kind() == '{' || v.kind() == '[' || o.kind() == '{' || o.kind() == '[' {
		return false, false
	}
	switch {
	case v.kind() != o.kind():
		return false, true
	case v.kind() != '0' || bytes.Equal(v.raw, o.raw):
		return v.String() == o.String(), true
	}
	var a, b float64
	if json.Unmarshal(v.raw, &a) != nil || json.Unmarshal(o.raw, &b) != nil {
		return false, true
	}
	return a == b, true
}

// bytes is what max bounds: a text's bytes, another value's compact JSON.
func (v *value) bytes() Size { return Size(len(v.String())) }

func sizeOf(raw json.RawMessage) Size {
	if len(raw) == 0 {
		return 0
	}
	return newValue("", raw).bytes()
}

func jsonString(s string) json.RawMessage {
	var b bytes.Buffer
	writeText(&b, s)
	return b.Bytes()
}
