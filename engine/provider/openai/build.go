package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"emend/engine/provider"
	"emend/schemas"
)

var roles = []string{schemas.RoleDeveloper, schemas.RoleSystem, schemas.RoleUser, schemas.RoleAssistant}

// Build writes the request: what is not set is not sent, what is set goes out as it is.
func (d *Dialect) Build(ep *provider.Endpoint, r *provider.Request) (*provider.Wire, error) {
	if err := check(r); err != nil {
		return nil, err
	}
	var e provider.Encoder
	e.Grow(size(r))
	e.Open('{')
	e.Key("model")
	e.String(r.Model)
	writeMessages(&e, ep, r.Messages)
	writeSettings(&e, ep, r.Settings)
	if field := ep.Word(optSession); r.Session != "" && field != "none" {
		e.Key(field)
		e.String(r.Session)
	}
	if r.Schema != nil {
		if err := d.writeSchema(&e, ep, r.Schema); err != nil {
			return nil, err
		}
	}
	if err := writeBody(&e, ep); err != nil {
		return nil, err
	}
	e.Key("stream")
	e.Bool(false)
	e.Close('}')
	return &provider.Wire{Path: "/chat/completions", Body: e.Bytes()}, nil
}

// size guesses the body's size, with room for escapes.
func size(r *provider.Request) int {
	n := 512
	for _, m := range r.Messages {
		n += len(m.Content) + len(m.Content)/8 + len(m.Parts) + 64
	}
	if r.Schema != nil {
		n += len(r.Schema.Bytes)
	}
	return n
}

func check(r *provider.Request) error {
	if r.Model == "" {
		return errors.New("model is empty: the profile must name one")
	}
	if len(r.Messages) == 0 {
		return errors.New("messages is empty")
	}
	for i, m := range r.Messages {
		if !slices.Contains(roles, m.Role) {
			return fmt.Errorf("messages[%d].role is %q, not developer, system, user or assistant", i, m.Role)
		}
		if m.Parts != nil && !wellFormed(m.Parts, provider.Array) {
			return fmt.Errorf("messages[%d].content is not an array of parts in well-formed JSON", i)
		}
	}
	s := r.Settings
	for i, f := range []*float64{s.Temperature, s.TopP, s.FrequencyPenalty, s.PresencePenalty} {
		if f != nil && (math.IsNaN(*f) || math.IsInf(*f, 0)) {
			return fmt.Errorf("settings.%s is not a finite number", [...]string{"temperature", "top_p", "frequency_penalty", "presence_penalty"}[i])
		}
	}
	return nil
}

// wellFormed says whether given bytes can go into a body untouched.
func wellFormed(raw json.RawMessage, kind provider.ValueKind) bool {
	v, ok := provider.Parse(raw)
	return ok && v.Kind() == kind && utf8.Valid(raw)
}

func writeMessages(e *provider.Encoder, ep *provider.Endpoint, messages []schemas.Message) {
	cached := ep.Word(optCache) == "cache_control"
	developer := ep.Word(optDeveloper)
	e.Key("messages")
	e.Open('[')
	for _, m := range messages {
		e.Open('{')
		e.Key("role")
		if m.Role == schemas.RoleDeveloper {
			m.Role = developer
		}
		e.String(m.Role)
		e.Key("content")
		switch {
		case m.Parts != nil:
			e.Raw(m.Parts)
		case cached && m.Cache != "":
			writeCached(e, m)
		default:
			e.String(m.Content)
		}
		e.Close('}')
	}
	e.Close(']')
}

func writeCached(e *provider.Encoder, m schemas.Message) {
	e.Open('[')
	e.Open('{')
	e.Key("type")
	e.String("text")
	e.Key("text")
	e.String(m.Content)
	e.Key("cache_control")
	e.Open('{')
	e.Key("type")
	e.String("ephemeral")
	e.Key("ttl")
	e.String(m.Cache)
	e.Close('}')
	e.Close('}')
	e.Close(']')
}

func writeSettings(e *provider.Encoder, ep *provider.Endpoint, s schemas.Settings) {
	writeFloat(e, "temperature", s.Temperature)
	writeFloat(e, "top_p", s.TopP)
	writeInt(e, ep.Word(optMaxTokens), s.MaxOutputTokens)
	writeInt(e, "seed", s.Seed)
	if s.Stop != nil {
		e.Key("stop")
		e.Open('[')
		for _, word := range s.Stop {
			e.String(word)
		}
		e.Close(']')
	}
	writeFloat(e, "frequency_penalty", s.FrequencyPenalty)
	writeFloat(e, "presence_penalty", s.PresencePenalty)
	if s.ReasoningEffort != nil {
		e.Key("reasoning_effort")
		e.String(*s.ReasoningEffort)
	}
}

func writeFloat(e *provider.Encoder, name string, f *float64) {
	if f != nil {
		e.Key(name)
		e.Float(*f)
	}
}

func writeInt(e *provider.Encoder, name string, n *int64) {
	if n != nil {
		e.Key(name)
		e.Int(*n)
	}
}

// writeSchema sends the schema's own bytes: their property order is generation order.
func (d *Dialect) writeSchema(e *provider.Encoder, ep *provider.Endpoint, s *provider.Schema) error {
	name := s.Name
	if name == "" {
		name = "output"
	}
	if provider.Code(name) == "" || slices.Contains([]byte(name), '.') {
		return errors.New("the schema's name must have at most 64 characters of [A-Za-z0-9_-]")
	}
	carried := carry(ep, s.Bytes)
	if carried.Schema == nil {
		return errors.New("the schema is not an object in well-formed JSON")
	}
	e.Key("response_format")
	e.Open('{')
	e.Key("type")
	e.String("json_schema")
	e.Key("json_schema")
	e.Open('{')
	e.Key("name")
	e.String(name)
	e.Key("strict")
	e.Bool(carried.Form == formStrict)
	e.Key("schema")
	e.Raw(carried.Schema)
	e.Close('}')
	e.Close('}')
	return nil
}

// writeBody adds the members of option body, sorted by name.
func writeBody(e *provider.Encoder, ep *provider.Endpoint) error {
	more, _ := ep.Options[optBody.Name].(map[string]any)
	if len(more) == 0 {
		return nil
	}
	raw, err := schemas.Marshal(more)
	if err != nil {
		return fmt.Errorf("options.body has no JSON form: %w", err)
	}
	e.Raw(raw[1 : len(raw)-1])
	return nil
}
