package consumer

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// lease is a worker's hold on one delivery: it lasts AckWait from the last heartbeat that the server confirmed, counted
// from when it was sent. Past it another worker may have the run: no call may start, and neither nak nor term be sent.
type lease struct {
	wait  time.Duration
	until atomic.Int64 // unix nanoseconds
	// sent is when the heartbeat under way was sent; the leases' ticker owns it.
	sent time.Time
}

func newLease(now time.Time, wait time.Duration) *lease {
	l := &lease{wait: wait}
	l.until.Store(now.Add(wait).UnixNano())
	return l
}

// held reports whether the run is still ours for certain.
func (l *lease) held(now time.Time) bool { return now.UnixNano() < l.until.Load() }

// leases sends the heartbeats of all runs of a worker: each a request, since only an answer proves that the server
// extended the wait (jetstream.md, "Delivery"). One ticker serves all.
type leases struct {
	nc    *nats.Conn
	inbox string
	wait  time.Duration
	mu    sync.Mutex
	held  map[string]*lease // by ack subject
	byKey map[string]string // short token in the answer's subject -> ack subject
	keys  map[string]string
	next  uint64
}

func newLeases(nc *nats.Conn, wait time.Duration) *leases {
	return &leases{nc: nc, inbox: nats.NewInbox(), wait: wait, held: map[string]*lease{}, byKey: map[string]string{}, keys: map[string]string{}}
}

func (l *leases) add(d *delivery, now time.Time) *lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	le := newLease(now, l.wait)
	l.next++
	key := strconv.FormatUint(l.next, 36)
	l.held[d.msg.Reply], l.byKey[key], l.keys[d.msg.Reply] = le, d.msg.Reply, key
	return le
}

func (l *leases) remove(d *delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byKey, l.keys[d.msg.Reply])
	delete(l.keys, d.msg.Reply)
	delete(l.held, d.msg.Reply)
}

// beat sends a heartbeat for every lease.
func (l *leases) beat(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ack, le := range l.held {
		le.sent = now
		if l.nc.PublishRequest(ack, l.inbox+"."+l.keys[ack], []byte("+WPI")) != nil {
			return
		}
	}
}

// confirmed extends the lease that an answer belongs to, from when its heartbeat was sent.
func (l *leases) confirmed(m *nats.Msg) {
	if m.Header.Get("Status") != "" {
		return // no responders: nobody extended anything
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
	if le := l.held[l.byKey[key]]; le != nil {
		le.until.Store(le.sent.Add(l.wait).UnixNano())
	}
}

// run beats three times a wait until stop is closed.
func (l *leases) run(stop <-chan struct{}) error {
	sub, err := l.nc.Subscribe(l.inbox+".*", l.confirmed)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	tick := time.NewTicker(l.wait / 3)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			l.beat(now)
		case <-stop:
			return nil
		}
	}
}
