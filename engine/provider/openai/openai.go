// Package openai is the wire of OpenAI chat completions, which many servers speak: vLLM, llama.cpp, Ollama's /v1,
// OpenRouter, gateways. Where they differ, an option of the endpoint decides.
//
// Only an explicit string is a candidate, even an empty one (seed 000); everything else that a 2xx may hold is a malformed
// envelope, a refusal or a filter, and says by name which field was at fault.
package openai

import "emend/engine/provider"

// Options of the dialect.
var (
	optMaxTokens = provider.Option{Name: "max_tokens_field", Words: []string{"max_tokens", "max_completion_tokens"},
		Doc: "the field that carries max_output_tokens; OpenAI's reasoning models know only max_completion_tokens"}
	optSession = provider.Option{Name: "session", Words: []string{"prompt_cache_key", "session_id", "safety_identifier", "user", "none"},
		Doc: "the field that carries a run's session_id; OpenRouter's is session_id"}
	optCache = provider.Option{Name: "cache", Words: []string{"none", "cache_control"},
		Doc: "whether a message's cache lifetime is sent, as cache_control on its text part (OpenRouter)"}
	optStrict = provider.Option{Name: "strict", Words: []string{"auto", "never"},
		Doc: "auto sends strict: true with a schema that already fits OpenAI's strict subset; no schema is ever rewritten"}
	optSeed = provider.Option{Name: "seed_field", Words: []string{"seed", "random_seed", "none"},
		Doc: "the field that carries a seed; Mistral's is random_seed, and none sends none"}
	optContentParts = provider.Option{Name: "content_parts", Words: []string{"malformed", "join"},
		Doc: "what an answer in an array of text parts is: a malformed reply, or the parts joined"}
	optDeveloper = provider.Option{Name: "developer_role", Words: []string{"developer", "system"},
		Doc: "the role word of developer messages; many compatible servers know only system"}
	optBody = provider.Members("body", "more members of the request body, such as {provider: {require_parameters: true}}; none that Emend sets itself", reserved...)
)

// Options returns the options, in the order of the docs.
func Options() []provider.Option {
	return []provider.Option{optMaxTokens, optSession, optCache, optStrict, optSeed, optContentParts, optDeveloper, optBody}
}

// CheckOptions refuses options that the dialect does not know, all in one error.
func CheckOptions(given map[string]any) error {
	return provider.CheckOptions("openai", Options(), given)
}

// reserved are the members that Emend sets, or that would change what a reply is.
var reserved = []string{"model", "messages", "temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "random_seed", "stop",
	"frequency_penalty", "presence_penalty", "reasoning_effort", "response_format", "stream", "stream_options", "n",
	"prompt_cache_key", "session_id", "safety_identifier", "user", "tools", "tool_choice", "functions", "function_call"}

// Dialect is the OpenAI chat dialect. Make it with New.
type Dialect struct{}

// New returns the dialect.
func New() *Dialect { return &Dialect{} }
