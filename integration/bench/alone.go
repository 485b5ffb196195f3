package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

// warm is how many requests go before those that are timed: connections, caches, code.
const warm = 50

// rest is the pause before each: what a worker does once its result is out is in nobody's time.
const rest = 3 * time.Millisecond

// oneAtATime gives the workers, all of them up, one request after the other, in turn: each waits for the result of the one before.
// So a machine that changes its pace changes it for all. It returns how long each worker's took, from the publish to the result's
// arrival, in order of size.
func (b *bed) oneAtATime(workers []*worker) (took [][]time.Duration, err error) {
	subs, took := make([]*nats.Subscription, len(workers)), make([][]time.Duration, len(workers))
	for i, w := range workers {
		if subs[i], err = b.listen(w); err != nil {
			return nil, err
		}
		defer func() { _ = subs[i].Unsubscribe() }()
		p, e := begin(w.command(b), w.name+"-alone")
		if e != nil {
			return nil, e
		}
		defer func() { err = errors.Join(err, p.end()) }()
	}
	for n := range warm + *alone {
		for i, w := range workers {
			time.Sleep(rest)
			began := time.Now()
			if err = b.nc.Publish(w.subject(fmt.Sprintf("a%d", n)), w.body); err == nil {
				_, err = subs[i].NextMsg(time.Minute)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: request %d alone: %w", w.name, n, err)
			}
			if n >= warm {
				took[i] = append(took[i], time.Since(began))
			}
		}
	}
	for i := range took {
		slices.Sort(took[i])
	}
	return took, nil
}
