// Package openai is the wire of OpenAI chat completions and of the many servers that speak it (providers.md, "The four
// dialects").
package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"emend/engine/provider"
	"emend/schemas"
)

// Dialect is the OpenAI chat dialect.
type Dialect struct{}

// Names of options.
const (
	// OptMaxTokens names the field of max_output_tokens: "max_tokens" (default) or "max_completion_tokens".
	OptMaxTokens = "max_tokens_field"
	// OptSession names the field of the session id: "none" (default), "prompt_cache_key", "session_id" (OpenRouter), "user".
	OptSession = "session_field"
	// OptContentParts is "reject" (default) or "join": whether an answer in text parts is joined.
	OptContentParts = "content_parts"
	// OptCache is "none" (default) or "cache_control": whether a message's cache lifetime is sent (OpenRouter).
	OptCache = "cache"
	// OptPath is the path below the backend's url, "/chat/completions" by default.
	OptPath = "path"
)

// Options lists the options with their allowed values; nil allows any string.
var Options = map[string][]string{
	OptMaxTokens:    {"max_tokens", "max_completion_tokens"},
	OptSession:      {"none", "prompt_cache_key", "session_id", "user"},
	OptContentParts: {"reject", "join"},
	OptCache:        {"none", "cache_control"},
	OptPath:         nil,
}

// CheckOptions says what is wrong with a backend's options.
func CheckOptions(o map[string]any) error {
	var errs []error
	for name, v := range o {
		allowed, known := Options[name]
		s, isText := v.(string)
		switch {
		case !known:
			errs = append(errs, fmt.Errorf("options.%s: unknown option of dialect openai", name))
		case !isText:
			errs = append(errs, fmt.Errorf("options.%s: must be a word", name))
		case allowed != nil && !slices.Contains(allowed, s):
			errs = append(errs, fmt.Errorf("options.%s: must be one of %s", name, strings.Join(allowed, ", ")))
		case name == OptPath && !strings.HasPrefix(s, "/"):
			errs = append(errs, fmt.Errorf("options.%s: must begin with /", name))
		}
	}
	return errors.Join(errs...)
}

func option(e *provider.Endpoint, name, otherwise string) string {
	if s, ok := e.Options[name].(string); ok && s != "" {
		return s
	}
	return otherwise
}

type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

type body struct {
	Model               string          `json:"model"`
	Messages            []message       `json:"messages"`
	Temperature         *float64        `json:"temperature,omitempty"`
	TopP                *float64        `json:"top_p,omitempty"`
	MaxTokens           *int64          `json:"max_tokens,omitempty"`
	MaxCompletionTokens *int64          `json:"max_completion_tokens,omitempty"`
	Seed                *int64          `json:"seed,omitempty"`
	Stop                []string        `json:"stop,omitempty"`
	FrequencyPenalty    *float64        `json:"frequency_penalty,omitempty"`
	PresencePenalty     *float64        `json:"presence_penalty,omitempty"`
	ReasoningEffort     *string         `json:"reasoning_effort,omitempty"`
	PromptCacheKey      string          `json:"prompt_cache_key,omitempty"`
	SessionID           string          `json:"session_id,omitempty"`
	User                string          `json:"user,omitempty"`
	ResponseFormat      *responseFormat `json:"response_format,omitempty"`
}

type responseFormat struct {
	Type       string     `json:"type"`
	JSONSchema jsonSchema `json:"json_schema"`
}

