package prompts

import (
	"bytes"

	"emend/schemas"
)

// ordered is a JSON object whose members keep their order.
type ordered []member

type member struct {
	key   string
	value any
}

// MarshalJSON writes the members in order.
func (o ordered) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		writeText(&b, m.key)
		b.WriteByte(':')
		raw, err := schemas.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(raw)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
