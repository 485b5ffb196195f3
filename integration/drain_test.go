package integration

import (
	"fmt"
	"testing"
	"time"

	"emend/internal/devnats"
	"emend/schemas"
)

// longWait is a lease of an hour: what is only handed over when it is over does not come within any test.
var longWait = []string{"catalog_grace", "ack_wait: 1h\ncatalog_grace"}

// TestDrainedProcessEndsWithItsCalls: SIGTERM to a worker with 64 calls open, as many runs waiting for a permit, and 1,000
// queued. What has made no call is in another worker's hands while its own calls are still open; it ends with them, exit code
// 0, and not when drain_timeout is over.
func TestDrainedProcessEndsWithItsCalls(t *testing.T) {
	t.Parallel()
	const calling, waiting, queued = wideOpen, 32, 1000
	s := newSite(t, devnats.Options{}, append(wide(calling+waiting), append(longWait, "drain_timeout: 20s", "drain_timeout: 1h")...)...)
	leaving := s.process("leaving")
	s.publishMany(calling, func(i int) (id, text string) { return fmt.Sprint("calling", i), body("rate", fmt.Sprint(holdMark, i)) })
	s.eventually("its permits are taken", func() bool { return leaving.open() == calling })
	s.publishMany(waiting+queued, func(i int) (id, text string) { return fmt.Sprint("others", i), body("rate", fmt.Sprint("text ", i)) })
	s.eventually("its places are taken", func() bool { return s.inHand() == calling+waiting })
	leaving.term()
	other := s.process("other")
	for id, r := range s.resultsOf(waiting + queued) {
		if r.Status != schemas.StatusSucceeded || r.Source.Worker != "other" || r.Counts.Calls != 1 {
			t.Errorf("%s: %s by %s, %+v", id, r.Status, r.Source.Worker, r.Counts)
		}
	}
	if leaving.open() != calling {
		t.Errorf("%d calls are open at the worker that drains", leaving.open())
	}
	s.mock.release()
	released := time.Now()
	leaving.drained()
	t.Logf("it ended %v after its last call", time.Since(released))
	for i := range calling {
		if r := s.ends(fmt.Sprint("calling", i), schemas.StatusSucceeded); r.Source.Worker != "leaving" || r.Request.Delivery != 1 {
			t.Errorf("%s by %s, delivery %d", r.ID, r.Source.Worker, r.Request.Delivery)
		}
	}
	s.lastSeq(calling + waiting + queued)
	s.calls(calling + waiting + queued)
	other.term()
	other.drained()
}

// inHand is the number of requests of backend mock, queue default, that are delivered and not acked.
func (s *site) inHand() int {
	s.Helper()
	ctx, cancel := s.within()
	defer cancel()
	c, err := s.js.Consumer(ctx, s.names.RunsStream(), s.names.Durable("mock", "default"))
	s.must(err)
	return c.CachedInfo().NumAckPending
}

// TestDrainUnderLoadLeavesNothingBehind: workers are stopped while deliveries are on their way to them. Nothing waits for
// a lease, nothing is called twice, and no drain counts as a start.
func TestDrainUnderLoadLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{}, longWait...)
	const runs, drains = 600, 10
	w := s.worker()
	for i := range runs {
		s.publish(fmt.Sprint("r", i), body("rate", fmt.Sprint("text ", i)))
	}
	for i := range uint64(drains) {
		s.eventually("runs are executed", func() bool { return s.count(s.names.ResultsStream()) > i*runs/(drains+2) })
		w.stop()
		w = s.worker()
	}
	for id, r := range s.resultsOf(runs) {
		if r.Status != schemas.StatusSucceeded || r.Counts.Calls != 1 {
			t.Errorf("%s: %s %+v %+v", id, r.Status, r.Error, r.Counts)
		}
	}
	s.lastSeq(runs)
	s.calls(runs)
	s.eventually("the work queue is empty", func() bool { return s.count(s.names.RunsStream()) == 0 })
}

// TestTenDrainsInARowNeverCount: a run that is put down again and again is not abandoned, and its answer is paid once.
func TestTenDrainsInARowNeverCount(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{}, append(longWait, "drain_timeout: 20s", "drain_timeout: 0s", "log:", "max_starts: 1\nlog:")...)
	w := s.worker()
	s.publish("carried", body("rate", "STUCK-IN-REPAIR"))
	const drains = 10
	for range drains {
		receive(s, "the repair call arrives", s.mock.arrived)
		w.stop()
		receive(s, "it is aborted", s.mock.left)
		w = s.worker()
	}
	s.mock.release()
	r := s.ends("carried", schemas.StatusSucceeded)
	if r.Counts.Executions != drains+1 || r.Counts.Calls != drains+2 || r.Counts.Repairs != 1 {
		t.Errorf("%+v", r.Counts)
	}
	s.calls(drains + 2)
	if n := s.count(s.names.DeadStream()); n != 0 {
		t.Errorf("%d dead letters", n)
	}
}
