package anthropic

import (
	"fmt"
	"slices"
	"strings"

	"emend/engine/provider"
	"emend/schemas"
)

// usageNames are the fields with a name of their own. Input is without what came from or went into a cache, until total
// adds it.
var usageNames = provider.Names{
	"input_tokens": provider.Input, "output_tokens": provider.Output,
	"cache_read_input_tokens": provider.Cached, "cache_creation_input_tokens": provider.CacheWritten,
	"output_tokens_details.thinking_tokens": provider.Reasoning,
}

// usage makes the input the total: the API counts it without the cache.
func usage(v provider.Value) *schemas.Tokens {
	t := provider.Usage(v, usageNames)
	if t == nil || t.Input == nil {
		return t
	}
	for _, part := range []*int64{t.Cached, t.CacheWritten} {
		if part != nil {
			*t.Input += *part
		}
	}
	return t
}

// Read turns a reply into a candidate or a *provider.Error.
func (d *Dialect) Read(ep *provider.Endpoint, r *provider.Reply) (*provider.Response, error) {
	if !r.OK() {
		bad := readStatus(r)
		bad.Backend = ep.Backend
		return nil, bad
	}
	resp, bad := read(r)
	if bad != nil {
		bad.Backend, bad.Status = ep.Backend, r.Status
		return nil, bad
	}
	return resp, nil
}

// message is a reply's envelope.
type message struct {
	kind, model, content, stop, details, usage, fault provider.Value
}

func read(r *provider.Reply) (*provider.Response, *provider.Error) {
	body, bad := provider.Envelope(r)
	if bad != nil {
		return nil, bad
	}
	var m message
	body.Pick(provider.Field{Name: "type", To: &m.kind}, provider.Field{Name: "model", To: &m.model},
		provider.Field{Name: "content", To: &m.content}, provider.Field{Name: "stop_reason", To: &m.stop},
		provider.Field{Name: "stop_details", To: &m.details}, provider.Field{Name: "usage", To: &m.usage},
		provider.Field{Name: "error", To: &m.fault})
	tokens := usage(m.usage)
	if m.fault.Filled() {
		return nil, provider.Faulty(r, tokens, "error", m.fault)
	}
	b, bad := readBlocks(r, m.content, tokens)
	stop := provider.StopWord(m.stop)
	switch {
	case stop == "refusal":
		return nil, refused(m.details, b.text.String(), tokens)
	case stop == "pause_turn":
		return nil, provider.Malformed(r, tokens, "stop_reason is pause_turn: the turn is not finished")
	case bad != nil:
		return nil, bad
	}
	resp := &provider.Response{Finish: finish(stop), ProviderFinish: stop, Tokens: tokens}
	resp.Model, _ = m.model.Text()
	switch {
	case b.arguments != nil:
		resp.Text, resp.Arguments = string(b.arguments), true
	case b.texts == 0 && !b.silent(stop):
		return nil, provider.Malformed(r, tokens, b.noText(stop))
	default:
		resp.Text = b.text.String()
	}
	return resp, nil
}

// refused carries what the model said, or why the provider stopped it.
func refused(details provider.Value, text string, tokens *schemas.Tokens) *provider.Error {
	bad := &provider.Error{Kind: provider.KindRefused, Tokens: tokens, Reason: "the model refused: stop_reason is refusal"}
	if category, _ := details.Get("category").Text(); provider.Code(category) != "" {
		bad.Code = category
	}
	if why, _ := details.Get("explanation").Text(); strings.TrimSpace(text) == "" {
		text = why
	}
	bad.Detail = provider.Detail(text)
	return bad
}

// blocks is what stands in content.
type blocks struct {
	text strings.Builder
	// texts counts the text blocks; arguments are those of the forced tool, and win over text.
	texts     int
	arguments []byte
	// others are the types of the blocks that are no answer, each once.
	others []string
}

func readBlocks(r *provider.Reply, content provider.Value, tokens *schemas.Tokens) (*blocks, *provider.Error) {
	b := &blocks{}
	if content.Kind() != provider.Array {
		return b, provider.Malformed(r, tokens, "content is "+content.Kind().String())
	}
	n := 0
	for block := range content.Elements() {
		if what := b.add(block, r.Tool); what != "" {
			return b, provider.Malformed(r, tokens, fmt.Sprintf("content[%d]%s", n, what))
		}
		n++
	}
	return b, nil
}

// add takes one block; it returns what is wrong with it.
func (b *blocks) add(block provider.Value, tool string) string {
	var kind, text, name, input provider.Value
	block.Pick(provider.Field{Name: "type", To: &kind}, provider.Field{Name: "text", To: &text},
		provider.Field{Name: "name", To: &name}, provider.Field{Name: "input", To: &input})
	word, _ := kind.Text()
	switch {
	case block.Kind() != provider.Object:
		return " is " + block.Kind().String()
	case word == "text":
		s, ok := text.Text()
		if !ok {
			return ".text is " + text.Kind().String()
		}
		b.texts++
		b.text.WriteString(s)
	case word == "tool_use" && tool != "" && name.Is(tool):
		if !input.Present() {
			return ".input is " + input.Kind().String()
		}
		b.arguments = input.Raw()
	default:
		b.other(word)
	}
	return ""
}

func (b *blocks) other(kind string) {
	if provider.Code(kind) == "" {
		kind = "a block of odd type"
	}
	if slices.Contains(b.others, kind) {
		return
	}
	if len(b.others) < 8 {
		b.others = append(b.others, kind)
	}
}

// silent tells of a turn that the model ended without a word, which the API sends without a block: an empty answer, not a
// missing one.
func (b *blocks) silent(stop string) bool {
	return b.others == nil && finish(stop) == provider.FinishStop
}

func (b *blocks) noText(stop string) string {
	why := "content has no text block"
	if b.others == nil {
		why = "content is empty"
	}
	for _, kind := range b.others {
		why += "; " + kind + " stands there instead"
	}
	if finish(stop) == provider.FinishLength {
		why += "; the token limit was reached before any text"
	}
	return why
}

var finishes = map[string]string{"": "", "end_turn": provider.FinishStop, "stop_sequence": provider.FinishStop,
	"max_tokens": provider.FinishLength, "model_context_window_exceeded": provider.FinishLength, "tool_use": provider.FinishTool}

func finish(stop string) string {
	if word, ok := finishes[stop]; ok {
		return word
	}
	return provider.FinishOther
}
