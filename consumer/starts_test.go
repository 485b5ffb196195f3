package consumer

import (
	"context"
	"strings"
	"testing"
	"time"

	"emend/prompts"
	"emend/schemas"
)

// redelivered publishes requests that were delivered once and handed back, and notes starts for each.
func (r *rig) redelivered(starts int, ids ...string) {
	r.Helper()
	r.set(config(), 0)
	ps, in := r.pulls()
	var taken []*delivery
	for _, id := range ids {
		seq, _ := r.put("default", id, jsonRequest, nil)
		ps.waits(r.T, "default")
		_, d := next(r.T, ps, in)
		taken = append(taken, d)
		if starts > 0 {
			r.must(r.ledger().save(r.Context(), Key{"default", id}, &saved{V: savedVersion, Seq: seq, Starts: starts}))
		}
	}
	for _, d := range taken {
		r.must(d.nak(0))
	}
	r.must(r.nc.Flush())
}

// TestRunsWithOneStartLeftTakeTurns: the second is not started before the first has ended, and not held up by a drain.
func TestRunsWithOneStartLeftTakeTurns(t *testing.T) {
	r := newRig(t)
	r.redelivered(2, "a", "b", "c")
	events := r.watch()
	w := r.work(Options{})
	first := until(t, events, schemas.EventStarted)
	receive(t, "the first call", r.model.called)
	r.model.replies <- `1`
	for e := receive(t, "an event", events); e.Kind != schemas.EventFinished; e = receive(t, "an event", events) {
		if e.RunID != first.RunID {
			t.Errorf("%s of %s beside %s", e.Kind, e.RunID, first.RunID)
		}
	}
	second := until(t, events, schemas.EventStarted)
	receive(t, "the second call", r.model.called)
	w.cancel()
	if e := until(t, events, schemas.EventWaiting); e.Cause != "draining" || e.RunID == second.RunID {
		t.Errorf("%s waits: %s", e.RunID, e.Cause)
	} else if s := r.state(e.RunID); s.Starts != 2 {
		t.Errorf("a drain counts: %+v", s)
	}
	r.model.replies <- `2`
	r.must(receive(t, "the worker ends", w.done))
}

// TestStartOfAFirstDeliveryIsInItsState: a worker that dies in a repair of a first delivery leaves word of that start.
func TestStartOfAFirstDeliveryIsInItsState(t *testing.T) {
	r := newRig(t)
	w := r.work(Options{})
	r.put("default", "mended", jsonRequest, nil)
	r.model.replies <- `no JSON`
	for range 2 {
		receive(t, "a call", r.model.called)
	}
	if s := r.state("mended"); s.Starts != 1 || s.State == nil {
		t.Errorf("%+v", s)
	}
	r.stop(w)
	if s := r.state("mended"); s.Starts != 0 || s.Cause != "draining" {
		t.Errorf("after the drain: %+v", s)
	}
}

// TestStartThatCannotBeNotedMakesNoCall: the bucket takes nothing, the run is handed back, and runs when there is room.
func TestStartThatCannotBeNotedMakesNoCall(t *testing.T) {
	r := newRig(t)
	r.redelivered(0, "later")
	events := r.watch()
	bucket := "KV_" + r.names.StateBucket()
	s, err := r.js.Stream(r.Context(), bucket)
	r.must(err)
	full := s.CachedInfo().Config
	full.MaxBytes = 16
	_, err = r.js.UpdateStream(r.Context(), full)
	r.must(err)
	w := r.work(Options{})
	if e := until(t, events, schemas.EventWaiting); e.Cause != "ledger" || *e.WaitMS != ledgerRetry.Milliseconds() {
		t.Errorf("%+v", e)
	}
	if len(r.model.called) != 0 {
		t.Error("called without a noted start")
	}
	full.MaxBytes = -1
	_, err = r.js.UpdateStream(r.Context(), full)
	r.must(err)
	r.model.replies <- `1`
	if e := until(t, events, schemas.EventFinished); e.Outcome != schemas.StatusSucceeded || e.Delivery != 3 {
		t.Errorf("%+v", e)
	}
	r.stop(w)
}

