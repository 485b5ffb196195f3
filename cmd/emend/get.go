package main

import (
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
	var f natsFlags
	var queue, dir string
	c := &cobra.Command{Use: "get ID", Short: "Print a run's result, or where it stands", Args: runID,
		RunE: func(c *cobra.Command, args []string) error {
			client, nc, err := f.client(dir, "get")
			if err != nil {
				return err
			}
			defer nc.Close()
			ctx, cancel := within(c.Context(), askWithin)
			defer cancel()
			r, p, err := client.Get(ctx, consumer.Key{Queue: queue, ID: args[0]})
			if err != nil {
				return failed(err)
			}
			if r != nil {
				if err := client.Fill(ctx, r); err != nil {
					return failed(err)
				}
				return a.printResult(r)
			}
			return a.printProgress(p)
		}}
	f.register(c)
	c.Flags().StringVar(&queue, "queue", "default", "the queue's `NAME`")
	c.Flags().StringVar(&dir, "dir", ".", "the working `FOLDER`, for its emend.yaml")
	return c
}

func (a *app) printProgress(p *schemas.Progress) error {
	if a.json {
		if err := a.printJSON(p); err != nil || p.State != schemas.StateNotFound {
			return err
		}
		return &exitError{code: exitFailed}
	}
	if p.State == schemas.StateNotFound {
		return failed(fmt.Errorf("no run %s in queue %s: neither a request nor a result is stored (a refused request is in the dead letters, not here)", p.ID, p.Queue))
	}
	fmt.Fprintf(a.out, "%s %s", a.colour(bold, p.ID), p.State)
	if p.Cause != "" {
		fmt.Fprintf(a.out, ": %s", p.Cause)
	}
	if p.Place > 0 {
		fmt.Fprintf(a.out, " (at most %d before it)", p.Place)
	}
	fmt.Fprintln(a.out)
	return nil
}

// cancel stops a run and says what really happened.
func (a *app) cancel() *cobra.Command {
	var f natsFlags
	var queue, dir string
	c := &cobra.Command{Use: "cancel ID", Short: "Stop a run, and say what really happened", Args: runID,
		RunE: func(c *cobra.Command, args []string) error {
			client, nc, err := f.client(dir, "cancel")
			if err != nil {
				return err
			}
			defer nc.Close()
			ctx, cancel := within(c.Context(), askWithin)
			defer cancel()
			r, err := client.Cancel(ctx, consumer.Key{Queue: queue, ID: args[0]})
			if err != nil {
				return failed(err)
			}
			return a.printCancel(r)
		}}
	f.register(c)
	c.Flags().StringVar(&queue, "queue", "default", "the queue's `NAME`")
	c.Flags().StringVar(&dir, "dir", ".", "the working `FOLDER`, for its emend.yaml")
	return c
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

// watch prints events as they come, until interrupted or, for one run, until it has finished.
func (a *app) watch() *cobra.Command {
	var f natsFlags
	var queue, dir string
	c := &cobra.Command{Use: "watch [ID]", Short: "Show events live, of one run or of all", Args: cobra.MatchAll(cobra.MaximumNArgs(1), validIDs),
		RunE: func(c *cobra.Command, args []string) error {
			client, nc, err := f.client(dir, "watch")
			if err != nil {
				return err
			}
			defer nc.Close()
			k := consumer.Key{Queue: queue}
			finished := make(chan struct{}, 1)
			if len(args) > 0 {
				k.ID = args[0]
			}
			stop, err := client.Watch(k, func(e schemas.Event) {
				a.printEvent(e)
				if k.ID != "" && e.Kind == schemas.EventFinished {
					finished <- struct{}{}
				}
			})
			if err != nil {
				return failed(err)
			}
			defer stop()
			select {
			case <-finished:
			case <-c.Context().Done():
			}
			return nil
		}}
	f.register(c)
	c.Flags().StringVar(&queue, "queue", "", "the queue's `NAME` (default: all)")
	c.Flags().StringVar(&dir, "dir", ".", "the working `FOLDER`, for its emend.yaml")
	return c
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
