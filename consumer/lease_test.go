package consumer

import (
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server/ats"
	"github.com/nats-io/nats.go"

	"emend/schemas"
)

// bubble runs f in virtual time. nats.go pools timers for the whole process: they are collected on the way in and out.
// The server's clock of file accesses waits at a channel of the process, which stops virtual time: it is kept outside.
func bubble(t *testing.T, f func(*testing.T)) {
	t.Helper()
	ats.Register()
	defer ats.Unregister()
	collect()
	defer collect()
	synctest.Test(t, f)
}

// collect empties every sync.Pool.
func collect() {
	runtime.GC()
	runtime.GC()
}

func TestLease(t *testing.T) {
	l := newLease(now, 30*time.Second)
	check := func(at time.Duration, want bool) {
		t.Helper()
		if got := l.held(now.Add(at)); got != want {
			t.Errorf("after %v: held %v", at, got)
		}
	}
	check(0, true)
	check(30*time.Second-1, true)
	check(30*time.Second, false)
	l.extend(now.Add(10*time.Second), now.Add(11*time.Second))
	check(40*time.Second-1, true)
	check(40*time.Second, false)
	l.extend(now.Add(5*time.Second), now.Add(12*time.Second)) // an older answer takes nothing away
	check(40*time.Second-1, true)
	l.extend(now.Add(39*time.Second), now.Add(40*time.Second)) // too late: the run may be another's by now
	check(40*time.Second, false)
}

func answer(l *leases, le *lease, sent time.Time) *nats.Msg {
	return &nats.Msg{Subject: l.inbox + "." + le.key + "." + strconv.FormatInt(sent.UnixNano(), 36)}
}

// TestAnswerBelongsToItsHeartbeat: an answer extends from when its own heartbeat was sent, not from a later one's.
func TestAnswerBelongsToItsHeartbeat(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := newLeases(nil, nats.NewInbox(), 30*time.Second)
		d := &delivery{msg: &nats.Msg{Reply: "$JS.ACK.a"}}
		began := time.Now()
		held := l.add(d, began)
		time.Sleep(21 * time.Second)
		l.confirmed(answer(l, held, began.Add(10*time.Second)))
		if at := began.Add(40 * time.Second); !held.held(at.Add(-1)) || held.held(at) {
			t.Errorf("held until %v after its start", time.Unix(0, held.until.Load()).Sub(began))
		}
		refused := answer(l, held, began.Add(20*time.Second))
		refused.Header = nats.Header{"Status": {"503"}}
		for _, m := range []*nats.Msg{refused, {Subject: l.inbox + ".1"}, {Subject: l.inbox + ".zz.5"}, {Subject: l.inbox + ".1.!"}} {
			l.confirmed(m)
		}
		late := answer(l, held, began.Add(20*time.Second))
		l.remove(held)
		l.confirmed(late)
		if held.held(began.Add(40 * time.Second)) {
			t.Error("extended by what is no answer")
		}
		if len(l.held) != 0 {
			t.Errorf("a removed lease is remembered: %v", l.held)
		}
	})
}

// beating is a place whose one delivery has a lease; beats go on until the returned function is called.
func beating(t *testing.T, wait time.Duration) (p *place, ps *pulls, in chan *nats.Msg, held *lease, stop func()) {
	p, ps, in = pulling(t, wait)
	p.put("default", "one", "{}", nil)
	ps.waits(t, "default")
	_, d := next(t, ps, in)
	l := newLeases(p.nc, nats.NewInbox(), wait)
	sub, err := l.listen()
	p.must(err)
	held = l.add(d, time.Now())
	quit, done := make(chan struct{}), make(chan struct{})
	go func() { defer close(done); l.run(quit) }()
	return p, ps, in, held, func() { close(quit); <-done; p.must(sub.Unsubscribe()) }
}

// TestHeartbeatsKeepADelivery: as long as the server answers, the lease holds and nothing is delivered again.
func TestHeartbeatsKeepADelivery(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, ps, in, held, stop := beating(t, 30*time.Second)
		ps.waits(t, "default")
		time.Sleep(5 * time.Minute)
		if !held.held(time.Now().Add(19 * time.Second)) {
			t.Error("the lease is over though the server answers")
		}
		stop()
		time.Sleep(31 * time.Second)
		if held.held(time.Now()) {
			t.Error("the lease holds without heartbeats")
		}
		for len(in) > 0 { // the pulls that waited in vain
			ps.received(<-in)
		}
		ps.waits(t, "default")
		if _, d := next(t, ps, in); d.count != 2 {
			t.Errorf("delivery %d", d.count)
		}
	})
}

