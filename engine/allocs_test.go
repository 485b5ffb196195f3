package engine_test

import (
	"context"
	"strings"
	"testing"

	"emend/engine"
	"emend/internal/allocs"
	"emend/prompts"
	"emend/schemas"
)

// A run's allocations, from the request to its result, with a client that answers at once.
func TestAllocationsOfARun(t *testing.T) {
	answer := `{"a":1,"pad":"` + strings.Repeat("x", 1000) + `"}`
	snap, err := prompts.NewSnapshot(definitions(64, 64))
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(snap, engine.WithLLMClient(client(func(context.Context, *engine.GenerateRequest) (*engine.GenerateResponse, error) {
		return &engine.GenerateResponse{Text: answer}, nil
	})))
	if err != nil {
		t.Fatal(err)
	}
	for mode, pin := range map[string]allocs.Pin{
		schemas.ModeNone:       {Plain: 55, Race: 55},
		schemas.ModeJSON:       {Plain: 59, Race: 59},
		schemas.ModeJSONSchema: {Plain: 70, Race: 71},
	} {
		allocs.Check(t, "a run in mode "+mode, pin, func() {
			if r, err := e.Run(t.Context(), ask(mode)); err != nil || r.Status != schemas.StatusSucceeded {
				t.Fatal(err, r)
			}
		})
	}
}
