package prompts_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing/fstest"

	"emend/prompts"
	"emend/schemas"
)

// files stands in for an embed.FS.
var files = fstest.MapFS{"prompts/greet@1.yaml": &fstest.MapFile{Data: []byte(`
profile: fast
inputs: {name: {max: 64B}, tone: {default: friendly}}
messages:
  - system: Be {{ .tone }}.
  - user: Greet {{ .name }}.
output: {mode: basic, repair_attempts: 1}
`)}}

func load() (*prompts.Snapshot, error) {
	return prompts.LoadFS(files,
		prompts.WithBackend("openai", prompts.Backend{Dialect: "openai", URL: "https://api.openai.com/v1", Key: prompts.Secret{Env: "OPENAI_API_KEY"}}),
		prompts.WithProfile("fast", prompts.Profile{Backend: "openai", Model: "gpt-4o-mini"}))
}

func ExampleLoadFS() {
	s, err := load()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range s.Prompts() {
		fmt.Println(p.ID, p.Version, p.Profile)
	}
	// Output: greet 1 fast
}

func ExampleSnapshot_Plan() {
	s, err := load()
	if err != nil {
		fmt.Println(err)
		return
	}
	req := schemas.Request{Prompt: "greet", Inputs: map[string]json.RawMessage{"name": json.RawMessage(`"{{ .tone }}"`)}}
	plan, err := s.Plan(req, prompts.Origin{Library: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range plan.Messages {
		fmt.Println(m.Role, m.Content)
	}
	fmt.Println(plan.Prompt, plan.Model, "at most", plan.MaxCalls(), "calls")
	// Output:
	// system Be friendly.
	// user Greet {{ .tone }}.
	// greet@1 gpt-4o-mini at most 6 calls
}

func ExampleRequestError() {
	s, err := load()
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = s.Plan(schemas.Request{Prompt: "greet", Inputs: map[string]json.RawMessage{"nam": json.RawMessage(`1`)}}, prompts.Origin{Library: true})
	fmt.Println(errors.Is(err, prompts.ErrMalformed))
	fmt.Println(err)
	// Output:
	// true
	// malformed request: inputs.nam: is no input of prompt greet@1; did you mean name?; inputs.name: is missing: the prompt needs it
}
