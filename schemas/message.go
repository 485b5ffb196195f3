package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Roles of a conversation, in the order in which a model weighs them.
const (
	RoleDeveloper = "developer"
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// Message is one turn of a conversation. Content is text; a caller that needs other media gives Parts, an array of
// provider part objects that Emend carries byte for byte and never rewrites. Exactly one of the two is used: Parts
// when it is not nil.
type Message struct {
	Role    string
	Content string
	// Parts is a JSON array of objects, each with a string "type". Nil for a text message.
	Parts json.RawMessage
	// Cache is a prompt-cache lifetime such as "5m"; "" asks for nothing. A dialect without the notion sends nothing.
	Cache string
}

type messageWire struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Cache   string          `json:"cache,omitempty"`
}

// MarshalJSON writes {"role", "content", "cache"}; content is a string, or the parts as they came.
func (m Message) MarshalJSON() ([]byte, error) { return m.AppendJSON(nil) }

// UnmarshalJSON reads the form that MarshalJSON writes. It checks the shape of content, not the role: the prompts
// package owns that rule and names the field path.
func (m *Message) UnmarshalJSON(b []byte) error {
	var w messageWire
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*m = Message{Role: w.Role, Cache: w.Cache}
	c := bytes.TrimSpace(w.Content)
	switch {
	case len(c) == 0 || bytes.Equal(c, []byte("null")):
		return errors.New("content is missing: give a string or an array of parts")
	case c[0] == '"':
		return json.Unmarshal(c, &m.Content)
	case c[0] == '[':
		return m.setParts(c)
	}
	return errors.New("content must be a string or an array of parts")
}

func (m *Message) setParts(c json.RawMessage) error {
	var parts []struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(c, &parts); err != nil {
		return fmt.Errorf("content: an array of parts must hold objects with a string \"type\": %w", err)
	}
	for i, p := range parts {
		if p.Type == "" {
			return fmt.Errorf("content[%d].type is missing", i)
		}
	}
	if len(parts) == 0 {
		return errors.New("content: the array of parts is empty")
	}
	m.Parts = bytes.Clone(c)
	return nil
}

// Marshal is json.Marshal without HTML escaping and without a trailing newline: Emend's bytes are for machines and
// models, and "<" must stay what its author wrote.
func Marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
