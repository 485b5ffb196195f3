package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"emend/consumer"
	"emend/engine"
	"emend/engine/event"
	"emend/engine/pipeline"
	"emend/prompts"
	"emend/schemas"
	"emend/subjects"
)

// runPipeline publishes a pipeline run, shows its stages live and prints its result.
func (a *app) runPipeline(ctx context.Context, f natsFlags, o runOptions, args []string) error {
	if o.backend != "" || o.profile != "" {
		return errors.New("--backend and --profile are for a prompt's run; a pipeline's stages say theirs")
	}
	inputs, err := readInputs(args)
	if err != nil {
		return err
	}
	name, _, _ := strings.Cut(o.pipeline, "@")
	if !subjects.ValidName(name) {
		return fmt.Errorf("--pipeline %q: write NAME or NAME@VERSION", short(o.pipeline))
	}
	if o.id == "" {
		o.id = subjects.NewID()
	}
	if err := subjects.CheckID(o.id); err != nil {
		return err
	}
	req := schemas.PipelineRequest{Pipeline: o.pipeline, Inputs: inputs, Reuse: o.reuse, Attempts: o.attempts}
	if req.MaxCost, err = maxCost(o.maxCost); err != nil {
		return err
	}
	if err := localOf(o.dir, "", o.queue, false).checkPipeline(name, req); err != nil {
		return err
	}
	return f.ask(ctx, asking{dir: o.dir, name: "run", limit: o.timeout, spares: []string{"event", "get"}}, func(ctx context.Context, client *consumer.Client) error {
		tree := a.tree(true)
		watch := tree.show
		if a.json {
			watch = nil
		}
		r, err := client.RunPipeline(ctx, name, consumer.Key{Queue: o.queue, ID: o.id}, req, watch)
		return a.printRun(ctx, client, o, r, err)
	})
}

// tryPipeline runs a pipeline with the engine in this process.
func (a *app) tryPipeline(ctx context.Context, o tryOptions, args []string) error {
	inputs, err := readInputs(args)
	if err != nil {
		return err
	}
	most, err := maxCost(o.maxCost)
	if err != nil {
		return err
	}
	snap, err := prompts.LoadDir(o.dir)
	if err != nil {
		return err
	}
	eng, err := engine.New(snap)
	if err != nil {
		return err
	}
	defer eng.Close()
	req := engine.PipelineRequest{ID: "try", Pipeline: o.pipeline, Inputs: map[string]any{}, Attempts: o.attempts}
	if most != nil {
		req.MaxCost = *most
	}
	for name, raw := range inputs {
		req.Inputs[name] = raw
	}
	if !a.json {
		tree := a.tree(false)
		req.Progress = func(p pipeline.Tell) {
			tree.show(schemas.Event{Kind: schemas.EventStage, Pipeline: o.pipeline, Stage: p.Stage, Lane: p.Lane, Outcome: p.Outcome, Jobs: &p.Jobs})
		}
		req.Observer = event.Func(func(_ context.Context, e event.Event) { a.tryJobEvent(event.Wire(e)) })
	}
	r, err := eng.RunPipeline(ctx, req)
	if err != nil {
		return tryError(err)
	}
	return a.printTry(r)
}

// tryJobEvent prints what happens in a job, named by where it stands in the pipeline.
func (a *app) tryJobEvent(e schemas.Event) {
	if parts := strings.SplitN(e.RunID, "-", 3); len(parts) == 3 {
		e.RunID = parts[2]
	}
	switch e.Kind {
	case schemas.EventStarted, schemas.EventAttemptStarted, schemas.EventFinished:
		return // the stages tell them in sum
	}
	a.printEvent(e)
}
