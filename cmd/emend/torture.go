package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"emend/consumer"
	"emend/internal/devnats"
	"emend/prompts"
	"emend/subjects"
)

// tortureOptions bound what torture does.
type tortureOptions struct {
	load, settle time.Duration
	workers      int
	rate         int
	kill         time.Duration
}

// torture runs a mixed load with faults against workers that it kills, in a space of its own, and proves the ledger.
func (a *app) torture() *cobra.Command {
	var f natsFlags
	var o tortureOptions
	c := &cobra.Command{Use: "torture", Short: "Load, faults and kills in a space of their own, then the ledger: nothing lost, nothing uncounted", Args: atMost(0),
		Long: "Starts worker processes and a scripted model on loopback, publishes runs of every kind, kills and drains workers meanwhile, waits until all\n" +
			"has settled, and compares what was accepted, settled, reported and really called. The space is new and is removed at the end, with its\n" +
			"streams and buckets; nothing else of the NATS account is touched.",
		RunE: func(c *cobra.Command, _ []string) error { return a.runTorture(c.Context(), f, o) }}
	c.Flags().StringVar(&f.url, "nats", "", "NATS `URL` (default: a server inside this process)")
	c.Flags().StringVar(&f.context, "context", "", "a context `NAME` of the nats CLI")
	c.Flags().StringVar(&f.creds, "creds", "", "a credentials `FILE`")
	c.Flags().DurationVar(&o.load, "for", time.Minute, "how long runs are published, at most an hour")
	c.Flags().DurationVar(&o.settle, "settle", 2*time.Minute, "how long everything may take to settle after that")
	c.Flags().IntVar(&o.workers, "workers", 3, "worker processes, 1 to 16")
	c.Flags().IntVar(&o.rate, "rate", 50, "runs a second, 1 to 1000")
	c.Flags().DurationVar(&o.kill, "kill-every", 5*time.Second, "a worker is killed, or drained, in turn; 0 harms none")
	return c
}

func (o tortureOptions) check() error {
	switch {
	case o.load <= 0 || o.load > time.Hour:
		return errors.New("--for must be above 0 and at most 1h")
	case o.workers < 1 || o.workers > 16:
		return errors.New("--workers must be from 1 to 16")
	case o.rate < 1 || o.rate > 1000:
		return errors.New("--rate must be from 1 to 1000")
	}
	return nil
}

// rack is what a torture works with.
type rack struct {
	o      tortureOptions
	cfg    prompts.NATS
	names  subjects.Names
	nc     *nats.Conn
	js     jetstream.JetStream
	client *consumer.Client
	model  *countingModel
	dir    string
	ledger *tally
}

func (a *app) runTorture(ctx context.Context, f natsFlags, o tortureOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	r, stop, err := newRack(ctx, f, o)
	if err != nil {
		return err
	}
	defer stop()
	fleet, err := newFleet(r)
	if err != nil {
		return failed(err)
	}
	defer fleet.stop()
	fmt.Fprintf(a.err, "space %s: %d workers, %d runs a second for %s\n", r.names.Space(), o.workers, o.rate, o.load)
	harmed := make(chan struct{})
	loading, enough := context.WithTimeout(ctx, o.load)
	go func() { defer close(harmed); fleet.harm(loading) }()
	r.publish(loading)
	enough()
	<-harmed
	settled := r.settle(ctx)
	fleet.stop()
	report, err := r.account(context.WithoutCancel(ctx), fleet)
	if err != nil {
		return failed(err)
	}
	report.Settled = settled
	return a.printLedger(report)
}

// newRack makes the space, the model and the definitions.
func newRack(ctx context.Context, f natsFlags, o tortureOptions) (*rack, func(), error) {
	var undo undoing
	r := &rack{o: o, model: newCountingModel(), ledger: newTally()}
	cfg := f.over(prompts.NATS{})
	cfg.Space = "torture-" + spaceToken()
	if f.url == "" && f.context == "" {
		srv, err := devnats.Start(devnats.Options{})
		if err != nil {
			return nil, nil, failed(err)
		}
		undo.add(srv.Stop)
		cfg.URL, cfg.Context = srv.URL(), ""
	}
	err := r.connect(ctx, cfg, &undo)
	if err == nil {
		server := httptest.NewServer(r.model)
		undo.add(server.Close)
		r.dir, err = os.MkdirTemp("", "emend-torture-")
		undo.add(func() { _ = os.RemoveAll(r.dir) })
		if err == nil {
			err = r.write(server.URL)
		}
	}
	if err != nil {
		undo.all()
		return nil, nil, failed(err)
	}
	return r, undo.all, nil
}

func (r *rack) connect(ctx context.Context, cfg prompts.NATS, undo *undoing) error {
	var err error
	r.cfg = cfg
	if r.names, err = subjects.New(cfg.Space); err != nil {
		return err
	}
	if r.nc, err = connect(cfg, "torture", false); err != nil {
		return err
	}
	undo.add(r.nc.Close)
	if r.js, err = consumer.JetStream(r.nc, cfg); err != nil {
		return err
	}
	undo.add(func() { r.remove(context.WithoutCancel(ctx)) })
	if r.client, err = consumer.NewClient(r.nc, cfg.Space, cfg.Domain); err != nil {
		return err
	}
	return r.ledger.listen(r.nc, r.names)
}

// remove deletes what the space had: streams and buckets of a name that this process made up.
func (r *rack) remove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	for _, s := range []string{r.names.RunsStream(), r.names.ResultsStream(), r.names.EventsStream(), r.names.DeadStream(), r.names.ReviewsStream()} {
		_ = r.js.DeleteStream(ctx, s)
	}
	for _, b := range []string{r.names.StateBucket(), r.names.CatalogBucket()} {
		_ = r.js.DeleteKeyValue(ctx, b)
	}
	for _, q := range tortureQueues {
		_ = r.js.DeleteObjectStore(ctx, r.names.ObjectBucket(q))
	}
}

// spaceToken is a new name's end, fit for a space.
func spaceToken() string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	out := make([]byte, 8)
	for i, c := range []byte(subjects.NewID())[:8] {
		out[i] = letters[int(c)%len(letters)]
	}
	return string(out)
}

// undoing is a stack of what must be taken back.
type undoing []func()

func (u *undoing) add(f func()) { *u = append(*u, f) }

func (u *undoing) all() {
	for i := len(*u) - 1; i >= 0; i-- {
		(*u)[i]()
	}
	*u = nil
}
