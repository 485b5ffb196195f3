package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/internal/devnats"
	"emend/schemas"
)

// The server goes away with runs queued and in hand, and comes back with its streams: the worker goes on by itself, and every
// run has its result.
func TestServerThatRestartsUnderLoad(t *testing.T) {
	t.Parallel()
	port, store := freePorts(t, 1)[0], t.TempDir()
	s := newSite(t, devnats.Options{}) // its definitions and mock; its own server stays unused
	up := func() *devnats.Server {
		t.Helper()
		srv, err := devnats.Start(devnats.Options{Port: port, StoreDir: store})
		s.must(err)
		return srv
	}
	first := up()
	s.server = first
	dial := func() *nats.Conn {
		nc, err := nats.Connect(first.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
		s.must(err)
		t.Cleanup(nc.Close)
		return nc
	}
	var err error
	s.nc = dial()
	s.js, err = jetstream.New(s.nc)
	s.must(err)
	s.workerOn(dial())
	const runs = 60
	for i := range runs {
		text := "fine"
		if i < 4 {
			text = holdMark
		}
		s.publish(fmt.Sprintf("r-%d", i), body("say", text))
	}
	for range 4 {
		receive(s, "a call is under way", s.mock.arrived)
	}
	first.Stop()
	s.mock.release()
	second := up()
	t.Cleanup(second.Stop)
	s.server = second
	c := &cluster{site: s} // whose looks bear a server that does not answer yet
	for _, n := range []int{1, 4, runs / 2, runs} {
		s.eventually(fmt.Sprint(n, " results are stored"), func() bool { return c.holds(s.names.ResultsStream()) >= n })
	}
	for i := range runs {
		s.ends(fmt.Sprintf("r-%d", i), schemas.StatusSucceeded)
	}
	s.eventually("the queue is empty", func() bool { return s.count(s.names.RunsStream()) == 0 })
	if got := s.count(s.names.ResultsStream()); got != runs {
		t.Errorf("%d results are stored", got)
	}
}
