package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"emend/consumer"
	"emend/schemas"
	"emend/subjects"
)

// askWithin bounds a request to a worker.
const askWithin = 10 * time.Second

// get prints a run's result, or where it stands.
func (a *app) get() *cobra.Command {
	f := &queueFlags{}
	return f.add(&cobra.Command{Use: "get ID", Short: "Print a run's result, or where it stands", Args: runID,
		RunE: func(c *cobra.Command, args []string) error {
			return f.with(c.Context(), "get", askWithin, func(ctx context.Context, client *consumer.Client) error {
				r, p, err := client.Get(ctx, consumer.Key{Queue: f.queue, ID: args[0]})
				if err == nil && r == nil {
					return a.printProgress(p)
				}
				if err == nil {
					err = client.Fill(ctx, r)
				}
				if err != nil {
					return failed(err)
				}
				return a.printResult(r)
			})
		}})
}

// printProgress exits 4 for a run that has not ended: a script must not take it for a result.
func (a *app) printProgress(p *schemas.Progress) error {
	if a.json {
		if err := a.printJSON(p); err != nil {
			return err
		}
		if p.State == schemas.StateNotFound {
			return &exitError{code: exitFailed}
		}
		return &exitError{code: exitPending}
	}
	if p.State == schemas.StateNotFound {
		return failed(fmt.Errorf("no run %s in queue %s: neither a request nor a result is stored (a refused request is in the dead letters: %s)", p.ID, p.Queue, a.again("dead ls")))
	}
	fmt.Fprintf(a.out, "%s %s", a.colour(bold, p.ID), p.State)
	if p.Cause != "" {
		fmt.Fprintf(a.out, ": %s", p.Cause)
	}
	if p.Place > 0 {
		fmt.Fprintf(a.out, " (at most %d before it)", p.Place)
	}
	fmt.Fprintln(a.out)
	return &exitError{code: exitPending}
}

// cancel stops a run and says what really happened.
func (a *app) cancel() *cobra.Command {
	f := &queueFlags{}
	return f.add(&cobra.Command{Use: "cancel ID", Short: "Stop a run, and say what really happened", Args: runID,
		RunE: func(c *cobra.Command, args []string) error {
			return f.with(c.Context(), "cancel", askWithin, func(ctx context.Context, client *consumer.Client) error {
				r, err := client.Cancel(ctx, consumer.Key{Queue: f.queue, ID: args[0]})
				if err != nil {
					return failed(err)
				}
				return a.printCancel(r)
			})
		}})
}

// printCancel exits 0 only if this call cancelled the run.
func (a *app) printCancel(r *schemas.CancelReply) error {
	switch {
	case a.json:
		if err := a.printJSON(r); err != nil || r.Cancelled {
			return err
		}
		return &exitError{code: exitFailed}
	case r.Cancelled:
		fmt.Fprintln(a.out, "cancelled")
		return nil
	case r.Status == schemas.CancelNotFound:
		return failed(fmt.Errorf("no run %s in queue %s", r.ID, r.Queue))
	}
	return failed(fmt.Errorf("not cancelled: the run had ended as %s", r.Status))
}

// runID takes exactly one run's id.
func runID(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return errors.New("give the ID of one run")
	}
	return subjects.CheckID(args[0])
}

func validIDs(_ *cobra.Command, args []string) error {
	for _, id := range args {
		if err := subjects.CheckID(id); err != nil {
			return err
		}
	}
	return nil
}
