package integration

import (
	"fmt"
	"strings"
	"testing"

	"emend/consumer"
	"emend/schemas"
)

// stagesSoFar are the words that a late watcher is told of a run.
func (s *site) stagesSoFar(id string) string {
	s.Helper()
	ctx, cancel := s.within()
	defer cancel()
	stages, err := s.client().StagesSoFar(ctx, consumer.Key{ID: id})
	s.must(err)
	var out []string
	for _, e := range stages {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Lane, e.Stage, e.Outcome)))
	}
	return strings.Join(out, ", ")
}

// Whoever comes late sees how far a pipeline run is, until it has finished.
func TestStagesSoFar(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, oneLane(4))
	s.mock.answers["NAMES"] = `["n"]`
	s.worker()
	s.publishPipeline("one", document(lines(3, holdMark)))
	receive(s, "a job calls", s.mock.arrived)
	s.eventually("its stages are told", func() bool { return s.stagesSoFar("one") == "chunk advanced, a extract running" })
	if other := s.stagesSoFar("other"); other != "" {
		t.Errorf("another run: %s", other)
	}
	s.mock.release()
	s.ends("one", schemas.StatusSucceeded)
	s.eventually("a finished run has no stages under way", func() bool { return s.stagesSoFar("one") == "" })
}

// What the end of a run stops is told before the end.
func TestFailedPipelineTellsWhatItStopped(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, nil)
	s.worker()
	s.publishPipeline("one", document(strings.Replace(lines(3, "x"), "x line1.", "x BAD-REQUEST", 1)))
	s.ends("one", schemas.StatusFailed)
	last := map[string]string{}
	for _, e := range s.events("default", "one") {
		if e.Kind == schemas.EventStage {
			last[strings.TrimSpace(e.Lane+" "+e.Stage)] = e.Outcome
		}
	}
	for stage, outcome := range last {
		if outcome == "running" {
			t.Errorf("%s is told to be running when the run has ended: %v", stage, last)
		}
	}
	if last["names extract"] != schemas.StageFailed && last["notes extract"] != schemas.StageFailed {
		t.Errorf("%v", last)
	}
}
