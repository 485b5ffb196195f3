package integration

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"emend/consumer"
	"emend/schemas"
)

// TestWritersThatMeetInACluster: results of one run that are written at once, on replicated streams, until the server has said of
// one that another write is under way (10164). That is no outcome: the next try tells. One writer stored each result.
func TestWritersThatMeetInACluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	nc, js := c.dial()
	c.workerOn(nc)
	ctx, cancel := c.within()
	defer cancel()
	l, err := consumer.NewLedger(ctx, js, c.names)
	c.must(err)
	underWay := 0
	for round := 0; underWay == 0 || round < 5; round++ {
		c.must(ctx.Err())
		k := consumer.Key{Queue: "default", ID: fmt.Sprint("meet", round)}
		var mu sync.Mutex
		var wg sync.WaitGroup
		stored, met := 0, 0
		for writer := range 16 {
			wg.Go(func() {
				settled, waited := c.settleUntilKnown(l, k, fmt.Sprint("w", writer))
				mu.Lock()
				defer mu.Unlock()
				met += waited
				if settled == consumer.Stored {
					stored++
				}
			})
		}
		wg.Wait()
		if underWay += met; stored != 1 {
			t.Fatalf("%d writers stored the result of %s", stored, k.ID)
		}
	}
}

// settleUntilKnown settles as a worker does, and counts how often another write was under way.
func (c *cluster) settleUntilKnown(l *consumer.Ledger, k consumer.Key, worker string) (settled consumer.Settled, underWay int) {
	mine := func(r *schemas.Result) bool { return r.Source.Worker == worker }
	b, err := schemas.Marshal(schemas.Result{ID: k.ID, Queue: k.Queue, Status: schemas.StatusSucceeded, Source: schemas.Source{Worker: worker}})
	if err != nil {
		return consumer.Unknown, 0
	}
	ctx, cancel := c.within()
	defer cancel()
	for ctx.Err() == nil {
		settled, _, err = l.Settle(ctx, k, &nats.Msg{Subject: c.names.Result(k.Queue, k.ID), Data: b, Header: nats.Header{}}, mine, 0)
		if settled != consumer.Unknown {
			return settled, underWay
		}
		if strings.Contains(err.Error(), "10164") {
			underWay++
		}
	}
	return settled, underWay
}
