package integration

import (
	"fmt"
	"testing"

	"emend/internal/devnats"
	"emend/schemas"
)

// TestRunsLongerThanTheirLeaseAreCalledOnce: 64 runs of nine seconds under a lease of three, with a second worker that would take
// each of them. Shorter ones are run in virtual time, where a loaded machine cannot keep a heartbeat back.
func TestRunsLongerThanTheirLeaseAreCalledOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{}, "permits: 16, admitted: 32", "permits: 64, admitted: 64", "catalog_grace", "ack_wait: 3s\ncatalog_grace")
	s.worker()
	s.worker()
	const runs = 64
	for i := range runs {
		s.publish(fmt.Sprint("r", i), body("rate", fmt.Sprint("TAKES-LONG ", i)))
	}
	for id, r := range s.resultsOf(runs) {
		if r.Status != schemas.StatusSucceeded || r.Request.Delivery != 1 || r.Counts.Calls != 1 {
			t.Errorf("%s: %s, delivery %d, %+v", id, r.Status, r.Request.Delivery, r.Counts)
		}
	}
	s.calls(runs)
	s.lastSeq(runs)
	s.eventually("the work queue is empty", func() bool { return s.count(s.names.RunsStream()) == 0 })
}
