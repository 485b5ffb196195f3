package openai

import (
	"strings"

	"emend/engine/provider"
	"emend/schemas"
)

// usageNames are the fields with a name of their own. A total is left out: nobody must add it to its parts.
var usageNames = provider.Names{
	"prompt_tokens": provider.Input, "completion_tokens": provider.Output, "total_tokens": provider.Skip,
	"prompt_tokens_details.cached_tokens":        provider.Cached,
	"prompt_tokens_details.cache_write_tokens":   provider.CacheWritten,
	"completion_tokens_details.reasoning_tokens": provider.Reasoning,
}

// Read turns a reply into a candidate or a *provider.Error.
func (d *Dialect) Read(ep *provider.Endpoint, r *provider.Reply) (*provider.Response, error) {
	if !r.OK() {
		return nil, readStatus(ep, r)
	}
	resp, bad := read(ep, r)
	if bad != nil {
		bad.Backend, bad.Status = ep.Backend, r.Status
		return nil, bad
	}
	return resp, nil
}

func read(ep *provider.Endpoint, r *provider.Reply) (*provider.Response, *provider.Error) {
	body, bad := provider.Envelope(r)
	if bad != nil {
		return nil, bad
	}
	var model, choices, usage, fault provider.Value
	body.Pick(provider.Field{Name: "model", To: &model}, provider.Field{Name: "choices", To: &choices},
		provider.Field{Name: "usage", To: &usage}, provider.Field{Name: "error", To: &fault})
	tokens := provider.Usage(usage, usageNames)
	if fault.Filled() {
		return nil, provider.Faulty(r, tokens, "error", fault)
	}
	if choices.Kind() != provider.Array {
		return nil, provider.Malformed(r, tokens, "choices is "+choices.Kind().String())
	}
	first := choices.First()
	if first.Kind() == provider.Absent {
		return nil, provider.Malformed(r, tokens, "choices is empty")
	}
	resp, bad := readChoice(ep, r, first, tokens)
	if bad != nil {
		return nil, bad
	}
	resp.Model, _ = model.Text()
	resp.Tokens = tokens
	return resp, nil
}

func readChoice(ep *provider.Endpoint, r *provider.Reply, choice provider.Value, tokens *schemas.Tokens) (*provider.Response, *provider.Error) {
	var message, reason, fault, content, refusal provider.Value
	choice.Pick(provider.Field{Name: "message", To: &message}, provider.Field{Name: "finish_reason", To: &reason},
		provider.Field{Name: "error", To: &fault})
	message.Pick(provider.Field{Name: "content", To: &content}, provider.Field{Name: "refusal", To: &refusal})
	finish := provider.StopWord(reason)
	if bad := stopped(refusal, finish, tokens); bad != nil {
		return nil, bad
	}
	if fault.Filled() {
		return nil, provider.Faulty(r, tokens, "choices[0].error", fault)
	}
	if finish == "error" {
		return nil, provider.Malformed(r, tokens, "choices[0].finish_reason is error: the provider says that the generation failed")
	}
	if message.Kind() != provider.Object {
		return nil, provider.Malformed(r, tokens, "choices[0].message is "+message.Kind().String())
	}
	text, ok := content.Text()
	if !ok {
		text, ok = joined(ep, content)
	}
	if !ok {
		return nil, provider.Malformed(r, tokens, noContent(ep, message, finish))
	}
	return &provider.Response{Text: text, Finish: common(finish), ProviderFinish: finish}, nil
}

// finishes maps the words of OpenAI and of servers that speak its wire; any other word is FinishOther, none is none.
var finishes = map[string]string{"": "", "stop": provider.FinishStop, "eos": provider.FinishStop, "end_turn": provider.FinishStop,
	"length": provider.FinishLength, "max_tokens": provider.FinishLength, "model_length": provider.FinishLength,
	"tool_calls": provider.FinishTool, "function_call": provider.FinishTool}

func common(finish string) string {
	if word, ok := finishes[finish]; ok {
		return word
	}
	return provider.FinishOther
}

// stopped is a refusal or a filter: text beside either is no candidate (design section 9).
func stopped(refusal provider.Value, finish string, tokens *schemas.Tokens) *provider.Error {
	if text, ok := refusal.Text(); ok && strings.TrimSpace(text) != "" {
		return &provider.Error{Kind: provider.KindRefused, Tokens: tokens, Detail: provider.Detail(text),
			Reason: "the model refused: choices[0].message.refusal is set"}
	}
	if finish == "content_filter" {
		return &provider.Error{Kind: provider.KindFiltered, Tokens: tokens, Reason: "choices[0].finish_reason is content_filter"}
	}
	return nil
}

// joined concatenates the text parts of a content array, if the endpoint wants that. Thinking is skipped; a part of any
// other type makes the whole no candidate.
func joined(ep *provider.Endpoint, content provider.Value) (string, bool) {
	if content.Kind() != provider.Array || ep.Word(optContentParts) != "join" {
		return "", false
	}
	var all strings.Builder
	n := 0
	for part := range content.Elements() {
		kind, _ := part.Get("type").Text()
		text, ok := part.Get("text").Text()
		switch {
		case kind == "thinking":
			continue // Mistral's, whose answer stands in the text parts after it
		case kind != "text" || !ok:
			return "", false
		}
		all.WriteString(text)
		n++
	}
	return all.String(), n > 0
}

// instead are the fields in which servers leave what should stand in content. It is named, never adopted.
var instead = []string{"reasoning_content", "reasoning", "reasoning_details", "tool_calls", "function_call", "audio", "parsed"}

func noContent(ep *provider.Endpoint, message provider.Value, finish string) string {
	content := message.Get("content")
	var why strings.Builder
	why.WriteString("choices[0].message.content is " + content.Kind().String())
	switch {
	case content.Kind() != provider.Array:
	case ep.Word(optContentParts) == "join":
		why.WriteString(" whose parts are not text alone")
	default:
		why.WriteString(" of parts (options.content_parts: join would join text parts)")
	}
	for _, name := range instead {
		if message.Get(name).Filled() {
			why.WriteString("; " + name + " is populated instead")
		}
	}
	if finishes[finish] == provider.FinishLength {
		why.WriteString("; the token limit was reached before any content")
	}
	return why.String()
}
