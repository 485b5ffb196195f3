// Package anthropic is the wire of Anthropic's Messages API, and of gateways that speak it.
//
// System messages go to system, in order; turns of one role that follow each other become one. A message of blanks alone
// is left out, since the API refuses it. What the API has no field for (seed, the penalties) is not sent.
//
// The candidate is the text of all text blocks, even an empty one, or the arguments of the tool that Emend forced, byte
// for byte. Thinking is skipped. A turn that the model ended without any block is an empty candidate. Everything else that a 2xx may hold is a malformed envelope or a refusal and says by name
// which field was at fault (seed 000).
package anthropic

import (
	"encoding/json"
	"errors"
	"regexp"

	"emend/engine/provider"
)

// KeyHeader carries the key unless the backend names another header.
const KeyHeader = "X-Api-Key"

// Beta is the anthropic-beta header of native_form output_format. A backend that sets the header itself must list it.
const Beta = "structured-outputs-2025-11-13"

// DefaultMaxTokens is the max_tokens of a request that names none: the API demands one, and every model takes this one.
const DefaultMaxTokens = 4096

// DefaultVersion is the anthropic-version header. 2026-10-21 refuses temperature, top_p and top_k (providers.md).
const DefaultVersion = "2023-06-01"

// Native forms.
const (
	formFormat = "output_config"
	formTool   = "tool"
	formOld    = "output_format"
)

// Options of the dialect.
var (
	optVersion = provider.Option{Name: "version", Check: checkVersion,
		Doc: "the anthropic-version header, by default " + DefaultVersion + "; 2026-10-21 refuses temperature and top_p"}
	optForm = provider.Option{Name: "native_form", Words: []string{formFormat, formTool, formOld},
		Doc: "how a schema goes out: as output_config.format, as a forced tool, or as output_format with its beta header"}
	optFallback = provider.Option{Name: "native_fallback", Words: []string{"none", formTool},
		Doc: "tool sends a schema that the form cannot carry as a forced tool; one that the provider finds too large is sent again so, as one more attempt"}
	optMaxTokens = provider.Option{Name: "max_tokens", Check: checkMaxTokens,
		Doc: "max_tokens where no settings name max_output_tokens, by default 4096: the API demands one"}
	optSession = provider.Option{Name: "session", Words: []string{"metadata.user_id", "none"},
		Doc: "the field that carries a run's session_id"}
	optCache = provider.Option{Name: "cache", Words: []string{"cache_control", "none"},
		Doc: "whether a message's cache lifetime is sent, as cache_control with the ttl 5m or 1h, whichever holds it; at most four are sent, the last ones"}
	optBody = provider.Members("body", "more members of the request body, such as {thinking: {type: adaptive}, top_k: 40}; none that Emend sets itself",
		"model", "messages", "system", "max_tokens", "temperature", "top_p", "stop_sequences", "stream", "metadata", "tools", "tool_choice",
		"output_config", "output_format")
)

// Options returns the options, in the order of the docs.
func Options() []provider.Option {
	return []provider.Option{optVersion, optForm, optFallback, optMaxTokens, optSession, optCache, optBody}
}

var versionForm = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)

func checkVersion(v any) error {
	if s, ok := v.(string); ok && versionForm.MatchString(s) {
		return nil
	}
	return errors.New("must be a version such as " + DefaultVersion)
}

func checkMaxTokens(v any) error {
	if n, ok := whole(v); ok && n >= 1 {
		return nil
	}
	return errors.New("must be a whole number from 1")
}

// whole reads an option's number, which is a json.Number from a file and any number from a program.
func whole(v any) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int64:
		return v, true
	case float64:
		return int64(v), v == float64(int64(v))
	case json.Number:
		n, err := v.Int64()
		return n, err == nil
	}
	return 0, false
}

// Dialect is the Messages dialect. Make it with New.
type Dialect struct{}

// New returns the dialect.
func New() *Dialect { return &Dialect{} }
