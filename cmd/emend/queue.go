package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"emend/consumer"
)

// defaultQueue is that of a command which names none.
const defaultQueue = "default"

// queueFlags are shared by the commands that ask workers about one queue.
type queueFlags struct {
	natsFlags
	queue, dir string
}

func (f *queueFlags) add(c *cobra.Command) *cobra.Command {
	f.register(c)
	c.Flags().StringVar(&f.queue, "queue", defaultQueue, "the queue's `NAME`")
	c.Flags().StringVar(&f.dir, "dir", ".", "the working `FOLDER`, for its emend.yaml")
	return c
}

// with connects under a name and calls do with a context that ends after limit; 0 is no limit.
func (f *queueFlags) with(ctx context.Context, name string, limit time.Duration, do func(context.Context, *consumer.Client) error) error {
	return f.ask(ctx, asking{dir: f.dir, name: name, limit: limit}, do)
}
