package anthropic

import (
	"errors"
	"net/http"
	"strings"

	"emend/engine/provider"
	"emend/schemas"
)

// Build writes the request: what is not set is not sent, but for max_tokens, which the API demands.
func (d *Dialect) Build(ep *provider.Endpoint, r *provider.Request) (*provider.Wire, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	native, err := choose(ep, r)
	if err != nil {
		return nil, err
	}
	var e provider.Encoder
	e.Grow(r.BodySize())
	e.Open('{')
	e.Key("model")
	e.String(r.Model)
	writeSettings(&e, ep, r)
	if err := writeMessages(&e, ep, r.Messages); err != nil {
		return nil, err
	}
	native.write(&e, effort(r.Settings))
	if err := ep.WriteMembers(&e, optBody); err != nil {
		return nil, err
	}
	e.Key("stream")
	e.Bool(false)
	e.Close('}')
	return &provider.Wire{Path: "/messages", Header: headers(ep, native), Body: e.Bytes(), KeyHeader: KeyHeader, Asked: native.asked}, nil
}

func headers(ep *provider.Endpoint, n native) http.Header {
	version, ok := ep.Options[optVersion.Name].(string)
	if !ok {
		version = DefaultVersion
	}
	h := http.Header{"Anthropic-Version": {version}}
	if n.Form == formOld {
		h.Set("Anthropic-Beta", Beta)
	}
	return h
}

// native is the schema in the form in which it goes out; the zero native sends none.
type native struct {
	provider.Carried
	asked provider.Asked
}

func choose(ep *provider.Endpoint, r *provider.Request) (native, error) {
	if r.Schema == nil {
		return native{}, nil
	}
	name, err := r.Schema.WireName()
	if err != nil {
		return native{}, err
	}
	n := native{Carried: carry(ep, r.Schema.Bytes, r.Fallback)}
	switch {
	case n.Schema == nil && !provider.WellFormed(r.Schema.Bytes, provider.Object):
		return native{}, errors.New("the schema is not an object in well-formed JSON")
	case n.Schema == nil:
		return native{}, nil
	}
	n.asked.Native = true
	if n.Form == carriedTool {
		n.asked.Tool = name
		return n, nil
	}
	n.asked.Fallback = ep.Word(optFallback) == formTool && asTool(r.Schema.Bytes).Schema != nil
	return n, nil
}

// effort is reasoning_effort in the API's words, "" to send none: it knows neither minimal nor none, and a model does not
// think unless it is asked to, by option body.
func effort(s schemas.Settings) string {
	switch {
	case s.ReasoningEffort == nil || *s.ReasoningEffort == "none":
		return ""
	case *s.ReasoningEffort == "minimal":
		return "low"
	}
	return *s.ReasoningEffort
}

// write puts the schema, and with it the effort, since both live in output_config.
func (n native) write(e *provider.Encoder, effort string) {
	format := n.Schema != nil && n.Form == carriedGrammar
	if format || effort != "" {
		e.Key("output_config")
		e.Open('{')
		if effort != "" {
			e.Key("effort")
			e.String(effort)
		}
		if format {
			n.writeFormat(e, "format")
		}
		e.Close('}')
	}
	switch {
	case n.Form == formOld:
		n.writeFormat(e, "output_format")
	case n.asked.Tool != "":
		n.writeTool(e)
	}
}

func (n native) writeFormat(e *provider.Encoder, field string) {
	e.Key(field)
	e.Open('{')
	e.Key("type")
	e.String("json_schema")
	e.Key("schema")
	e.Raw(n.Schema)
	e.Close('}')
}

func (n native) writeTool(e *provider.Encoder) {
	e.Key("tools")
	e.Open('[')
	e.Open('{')
	e.Key("name")
	e.String(n.asked.Tool)
	e.Key("description")
	e.String("Gives the answer.")
	e.Key("input_schema")
	e.Raw(n.Schema)
	e.Close('}')
	e.Close(']')
	e.Key("tool_choice")
	e.Open('{')
	e.Key("type")
	e.String("tool")
	e.Key("name")
	e.String(n.asked.Tool)
	e.Key("disable_parallel_tool_use")
	e.Bool(true)
	e.Close('}')
}

func writeSettings(e *provider.Encoder, ep *provider.Endpoint, r *provider.Request) {
	s := r.Settings
	e.Key("max_tokens")
	e.Int(maxTokens(ep, s))
	e.FloatMember("temperature", s.Temperature)
	e.FloatMember("top_p", s.TopP)
	e.TextsMember("stop_sequences", s.Stop)
	if r.Session != "" && ep.Word(optSession) != "none" {
		e.Key("metadata")
		e.Open('{')
		e.Key("user_id")
		e.String(r.Session)
		e.Close('}')
	}
}

func maxTokens(ep *provider.Endpoint, s schemas.Settings) int64 {
	if s.MaxOutputTokens != nil {
		return *s.MaxOutputTokens
	}
	if n, ok := whole(ep.Options[optMaxTokens.Name]); ok {
		return n
	}
	return DefaultMaxTokens
}

// blank tells of a message that the API refuses and that says nothing.
func blank(m schemas.Message) bool { return m.Parts == nil && strings.TrimSpace(m.Content) == "" }
