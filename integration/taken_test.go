package integration

import (
	"strings"
	"testing"

	"emend/internal/devnats"
	"emend/schemas"
)

// An id is a subject of its own in each backend, so two requests can run under it at once. The first that settles has it; the
// other's requester is told of a conflict and sees nothing of the result, and its call is on the bill.
func TestTheLoserOfAnIDIsToldNothingOfTheWinner(t *testing.T) {
	t.Parallel()
	s := start(t)
	inbox, loser := s.replies()
	s.must(s.tryPublish(s.names.Run("mock", "default", "both"), body("say", holdMark), inbox))
	receive(s, "the first calls", s.mock.arrived)
	s.must(s.publishWith(s.names.Run("other", "default", "both"), `{"prompt": "away"}`))
	won := s.ends("both", schemas.StatusSucceeded)
	s.mock.release()
	r, raw := s.reply(loser)
	if r.Status != schemas.StatusFailed || r.Error == nil || r.Error.Category != schemas.CategoryIDConflict || strings.Contains(string(raw), string(won.Output)) {
		t.Errorf("%s", raw)
	}
	s.goneID("both")
	if e := s.event("both", schemas.EventSuperseded); e.Totals == nil || e.Totals.Counts.Calls != 1 {
		t.Errorf("%+v", e)
	}
	if now := s.result("both"); now.Request.SHA256 != won.Request.SHA256 {
		t.Error("the result was replaced")
	}
}

// A pipeline run whose id another request settles ends its jobs: nobody needs what they would cost.
func TestAPipelineWhoseIDIsTakenEndsItsJobs(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, oneLane(4))
	s.worker()
	s.publishPipeline("taken", document(lines(12, holdMark)))
	receive(s, "a job calls", s.mock.arrived)
	s.must(s.publishWith(s.names.Run("other", "default", "taken"), `{"prompt": "away"}`))
	s.ends("taken", schemas.StatusSucceeded)
	s.eventually("its jobs are gone, though the model answered none", func() bool { return s.count(s.names.RunsStream()) == 0 })
	s.mock.release()
}

// A request for a backend that no worker's definitions have any more is found, and can be stopped.
func TestARunWithoutABackendIsFoundAndStopped(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{})
	s.worker().stop()
	without := s.read("emend.yaml")
	without = without[:strings.Index(without, "  other:")] + without[strings.Index(without, "queues:"):]
	s.write("emend.yaml", strings.Replace(without, "elsewhere: {backend: other,", "elsewhere: {backend: mock,", 1))
	s.worker()
	s.must(s.publishWith(s.names.Run("other", "default", "stays"), `{"prompt": "away"}`))
	if p := s.progress("stays"); p.State != schemas.StateQueued {
		t.Errorf("%+v", p)
	}
	if c := s.cancelRun("stays"); !c.Cancelled {
		t.Errorf("%+v", c)
	}
	s.gone(s.names.Run("other", "default", "stays"))
	s.ends("stays", schemas.StatusCancelled)
	s.calls(0)
}
