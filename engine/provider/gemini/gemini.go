// Package gemini is the wire of Google's generateContent: the Gemini API, and Vertex AI under its own URL and key header.
// It has no field for a run's session and none for a message's cache lifetime, so neither is sent; its cache is a resource
// of its own, named by option cached_content.
//
// An answer always comes in parts: text parts are joined, thought parts are no part of the candidate. A reply that stopped
// for a policy is a filtered one, whatever text it holds (design section 9).
package gemini

import (
	"errors"

	"emend/engine/provider"
)

// Options of the dialect.
var (
	optThinking = provider.Option{Name: "thinking", Words: []string{"level", "budget", "none"},
		Doc: "how reasoning_effort is sent: as a thinking level (Gemini 3 and later), as a budget of tokens (Gemini 2.5), or not at all"}
	optCached = provider.Option{Name: "cached_content", Check: checkName,
		Doc: "the name of a cached content, such as cachedContents/abc, that every request begins with"}
	optConfig = provider.Members("generation_config", "more members of generationConfig, such as {topK: 40}; none that Emend sets itself",
		"temperature", "topP", "maxOutputTokens", "seed", "stopSequences", "frequencyPenalty", "presencePenalty", "thinkingConfig",
		"responseMimeType", "responseSchema", "responseJsonSchema", "responseFormat", "candidateCount", "responseModalities")
	optBody = provider.Members("body", "more members of the request body, such as {safetySettings: [...]}; none that Emend sets itself",
		"contents", "systemInstruction", "system_instruction", "generationConfig", "generation_config", "cachedContent", "tools", "toolConfig")
)

// Options returns the options, in the order of the docs.
func Options() []provider.Option {
	return []provider.Option{optThinking, optCached, optConfig, optBody}
}

// CheckOptions refuses options that the dialect does not know, all in one error.
func CheckOptions(given map[string]any) error {
	return provider.CheckOptions("gemini", Options(), given)
}

func checkName(v any) error {
	if s, ok := v.(string); !ok || s == "" {
		return errors.New("must be the name of a cached content, such as cachedContents/abc")
	}
	return nil
}

// Dialect is the generateContent dialect. Make it with New.
type Dialect struct{}

// New returns the dialect.
func New() *Dialect { return &Dialect{} }
