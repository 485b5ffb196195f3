package main

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// warm is how many requests go before those that are timed: connections, caches, code.
const warm = 50

// oneAtATime gives a worker one request, waits for its result, then gives the next. It returns how long each took, from
// the publish to the result's arrival, in order of size.
func (b *bed) oneAtATime(w *worker) ([]time.Duration, error) {
	sub, err := b.listen(w)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	p, err := begin(w.command(b), w.name+"-alone")
	if err != nil {
		return nil, err
	}
	var took []time.Duration
	for i := range warm + *alone {
		began := time.Now()
		err = b.nc.Publish(w.subject(fmt.Sprintf("a%d", i)), w.body)
		if err == nil {
			_, err = sub.NextMsg(time.Minute)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("request %d alone: %w", i, err), p.end())
		}
		if i >= warm {
			took = append(took, time.Since(began))
		}
	}
	slices.Sort(took)
	return took, p.end()
}
