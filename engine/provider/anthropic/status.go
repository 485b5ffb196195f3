package anthropic

import (
	"strings"

	"emend/engine/provider"
)

// readStatus adds to the common reading what the API says in words alone.
func readStatus(r *provider.Reply) *provider.Error {
	bad := provider.StatusError(r)
	if body, ok := provider.Parse(r.Body); ok {
		bad.Tokens = usage(body.Get("usage"))
	}
	text := strings.ToLower(bad.Detail)
	for _, p := range phrases {
		if (p.status == 0 || p.status == r.Status) && strings.Contains(text, p.words) {
			p.apply(bad)
		}
	}
	if bad.Schema && r.Fallback && tooLarge(text) {
		bad.Fallback = true
	}
	return bad
}

// phrases are texts of the API that mean more than their status and their code, which are those of any other fault.
var phrases = []struct {
	status int
	words  string
	apply  func(*provider.Error)
}{
	{400, "credit balance is too low", func(e *provider.Error) {
		e.Permanent, e.Account, e.Reason = true, true, "the account has no credit"
	}},
	{400, "reached your specified api usage limits", func(e *provider.Error) {
		e.Permanent, e.Account, e.Reason = true, true, "the account's spend limit is reached"
	}},
	{429, "spend limit", func(e *provider.Error) {
		e.Permanent, e.Account, e.Reason = true, true, "the account's spend limit is reached"
	}},
	{400, "content filtering policy", func(e *provider.Error) {
		e.Kind, e.Reason = provider.KindFiltered, "the provider's filter blocked the output"
	}},
	{400, "prompt is too long", func(e *provider.Error) {
		e.Reason = "the conversation is longer than the model's context"
	}},
	{400, "exceed context limit", func(e *provider.Error) {
		e.Reason = "the conversation and max_tokens together are longer than the model's context"
	}},
}

// tooLarge tells of the refusals that a tool, which is compiled into no grammar, does not meet.
func tooLarge(text string) bool {
	return strings.Contains(text, "grammar is too large") || strings.Contains(text, "too complex") ||
		strings.Contains(text, "compil") && (strings.Contains(text, "timeout") || strings.Contains(text, "timed out"))
}
