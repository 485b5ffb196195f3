package scripted

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"emend/engine/provider"
	"emend/schemas"
)

// request is what a script looks at.
type request struct {
	model    string
	messages []message
}

type message struct{ role, text string }

func readRequest(raw []byte) (*request, error) {
	body, ok := provider.Parse(raw)
	if !ok || body.Kind() != provider.Object || len(raw) > maxRequest {
		return nil, fmt.Errorf("the body must be one JSON object of at most %d bytes", maxRequest)
	}
	req := &request{}
	if req.model, ok = body.Get("model").Text(); !ok {
		return nil, errors.New("model must be a string")
	}
	for m := range body.Get("messages").Elements() {
		role, _ := m.Get("role").Text()
		req.messages = append(req.messages, message{role: role, text: contentText(m.Get("content"))})
	}
	if len(req.messages) == 0 {
		return nil, errors.New("messages must be an array of messages")
	}
	return req, nil
}

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

// conversation identifies what a retry or a correction continues.
func (r *request) conversation(rule int) key {
	h := sha256.New()
	fmt.Fprintf(h, "%d %q", rule, r.model)
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

// render makes the reply's wire form.
func render(r *Reply, req *request, n int64) output {
	out := output{status: r.Status, header: http.Header{"Content-Type": {"application/json"}}, outcome: OutcomeAnswer}
	if out.status == 0 {
		out.status = http.StatusOK
	}
	switch {
	case r.Drop:
		return output{drop: true, outcome: OutcomeDropped}
	case r.Body != nil:
		out.body, out.outcome = []byte(*r.Body), OutcomeRaw
	case out.status > 299:
		out.body, out.outcome = faultBody(out.status, r.ErrorCode, "scripted"), fmt.Sprintf("status %d", out.status)
	case r.ErrorCode != "":
		out.body, out.outcome = faultBody(out.status, r.ErrorCode, "scripted"), OutcomeFault
	default:
		out.body, out.outcome = completion(r, req, n)
	}
	if r.Malformed {
		out.body, out.outcome = out.body[:len(out.body)/2], OutcomeMalformed
	}
	if r.RetryAfter != "" {
		out.header.Set("Retry-After", r.RetryAfter)
	}
	for name, value := range r.Headers {
		out.header.Set(name, value)
	}
	return out
}

// content returns the text of an answer and its finish reason.
func (r *Reply) content(req *request) (text, finish string) {
	finish = "stop"
	switch {
	case r.Echo:
		for _, m := range req.messages {
			if m.role == schemas.RoleUser {
				text = m.text
			}
		}
	case r.Text != nil:
		text = *r.Text
	case r.Refusal == "" && !r.NullContent:
		text = `{"ok":true}`
	}
	if r.Truncate != nil && *r.Truncate < len(text) {
		n := *r.Truncate
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text, finish = text[:n], "length"
	}
	if r.Finish != "" {
		finish = r.Finish
	}
	return text, finish
}

func completion(r *Reply, req *request, n int64) ([]byte, string) {
	text, finish := r.content(req)
	outcome := OutcomeAnswer
	var e provider.Encoder
	e.Grow(len(text) + 512)
	e.Open('{')
	member(&e, "id", fmt.Sprintf("chatcmpl-%d", n))
	member(&e, "object", "chat.completion")
	member(&e, "model", req.model)
	e.Key("choices")
	e.Open('[')
	e.Open('{')
	e.Key("index")
	e.Int(0)
	e.Key("message")
	e.Open('{')
	member(&e, "role", "assistant")
	e.Key("content")
	switch {
	case r.Refusal != "":
		outcome = OutcomeRefusal
		e.Raw([]byte("null"))
		member(&e, "refusal", r.Refusal)
	case r.NullContent:
		outcome = OutcomeNull
		e.Raw([]byte("null"))
	default:
		e.String(text)
	}
	e.Close('}')
	member(&e, "finish_reason", finish)
	e.Close('}')
	e.Close(']')
	writeUsage(&e, r, req, text)
	e.Close('}')
	return e.Bytes(), outcome
}

func member(e *provider.Encoder, name, value string) {
	e.Key(name)
	e.String(value)
}

func writeUsage(e *provider.Encoder, r *Reply, req *request, text string) {
	u := r.Usage
	if u == nil {
		in, out := int64(0), int64(len(text)+3)/4
		for _, m := range req.messages {
			in += int64(len(m.text)+3) / 4
		}
		u = &Usage{Input: &in, Output: &out}
	}
	if u.None {
		return
	}
	e.Key("usage")
	e.Open('{')
	count(e, "prompt_tokens", u.Input)
	count(e, "completion_tokens", u.Output)
	if u.Input != nil && u.Output != nil {
		total := *u.Input + *u.Output
		count(e, "total_tokens", &total)
	}
	if u.Cached != nil {
		e.Key("prompt_tokens_details")
		e.Open('{')
		count(e, "cached_tokens", u.Cached)
		e.Close('}')
	}
	e.Close('}')
}

func count(e *provider.Encoder, name string, n *int64) {
	if n != nil {
		e.Key(name)
		e.Int(*n)
	}
}

func faultBody(status int, code, message string) []byte {
	kind := "server_error"
	if status < 500 {
		kind = "invalid_request_error"
	}
	if code == "" {
		code = map[int]string{401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}[status]
	}
	var e provider.Encoder
	e.Open('{')
	e.Key("error")
	e.Open('{')
	member(&e, "message", message)
	member(&e, "type", kind)
	if code != "" {
		member(&e, "code", code)
	}
	e.Close('}')
	e.Close('}')
	return e.Bytes()
}

func faultOutput(status int, code, message string) output {
	return output{status: status, header: http.Header{"Content-Type": {"application/json"}}, body: faultBody(status, code, message)}
}

func jsonOutput(status int, v any) output {
	body, err := schemas.Marshal(v)
	if err != nil {
		return faultOutput(http.StatusInternalServerError, "internal", "no JSON form")
	}
	return output{status: status, header: http.Header{"Content-Type": {"application/json"}}, body: body}
}
