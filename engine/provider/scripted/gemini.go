package scripted

import (
	"errors"
	"strings"

	"emend/engine/provider"
	"emend/schemas"
)

const generate = ":generateContent"

var geminiWire = wire{name: "gemini", base: "/v1beta", path: "/v1beta/models/MODEL:generateContent", serves: ends(generate), read: geminiRequest,
	answer: geminiAnswer, fault: geminiFault,
	words: map[string]string{"stop": "STOP", "length": "MAX_TOKENS", "tool_calls": "UNEXPECTED_TOOL_CALL", "content_filter": "SAFETY"}}

// geminiRequest takes the model from the path and the system instruction from beside the contents.
func geminiRequest(path string, body provider.Value) (*request, error) {
	model := strings.TrimSuffix(path[strings.LastIndexByte(path, '/')+1:], generate)
	if model == "" {
		return nil, errors.New("the path must name a model")
	}
	req := &request{model: model}
	if system := body.Get("systemInstruction"); system.Present() {
		req.messages = append(req.messages, message{role: schemas.RoleSystem, text: contentText(system.Get("parts"))})
	}
	for m := range body.Get("contents").Elements() {
		role := schemas.RoleUser
		if m.Get("role").Is("model") {
			role = schemas.RoleAssistant
		}
		req.messages = append(req.messages, message{role: role, text: contentText(m.Get("parts"))})
	}
	return req, nil
}

// geminiAnswer: the wire has no refusal, so that one is an answer that a policy withheld.
func geminiAnswer(e *provider.Encoder, a *answer) {
	e.Open('{')
	only(e, "candidates", func() {
		e.Key("index")
		e.Int(0)
		if a.refusal != "" {
			member(e, "finishReason", "PROHIBITED_CONTENT")
			member(e, "finishMessage", a.refusal)
			return
		}
		object(e, "content", func() {
			member(e, "role", "model")
			only(e, "parts", func() { textOrNull(e, "text", a) })
		})
		member(e, "finishReason", a.finish)
	})
	if !a.usage.None {
		object(e, "usageMetadata", func() {
			e.IntMember("promptTokenCount", a.usage.Input)
			e.IntMember("cachedContentTokenCount", a.usage.Cached)
			e.IntMember("candidatesTokenCount", a.usage.Output)
			e.IntMember("totalTokenCount", sum(a.usage.Input, a.usage.Output))
		})
	}
	member(e, "modelVersion", a.model)
	member(e, "responseId", numbered("r-", a.n))
	e.Close('}')
}

var geminiStatuses = map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ABORTED",
	429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED"}

// geminiFault says how long to wait in details, beside the header that a script asks for.
func geminiFault(e *provider.Encoder, f fault) {
	status := f.code
	if status == "" {
		status = geminiStatuses[f.status]
	}
	e.Open('{')
	object(e, "error", func() {
		e.Key("code")
		e.Int(int64(f.status))
		member(e, "message", f.message)
		member(e, "status", status)
		if f.retryAfter != "" && strings.Trim(f.retryAfter, "0123456789.") == "" {
			only(e, "details", func() {
				member(e, "@type", "type.googleapis.com/google.rpc.RetryInfo")
				member(e, "retryDelay", f.retryAfter+"s")
			})
		}
	})
	e.Close('}')
}
