package scripted

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"emend/engine/provider"
	"emend/schemas"
)

// conversation identifies what a retry or a correction continues, on one wire.
func (r *request) conversation(w *wire, rule int) key {
	h := sha256.New()
	fmt.Fprintf(h, "%s %d %q", w.name, rule, r.model)
	for _, m := range r.messages {
		if m.role == schemas.RoleAssistant {
			continue
		}
		fmt.Fprintf(h, " %s %q", m.role, m.text)
		if m.role == schemas.RoleUser {
			break
		}
	}
	return key(h.Sum(nil))
}

// contentText is the text of a content that is a text, or an array of parts with texts.
func contentText(v provider.Value) string {
	if s, ok := v.Text(); ok {
		return s
	}
	var all strings.Builder
	for part := range v.Elements() {
		s, _ := part.Get("text").Text()
		all.WriteString(s)
	}
	return all.String()
}

var errNoModel = errors.New("model must be a string")

// chatRequest is the request of OpenAI's form, which Anthropic and Ollama share but for what stands beside it.
func chatRequest(_ string, body provider.Value) (*request, error) {
	req, ok := &request{}, false
	if req.model, ok = body.Get("model").Text(); !ok {
		return nil, errNoModel
	}
	for m := range body.Get("messages").Elements() {
		role, _ := m.Get("role").Text()
		req.messages = append(req.messages, message{role: role, text: contentText(m.Get("content"))})
	}
	return req, nil
}

func member(e *provider.Encoder, name, value string) {
	e.Key(name)
	e.String(value)
}

// object writes a member that is an object.
func object(e *provider.Encoder, name string, members func()) {
	e.Key(name)
	e.Open('{')
	members()
	e.Close('}')
}

// only writes a member that is an array of one object.
func only(e *provider.Encoder, name string, members func()) {
	e.Key(name)
	e.Open('[')
	e.Open('{')
	members()
	e.Close('}')
	e.Close(']')
}

// textOrNull writes the content of an answer.
func textOrNull(e *provider.Encoder, name string, a *answer) {
	e.Key(name)
	if a.null {
		e.Raw([]byte("null"))
		return
	}
	e.String(a.text)
}

func numbered(prefix string, n int64) string { return fmt.Sprintf("%s%d", prefix, n) }

// sum is the total of two counts, or nil if one is not reported.
func sum(a, b *int64) *int64 {
	if a == nil || b == nil {
		return nil
	}
	total := *a + *b
	return &total
}