// TestLateComersAreHandedBack: what the server has delivered when a pool closes waits for no lease.
func TestLateComersAreHandedBack(t *testing.T) {
	r := newRig(t)
	w := r.newWorker(Options{AckWait: time.Hour})
	w.base = t.Context()
	r.must(w.prepare(t.Context()))
	p := newPool(w, prompts.Backend{Name: "mock"}, w.Engine().Snapshot().Config())
	r.must(p.listen())
	events := r.watch()
	for _, id := range []string{"a", "b", "c"} {
		r.put("default", id, jsonRequest, nil)
	}
	r.must(p.pulls.send(p.pulls.queues[0], pull{left: 3}, true, time.Now()))
	eventually(t, "all are on their way", func() bool { return len(p.inbox) == 3 })
	stop, cancel := context.WithCancel(t.Context())
	cancel()
	w.draining.Store(true)
	p.run(stop, t.Context())
	p.running.Wait()
	for range 3 {
		if e := until(t, events, schemas.EventWaiting); e.Cause != "draining" {
			t.Errorf("%+v", e)
		}
	}
	ps, in := r.pulls()
	for range 3 {
		ps.waits(t, "default")
		if _, d := next(t, ps, in); d.count != 2 {
			t.Errorf("delivery %d", d.count)
		}
	}
}

// TestWhatWasSavedOutlivesItsDurable: a durable that is deleted delivers its messages anew as first ones. What was saved of a run is
// gone on from, and what it spent stays counted, by the worker that was there and by one that starts later. A server may also give the
// new durable what the old one was waiting for, and deliver it again after ack_wait.
func TestWhatWasSavedOutlivesItsDurable(t *testing.T) {
	for name, later := range map[string]bool{"the same worker": false, "one that starts later": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			w := r.work(Options{AckWait: 2 * time.Second})
			events := r.watch()
			r.put("default", "waits", jsonRequest, nil)
			r.model.replies <- `no JSON`
			r.model.replies <- 503
			if e := until(t, events, schemas.EventWaiting); !strings.HasPrefix(e.Cause, "503") {
				t.Errorf("waits for %q", e.Cause)
			}
			if later {
				r.stop(w)
			}
			r.must(r.js.DeleteConsumer(t.Context(), r.names.RunsStream(), r.names.Durable("mock", "default")))
			if later {
				r.set(config(), 2*time.Second)
				w = r.work(Options{AckWait: 2 * time.Second})
			}
			r.model.replies <- `3`
			e := until(t, events, schemas.EventFinished)
			if e.Outcome != schemas.StatusSucceeded || e.Totals.Counts.Calls != 3 || e.Totals.Counts.Executions != 2 {
				t.Errorf("%+v, %+v", e, e.Totals)
			}
			r.stop(w)
		})
	}
}

// A durable counts its deliveries: where they begin anew it is another one, and what is older than it may have been delivered before.
func TestADurableThatCountsAnewIsAnother(t *testing.T) {
	now := time.Now()
	q := &queue{made: now.Add(-time.Hour), last: 10}
	for _, c := range []struct {
		n         uint64
		published time.Duration
		before    bool
	}{
		{11, -2 * time.Hour, true},
		{12, -time.Minute, false},
		{13, -time.Minute, false},
		{1, -time.Minute, true},
		{2, 0, true}, // the clocks of server and worker may differ
		{3, 2 * time.Minute, false},
	} {
		d := &delivery{n: c.n, published: now.Add(c.published)}
		if q.dated(d, now); d.before != c.before {
			t.Errorf("delivery %d, published %v: %v", c.n, c.published, d.before)
		}
	}
}

// Two executions of one delivery, of a durable and of the one that took its place, have each their own result.
func TestTheResultOfAnotherExecutionOfTheSameDeliveryIsNotMine(t *testing.T) {
	w, began := &Worker{id: "w"}, time.Now()
	first, second := &handler{w: w, d: &delivery{seq: 7, count: 1, published: began.Add(-time.Second)}, taken: began},
		&handler{w: w, d: &delivery{seq: 7, count: 1, published: began.Add(-time.Second)}, taken: began.Add(50 * time.Millisecond)}
	var r, other schemas.Result
	first.stamp(&r)
	second.stamp(&other)
	if !first.mine(&r) || first.mine(&other) || second.mine(&r) || !second.mine(&other) || !second.delivered(&r) {
		t.Errorf("%+v, %+v", r.TimingMS, other.TimingMS)
	}
}
