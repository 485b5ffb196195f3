package integration

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"emend/internal/devnats"
	"emend/schemas"
)

// acks is what workers told the server of their deliveries, by "-NAK", "+TERM", "+ACK" and the number of the delivery.
type acks struct {
	mu   sync.Mutex
	seen map[string]int
}

// watchAcks listens to the acks of a stream's deliveries, as the server does.
func (s *site) watchAcks() *acks {
	s.Helper()
	a := &acks{seen: map[string]int{}}
	_, err := s.nc.Subscribe("$JS.ACK."+s.names.RunsStream()+".>", func(m *nats.Msg) {
		what, _, _ := strings.Cut(string(m.Data), " ")
		if what == "" {
			what = "+ACK"
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.seen[what+" of delivery "+strings.Split(m.Subject, ".")[4]]++
	})
	s.must(err)
	s.must(s.nc.Flush())
	return a
}

// none checks that nothing of a kind was told.
func (a *acks) none(s *site, what string) {
	s.Helper()
	s.must(s.nc.Flush())
	a.mu.Lock()
	defer a.mu.Unlock()
	for told, n := range a.seen {
		if strings.HasPrefix(told, what) {
			s.Errorf("%s was sent %d times; all: %v", told, n, a.seen)
		}
	}
}

// TestWorkerThatComesBackFromAPartitionStartsNoCallAndSendsNoNak: it is cut off while it calls, and its run goes to another.
// When the line is mended its answers come, which want a repair, and it is stopped, which would hand back what it has: it does
// neither, for its leases are over.
func TestWorkerThatComesBackFromAPartitionStartsNoCallAndSendsNoNak(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{}, "drain_timeout: 20s", "drain_timeout: 0s")
	s.mock.answers["CROOKED"], s.mock.answers["previous answer"] = `{"score": "one"}`, `{"score": 1}`
	acks := s.watchAcks()
	d, nc, back := s.line()
	gone := s.workerOn(nc, shortLease)
	const runs = 8
	for i := range runs {
		s.publish(fmt.Sprint("mend", i), body("rate", fmt.Sprint("CROOKED HOLD ", i)))
		s.publish(fmt.Sprint("held", i), body("rate", fmt.Sprint("HOLD PAUSE ", i)))
	}
	for range 2 * runs {
		receive(s, "the first worker calls", s.mock.arrived)
	}
	d.cut()
	s.worker(shortLease)
	for range 2 * runs {
		receive(s, "the second worker calls", s.mock.arrived)
	}
	d.mend()
	receive(s, "the first worker is back", back)
	s.mock.release()
	for i := range runs {
		r := s.ends(fmt.Sprint("mend", i), schemas.StatusSucceeded)
		if e := s.event(r.ID, schemas.EventSuperseded); r.Request.Delivery != 2 || e.Delivery != 1 || e.Totals.Counts.Calls != 1 {
			t.Errorf("%s: result of delivery %d; superseded is delivery %d with %+v", r.ID, r.Request.Delivery, e.Delivery, e.Totals.Counts)
		}
	}
	gone.stop() // puts down what is still held, whose second delivery is under way elsewhere
	for i := range runs {
		s.event(fmt.Sprint("held", i), schemas.EventSuperseded)
	}
	acks.none(s, "-NAK")
	acks.none(s, "+TERM")
	s.mock.resume()
	for i := range runs {
		s.ends(fmt.Sprint("held", i), schemas.StatusSucceeded)
	}
	s.eventually("the work queue is empty", func() bool { return s.count(s.names.RunsStream()) == 0 })
	s.lastSeq(2 * runs)
	s.calls(2*runs + 2*runs + runs) // both workers once each, and the repairs of the second
}
