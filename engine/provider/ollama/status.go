package ollama

import (
	"strings"

	"emend/engine/provider"
)

// formatFaults are how Ollama speaks of a schema that it cannot use, besides the words that every provider uses. It says
// them with 500, which elsewhere passes by waiting (providers.md).
var formatFaults = []string{"invalid format", "required for format", "sampling context"}

// contextFaults are how it says that a conversation is too long, when it was told not to shorten it.
var contextFaults = []string{"context length", "context size", "context window", "prompt too long"}

// statusError reads a status other than 2xx. The body has a text and no code, and the status alone is not enough: 500 is a
// schema that cannot be used or a runner that died, 503 a full queue that passes, 404 a model that was never pulled.
func statusError(r *provider.Reply) *provider.Error {
	e := provider.StatusError(r)
	text := strings.ToLower(e.Detail)
	switch {
	case r.Status != 400 && r.Status != 500:
	case speaks(text, contextFaults) && strings.Contains(text, "exceed"):
		e.Schema, e.Keyword, e.Permanent, e.Reason = false, "", true, "the conversation is longer than the model's context"
	case r.Native && (provider.AboutSchema(text) || speaks(text, formatFaults)):
		e.RefuseSchema(e.Detail)
	}
	return e
}

func speaks(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}
