// Package dialects is the table of the wires that Emend speaks. A new provider is one folder, one line here and its
// fixtures for package providertest.
package dialects

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"emend/engine/provider"
	"emend/engine/provider/anthropic"
	"emend/engine/provider/gemini"
	"emend/engine/provider/ollama"
	"emend/engine/provider/openai"
	"emend/engine/provider/scripted"
	"emend/schemas"
)

// Entry is one dialect of the table.
type Entry struct {
	// Name is the word of a backend's dialect.
	Name string
	// Doc is its line in the docs.
	Doc string
	// New returns the dialect, to be shared by all backends that speak it.
	New func() provider.Dialect
	// Options lists the dialect's options.
	Options func() []provider.Option
	// Carry says how the dialect carries a schema as its native constraint.
	Carry provider.Carry
	// Transport makes the transport of a dialect that needs no network, from a backend's checked options; nil for all
	// others.
	Transport func(options map[string]any) (http.RoundTripper, error)
	// URL stands in for the url of a backend that needs none; "" means that a backend must name one.
	URL string
	// Home is the provider's own address and KeyEnv the variable that customarily holds its key, for who names neither.
	Home, KeyEnv string
}

// CheckOptions refuses unknown options and wrong values, all in one error.
func (e Entry) CheckOptions(given map[string]any) error {
	return provider.CheckOptions(e.Name, e.Options(), given)
}

// KeyHeader is the header that carries a backend's key unless the backend names one: what the dialect's requests say.
func (e Entry) KeyHeader() string {
	least := &provider.Request{Model: "m", Messages: []schemas.Message{{Role: schemas.RoleUser, Content: "?"}}}
	if wire, err := e.New().Build(&provider.Endpoint{}, least); err == nil && wire.KeyHeader != "" {
		return wire.KeyHeader
	}
	return "Authorization"
}

// table is every dialect, in the order of the docs.
var table = []Entry{
	{Name: "openai", Doc: "OpenAI chat completions, and the many servers that speak them",
		New: func() provider.Dialect { return openai.New() }, Options: openai.Options, Carry: openai.Carry,
		Home: "https://api.openai.com/v1", KeyEnv: "OPENAI_API_KEY"},
	{Name: "anthropic", Doc: "Anthropic's Messages API, and gateways that speak it",
		New: func() provider.Dialect { return anthropic.New() }, Options: anthropic.Options, Carry: anthropic.Carry,
		Home: "https://api.anthropic.com/v1", KeyEnv: "ANTHROPIC_API_KEY"},
	{Name: "gemini", Doc: "Google's generateContent, of the Gemini API and of Vertex AI",
		New: func() provider.Dialect { return gemini.New() }, Options: gemini.Options, Carry: gemini.Carry,
		Home: "https://generativelanguage.googleapis.com/v1beta", KeyEnv: "GEMINI_API_KEY"},
	{Name: "ollama", Doc: "Ollama's own chat, not its OpenAI-compatible one",
		New: func() provider.Dialect { return ollama.New() }, Options: ollama.Options, Carry: ollama.Carry,
		Home: "http://localhost:11434"},
	{Name: "scripted", Doc: "a script of answers and faults in place of a model, without a network",
		New: func() provider.Dialect { return openai.New() }, Options: scriptedOptions, Carry: openai.Carry,
		Transport: scriptedTransport, URL: "http://scripted.invalid/v1"},
}

// Lookup returns a dialect by name.
func Lookup(name string) (Entry, error) {
	for _, e := range table {
		if e.Name == name {
			return e, nil
		}
	}
	return Entry{}, fmt.Errorf("dialect %q is unknown: it must be one of %s", name, strings.Join(Names(), ", "))
}

// Names lists the dialects.
func Names() []string {
	names := make([]string, len(table))
	for i, e := range table {
		names[i] = e.Name
	}
	return names
}

// OptionScript is the option of scripted that holds the script's YAML: its content, not its path, since only whoever
// loads definitions reads files.
const OptionScript = "script"

func scriptedOptions() []provider.Option {
	return append(openai.Options(), provider.Option{Name: OptionScript, Check: checkScript, Doc: "the script, as YAML; without one every answer is {\"ok\":true}"})
}

func checkScript(v any) error {
	text, ok := v.(string)
	if !ok {
		return errors.New("must be the text of a script")
	}
	_, err := scripted.Parse([]byte(text))
	return err
}

func scriptedTransport(options map[string]any) (http.RoundTripper, error) {
	text, _ := options[OptionScript].(string)
	script, err := scripted.Parse([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("options.script: %w", err)
	}
	return script.Transport(), nil
}
