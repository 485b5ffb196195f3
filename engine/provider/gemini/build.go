package gemini

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"emend/engine/provider"
	"emend/schemas"
)

// keyHeader carries an API key. The key is never put into the URL, which logs and proxies keep.
const keyHeader = "X-Goog-Api-Key"

// Build writes the request: what is not set is not sent, what is set goes out as it is.
func (d *Dialect) Build(ep *provider.Endpoint, r *provider.Request) (*provider.Wire, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	path, err := modelPath(r.Model)
	if err != nil {
		return nil, err
	}
	var e provider.Encoder
	e.Grow(r.BodySize())
	e.Open('{')
	if err := writeMessages(&e, r.Messages); err != nil {
		return nil, err
	}
	if err := writeConfig(&e, ep, r); err != nil {
		return nil, err
	}
	if name, _ := ep.Options[optCached.Name].(string); name != "" {
		e.Key("cachedContent")
		e.String(name)
	}
	if err := ep.WriteMembers(&e, optBody); err != nil {
		return nil, err
	}
	e.Close('}')
	return &provider.Wire{Path: path, Body: e.Bytes(), KeyHeader: keyHeader, Asked: provider.Asked{Native: r.Schema != nil}}, nil
}

// modelPath is where a model answers. A model is a name below models/, or a resource name of its own such as
// tunedModels/x.
func modelPath(model string) (string, error) {
	if !strings.Contains(model, "/") {
		return "/models/" + url.PathEscape(model) + ":generateContent", nil
	}
	var path strings.Builder
	for step := range strings.SplitSeq(model, "/") {
		if step == "" || step == "." || step == ".." {
			return "", fmt.Errorf("model %q is no resource name such as models/x or tunedModels/x", model)
		}
		path.WriteString("/" + url.PathEscape(step))
	}
	return path.String() + ":generateContent", nil
}

func isSystem(m schemas.Message) bool {
	return m.Role == schemas.RoleSystem || m.Role == schemas.RoleDeveloper
}

// writeMessages puts all system and developer messages, in their order, into the one system instruction that the wire has.
func writeMessages(e *provider.Encoder, messages []schemas.Message) error {
	if slices.ContainsFunc(messages, isSystem) {
		e.Key("systemInstruction")
		e.Open('{')
		e.Key("parts")
		e.Open('[')
		for i, m := range messages {
			if !isSystem(m) {
				continue
			}
			if err := writeParts(e, i, m); err != nil {
				return err
			}
		}
		e.Close(']')
		e.Close('}')
	}
	return writeContents(e, messages)
}

func writeContents(e *provider.Encoder, messages []schemas.Message) error {
	n := 0
	e.Key("contents")
	e.Open('[')
	for i, m := range messages {
		if isSystem(m) {
			continue
		}
		n++
		role := "user"
		if m.Role == schemas.RoleAssistant {
			role = "model"
		}
		e.Open('{')
		e.Key("role")
		e.String(role)
		e.Key("parts")
		e.Open('[')
		if err := writeParts(e, i, m); err != nil {
			return err
		}
		e.Close(']')
		e.Close('}')
	}
	e.Close(']')
	if n == 0 {
		return errors.New("messages holds only system messages: generateContent needs a user message")
	}
	return nil
}

func writeParts(e *provider.Encoder, i int, m schemas.Message) error {
	if m.Parts == nil {
		writeText(e, m.Content)
		return nil
	}
	parts, err := provider.Parts(m.Parts)
	if err != nil {
		return fmt.Errorf("messages[%d].content%w", i, err)
	}
	for _, p := range parts {
		switch {
		case p.Data != "":
			writeMedia(e, "inlineData", "mimeType", p.MediaType, "data", p.Data)
		case p.URL != "":
			writeMedia(e, "fileData", "fileUri", p.URL, "", "")
		default:
			writeText(e, p.Text)
		}
	}
	return nil
}

func writeText(e *provider.Encoder, text string) {
	e.Open('{')
	e.Key("text")
	e.String(text)
	e.Close('}')
}

func writeMedia(e *provider.Encoder, field, name, value, more, data string) {
	e.Open('{')
	e.Key(field)
	e.Open('{')
	e.Key(name)
	e.String(value)
	if more != "" {
		e.Key(more)
		e.String(data)
	}
	e.Close('}')
	e.Close('}')
}
