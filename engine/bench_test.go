package engine_test

import (
	"context"
	"strings"
	"testing"

	"emend/engine"
	"emend/prompts"
	"emend/schemas"
)

// BenchmarkRun is the engine's own cost of one run: an injected client that answers at once. The answer has 1 KB;
// under json_schema its verdict is part of the run.
func BenchmarkRun(b *testing.B) {
	answer := `{"a":1,"pad":"` + strings.Repeat("x", 1000) + `"}`
	snap, err := prompts.NewSnapshot(definitions(64, 64))
	if err != nil {
		b.Fatal(err)
	}
	e, err := engine.New(snap, engine.WithLLMClient(client(func(context.Context, *engine.GenerateRequest) (*engine.GenerateResponse, error) {
		return &engine.GenerateResponse{Text: answer}, nil
	})))
	if err != nil {
		b.Fatal(err)
	}
	for _, mode := range []string{schemas.ModeNone, schemas.ModeJSON, schemas.ModeJSONSchema} {
		b.Run(mode, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r, err := e.Run(b.Context(), ask(mode)); err != nil || r.Status != schemas.StatusSucceeded {
					b.Fatal(err, r)
				}
			}
		})
	}
}
