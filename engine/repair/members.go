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
// off it lists what stands before the fault.
func members(raw []byte) []member {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var out []member
	for dec.More() {
		t, err := dec.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return out
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return out
		}
		out = append(out, member{key, value})
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
