package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"emend/consumer"
	"emend/engine"
	"emend/internal/devnats"
	"emend/prompts"
	"emend/schemas"
)

// demoFiles are the demo's definitions and its model's script.
//
//go:embed all:demo
var demoFiles embed.FS

// demoRuns are the demo's three runs: one right at once, one after a 429, one after a repair.
var demoRuns = []struct{ id, text string }{
	{"right-at-once", "The parcel came early and the chair is lovely."},
	{"after-a-429", "The line was busy, but the agent was kind."},
	{"after-a-repair", "Half of the order is missing and nobody answers."},
}

// demoWithin bounds the demo.
const demoWithin = time.Minute

// demo runs an embedded server, a worker and a scripted model in this process.
func (a *app) demo() *cobra.Command {
	return &cobra.Command{Use: "demo", Short: "Three runs in one process: an embedded server, a worker and a scripted model", Args: atMost(0),
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, cancel := within(c.Context(), demoWithin)
			defer cancel()
			return a.runDemo(ctx)
		}}
}

func (a *app) runDemo(ctx context.Context) error {
	snap, err := demoSnapshot()
	if err != nil {
		return err
	}
	srv, err := devnats.Start(devnats.Options{})
	if err != nil {
		return failed(err)
	}
	defer srv.Stop()
	nc, err := srv.Connect()
	if err != nil {
		return failed(err)
	}
	defer nc.Close()
	eng, err := engine.New(snap, engine.WithTrouble())
	if err != nil {
		return err
	}
	defer eng.Close()
	ready := make(chan struct{})
	w, err := consumer.NewWorker(nc, eng, consumer.Options{ID: "demo", Log: zerolog.Nop(), Ready: func() { close(ready) }})
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(serving) }()
	select {
	case <-ready:
		err = a.demoClient(ctx, srv)
	case err = <-ended:
		ended <- err
	}
	stop()
	return failed(errors.Join(err, <-ended))
}

func demoSnapshot() (*prompts.Snapshot, error) {
	sub, err := fs.Sub(demoFiles, "demo")
	if err != nil {
		return nil, err
	}
	return prompts.LoadFS(sub)
}

// demoClient is a requester of its own, as any NATS client would be.
func (a *app) demoClient(ctx context.Context, srv *devnats.Server) error {
	nc, err := srv.Connect()
	if err != nil {
		return err
	}
	defer nc.Close()
	client, err := consumer.NewClient(nc, "emend", "")
	if err != nil {
		return err
	}
	for _, r := range demoRuns {
		text, err := schemas.Marshal(r.text)
		if err != nil {
			return err
		}
		body := fmt.Appendf(nil, `{"prompt": "sentiment", "inputs": {"text": %s}}`, text)
		res, err := client.Run(ctx, "demo", consumer.Key{Queue: "default", ID: r.id}, body, a.printEvent)
		if err != nil {
			return fmt.Errorf("run %s: %w", r.id, err)
		}
		if err := a.printResult(res); err != nil {
			return err
		}
		if !a.json {
			fmt.Fprintln(a.out)
		}
	}
	return nil
}
