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

// shut says that the gates of all workers are closed, and nothing is under way that passed them before.
func (s *site) shut() bool {
	for _, w := range s.workers {
		if st := w.engine.Gate("mock").Stats(); st.State.Phase != capacity.Closed || st.AdmittedInUse > 0 || st.PermitsInUse > 0 {
			return false
		}
	}
	return true
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
	s.eventually("all gates are closed", s.shut)
	before := s.mock.calls.Load()
	const probes = 5
	s.eventually("probes", func() bool { return s.mock.calls.Load() >= before+probes })
	s.mock.mu.Lock()
	at := s.mock.at[before : before+probes]
	s.mock.mu.Unlock()
	for i, t := range at[1:] {
		if gap := t.Sub(at[i]); gap < time.Second {
			s.Errorf("probe %d came %v after the one before it, which was told to wait a second", i+2, gap)
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
