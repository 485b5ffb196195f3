package integration

import (
	"fmt"
	"testing"

	"emend/capacity"
	"emend/internal/devnats"
	"emend/schemas"
)

// TestGateSettlesAtWhatTheBackendTakes: the backend answers ten calls at once and throttles the rest. The limit of the gate
// comes near ten and stays there, few calls are wasted, and no run fails. How near is shown in virtual time (package capacity):
// here a slow machine makes the calls less dense at the backend than at the gate, which then finds room for more.
func TestGateSettlesAtWhatTheBackendTakes(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{}, "permits: 16, admitted: 32", "permits: 64, admitted: 64")
	const room, settling, runs = 10, 200, 500
	s.mock.room = room
	w := s.worker()
	s.publishMany(runs, func(i int) (id, text string) { return fmt.Sprint("r", i), body("rate", fmt.Sprint("A-WHILE ", i)) })
	s.eventually("it has settled", func() bool { return s.count(s.names.ResultsStream()) > settling })
	_, refusedBefore := s.refusals429()
	seen := map[int]int{}
	s.eventually("nine in ten are done", func() bool {
		if st := w.engine.Gate("mock").State(); st.Phase == capacity.Slow {
			seen[st.Limit]++
		}
		return s.count(s.names.ResultsStream()) > runs*9/10
	})
	calls, refused := s.refusals429()
	sum, times := 0, 0
	for limit, n := range seen {
		sum, times = sum+limit*n, times+n
	}
	if 2*sum < room*times || sum > 2*room*times || times == 0 {
		t.Errorf("the limit, and how often it was seen: %v", seen)
	}
	if n := refused - refusedBefore; n > (runs-settling)/4 {
		t.Errorf("%d calls were refused after it had settled, %d of %d in all", n, refused, calls)
	}
	t.Logf("the limit, and how often it was seen: %v; %d of %d calls refused", seen, refused, calls)
	for id, r := range s.resultsOf(runs) {
		if r.Status != schemas.StatusSucceeded {
			t.Errorf("%s: %s, %+v", id, r.Status, r.Error)
		}
	}
	if calls, refused := s.refusals429(); calls != int64(runs+refused) {
		t.Errorf("%d calls, %d refused, %d runs", calls, refused, runs)
	}
}

// refusals429 are the calls so far, and those that found no room.
func (s *site) refusals429() (calls int64, refused int) {
	s.mock.mu.Lock()
	defer s.mock.mu.Unlock()
	return s.mock.calls.Load(), s.mock.refused
}
