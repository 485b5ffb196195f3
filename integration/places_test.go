package integration

import (
	"fmt"
	"testing"

	"emend/schemas"
)

const oneplace = "permits: 1, admitted: 1, call_timeout: 60s}\n  other"

// TestIdleQueueHoldsNoPlaceOfABusyOne: with one place and two queues the busy one runs at once, again and again.
func TestIdleQueueHoldsNoPlaceOfABusyOne(t *testing.T) {
	t.Parallel()
	s := start(t, "permits: 16, admitted: 32, call_timeout: 60s}\n  other", oneplace)
	for i := range 10 {
		queue := []string{"default", "team-a"}[i/5]
		s.must(s.tryPublish(s.names.Run("mock", queue, fmt.Sprint("r", i)), body("say", "a"), ""))
		s.stored(s.names.ResultsStream(), s.names.Result(queue, fmt.Sprint("r", i)))
	}
	s.calls(10)
}

// TestIdleQueueIsHeardWhileABusyOneTakesAllPlaces: what comes in meanwhile is handed back unstarted, and gets its share.
func TestIdleQueueIsHeardWhileABusyOneTakesAllPlaces(t *testing.T) {
	t.Parallel()
	s := start(t, "permits: 16, admitted: 32, call_timeout: 60s}\n  other", oneplace, "catalog_grace", "max_starts: 1\ncatalog_grace")
	s.publish("long", body("say", holdMark))
	receive(s, "the only place is taken", s.mock.arrived)
	const more = 20
	s.must(s.tryPublish(s.names.Run("mock", "team-a", "small"), body("say", "a"), ""))
	for i := range more {
		s.publish(fmt.Sprint("r", i), body("say", "b"))
	}
	s.mock.release()
	small := s.decode(s.stored(s.names.ResultsStream(), s.names.Result("team-a", "small")).Data())
	if small.Status != schemas.StatusSucceeded || small.Counts.Executions != 1 {
		t.Errorf("%+v", small)
	}
	for i := range more {
		s.ends(fmt.Sprint("r", i), schemas.StatusSucceeded)
	}
	s.calls(more + 2)
	if n := s.mock.scripted.Stats().MaxConcurrent; n > 1 {
		t.Errorf("%d calls at once, permits 1", n)
	}
}
