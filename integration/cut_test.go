package integration

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"emend/internal/devnats"
	"emend/schemas"
)

// dialer opens connections that a test can cut, and refuses new ones until they are mended.
type dialer struct {
	mu    sync.Mutex
	down  bool
	conns []net.Conn
}

// Dial opens a connection.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down {
		return nil, errors.New("the line is cut")
	}
	c, err := net.DialTimeout(network, address, 5*time.Second)
	if err == nil {
		d.conns = append(d.conns, c)
	}
	return c, err
}

func (d *dialer) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = true
	for _, c := range d.conns {
		_ = c.Close()
	}
	d.conns = nil
}

func (d *dialer) mend() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = false
}

// line is a connection over a dialer; back tells of every reconnect.
func (s *site) line() (d *dialer, nc *nats.Conn, back chan struct{}) {
	s.Helper()
	d, back = &dialer{}, make(chan struct{}, 16)
	nc, err := nats.Connect(s.server.URL(), nats.SetCustomDialer(d), nats.ReconnectWait(20*time.Millisecond), nats.MaxReconnects(-1),
		nats.ReconnectHandler(func(*nats.Conn) { back <- struct{}{} }))
	s.must(err)
	s.Cleanup(nc.Close)
	return d, nc, back
}

// TestRunOfACutOffWorkerIsTakenOverAfterAckWait: both end it, one result is stored, the other's bill is told.
func TestRunOfACutOffWorkerIsTakenOverAfterAckWait(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{})
	d, nc, back := s.line()
	s.workerOn(nc, shortLease)
	s.publish("torn", body("rate", holdMark))
	receive(s, "the first worker calls", s.mock.arrived)
	s.worker(shortLease)
	d.cut()
	receive(s, "the second worker calls", s.mock.arrived)
	d.mend()
	receive(s, "the first worker is back", back)
	s.mock.release()
	r := s.ends("torn", schemas.StatusSucceeded)
	if e := s.event("torn", schemas.EventSuperseded); e.Worker == r.Source.Worker || e.Totals.Counts.Calls != 1 {
		t.Errorf("superseded %+v, result of %s", e, r.Source.Worker)
	}
	s.goneID("torn")
	s.lastSeq(1)
	s.calls(2)
	s.works("after")
}

// TestWorkerGoesOnAfterItsConnectionWasLost: what was answered meanwhile is stored when the server is back.
func TestWorkerGoesOnAfterItsConnectionWasLost(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{})
	d, nc, back := s.line()
	s.workerOn(nc)
	s.publish("brave", body("rate", holdMark))
	receive(s, "the call arrives", s.mock.arrived)
	d.cut()
	s.mock.release()
	s.eventually("the worker cannot store", func() bool { return nc.Status() == nats.RECONNECTING })
	d.mend()
	receive(s, "the worker is back", back)
	if r := s.ends("brave", schemas.StatusSucceeded); r.Request.Delivery != 1 {
		t.Errorf("%+v", r.Request)
	}
	s.goneID("brave")
	s.lastSeq(1)
	s.calls(1)
	s.works("after")
}

// TestRunWhoseWorkersKeepVanishingIsAbandoned: max_starts unclean starts, then a dead letter and a stored failure, before
// anything is called again.
func TestRunWhoseWorkersKeepVanishingIsAbandoned(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{}, "catalog_grace", "max_starts: 1\ncatalog_grace")
	d, nc, back := s.line()
	s.workerOn(nc, shortLease)
	inbox, sub := s.replies()
	s.must(s.tryPublish(s.names.Run("mock", "default", "doomed"), body("rate", holdMark), inbox))
	receive(s, "the call arrives", s.mock.arrived)
	s.worker(shortLease)
	d.cut()
	if r, _ := s.reply(sub); r.Status != schemas.StatusFailed || r.Error.Category != schemas.CategoryAbandoned || !r.Error.MayHaveBeenBilled {
		t.Errorf("%+v", r)
	}
	s.deadLetter("doomed", body("rate", holdMark), schemas.CategoryAbandoned, "several times")
	s.ends("doomed", schemas.StatusFailed)
	s.goneID("doomed")
	d.mend()
	receive(s, "the first worker is back", back)
	s.mock.release()
	s.event("doomed", schemas.EventSuperseded)
	s.lastSeq(1)
	s.calls(1)
}
