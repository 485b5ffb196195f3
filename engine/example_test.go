package engine_test

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"

	"emend/engine"
	"emend/engine/event"
	"emend/engine/provider/scripted"
	"emend/prompts"
	"emend/schemas"
)

// Prompts and schemas are part of the program.
//
//go:embed all:testdata/proposal
var proposalFiles embed.FS

// The model is an HTTP server of our own that answers one 429 first.
const proposalScript = `
rules:
  - match: {model: writer-1}
    replies:
      - {status: 429, retry_after: "0.01"}
      - {json: {title: Shorter, change: Cut the second sentence.}, usage: {input: 40, output: 12}}
  - match: {model: critic-1}
    replies:
      - {json: {accept: false, reason: The second sentence holds the date.}, usage: {input: 60, output: 15}}
`

// modelTransport sends every request to the controlled server, over real HTTP.
type modelTransport struct{ host string }

// RoundTrip changes only where the request goes.
func (t modelTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host = t.host
	return http.DefaultTransport.RoundTrip(r)
}

// A structured proposal, then an independent assessment by another model, on one finite backend. Both answers satisfy
// their schemas; that says nothing of whether the proposal is any good. The assessment does, and what to make of it is
// the application's.
func Example() {
	script, err := scripted.Parse([]byte(proposalScript))
	if err != nil {
		log.Fatal(err)
	}
	model := httptest.NewServer(script.Handler())
	defer model.Close()
	at, err := url.Parse(model.URL)
	if err != nil {
		log.Fatal(err)
	}
	files, err := fs.Sub(proposalFiles, "testdata/proposal")
	if err != nil {
		log.Fatal(err)
	}
	snapshot, err := prompts.LoadFS(files)
	if err != nil {
		log.Fatal(err)
	}
	eng, err := engine.New(snapshot, engine.WithTransport(modelTransport{at.Host}))
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()

	calls, retries := 0, 0
	observe := event.Func(func(_ context.Context, e event.Event) {
		switch e.(type) {
		case event.Attempt:
			calls++
		case event.Retry:
			retries++
		}
	})
	proposal, err := eng.Run(context.Background(), engine.RunRequest{Prompt: "propose", Inputs: map[string]any{"topic": "the notice"}, Observer: observe})
	if err != nil {
		log.Fatal(err)
	}
	assessment, err := eng.Run(context.Background(), engine.RunRequest{Prompt: "assess", Inputs: map[string]any{"proposal": proposal.Output}, Observer: observe})
	if err != nil {
		log.Fatal(err)
	}
	var verdict struct{ Accept bool }
	if err := json.Unmarshal(assessment.Output, &verdict); err != nil {
		log.Fatal(err)
	}
	fmt.Println("proposal fits its schema:", proposal.Validation.Valid)
	fmt.Println("the critic accepts it:", verdict.Accept)
	fmt.Println("calls:", calls, "retries:", retries)
	fmt.Println("tokens in:", *proposal.Usage.Input+*assessment.Usage.Input)
	// Output:
	// proposal fits its schema: true
	// the critic accepts it: false
	// calls: 3 retries: 1
	// tokens in: 100
}

// A client of the caller's own in place of the built-in providers; it owns its retries, the engine the repair.
func ExampleWithLLMClient() {
	snapshot, err := prompts.NewSnapshot(prompts.Definitions{Config: prompts.Config{
		Backends: map[string]prompts.Backend{"own": {Dialect: "scripted"}},
		Profiles: map[string]prompts.Profile{"own": {Backend: "own", Model: "m"}},
	}})
	if err != nil {
		log.Fatal(err)
	}
	answers := []string{"three", "3"}
	eng, err := engine.New(snapshot, engine.WithLLMClient(client(func(_ context.Context, r *engine.GenerateRequest) (*engine.GenerateResponse, error) {
		next := answers[0]
		answers = answers[1:]
		return &engine.GenerateResponse{Text: next}, nil
	})))
	if err != nil {
		log.Fatal(err)
	}
	res, err := eng.Run(context.Background(), engine.RunRequest{Profile: "own",
		Messages: []engine.Message{{Role: schemas.RoleUser, Content: "How many? JSON only."}},
		Output:   &engine.OutputContract{Mode: schemas.ModeJSON, RepairAttempts: 1}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.RawOutput, res.Validation.RepairAttempts)
	// Output: 3 1
}

// Prepare shows what would be sent, and how many calls it can take at most, before anything is sent.
func ExampleEngine_Prepare() {
	files, err := fs.Sub(proposalFiles, "testdata/proposal")
	if err != nil {
		log.Fatal(err)
	}
	snapshot, err := prompts.LoadFS(files)
	if err != nil {
		log.Fatal(err)
	}
	eng, err := engine.New(snapshot)
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	p, err := eng.Prepare(context.Background(), engine.RunRequest{Prompt: "propose@1", Inputs: map[string]any{"topic": "{{ .x }}"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Plan().Model, p.Plan().MaxCalls())
	fmt.Println(p.Plan().Messages[1].Content)
	// Output:
	// writer-1 6
	// Topic: {{ .x }}
}
