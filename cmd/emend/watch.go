package main

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"emend/consumer"
	"emend/schemas"
)

// watch prints events as they come, until interrupted or, for one run, until it has finished.
func (a *app) watch() *cobra.Command {
	var f natsFlags
	var queue, dir string
	c := &cobra.Command{Use: "watch [ID]", Short: "Show events live, of one run or of all", Args: cobra.MatchAll(atMost(1), validIDs),
		Long: "Shows events as they come: of all runs until interrupted, of one run until it has finished. Of a run that has ended it prints the\n" +
			"result and exits as get does; one that is not there is waited for. Without --queue that is asked of the queue default.",
		RunE: func(c *cobra.Command, args []string) error {
			k := consumer.Key{Queue: queue}
			if len(args) > 0 {
				k.ID = args[0]
			}
			return f.ask(c.Context(), asking{dir: dir, name: "watch", spares: []string{"get"}}, func(ctx context.Context, client *consumer.Client) error {
				return a.watchRuns(ctx, client, k)
			})
		}}
	f.register(c)
	c.Flags().StringVar(&queue, "queue", "", "the queue's `NAME` (default: all)")
	c.Flags().StringVar(&dir, "dir", ".", "the working `FOLDER`, for its emend.yaml")
	return c
}

func (a *app) watchRuns(ctx context.Context, client *consumer.Client, k consumer.Key) error {
	finished := make(chan struct{}, 1)
	w := &watched{show: a.printEvent, told: map[[3]any]bool{}}
	if k.ID != "" {
		w.show = a.tree(true).show
	}
	w.mu.Lock()
	stop, err := client.Watch(k, func(e schemas.Event) {
		w.event(e)
		if k.ID != "" && e.Kind == schemas.EventFinished {
			finished <- struct{}{}
		}
	})
	if k.ID != "" && err == nil {
		w.soFar(ctx, client, k)
	}
	w.mu.Unlock()
	if err != nil {
		return failed(err)
	}
	defer stop()
	if k.Queue != "" {
		if err := client.KnowsQueue(ctx, k.Queue); err != nil {
			return failed(err)
		}
	}
	asked := whereabouts(ctx, client, k)
	for {
		select {
		case <-finished:
			return nil
		case <-ctx.Done():
			return nil
		case s := <-asked:
			if ctx.Err() != nil {
				return nil
			}
			if s.err == nil && s.result != nil {
				w.mu.Lock() // no event comes between
				defer w.mu.Unlock()
				return a.printResult(s.result)
			}
			a.notEnded(k, s)
		}
	}
}

// standing is where a run stood when it began to be watched.
type standing struct {
	result   *schemas.Result
	progress *schemas.Progress
	err      error
}

// whereabouts asks, while events come, for the result of a run that may have ended before; nothing of all runs.
func whereabouts(ctx context.Context, client *consumer.Client, k consumer.Key) <-chan standing {
	out := make(chan standing, 1)
	if k.ID == "" {
		return out
	}
	k.Queue = cmp.Or(k.Queue, defaultQueue)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, askWithin)
		defer cancel()
		var s standing
		s.result, s.progress, s.err = client.Get(ctx, k)
		if s.result != nil {
			s.err = client.Fill(ctx, s.result)
		}
		out <- s
	}()
	return out
}

// notEnded tells of a run that is not there, or whose worker does not say, that its events are waited for.
func (a *app) notEnded(k consumer.Key, s standing) {
	switch {
	case s.err != nil:
		fmt.Fprintf(a.err, "emend: whether %s has ended is not known (%v); waiting for its events\n", k.ID, s.err)
	case s.progress.State == schemas.StateNotFound:
		fmt.Fprintf(a.err, "emend: no run %s is queued or stored in queue %s; waiting for its events (a refused request is in the dead letters: %s)\n",
			k.ID, cmp.Or(k.Queue, defaultQueue), a.again("dead ls"))
	}
}

// watched shows events as they come, each once.
type watched struct {
	mu   sync.Mutex
	show func(schemas.Event)
	// told are the stored events that were shown, by queue, delivery and number: they may come once more.
	told map[[3]any]bool
}

func (w *watched) event(e schemas.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.told[[3]any{e.Queue, e.Delivery, e.Seq}] {
		w.show(e)
	}
}

// soFarWithin bounds the reading of what is stored.
const soFarWithin = 2 * time.Second

// soFar shows how far a pipeline run is that is under way. Who may not read the events that are stored sees those that come. It is
// called under the lock.
func (w *watched) soFar(ctx context.Context, client *consumer.Client, k consumer.Key) {
	ctx, cancel := context.WithTimeout(ctx, soFarWithin)
	defer cancel()
	stages, _ := client.StagesSoFar(ctx, k)
	for _, e := range stages {
		w.told[[3]any{e.Queue, e.Delivery, e.Seq}] = true
		w.show(e)
	}
}
