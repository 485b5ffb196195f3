package main

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"emend/consumer"
	"emend/prompts"
	"emend/subjects"
)

// streamsWithin bounds what the commands ask of JetStream.
const streamsWithin = 30 * time.Second

// streamsCmd prints or makes the streams, durables and buckets of a configuration.
func (a *app) streamsCmd() *cobra.Command {
	c := &cobra.Command{Use: "streams", Short: "Print or make the streams, durables and buckets"}
	c.AddCommand(a.streamsVerb("plan", "Print what differs from the configuration; change nothing", false),
		a.streamsVerb("apply", "Make the streams as the configuration needs them; widen, never narrow or delete", true), a.streamsExport())
	return c
}

func (a *app) streamsVerb(verb, short string, apply bool) *cobra.Command {
	var f natsFlags
	var dir string
	c := &cobra.Command{Use: verb, Short: short, Args: atMost(0), RunE: func(c *cobra.Command, _ []string) error {
		snap, err := prompts.LoadDir(dir, f.option())
		if err != nil {
			return err
		}
		nc, err := connect(snap.Config().NATS, "streams", false)
		if err != nil {
			return err
		}
		defer nc.Close()
		ctx, cancel := within(c.Context(), streamsWithin)
		defer cancel()
		return a.topology(ctx, nc, snap.Config(), apply)
	}}
	f.register(c)
	c.Flags().StringVar(&dir, "dir", ".", "the `FOLDER` with emend.yaml")
	return c
}

func (a *app) topology(ctx context.Context, nc *nats.Conn, cfg prompts.Config, apply bool) error {
	t, changes, err := plan(ctx, nc, cfg)
	if err != nil {
		return failed(err)
	}
	if a.json {
		if err := a.printJSON(append([]consumer.Change{}, changes...)); err != nil {
			return err
		}
	} else {
		a.printChanges(changes)
	}
	if !apply {
		return nil
	}
	return failed(t.apply(ctx, changes))
}

func (a *app) printChanges(changes []consumer.Change) {
	if len(changes) == 0 {
		fmt.Fprintln(a.out, a.colour(green, "everything is as it should be"))
	}
	for _, c := range changes {
		fmt.Fprintf(a.out, "%s %s %s %s\n", c.Action, c.Kind, c.Name, a.colour(dim, c.Detail))
	}
}

// applier applies a plan.
type applier struct {
	apply func(context.Context, []consumer.Change) error
}

func plan(ctx context.Context, nc *nats.Conn, cfg prompts.Config) (applier, []consumer.Change, error) {
	names, err := subjects.New(cfg.NATS.Space)
	if err != nil {
		return applier{}, nil, err
	}
	if err := consumer.CheckServer(nc, cfg.NATS); err != nil {
		return applier{}, nil, err
	}
	js, err := consumer.JetStream(nc, cfg.NATS)
	if err != nil {
		return applier{}, nil, err
	}
	t := consumer.NewTopology(names, cfg, 0)
	changes, err := t.Plan(ctx, js)
	return applier{t.Apply}, changes, err
}