// TestLeaseEndsWhenTheServerIsGone: heartbeats that nobody answers extend nothing.
func TestLeaseEndsWhenTheServerIsGone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, _, _, held, stop := beating(t, 30*time.Second)
		time.Sleep(15 * time.Second)
		p.must(p.js.DeleteConsumer(p.Context(), p.names.RunsStream(), p.names.Durable("mock", "default")))
		time.Sleep(24 * time.Second)
		if !held.held(time.Now()) {
			t.Error("the answered heartbeat is forgotten")
		}
		time.Sleep(2 * time.Second)
		if held.held(time.Now()) {
			t.Error("extended though nobody answered")
		}
		stop()
	})
}

// TestOverIsOver: the server answers heartbeats of a delivery that another worker has by now; they bring no lease back.
func TestOverIsOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, ps, in := pulling(t, 30*time.Second)
		p.put("default", "one", "{}", nil)
		ps.waits(t, "default")
		_, stale := next(t, ps, in)
		l := newLeases(p.nc, nats.NewInbox(), 30*time.Second)
		sub, err := l.listen()
		p.must(err)
		held := l.add(stale, time.Now())
		time.Sleep(31 * time.Second)
		for len(in) > 0 {
			ps.received(<-in)
		}
		ps.waits(t, "default")
		if _, d := next(t, ps, in); d.count != 2 {
			t.Fatalf("delivery %d", d.count)
		}
		m, err := p.nc.Request(stale.msg.Reply, []byte("+WPI"), time.Second)
		if err != nil || m.Header.Get("Status") != "" {
			t.Errorf("the server answers %v, %v: then this rule is not needed", m, err)
		}
		l.beat(time.Now())
		p.must(p.nc.Flush())
		synctest.Wait()
		if held.held(time.Now()) {
			t.Error("a lease that was over is held again")
		}
		p.must(sub.Unsubscribe())
	})
}

// TestRunOfTenMinutesIsCalledOnce: under a lease of half a minute, with a second worker that waits for work all the time.
func TestRunOfTenMinutesIsCalledOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		r.yaml = strings.Replace(rigConfig, "call_timeout: 60s", "call_timeout: 15m", 1)
		events := r.watch()
		first, second := r.work(Options{}), r.work(Options{})
		r.put("default", "long", jsonRequest, nil)
		receive(t, "the call", r.model.called)
		time.Sleep(10 * time.Minute)
		r.model.replies <- `{"score": 1}`
		e := until(t, events, schemas.EventFinished)
		if e.Delivery != 1 || e.Outcome != schemas.StatusSucceeded || e.Totals.Counts.Calls != 1 || e.Totals.TimingMS.Model < (10*time.Minute).Milliseconds() {
			t.Errorf("%+v, %+v", e, e.Totals)
		}
		if len(r.model.called) != 0 {
			t.Error("it was called twice")
		}
		r.stop(first)
		r.stop(second)
	})
}

// TestRunsOfTwoAndAHalfLeasesAreCalledOnce: 64 runs of 5 s under a lease of 2 s, and a second worker with room for all of them.
func TestRunsOfTwoAndAHalfLeasesAreCalledOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const runs = 64
		r, c := newCalled(t, func(r *http.Request, _ string, _ int) (*http.Response, error) {
			time.Sleep(5 * time.Second)
			return good(r)
		})
		r.yaml = strings.ReplaceAll(r.yaml, "permits: 4, admitted: 8", "permits: 64, admitted: 64")
		first, second := r.work(Options{AckWait: 2 * time.Second}), r.work(Options{AckWait: 2 * time.Second})
		r.putMany("mock", "default", "r", runs, jsonRequest)
		time.Sleep(20 * time.Second)
		if n, results := len(c.times("mock.invalid")), r.kept(r.names.ResultsStream()); n != runs || results != runs {
			t.Errorf("%d calls and %d results for %d runs", n, results, runs)
		}
		r.stop(first)
		r.stop(second)
	})
}
