// Package ollama is the wire of Ollama's own chat, POST /api/chat below the server's address. Its /v1, which speaks OpenAI's,
// ignores a schema's strictness and more (providers.md); this one enforces what Carry says.
//
// It has no field for a run's session and none for a message's cache lifetime, so neither is sent. Ollama shortens a
// conversation that is longer than the model's context in silence, unless option body says truncate: false.
package ollama

import (
	"encoding/json"
	"errors"
	"time"

	"emend/engine/provider"
)

// Options of the dialect.
var (
	optKeepAlive = provider.Option{Name: "keep_alive", Check: checkKeepAlive,
		Doc: "how long the model stays loaded after a call: a duration such as 10m, a number of seconds, or -1 for good"}
	optThink = provider.Option{Name: "think", Words: []string{"effort", "never", "always"},
		Doc: "whether the model thinks: as reasoning_effort says, or never, or always; models that cannot think refuse always"}
	optParameters = provider.Members("parameters", "more members of options, such as {num_ctx: 8192}; none that Emend sets itself",
		"temperature", "top_p", "num_predict", "seed", "stop", "frequency_penalty", "presence_penalty")
	optBody = provider.Members("body", "more members of the request body, such as {truncate: false}; none that Emend sets itself",
		"model", "messages", "format", "options", "keep_alive", "think", "stream", "tools", "_debug_render_only")
)

// Options returns the options, in the order of the docs.
func Options() []provider.Option {
	return []provider.Option{optKeepAlive, optThink, optParameters, optBody}
}

// CheckOptions refuses options that the dialect does not know, all in one error.
func CheckOptions(given map[string]any) error {
	return provider.CheckOptions("ollama", Options(), given)
}

func checkKeepAlive(v any) error {
	if _, _, err := keepAlive(v); err != nil {
		return err
	}
	return nil
}

// keepAlive is a duration as text, or a number of seconds: a json.Number from a file, any other from a program.
func keepAlive(v any) (text string, seconds int64, err error) {
	switch v := v.(type) {
	case int:
		return "", int64(v), nil
	case int64:
		return "", v, nil
	case float64:
		if v == float64(int64(v)) {
			return "", int64(v), nil
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return "", n, nil
		}
	case string:
		if _, err := time.ParseDuration(v); err == nil {
			return v, 0, nil
		}
	}
	return "", 0, errors.New("must be a duration such as 10m, or a whole number of seconds")
}

// Dialect is Ollama's chat dialect. Make it with New.
type Dialect struct{}

// New returns the dialect.
func New() *Dialect { return &Dialect{} }
