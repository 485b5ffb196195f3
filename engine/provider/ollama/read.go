package ollama

import (
	"maps"
	"strings"

	"emend/engine/provider"
	"emend/schemas"
)

var usageNames = provider.Names{"prompt_eval_count": provider.Input, "eval_count": provider.Output}

// usage reads the counts, which stand in the reply itself, among times and other numbers that are no usage.
func usage(body provider.Value) *schemas.Tokens {
	t := provider.Usage(body, usageNames)
	if t == nil {
		return nil
	}
	maps.DeleteFunc(t.Other, func(name string, _ float64) bool {
		return !strings.HasSuffix(name, "_count") || strings.Contains(name, ".")
	})
	if len(t.Other) == 0 {
		t.Other = nil
	}
	if t.Empty() {
		return nil
	}
	return t
}

// Read turns a reply into a candidate or a *provider.Error.
func (d *Dialect) Read(ep *provider.Endpoint, r *provider.Reply) (*provider.Response, error) {
	resp, bad := read(r)
	if bad != nil {
		bad.Backend, bad.Status = ep.Backend, r.Status
		return nil, bad
	}
	return resp, nil
}

func read(r *provider.Reply) (*provider.Response, *provider.Error) {
	if !r.OK() {
		return nil, statusError(r)
	}
	body, bad := provider.Envelope(r)
	if bad != nil {
		return nil, bad
	}
	var model, message, reason, done, fault provider.Value
	body.Pick(provider.Field{Name: "model", To: &model}, provider.Field{Name: "message", To: &message},
		provider.Field{Name: "done_reason", To: &reason}, provider.Field{Name: "done", To: &done}, provider.Field{Name: "error", To: &fault})
	tokens := usage(body)
	if fault.Filled() {
		return nil, provider.Faulty(r, tokens, "error", fault)
	}
	if done.Present() && string(done.Raw()) != "true" {
		return nil, provider.Malformed(r, tokens, "done is not true: this is a piece of a stream, though none was asked for")
	}
	resp, bad := readMessage(r, message, provider.StopWord(reason), tokens)
	if bad != nil {
		return nil, bad
	}
	resp.Model, _ = model.Text()
	resp.Tokens = tokens
	return resp, nil
}

// finishes maps the provider's words; any other word is FinishOther, none is none.
var finishes = map[string]string{"": "", "stop": provider.FinishStop, "length": provider.FinishLength}

func common(finish string) string {
	if w, ok := finishes[finish]; ok {
		return w
	}
	return provider.FinishOther
}

// readMessage: only an explicit string is a candidate, even an empty one (seed 000).
func readMessage(r *provider.Reply, message provider.Value, finish string, tokens *schemas.Tokens) (*provider.Response, *provider.Error) {
	if message.Kind() != provider.Object {
		return nil, provider.Malformed(r, tokens, "message is "+message.Kind().String())
	}
	text, ok := message.Get("content").Text()
	if !ok {
		return nil, provider.Malformed(r, tokens, noContent(message, finish))
	}
	return &provider.Response{Text: text, Finish: common(finish), ProviderFinish: finish}, nil
}

// instead are the fields in which an answer may stand when content is none. They are named, never adopted.
var instead = []string{"thinking", "tool_calls", "images"}

func noContent(message provider.Value, finish string) string {
	var why strings.Builder
	why.WriteString("message.content is " + message.Get("content").Kind().String())
	for _, name := range instead {
		if message.Get(name).Filled() {
			why.WriteString("; " + name + " is populated instead")
		}
	}
	if common(finish) == provider.FinishLength {
		why.WriteString("; the token limit was reached before any content")
	}
	return why.String()
}