type jsonSchema struct {
	Name   string          `json:"name"`
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

// Build writes the request. Messages, settings and schema go out as they are: a field that is not set is not sent.
func (Dialect) Build(e *provider.Endpoint, r *provider.Request) (*provider.Wire, error) {
	s := r.Settings
	b := body{Model: r.Model, Temperature: s.Temperature, TopP: s.TopP, Seed: s.Seed, Stop: s.Stop,
		FrequencyPenalty: s.FrequencyPenalty, PresencePenalty: s.PresencePenalty, ReasoningEffort: s.ReasoningEffort}
	if option(e, OptMaxTokens, "max_tokens") == "max_tokens" {
		b.MaxTokens = s.MaxOutputTokens
	} else {
		b.MaxCompletionTokens = s.MaxOutputTokens
	}
	session(&b, option(e, OptSession, "none"), r.Session)
	if r.Schema != nil {
		strict, _ := FitsStrict(r.Schema.Bytes)
		b.ResponseFormat = &responseFormat{Type: "json_schema", JSONSchema: jsonSchema{Name: r.Schema.Name, Strict: strict, Schema: r.Schema.Bytes}}
	}
	cache := option(e, OptCache, "none") == "cache_control"
	for i, m := range r.Messages {
		content, err := content(m, cache)
		if err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
		b.Messages = append(b.Messages, message{Role: m.Role, Content: content})
	}
	out, err := schemas.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("the request has no JSON form: %w", err)
	}
	return &provider.Wire{Path: option(e, OptPath, "/chat/completions"), Body: out}, nil
}

func session(b *body, field, id string) {
	switch field {
	case "prompt_cache_key":
		b.PromptCacheKey = id
	case "session_id":
		b.SessionID = id
	case "user":
		b.User = id
	}
}

func content(m schemas.Message, cache bool) (json.RawMessage, error) {
	switch {
	case m.Parts != nil:
		return m.Parts, nil
	case cache && m.Cache != "":
		return schemas.Marshal([]map[string]any{{"type": "text", "text": m.Content, "cache_control": map[string]string{"type": "ephemeral", "ttl": m.Cache}}})
	}
	return schemas.Marshal(m.Content)
}

type reply struct {
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Message      json.RawMessage `json:"message"`
	FinishReason *string         `json:"finish_reason"`
}

