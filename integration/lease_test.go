package integration

import (
	"fmt"
	"testing"

	"emend/internal/devnats"
	"emend/schemas"
)

// TestRunsLongerThanTheirLeaseAreCalledOnce: runs of four seconds under a lease of a second and a half, with a second
// worker that would take each of them.
func TestRunsLongerThanTheirLeaseAreCalledOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{}, "permits: 16, admitted: 32", "permits: 32, admitted: 32", "catalog_grace", "ack_wait: 1500ms\ncatalog_grace")
	s.worker()
	s.worker()
	const runs = 32
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
