package scripted

import "emend/engine/provider"

var openaiWire = wire{name: "openai", base: "/v1", path: "/v1/chat/completions", serves: ends("/chat/completions"), read: chatRequest,
	answer: openaiAnswer, fault: openaiFault}

func openaiAnswer(e *provider.Encoder, a *answer) {
	e.Open('{')
	member(e, "id", numbered("chatcmpl-", a.n))
	member(e, "object", "chat.completion")
	member(e, "model", a.model)
	only(e, "choices", func() {
		e.Key("index")
		e.Int(0)
		object(e, "message", func() {
			member(e, "role", "assistant")
			if a.refusal != "" {
				e.Key("content")
				e.Raw([]byte("null"))
				member(e, "refusal", a.refusal)
				return
			}
			textOrNull(e, "content", a)
		})
		member(e, "finish_reason", a.finish)
	})
	openaiUsage(e, a.usage)
	e.Close('}')
}

func openaiUsage(e *provider.Encoder, u Usage) {
	if u.None {
		return
	}
	object(e, "usage", func() {
		e.IntMember("prompt_tokens", u.Input)
		e.IntMember("completion_tokens", u.Output)
		e.IntMember("total_tokens", sum(u.Input, u.Output))
		if u.Cached != nil {
			object(e, "prompt_tokens_details", func() { e.IntMember("cached_tokens", u.Cached) })
		}
	})
}

func openaiFault(e *provider.Encoder, f fault) {
	kind := "server_error"
	if f.status < 500 {
		kind = "invalid_request_error"
	}
	code := f.code
	if code == "" {
		code = map[int]string{401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}[f.status]
	}
	e.Open('{')
	object(e, "error", func() {
		member(e, "message", f.message)
		member(e, "type", kind)
		if code != "" {
			member(e, "code", code)
		}
	})
	e.Close('}')
}
