package consumer

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// lease is a worker's hold on one delivery: it lasts AckWait from the last heartbeat that the server confirmed, counted
// from when it was sent. Past it another worker may have the run: no call may start, and neither nak nor term be sent.
// A lease that is over stays over: the server answers heartbeats of old deliveries too.
type lease struct {
	// ack is the subject that heartbeats go to, key the lease's name in the subjects of their answers.
	ack, key string
	wait     time.Duration
	until    atomic.Int64 // unix nanoseconds
}

func newLease(now time.Time, wait time.Duration) *lease {
	l := &lease{wait: wait}
	l.until.Store(now.Add(wait).UnixNano())
	return l
}

// held reports whether the run is still ours for certain.
func (l *lease) held(now time.Time) bool { return now.UnixNano() < l.until.Load() }

// extend counts a heartbeat that was sent at sent and confirmed by now.
func (l *lease) extend(sent, now time.Time) {
	if until := sent.Add(l.wait).UnixNano(); l.held(now) && until > l.until.Load() {
		l.until.Store(until)
	}
}

// leases sends the heartbeats of all runs of a worker: each a request, since only an answer proves that the server
// extended the wait (jetstream.md, "Delivery"). One ticker serves all.
type leases struct {
	nc    *nats.Conn
	inbox string
	wait  time.Duration
	mu    sync.Mutex
	held  map[string]*lease // by key
	next  uint64
}

func newLeases(nc *nats.Conn, inbox string, wait time.Duration) *leases {
	return &leases{nc: nc, inbox: inbox, wait: wait, held: map[string]*lease{}}
}

func (l *leases) add(d *delivery, now time.Time) *lease {
	le := newLease(now, l.wait)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	le.ack, le.key = d.msg.Reply, strconv.FormatUint(l.next, 36)
	l.held[le.key] = le
	return le
}

func (l *leases) remove(le *lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, le.key)
}

// beat sends a heartbeat for every lease.
func (l *leases) beat(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sent := "." + strconv.FormatInt(now.UnixNano(), 36)
	for key, le := range l.held {
		if l.nc.PublishRequest(le.ack, l.inbox+"."+key+sent, []byte("+WPI")) != nil {
			return
		}
	}
}

// confirmed extends the lease that an answer belongs to, from when its own heartbeat was sent: a later one may be lost.
func (l *leases) confirmed(m *nats.Msg) {
	if m.Header.Get("Status") != "" {
		return // no responders: nobody extended anything
	}
	key, sent, _ := strings.Cut(strings.TrimPrefix(m.Subject, l.inbox+"."), ".")
	nanos, err := strconv.ParseInt(sent, 36, 64)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if le := l.held[key]; le != nil {
		le.extend(time.Unix(0, nanos), time.Now())
	}
}

// listen subscribes to the answers of heartbeats.
func (l *leases) listen() (*nats.Subscription, error) {
	sub, err := l.nc.Subscribe(l.inbox+".*.*", l.confirmed)
	if err != nil {
		return nil, fmt.Errorf("subscribe to the answers of heartbeats: %w", err)
	}
	return sub, nil
}

// run beats three times a wait until stop is closed.
func (l *leases) run(stop <-chan struct{}) {
	tick := time.NewTicker(l.wait / 3)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			l.beat(now)
		case <-stop:
			return
		}
	}
}
