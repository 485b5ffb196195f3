package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"unicode/utf8"

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
	writeMessages(&e, ep, r.Messages)
	writeSettings(&e, ep, r.Settings)
	if field := ep.Word(optSession); r.Session != "" && field != "none" {
		e.Key(field)
		e.String(session(field, r.Session))
	}
	if r.Schema != nil {
		if err := d.writeSchema(&e, ep, r.Schema); err != nil {
			return nil, err
		}
	}
	if err := ep.WriteMembers(&e, optBody); err != nil {
		return nil, err
	}
	e.Key("stream")
	e.Bool(false)
	e.Close('}')
	return &provider.Wire{Path: "/chat/completions", Body: e.Bytes(), Asked: provider.Asked{Native: r.Schema != nil}}, nil
}

// sessionLimit is how many characters OpenAI takes in prompt_cache_key and in safety_identifier; it answers 400 to more.
const sessionLimit = 64

// session is a session id as a field takes it: one that is too long goes out as its SHA-256, which is as steady.
func session(field, id string) string {
	if field != "prompt_cache_key" && field != "safety_identifier" || utf8.RuneCountInString(id) <= sessionLimit {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
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
	e.CacheControl(provider.CacheTTL(m.Cache))
	e.Close('}')
	e.Close(']')
}

func writeSettings(e *provider.Encoder, ep *provider.Endpoint, s schemas.Settings) {
	e.FloatMember("temperature", s.Temperature)
	e.FloatMember("top_p", s.TopP)
	e.IntMember(ep.Word(optMaxTokens), s.MaxOutputTokens)
	if field := ep.Word(optSeed); field != "none" {
		e.IntMember(field, s.Seed)
	}
	e.TextsMember("stop", s.Stop)
	e.FloatMember("frequency_penalty", s.FrequencyPenalty)
	e.FloatMember("presence_penalty", s.PresencePenalty)
	if s.ReasoningEffort != nil {
		e.Key("reasoning_effort")
		e.String(*s.ReasoningEffort)
	}
}

// writeSchema sends the schema's own bytes: their property order is generation order.
func (d *Dialect) writeSchema(e *provider.Encoder, ep *provider.Endpoint, s *provider.Schema) error {
	name, err := s.WireName()
	if err != nil {
		return err
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
