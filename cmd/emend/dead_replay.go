package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"emend/consumer"
	"emend/schemas"
)

// deadReplay publishes one dead letter anew, or all of a queue.
func (a *app) deadReplay() *cobra.Command {
	f := &queueFlags{}
	var r schemas.Replay
	var reason string
	var all bool
	c := f.add(&cobra.Command{Use: "replay [ID]", Short: "Run a dead letter again, under its id", Args: cobra.MatchAll(atMost(1), validIDs),
		Long: "Publishes the request of a dead letter anew, under its id. What is given replaces what the request has; the new result\n" +
			"replaces the failed one, and the letter goes. A request that would be refused again is not published.",
		RunE: func(c *cobra.Command, args []string) error {
			if (len(args) == 1) == all {
				return errors.New("give the ID of one run, or --all")
			}
			return f.with(c.Context(), "dead", 0, func(ctx context.Context, client *consumer.Client) error {
				if all {
					return a.replayAll(ctx, client, f.queue, reason, r)
				}
				r.ID = args[0]
				return a.replayOne(ctx, client, f.queue, r)
			})
		}})
	c.Flags().Uint64Var(&r.Seq, "seq", 0, "one of several letters of the id, by its `SEQ` (default: the latest)")
	c.Flags().StringVar(&r.Prompt, "prompt", "", "another prompt, as `ID@VERSION`")
	c.Flags().StringVar(&r.Profile, "profile", "", "another profile's `NAME`")
	c.Flags().StringVar(&r.Backend, "backend", "", "another backend's `NAME` (default: the profile's)")
	c.Flags().BoolVar(&all, "all", false, "replay all letters of the queue that can be, and say which cannot")
	c.Flags().StringVar(&reason, "reason", "", "with --all: only letters of this error `CATEGORY`")
	return c
}

func (a *app) replayOne(ctx context.Context, client *consumer.Client, queue string, r schemas.Replay) error {
	ctx, cancel := within(ctx, askWithin)
	defer cancel()
	out, err := client.Replay(ctx, queue, r)
	if err != nil {
		return failed(err)
	}
	if a.json {
		return a.printJSON(out)
	}
	at := "as a pipeline run"
	if out.Backend != "" {
		at = "at backend " + out.Backend
	}
	fmt.Fprintf(a.out, "%s is queued again %s%s; follow it with %s\n", a.colour(bold, out.ID), at, changes(out.Changed), a.again("watch", out.ID))
	return nil
}

func changes(names []string) string {
	if len(names) == 0 {
		return ", as it was"
	}
	return ", changed: " + strings.Join(names, ", ")
}

// replayAll goes through the letters that are there when it begins: one that fails again is a letter behind them. It
// fails if one could not be replayed.
func (a *app) replayAll(ctx context.Context, client *consumer.Client, queue, reason string, r schemas.Replay) error {
	letters, err := lettersOf(ctx, client, queue, reason)
	if err != nil {
		return failed(err)
	}
	refused := 0
	for _, l := range letters {
		one := r
		one.ID, one.Seq = l.ID, l.Seq
		if ctx.Err() != nil {
			return failed(ctx.Err())
		}
		if err := a.replayOne(ctx, client, queue, one); err != nil {
			refused++
			fmt.Fprintf(a.err, "%s (letter %d): %v\n", l.ID, l.Seq, err)
		}
	}
	if !a.json {
		fmt.Fprintf(a.out, "%d of %s of queue %s queued again\n", len(letters)-refused, counted(len(letters), "dead letter"), queue)
	}
	if refused > 0 {
		return failed(fmt.Errorf("%s could not be replayed", counted(refused, "dead letter")))
	}
	return nil
}

func lettersOf(ctx context.Context, client *consumer.Client, queue, reason string) ([]schemas.DeadEntry, error) {
	var out []schemas.DeadEntry
	for q := (schemas.DeadQuery{Reason: reason, Limit: 1000}); ; {
		ctx, cancel := within(ctx, askWithin)
		list, err := client.Letters(ctx, queue, q)
		cancel()
		if err != nil {
			return nil, err
		}
		out = append(out, list.Letters...)
		if !list.More {
			return out, nil
		}
		q.After = list.After
	}
}
