package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"emend/engine"
	"emend/prompts"
)

// The program learns why a validator came to no decision: the error itself, a panic's value and where it was. Of a skip, a rejection
// and an approval there is nothing to tell, and the result shows none of it.
func TestValidatorFailuresAreTold(t *testing.T) {
	broken := errors.New("secret of the error")
	vote := func(v engine.Vote, err error) func(context.Context, engine.CandidateView) (engine.Vote, error) {
		return func(context.Context, engine.CandidateView) (engine.Vote, error) { return v, err }
	}
	snap, err := prompts.LoadFS(fstest.MapFS{
		"emend.yaml":         {Data: []byte("backends: {m: {dialect: openai, url: http://x}}\nprofiles: {p: {backend: m, model: m}}\n")},
		"prompts/say@1.yaml": {Data: []byte("profile: p\nmessages: [{user: hi}]\noutput: {mode: json}\nchecks: [{go: broken}, {go: panics}, {go: throws}, {go: skips}, {go: fine}]\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	type key struct{}
	told := map[string]error{}
	e, err := engine.New(snap, engine.WithLLMClient(clientFunc(func(context.Context, *engine.GenerateRequest) (*engine.GenerateResponse, error) {
		return &engine.GenerateResponse{Text: "1"}, nil
	})), engine.WithValidators(
		engine.Validator{Name: "broken", Validate: vote(engine.Vote{}, fmt.Errorf("totals: %w", broken))},
		engine.Validator{Name: "panics", Validate: func(context.Context, engine.CandidateView) (engine.Vote, error) { panic("secret of the panic") }},
		engine.Validator{Name: "throws", Validate: func(context.Context, engine.CandidateView) (engine.Vote, error) { panic(engine.ErrSkip) }},
		engine.Validator{Name: "skips", Validate: vote(engine.Vote{}, fmt.Errorf("no table: %w", engine.ErrSkip))},
		engine.Validator{Name: "fine", Validate: vote(engine.Vote{}, nil)},
	), engine.WithValidatorFailures(func(ctx context.Context, validator string, err error) {
		if ctx.Value(key{}) != "the run's" {
			t.Errorf("%s: another context", validator)
		}
		told[validator] = err
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	r, err := e.Run(context.WithValue(t.Context(), key{}, "the run's"), engine.RunRequest{Prompt: "say"})
	if err != nil {
		t.Fatal(err)
	}
	if len(told) != 3 || !errors.Is(told["broken"], broken) {
		t.Fatalf("%v", told)
	}
	if s := told["panics"].Error(); !strings.Contains(s, "secret of the panic") || !strings.Contains(s, "validatorfailures_test.go") {
		t.Errorf("%s", s)
	}
	if told["throws"] == nil || errors.Is(told["throws"], engine.ErrSkip) {
		t.Errorf("%v", told["throws"])
	}
	if text, _ := json.Marshal(r); strings.Contains(string(text), "secret") {
		t.Errorf("shown: %s", text)
	}
}
