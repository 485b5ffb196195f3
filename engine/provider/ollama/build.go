package ollama

import (
	"errors"
	"fmt"
	"strings"

	"emend/engine/provider"
	"emend/schemas"
)

// Build writes the request: what is not set is not sent, what is set goes out as it is.
func (d *Dialect) Build(ep *provider.Endpoint, r *provider.Request) (*provider.Wire, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var e provider.Encoder
	e.Grow(r.BodySize())
	e.Open('{')
	e.Key("model")
	e.String(r.Model)
	if err := writeMessages(&e, r.Messages); err != nil {
		return nil, err
	}
	if r.Schema != nil {
		carried := Carry(ep.Options, r.Schema.Bytes)
		if carried.Schema == nil {
			return nil, errors.New("the schema cannot go out: " + strings.Join(carried.Weakened, "; "))
		}
		e.Key(form)
		e.Raw(carried.Schema)
	}
	if err := writeOptions(&e, ep, r.Settings); err != nil {
		return nil, err
	}
	writeThink(&e, ep.Word(optThink), r.Settings.ReasoningEffort)
	if err := writeKeepAlive(&e, ep.Options[optKeepAlive.Name]); err != nil {
		return nil, err
	}
	if err := ep.WriteMembers(&e, optBody); err != nil {
		return nil, err
	}
	e.Key("stream")
	e.Bool(false)
	e.Close('}')
	return &provider.Wire{Path: "/api/chat", Body: e.Bytes(), Asked: provider.Asked{Native: r.Schema != nil}}, nil
}

func writeMessages(e *provider.Encoder, messages []schemas.Message) error {
	e.Key("messages")
	e.Open('[')
	for i, m := range messages {
		if m.Role == schemas.RoleDeveloper {
			m.Role = schemas.RoleSystem
		}
		e.Open('{')
		e.Key("role")
		e.String(m.Role)
		if m.Parts == nil {
			e.Key("content")
			e.String(m.Content)
		} else if err := writeParts(e, i, m); err != nil {
			return err
		}
		e.Close('}')
	}
	e.Close(']')
	return nil
}

// writeParts puts texts into the one content that a message has, a line each, and images beside it.
func writeParts(e *provider.Encoder, i int, m schemas.Message) error {
	parts, err := provider.Parts(m.Parts)
	if err != nil {
		return fmt.Errorf("messages[%d].content%w", i, err)
	}
	var texts, images []string
	for k, p := range parts {
		switch {
		case p.URL != "":
			return fmt.Errorf("messages[%d].content[%d] is an address: Ollama takes images as data alone", i, k)
		case p.Data == "":
			texts = append(texts, p.Text)
		case !strings.HasPrefix(p.MediaType, "image/"):
			return fmt.Errorf("messages[%d].content[%d] is no image: Ollama takes texts and images", i, k)
		default:
			images = append(images, p.Data)
		}
	}
	e.Key("content")
	e.String(strings.Join(texts, "\n"))
	e.TextsMember("images", images)
	return nil
}

func writeOptions(e *provider.Encoder, ep *provider.Endpoint, s schemas.Settings) error {
	more, _ := ep.Options[optParameters.Name].(map[string]any)
	if s.Temperature == nil && s.TopP == nil && s.MaxOutputTokens == nil && s.Seed == nil && s.Stop == nil &&
		s.FrequencyPenalty == nil && s.PresencePenalty == nil && len(more) == 0 {
		return nil
	}
	e.Key("options")
	e.Open('{')
	e.FloatMember("temperature", s.Temperature)
	e.FloatMember("top_p", s.TopP)
	e.IntMember("num_predict", s.MaxOutputTokens)
	e.IntMember("seed", s.Seed)
	e.TextsMember("stop", s.Stop)
	e.FloatMember("frequency_penalty", s.FrequencyPenalty)
	e.FloatMember("presence_penalty", s.PresencePenalty)
	if err := ep.WriteMembers(e, optParameters); err != nil {
		return err
	}
	e.Close('}')
	return nil
}

// efforts maps reasoning_effort to the levels that Ollama knows.
var efforts = map[string]string{"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "high"}

func writeThink(e *provider.Encoder, how string, effort *string) {
	level := ""
	if effort != nil {
		level = efforts[*effort]
	}
	switch {
	case how == "never", how == "effort" && effort != nil && *effort == "none":
		e.Key("think")
		e.Bool(false)
	case level != "":
		e.Key("think")
		e.String(level)
	case how == "always":
		e.Key("think")
		e.Bool(true)
	}
}

func writeKeepAlive(e *provider.Encoder, v any) error {
	if v == nil {
		return nil
	}
	text, seconds, err := keepAlive(v)
	switch {
	case err != nil:
		return fmt.Errorf("options.keep_alive: %w", err)
	case text != "":
		e.Key("keep_alive")
		e.String(text)
	default:
		e.Key("keep_alive")
		e.Int(seconds)
	}
	return nil
}
