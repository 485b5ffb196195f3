package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"emend/internal/devnats"
	"emend/schemas"
)

// TestKilledWorkerLosesNothing: one of two worker processes is killed with SIGKILL while 64 runs are in its hands and 2,000
// are queued. Every run has one result, and no more calls are made twice than were open at the kill.
func TestKilledWorkerLosesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{}, append(wide(wideOpen), shortWait...)...)
	doomed, other := s.process("doomed"), s.process("other")
	const quick, runs = 100, 100 + 2*wideOpen + 2000
	s.publishMany(runs, func(i int) (id, text string) {
		return fmt.Sprint("r", i), body("rate", fmt.Sprint(map[bool]string{true: pauseMark}[i >= quick], " text ", i))
	})
	s.eventually("both workers are full", func() bool { return doomed.open() == wideOpen && other.open() == wideOpen })
	open := int64(doomed.open())
	doomed.kill()
	s.mock.resume()
	again := 0
	for id, r := range s.resultsOf(runs) {
		if r.Status != schemas.StatusSucceeded {
			t.Errorf("%s: %s %+v", id, r.Status, r.Error)
		}
		if r.Request.Delivery > 1 {
			again++
		}
	}
	if again == 0 || again > wideOpen {
		t.Errorf("%d runs were delivered again; the killed worker had %d in hand", again, wideOpen)
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
