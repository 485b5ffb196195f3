package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// measure takes both measurements of a worker: a queue worked off, then one request at a time.
func (b *bed) measure(w *worker, i int) (f figures, err error) {
	if err := w.prepare(b, i); err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, b.drop(w.streams()...)) }()
	if err := b.publish(w, *runs); err != nil {
		return f, err
	}
	if f, err = b.throughput(w); err != nil || *alone == 0 {
		return f, err
	}
	took, err := b.oneAtATime(w)
	if err != nil {
		return f, err
	}
	f.P50, f.P99 = millis(took[len(took)/2]), millis(took[len(took)*99/100])
	return f, nil
}

// throughput times a worker from its first result to its last, then stops it and reads what it used. The start of the
// process is in its CPU, and in nobody's rate.
func (b *bed) throughput(w *worker) (f figures, err error) {
	sub, err := b.listen(w)
	if err != nil {
		return f, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	server, model := b.used()
	p, err := begin(w.command(b), w.name)
	if err != nil {
		return f, err
	}
	took, err := count(sub, *runs)
	if err = errors.Join(err, p.end()); err != nil {
		return f, err
	}
	server2, model2 := b.used()
	cpu, rss, err := p.used()
	per := func(d time.Duration) float64 { return millis(d) / float64(*runs) }
	return figures{CPU: per(cpu), Rate: float64(*runs) / took.Seconds(), RSS: rss, Server: per(server2 - server), Model: per(model2 - model)}, err
}

// used is the CPU time of server and model until now. Both live as long as the bed.
func (b *bed) used() (server, model time.Duration) {
	server, _ = b.server.cpu()
	model, _ = b.mock.cpu()
	return server, model
}

// listen subscribes to what a worker publishes.
func (b *bed) listen(w *worker) (*nats.Subscription, error) {
	sub, err := b.nc.SubscribeSync(w.results())
	if err != nil {
		return nil, err
	}
	return sub, errors.Join(sub.SetPendingLimits(-1, -1), b.nc.Flush())
}

// count takes n results and tells how long after the first the last came.
func count(sub *nats.Subscription, n int) (time.Duration, error) {
	var first time.Time
	for i := range n {
		if _, err := sub.NextMsg(time.Minute); err != nil {
			return 0, fmt.Errorf("waiting for result %d of %d: %w", i+1, n, err)
		}
		if first.IsZero() {
			first = time.Now()
		}
	}
	return time.Since(first), nil
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
