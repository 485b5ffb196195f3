package gemini

import (
	"slices"

	"emend/engine/provider"
	"emend/schemas"
)

// usageNames are the fields with a name of their own. The prompt's count includes what came from a cache. The total is left
// out: nobody must add it to its parts.
var usageNames = provider.Names{
	"promptTokenCount": provider.Input, "cachedContentTokenCount": provider.Cached, "candidatesTokenCount": provider.Output,
	"thoughtsTokenCount": provider.Reasoning, "totalTokenCount": provider.Skip,
}

// usage makes the output whole. Gemini counts thoughts beside candidates, every other provider within the output, which is
// what one form for all must mean; its JSON leaves a count of zero out, so thoughts alone are the whole output.
func usage(v provider.Value) *schemas.Tokens {
	t := provider.Usage(v, usageNames)
	if t == nil || t.Reasoning == nil {
		return t
	}
	output := *t.Reasoning
	if t.Output != nil {
		output += *t.Output
	}
	t.Output = &output
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
	var model, candidates, feedback, counts, fault provider.Value
	body.Pick(provider.Field{Name: "modelVersion", To: &model}, provider.Field{Name: "candidates", To: &candidates},
		provider.Field{Name: "promptFeedback", To: &feedback}, provider.Field{Name: "usageMetadata", To: &counts},
		provider.Field{Name: "error", To: &fault})
	tokens := usage(counts)
	if fault.Filled() {
		return nil, provider.Faulty(r, tokens, "error", fault)
	}
	if reason := provider.StopWord(feedback.Get("blockReason")); reason != "" {
		return nil, filtered(tokens, "promptFeedback.blockReason", reason)
	}
	if candidates.Kind() != provider.Array {
		return nil, provider.Malformed(r, tokens, "candidates is "+candidates.Kind().String())
	}
	first := candidates.First()
	if first.Kind() == provider.Absent {
		return nil, provider.Malformed(r, tokens, "candidates is empty")
	}
	resp, bad := readCandidate(r, first, tokens)
	if bad != nil {
		return nil, bad
	}
	resp.Model, _ = model.Text()
	resp.Tokens = tokens
	return resp, nil
}

func filtered(tokens *schemas.Tokens, field, reason string) *provider.Error {
	return &provider.Error{Kind: provider.KindFiltered, Tokens: tokens, Code: reason, Reason: field + " is " + reason}
}

// policies are the finish reasons that withhold an answer. What text stands beside one is no candidate.
var policies = []string{"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "IMAGE_SAFETY",
	"IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"}

// finishes maps the provider's words; any other word is FinishOther, none is none.
var finishes = map[string]string{"": "", "STOP": provider.FinishStop, "MAX_TOKENS": provider.FinishLength,
	"MALFORMED_FUNCTION_CALL": provider.FinishTool, "UNEXPECTED_TOOL_CALL": provider.FinishTool, "TOO_MANY_TOOL_CALLS": provider.FinishTool}

func common(finish string) string {
	if w, ok := finishes[finish]; ok {
		return w
	}
	return provider.FinishOther
}

func readCandidate(r *provider.Reply, candidate provider.Value, tokens *schemas.Tokens) (*provider.Response, *provider.Error) {
	var content, reason provider.Value
	candidate.Pick(provider.Field{Name: "content", To: &content}, provider.Field{Name: "finishReason", To: &reason})
	finish := provider.StopWord(reason)
	if slices.Contains(policies, finish) {
		return nil, filtered(tokens, "candidates[0].finishReason", finish)
	}
	text, why := joined(content, common(finish))
	if why != "" {
		return nil, provider.Malformed(r, tokens, why)
	}
	return &provider.Response{Text: text, Finish: common(finish), ProviderFinish: finish}, nil
}

// joined concatenates the text parts that are no thoughts, or says why there is no candidate. An answer without any part is
// an empty one if the model stopped by itself or at the token limit, and an answer of thoughts alone if at the limit:
// that is how Gemini sends an empty message.
func joined(content provider.Value, finish string) (text, why string) {
	if content.Kind() > provider.Null && content.Kind() != provider.Object {
		return "", "candidates[0].content is " + content.Kind().String()
	}
	parts := content.Get("parts")
	if parts.Kind() > provider.Null && parts.Kind() != provider.Array {
		return "", "candidates[0].content.parts is " + parts.Kind().String()
	}
	found := gather(parts)
	switch {
	case found.bad != "":
		return "", found.bad
	case found.texts == 1:
		return found.first, ""
	case found.texts > 1:
		return found.all.String(), ""
	case found.others == 0 && (finish == provider.FinishLength || finish == provider.FinishStop && !found.thoughts):
		return "", ""
	}
	return "", found.nothing()
}
