package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"emend/consumer"
	"emend/schemas"
)

// askWithin bounds a request to a worker.
const askWithin = 10 * time.Second

// get prints a run's result, or where it stands.
func (a *app) get() *cobra.Command {
	var f natsFlags
	var queue, dir string
	c := &cobra.Command{Use: "get ID", Short: "Print a run's result, or where it stands", Args: cobra.ExactArgs(1),
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
		return a.printJSON(p)
	}
	if p.State == schemas.StateNotFound {
		return failed(fmt.Errorf("no run %s in queue %s: neither a request nor a result is stored", p.ID, p.Queue))
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
	c := &cobra.Command{Use: "cancel ID", Short: "Stop a run, and say what really happened", Args: cobra.ExactArgs(1),
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
			if a.json {
				return a.printJSON(r)
			}
			if r.Cancelled {
				fmt.Fprintln(a.out, "cancelled")
				return nil
			}
			return failed(fmt.Errorf("not cancelled: the run is %s", r.Status))
		}}
	f.register(c)
	c.Flags().StringVar(&queue, "queue", "default", "the queue's `NAME`")
	c.Flags().StringVar(&dir, "dir", ".", "the working `FOLDER`, for its emend.yaml")
	return c
}

// watch prints events as they come, until interrupted or, for one run, until it has finished.
func (a *app) watch() *cobra.Command {
	var f natsFlags
	var queue, dir string
	c := &cobra.Command{Use: "watch [ID]", Short: "Show events live, of one run or of all", Args: cobra.MaximumNArgs(1),
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
