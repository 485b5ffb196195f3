package scripted

import (
	"encoding/json"
	"strings"

	"emend/engine/provider"
	"emend/schemas"
)

var anthropicWire = wire{name: "anthropic", base: "/v1", path: "/v1/messages", serves: ends("/messages"), read: anthropicRequest,
	answer: anthropicAnswer, fault: anthropicFault,
	words: map[string]string{"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}}

// anthropicRequest adds the system prompt, which stands beside the messages, and the tool that the request forces. Turns of
// one role that follow each other come as one, a block each: they are taken apart again, so that a correction that follows
// the first user message does not begin another conversation.
func anthropicRequest(_ string, body provider.Value) (*request, error) {
	req, ok := &request{}, false
	if req.model, ok = body.Get("model").Text(); !ok {
		return nil, errNoModel
	}
	if system := contentText(body.Get("system")); system != "" {
		req.messages = append(req.messages, message{role: schemas.RoleSystem, text: system})
	}
	for m := range body.Get("messages").Elements() {
		role, _ := m.Get("role").Text()
		req.messages = append(req.messages, turnBlocks(role, m.Get("content"))...)
	}
	if kind := body.Get("tool_choice").Get("type"); kind.Is("tool") {
		req.tool, _ = body.Get("tool_choice").Get("name").Text()
	}
	return req, nil
}

func turnBlocks(role string, content provider.Value) []message {
	if content.Kind() != provider.Array {
		return []message{{role: role, text: contentText(content)}}
	}
	var out []message
	for block := range content.Elements() {
		text, _ := block.Get("text").Text()
		out = append(out, message{role: role, text: text})
	}
	return out
}

func anthropicAnswer(e *provider.Encoder, a *answer) {
	e.Open('{')
	member(e, "id", numbered("msg_", a.n))
	member(e, "type", "message")
	member(e, "role", "assistant")
	member(e, "model", a.model)
	stop := a.finish
	arguments := a.tool != "" && a.refusal == "" && !a.null && isObject(a.text)
	switch {
	case a.refusal != "":
		stop = "refusal"
		only(e, "content", func() { textBlock(e, a.refusal) })
	case a.null:
		e.Key("content")
		e.Raw([]byte("null"))
	case arguments:
		only(e, "content", func() { toolBlock(e, a) })
		if stop == "end_turn" {
			stop = "tool_use"
		}
	default:
		only(e, "content", func() { textBlock(e, a.text) })
	}
	member(e, "stop_reason", stop)
	anthropicUsage(e, a.usage)
	e.Close('}')
}

// isObject tells what can be a tool's arguments: a model that was cut, or that wrote something else, gives text.
func isObject(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "{") && json.Valid([]byte(text))
}

func textBlock(e *provider.Encoder, text string) {
	member(e, "type", "text")
	member(e, "text", text)
}

func toolBlock(e *provider.Encoder, a *answer) {
	member(e, "type", "tool_use")
	member(e, "id", numbered("toolu_", a.n))
	member(e, "name", a.tool)
	e.Key("input")
	e.Raw([]byte(a.text))
}

// anthropicUsage: the wire counts the input without what came from a cache.
func anthropicUsage(e *provider.Encoder, u Usage) {
	if u.None {
		return
	}
	object(e, "usage", func() {
		if u.Input != nil && u.Cached != nil {
			rest := max(*u.Input-*u.Cached, 0)
			u.Input = &rest
		}
		e.IntMember("input_tokens", u.Input)
		e.IntMember("cache_read_input_tokens", u.Cached)
		e.IntMember("output_tokens", u.Output)
	})
}

var anthropicTypes = map[int]string{400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
	413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error"}

func anthropicFault(e *provider.Encoder, f fault) {
	kind, known := anthropicTypes[f.status]
	if !known {
		kind = "api_error"
	}
	e.Open('{')
	member(e, "type", "error")
	object(e, "error", func() {
		member(e, "type", kind)
		member(e, "message", f.message)
		if f.code != "" {
			object(e, "details", func() { member(e, "error_code", f.code) })
		}
	})
	member(e, "request_id", numbered("req_", f.n))
	e.Close('}')
}
