package integration

import (
	"fmt"
	"testing"

	"emend/internal/devnats"
	"emend/schemas"
)

// secondWait is the shortest lease.
var secondWait = []string{"catalog_grace", "ack_wait: 1s\ncatalog_grace"}

// TestPoisonIsStartedMaxStartsTimes: each arrival of a request at the model kills the worker process that sent it. It is
// started three times, then settled as abandoned and kept as a dead letter; the runs that were in hand beside it, at two of
// the three deaths, all succeed.
func TestPoisonIsStartedMaxStartsTimes(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{}, append(secondWait, unkeyed, keyed)...)
	victim := s.process("victim0")
	const beside = 4
	for i := range beside {
		s.publish(fmt.Sprint("beside", i), body("rate", fmt.Sprint(pauseMark, " ", i)))
	}
	inbox, sub := s.replies()
	poison := body("rate", holdMark+" poison")
	s.must(s.tryPublish(s.names.Run("mock", "default", "poison"), poison, inbox))
	for i := 1; i <= 3; i++ {
		receive(s, "the poison arrives", s.mock.arrived)
		if i < 3 {
			s.eventually("the others are in hand", func() bool { return victim.open() == beside+1 })
		}
		victim.kill()
		if i == 2 {
			s.mock.resume()
		}
		receive(s, "its call is gone", s.mock.left)
		victim = s.process(fmt.Sprint("victim", i))
	}
	r, _ := s.reply(sub)
	if r.Status != schemas.StatusFailed || r.Error.Category != schemas.CategoryAbandoned || !r.Error.MayHaveBeenBilled || r.Request.Delivery != 4 {
		t.Errorf("%s %+v %+v", r.Status, r.Error, r.Request)
	}
	s.deadLetter("poison", poison, schemas.CategoryAbandoned, "several times")
	for i := range beside {
		s.ends(fmt.Sprint("beside", i), schemas.StatusSucceeded)
	}
	s.lastSeq(beside + 1)
	s.eventually("the work queue is empty", func() bool { return s.count(s.names.RunsStream()) == 0 })
	if n := s.count(s.names.DeadStream()); n != 1 {
		t.Errorf("%d dead letters", n)
	}
	victim.term()
	victim.drained()
}

// TestPoisonInARepairIsFoundOut: the state that is saved on the way counts the starts, and its bill is in the result.
func TestPoisonInARepairIsFoundOut(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{}, append(secondWait, unkeyed, keyed)...)
	victim := s.process("victim0")
	s.publish("poison", body("rate", "STUCK-IN-REPAIR"))
	for i := 1; i <= 3; i++ {
		receive(s, "the repair arrives", s.mock.arrived)
		victim.kill()
		receive(s, "its call is gone", s.mock.left)
		victim = s.process(fmt.Sprint("victim", i))
	}
	if r := s.ends("poison", schemas.StatusFailed); r.Error.Category != schemas.CategoryAbandoned || r.Counts.Calls != 1 || r.Counts.Executions != 1 {
		t.Errorf("%+v %+v", r.Error, r.Counts)
	}
	s.goneID("poison")
	s.calls(4)
}
