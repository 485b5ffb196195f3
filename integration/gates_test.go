package integration

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"emend/capacity"
	"emend/internal/devnats"
	"emend/schemas"
)

// closedAnew awaits that the gates of all workers are closed beyond a time, and returns when the first of them opens.
func (s *site) closedAnew(beyond time.Time) (until time.Time) {
	s.Helper()
	s.eventually("all gates are closed", func() bool {
		until = time.Time{}
		for _, w := range s.workers {
			st := w.engine.Gate("mock").State()
			if st.Phase != capacity.Closed || !st.Until.After(beyond) {
				return false
			}
			if until.IsZero() || st.Until.Before(until) {
				until = st.Until
			}
		}
		return true
	})
	return until
}

// TestFourWorkersSendOneProbeAPeriod: a backend answers 503 and says when to come back. Four workers close together, and each
// time it is over one call is made by one of them, with work for all of them queued; then everything succeeds.
func TestFourWorkersSendOneProbeAPeriod(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{})
	for range 4 {
		s.worker()
	}
	s.mock.headers = http.Header{"Retry-After": {"1"}}
	s.mock.fail(503)
	const runs = 40
	for i := range runs {
		s.publish(fmt.Sprint("r", i), body("rate", fmt.Sprint("text ", i)))
	}
	until := s.closedAnew(s.closedAnew(time.Time{})) // what was under way at the first closing has come by the second
	before := s.mock.calls.Load()
	for i := range int64(4) {
		s.eventually("a probe", func() bool { return s.mock.calls.Load() > before+i })
		until = s.closedAnew(until)
		if n := s.mock.calls.Load(); n != before+i+1 {
			t.Fatalf("%d probes in period %d", n-before-i, i+1)
		}
	}
	if p := s.progress("r0"); p.Cause != "503 mock_trouble" {
		t.Errorf("get: %+v", p)
	}
	s.mock.fail(0)
	for i := range runs {
		s.ends(fmt.Sprint("r", i), schemas.StatusSucceeded)
	}
	if n := s.count(s.names.DeadStream()); n != 0 {
		t.Errorf("%d dead letters", n)
	}
}
