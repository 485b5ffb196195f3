package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// BatchLine is one line of a batch file: a run to be made.
type BatchLine struct {
	// ID is the line's own id, or the custom_id of an OpenAI Batch line, which need not be an id of a run.
	ID string
	// OpenAI says which of the two forms the line has; Model is then what its body names.
	OpenAI bool
	Model  string
	// Request lacks what the line leaves to whoever runs the batch: prompt and profile.
	Request Request
}

// DecodeBatchLine reads a line of a batch as strictly as DecodeRequest: an own line, {"id", "inputs", ...} with any field of a
// request, or an OpenAI Batch line, {"custom_id", "method", "url", "body"}. Nothing of it is a part of text, which whoever reads
// lines may use again.
func DecodeBatchLine(text []byte) (BatchLine, error) {
	if err := document(text); err != nil {
		return BatchLine{}, &DecodeError{Problems: []Problem{{Message: err.Error()}}}
	}
	for name := range members(text[space(text, 0):]) {
		if name == "custom_id" {
			return openAILine(text)
		}
	}
	return ownLine(text)
}

// ownLine takes the id out; all that is left must be a request.
func ownLine(text []byte) (BatchLine, error) {
	var line BatchLine
	ids, rest := 0, [][]byte{}
	for name, raw := range members(text[space(text, 0):]) {
		if name != "id" {
			key, err := Marshal(name)
			if err != nil {
				return line, err
			}
			rest = append(rest, append(append(key, ':'), raw...))
			continue
		}
		if ids++; json.Unmarshal(raw, &line.ID) != nil {
			return line, problem("id", "expected a string, got "+kindOf(raw))
		}
	}
	if ids != 1 {
		return line, problem("id", fmt.Sprintf("must be given once, not %d times; an OpenAI Batch line has a custom_id instead", ids))
	}
	var err error
	line.Request, err = DecodeRequest(append(append([]byte{'{'}, bytes.Join(rest, []byte{','})...), '}'))
	return line, err
}

func problem(path, message string) error {
	return &DecodeError{Problems: []Problem{{Path: path, Message: message}}}
}

// batchPath is the one endpoint of OpenAI whose lines are runs.
const batchPath = "/v1/chat/completions"

type openAIBatchLine struct {
	CustomID string      `json:"custom_id"`
	Method   string      `json:"method"`
	URL      string      `json:"url"`
	Body     *openAIBody `json:"body"`
}

// openAIBody has the fields of a chat completion that a run has, too; any other is refused by name.
type openAIBody struct {
	Model               string            `json:"model"`
	Messages            []Message         `json:"messages"`
	Temperature         *float64          `json:"temperature,omitempty"`
	TopP                *float64          `json:"top_p,omitempty"`
	MaxTokens           *int64            `json:"max_tokens,omitempty"`
	MaxCompletionTokens *int64            `json:"max_completion_tokens,omitempty"`
	Seed                *int64            `json:"seed,omitempty"`
	Stop                json.RawMessage   `json:"stop,omitempty"`
	FrequencyPenalty    *float64          `json:"frequency_penalty,omitempty"`
	PresencePenalty     *float64          `json:"presence_penalty,omitempty"`
	ReasoningEffort     *string           `json:"reasoning_effort,omitempty"`
	ResponseFormat      *openAIFormat     `json:"response_format,omitempty"`
	Metadata            map[string]string `json:"metadata,omitempty"`
	N                   *int64            `json:"n,omitempty"`
	Stream              *bool             `json:"stream,omitempty"`
}

type openAIFormat struct {
	Type       string        `json:"type"`
	JSONSchema *openAISchema `json:"json_schema,omitempty"`
}

type openAISchema struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema"`
	Strict      *bool           `json:"strict,omitempty"`
}

func openAILine(text []byte) (BatchLine, error) {
	w, err := decode[openAIBatchLine](text)
	switch {
	case err != nil:
		return BatchLine{}, err
	case w.Method != "POST" || w.URL != batchPath:
		return BatchLine{}, problem("url", "an OpenAI Batch line must be POST "+batchPath)
	case w.CustomID == "":
		return BatchLine{}, problem("custom_id", "must not be empty")
	case w.Body == nil:
		return BatchLine{}, problem("body", "is missing")
	}
	req, err := w.Body.request()
	return BatchLine{ID: w.CustomID, OpenAI: true, Model: w.Body.Model, Request: req}, err
}

func (b *openAIBody) request() (Request, error) {
	req := Request{Messages: b.Messages, Metadata: b.Metadata, Settings: &Settings{Temperature: b.Temperature, TopP: b.TopP, Seed: b.Seed,
		MaxOutputTokens: b.MaxCompletionTokens, FrequencyPenalty: b.FrequencyPenalty, PresencePenalty: b.PresencePenalty, ReasoningEffort: b.ReasoningEffort}}
	if req.Settings.MaxOutputTokens == nil {
		req.Settings.MaxOutputTokens = b.MaxTokens
	}
	switch {
	case b.N != nil && *b.N != 1:
		return req, problem("body.n", "a run has one answer; leave it out, or write one line an answer")
	case b.Stream != nil && *b.Stream:
		return req, problem("body.stream", "a run's answer is not streamed; leave it out")
	}
	if err := b.stop(req.Settings); err != nil {
		return req, err
	}
	if raw, err := Marshal(req.Settings); err != nil || string(raw) == "{}" {
		req.Settings = nil // a queue may forbid settings: what sets nothing has none
	}
	out, err := b.ResponseFormat.output()
	req.Output = out
	return req, err
}

// stop is a string or an array of strings.
func (b *openAIBody) stop(s *Settings) error {
	if b.Stop == nil {
		return nil
	}
	var one string
	if json.Unmarshal(b.Stop, &one) == nil {
		s.Stop = []string{one}
		return nil
	}
	if json.Unmarshal(b.Stop, &s.Stop) != nil {
		return problem("body.stop", "expected a string or an array of strings")
	}
	return nil
}

func (f *openAIFormat) output() (*Output, error) {
	switch {
	case f == nil || f.Type == "text":
		return nil, nil
	case f.Type == "json_object":
		return &Output{Mode: ModeJSON}, nil
	case f.Type == "json_schema" && f.JSONSchema != nil && f.JSONSchema.Schema != nil:
		return &Output{Mode: ModeJSONSchema, Schema: f.JSONSchema.Schema}, nil
	}
	return nil, problem("body.response_format", "expected text, json_object, or json_schema with a schema")
}