type answer struct {
	Content          json.RawMessage `json:"content"`
	Refusal          json.RawMessage `json:"refusal"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	ToolCalls        json.RawMessage `json:"tool_calls"`
	FunctionCall     json.RawMessage `json:"function_call"`
}

// Read turns a reply into a candidate or an error. Only an explicit string is a candidate, even an empty one (seed 000,
// "Empty Content And Provider Responses"); everything else that a 2xx may hold is a malformed envelope, a refusal or a
// filter.
func (Dialect) Read(e *provider.Endpoint, r *provider.Reply) (*provider.Response, error) {
	if r.Status < 200 || r.Status > 299 {
		return nil, statusError(r)
	}
	var v reply
	if err := json.Unmarshal(r.Body, &v); err != nil {
		return nil, malformed(nil, r.Body, notJSON(r))
	}
	tokens := usage(v.Usage)
	if present(v.Error) {
		code, kind := errorCodes(v.Error)
		err := malformed(tokens, v.Error, "a 2xx reply with an error body")
		err.Code = first(provider.Code(code), provider.Code(kind))
		return nil, err
	}
	if len(v.Choices) == 0 {
		return nil, malformed(tokens, r.Body, "choices is missing, null or empty")
	}
	return candidate(e, v, tokens, r.Body)
}

func candidate(e *provider.Endpoint, v reply, tokens *schemas.Tokens, raw []byte) (*provider.Response, error) {
	c := v.Choices[0]
	var a answer
	if err := json.Unmarshal(c.Message, &a); err != nil || !present(c.Message) {
		return nil, malformed(tokens, raw, "choices[0].message is missing or no object")
	}
	finish := ""
	if c.FinishReason != nil {
		finish = *c.FinishReason
	}
	if refusal := text(a.Refusal); refusal != nil && *refusal != "" {
		return nil, &provider.Error{Kind: provider.KindRefused, Reason: "the model refused to answer", Tokens: tokens, Detail: provider.Detail([]byte(*refusal))}
	}
	if finish == "content_filter" {
		return nil, &provider.Error{Kind: provider.KindFiltered, Reason: "the provider's content filter stopped the answer", Tokens: tokens}
	}
	if finish == "error" {
		return nil, malformed(tokens, raw, "choices[0].finish_reason is error")
	}
	body := text(a.Content)
	if body == nil && option(e, OptContentParts, "reject") == "join" {
		body = joined(a.Content)
	}
	if body == nil {
		return nil, malformed(tokens, raw, missing(a))
	}
	return &provider.Response{Text: *body, Finish: finishWord(finish), ProviderFinish: provider.Code(finish), Model: v.Model, Tokens: tokens}, nil
}

// missing says what stands where the content should: the field that was populated instead is named, never adopted.
func missing(a answer) string {
	what := "choices[0].message.content is missing"
	switch {
	case len(a.Content) > 0 && a.Content[0] == '[':
		what = "choices[0].message.content is an array of parts (options.content_parts: join accepts text parts)"
	case len(a.Content) > 0 && present(a.Content):
		what = "choices[0].message.content is no string"
	case len(a.Content) > 0:
		what = "choices[0].message.content is null"
	}
	for _, f := range []struct {
		name string
		raw  json.RawMessage
	}{{"tool_calls", a.ToolCalls}, {"function_call", a.FunctionCall}, {"reasoning_content", a.ReasoningContent}, {"reasoning", a.Reasoning}} {
		if present(f.raw) && string(f.raw) != "[]" && string(f.raw) != `""` {
			what += "; " + f.name + " is populated instead"
		}
	}
	return what
}

func present(raw json.RawMessage) bool {
	return len(raw) > 0 && !bytes.Equal(raw, []byte("null"))
}

func text(raw json.RawMessage) *string {
	if len(raw) == 0 || raw[0] != '"' {
		return nil
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return nil
	}
	return &s
}

// joined concatenates an array of text parts; any other part makes it no candidate.
func joined(raw json.RawMessage) *string {
	var parts []struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil || len(parts) == 0 {
		return nil
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Type != "text" || p.Text == nil {
			return nil
		}
		b.WriteString(*p.Text)
	}
	s := b.String()
	return &s
}

func finishWord(s string) string {
	switch s {
	case "stop", "":
		return provider.FinishStop
	case "length":
		return provider.FinishLength
	case "tool_calls", "function_call":
		return provider.FinishTool
	}
	return provider.FinishOther
}

func malformed(tokens *schemas.Tokens, raw []byte, reason string) *provider.Error {
	return &provider.Error{Kind: provider.KindMalformed, Reason: reason, Tokens: tokens, Detail: provider.Detail(raw)}
}

func notJSON(r *provider.Reply) string {
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	media = strings.TrimSpace(media)
	switch {
	case len(bytes.TrimSpace(r.Body)) == 0:
		return "the reply is empty"
	case media == "text/event-stream":
		return "the reply is a text/event-stream though none was asked for"
	case media != "" && media != "application/json" && len(media) < 64:
		return "the reply is " + media + ", not a JSON completion"
	}
	return "the reply is no JSON completion"
}

func statusError(r *provider.Reply) *provider.Error {
	var v struct {
		Error json.RawMessage `json:"error"`
	}
	_ = json.Unmarshal(r.Body, &v)
	code, kind := errorCodes(v.Error)
	e := provider.StatusError(r.Status, code, kind)
	if e.Reason == "" && r.Status == http.StatusBadRequest {
		e.Reason = badRequest(code, v.Error)
	}
	e.Detail = provider.Detail(r.Body)
	return e
}

func badRequest(code string, raw json.RawMessage) string {
	var v struct {
		Param string `json:"param"`
	}
	_ = json.Unmarshal(raw, &v)
	switch {
	case code == "context_length_exceeded":
		return "the conversation is longer than the model's context"
	case strings.HasPrefix(v.Param, "response_format"):
		return "the provider refused the output schema (native: none turns the native constraint off)"
	case provider.Code(v.Param) != "":
		return "the provider refused the field " + v.Param
	}
	return "the provider refused the request"
}

// errorCodes reads {"code", "type", "details": {"error_code"}}; codes are text or numbers.
func errorCodes(raw json.RawMessage) (code, kind string) {
	var v struct {
		Code    any    `json:"code"`
		Type    string `json:"type"`
		Details struct {
			Code string `json:"error_code"`
		} `json:"details"`
	}
	if json.Unmarshal(raw, &v) != nil {
		return "", ""
	}
	if s, ok := v.Code.(string); ok {
		code = s
	}
	return first(v.Details.Code, code), v.Type
}

func first(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}
