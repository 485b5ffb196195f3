package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// pair measures both workers: each works off a queue, one after the other, then both get one request at a time, in turn.
func (b *bed) pair(workers []*worker, i int) (pair []figures, err error) {
	for _, w := range workers {
		if err := w.prepare(b, i); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, b.drop(w.streams()...)) }()
		if err := b.publish(w, *runs); err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		f, err := b.throughput(w, *runs, 0)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		pair = append(pair, f)
	}
	if *alone == 0 {
		return pair, nil
	}
	took, err := b.oneAtATime(workers)
	if err != nil {
		return nil, err
	}
	for j, t := range took {
		pair[j].P50, pair[j].P99 = millis(t[len(t)/2]), millis(t[len(t)*99/100])
	}
	return pair, nil
}

// throughput times a worker from the first of its next results to the last, then stops it and reads what it used. The start of the
// process is in its CPU, and in nobody's rate, nor are the results that are skipped.
func (b *bed) throughput(w *worker, runs, skipped int) (f figures, err error) {
	sub, err := b.listen(w)
	if err != nil {
		return f, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	server, model := b.used()
	var all []*process
	for i := 0; i < max(w.many, 1) && err == nil; i++ {
		var p *process
		if p, err = begin(w.command(b), w.name); err == nil {
			all = append(all, p)
		}
	}
	var took time.Duration
	if err == nil {
		took, err = count(sub, runs, skipped)
	}
	for _, p := range all {
		err = errors.Join(err, p.end())
	}
	server2, model2 := b.used()
	var cpu time.Duration
	for _, p := range all {
		c, size, e := p.used()
		cpu, f.RSS, err = cpu+c, max(f.RSS, size), errors.Join(err, e)
	}
	per := func(d time.Duration) float64 { return millis(d) / float64(runs) }
	return figures{CPU: per(cpu), Rate: float64(runs-skipped) / took.Seconds(), RSS: f.RSS, Server: per(server2 - server), Model: per(model2 - model)}, err
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

// count takes n results and tells how long after the first that is not skipped the last came.
func count(sub *nats.Subscription, n, skipped int) (time.Duration, error) {
	var first time.Time
	for i := range n {
		if _, err := sub.NextMsg(time.Minute); err != nil {
			return 0, fmt.Errorf("waiting for result %d of %d: %w", i+1, n, err)
		}
		if i == skipped {
			first = time.Now()
		}
	}
	return time.Since(first), nil
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
