// Package engine executes LLM runs in the calling process; it needs no NATS. A run renders a prompt (or takes inline
// messages), calls a model, retries what is transient, judges the answer under its output contract and has the model
// mend it within a fixed budget (seeds 000 and 003).
//
//	snap, err := prompts.LoadFS(files)
//	eng, err := engine.New(snap)
//	res, err := eng.Run(ctx, engine.RunRequest{Prompt: "extract-invoice", Inputs: map[string]any{"document": text}})
//
// An answer that is structurally valid is not thereby true, complete or acceptable: that judgement is the caller's.
//
// An Engine is safe for concurrent use. All runs of one engine share one gate per backend; engines, processes and other
// clients do not share their bounds.
package engine
