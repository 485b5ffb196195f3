package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"emend/internal/devnats"
	"emend/schemas"
)

// TestKilledWorkerLosesNothing: one of two worker processes is killed with SIGKILL while its places are full and more is
// queued. Every run has one result, and no more calls are made twice than were open at the kill.
func TestKilledWorkerLosesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{}, append(shortWait, unkeyed, keyed)...)
	doomed, other := s.process("doomed"), s.process("other")
	const quick, runs = 100, 400
	for i := range runs {
		s.publish(fmt.Sprint("r", i), body("rate", fmt.Sprint(map[bool]string{true: holdMark}[i >= quick], " text ", i)))
	}
	s.eventually("both workers are full", func() bool { return doomed.open() == 16 && other.open() == 16 })
	open := int64(doomed.open())
	doomed.kill()
	killed := time.Now()
	s.mock.release()
	results := s.resultsOf(runs)
	again := 0
	for id, r := range results {
		if r.Status != schemas.StatusSucceeded {
			t.Errorf("%s: %s %+v", id, r.Status, r.Error)
		}
		if r.Request.Delivery > 1 {
			again++
			if at := s.startedAgain(id); at.Sub(killed) > 15*time.Second {
				t.Errorf("%s waited %v for another worker", id, at.Sub(killed))
			}
		}
	}
	if again == 0 || again > 32 {
		t.Errorf("%d runs were delivered again; the killed worker had at most 32 in hand", again)
	}
	s.lastSeq(runs)
	s.calls(runs + open)
	s.eventually("the work queue is empty", func() bool { return s.count(s.names.RunsStream()) == 0 })
	if n := s.count(s.names.DeadStream()); n != 0 {
		t.Errorf("%d dead letters", n)
	}
	other.term()
	other.drained()
}

// resultsOf awaits the results of n runs of queue default, by id; a second one of an id is an error.
func (s *site) resultsOf(n int) map[string]*schemas.Result {
	s.Helper()
	next, out := s.reader(s.names.ResultsStream(), s.names.ResultFilter("default")), map[string]*schemas.Result{}
	for range n {
		r := s.decode(next().Data())
		if out[r.ID] != nil {
			s.Errorf("a second result of %s", r.ID)
		}
		out[r.ID] = r
	}
	return out
}

// startedAgain is when a run was started at its second delivery.
func (s *site) startedAgain(id string) time.Time {
	s.Helper()
	for next := s.reader(s.names.EventsStream(), s.names.Event("default", id, schemas.EventStarted)); ; {
		if e := s.eventOf(next()); e.Delivery > 1 {
			return e.At
		}
	}
}

// TestRunKilledInItsSecondRepairRepeatsOnlyTheOpenCall: what was answered before is saved between the generations.
func TestRunKilledInItsSecondRepairRepeatsOnlyTheOpenCall(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{}, append(shortWait, unkeyed, keyed)...)
	s.write("prompts/mend@1.yaml", strings.Replace(files["prompts/rate@1.yaml"], "repair_attempts: 1", "repair_attempts: 2", 1))
	doomed := s.process("doomed")
	s.publish("third", body("mend", "STUCK-IN-SECOND"))
	open := receive(s, "the second repair arrives", s.mock.arrived)
	s.process("other")
	if !s.saved("third") {
		t.Error("nothing is saved while the second repair is open")
	}
	doomed.kill()
	if again := receive(s, "it arrives again", s.mock.arrived); again != open {
		t.Errorf("the repeated call is another:\n%s\nafter\n%s", again, open)
	}
	s.mock.release()
	r := s.ends("third", schemas.StatusSucceeded)
	if r.Counts.Calls != 3 || r.Counts.Repairs != 2 || r.Counts.Executions != 2 || r.Request.Delivery != 2 || *r.Usage.Input != 30 {
		t.Errorf("%+v %+v %+v", r.Counts, r.Request, r.Usage)
	}
	s.goneID("third")
	s.lastSeq(1)
	s.calls(4)
	s.eventually("the saved state is erased", func() bool { return !s.saved("third") })
}

// saved says that the state of a run is stored.
func (s *site) saved(id string) bool {
	s.Helper()
	ctx, cancel := s.within()
	defer cancel()
	kv, err := s.js.KeyValue(ctx, s.names.StateBucket())
	s.must(err)
	_, err = kv.Get(ctx, s.names.StateKey("default", id))
	if !errors.Is(err, jetstream.ErrKeyNotFound) {
		s.must(err)
	}
	return err == nil
}
