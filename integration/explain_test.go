package integration

import (
	"fmt"
	"testing"

	"emend/capacity"
	"emend/consumer"
	"emend/schemas"
)

func (s *site) explain(id string) *consumer.Explanation {
	s.Helper()
	ctx, cancel := s.within()
	defer cancel()
	e, err := s.client().Explain(ctx, s.key(id))
	s.must(err)
	return e
}

func TestExplainTellsAWholeRun(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.publish("mended", body("rate", "MEND-ME"))
	s.ends("mended", schemas.StatusSucceeded)
	s.goneID("mended")
	s.event("mended", schemas.EventFinished)
	e := s.explain("mended")
	if e.State != schemas.StatusSucceeded || e.Backend != "mock" || e.Request != nil || e.Result == nil || e.Result.Counts.Repairs != 1 || e.Result.At.IsZero() {
		t.Errorf("%+v", e)
	}
	if got := kinds(e.Events); got != "started attempt_started attempt validation repair attempt_started attempt validation finished" {
		t.Error(got)
	}
	if e := s.explain("nobody"); e.State != schemas.StateNotFound || e.Workers != 1 {
		t.Errorf("%+v", e)
	}
}

// A run that has not started, behind a gate that is shut, and the one that met the trouble.
func TestExplainTellsWhyARunWaits(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.mock.fault.Store(401)
	s.publish("first", body("say", "x"))
	s.closed("401 mock_trouble")
	// A pull that was open when the gate closed may bring as many runs as there are places: the last is behind all of them.
	const more = 60
	for i := range more {
		s.publish(fmt.Sprint("more-", i), body("say", "y"))
	}
	s.eventually("the run waits", func() bool { return s.explain("first").State == schemas.StateWaiting })
	e := s.explain(fmt.Sprint("more-", more-1))
	if e.State != schemas.StateQueued || e.Request == nil || e.Request.Ahead != more || e.Request.Bytes == 0 || e.Result != nil {
		t.Errorf("%+v", e)
	}
	if g := e.Shut(); g == nil || g.Phase != capacity.Closed || g.Cause != "401 mock_trouble" || g.Since.IsZero() || g.Since.After(e.At) || !g.Until.After(g.Since) {
		t.Errorf("%+v", e.Gates)
	}
	if e := s.explain("first"); e.Saved == nil || e.Saved.Cause != "401 mock_trouble" || e.Saved.Calls != 1 || e.Events[len(e.Events)-1].Kind != schemas.EventWaiting {
		t.Errorf("%+v", e)
	}
}

func TestExplainTellsWhatWaitsForAPersonAndWhatWasRefused(t *testing.T) {
	t.Parallel()
	s := reviewing(t)
	s.waits("reviewed")
	if e := s.explain("reviewed"); e.State != schemas.StateInReview || e.Review == nil || e.Review.Findings != 1 || e.Backend != "mock" {
		t.Errorf("%+v", e)
	}
	s.publish("refused", `{"prompt":"say","inputs":{}}`)
	s.goneID("refused")
	e := s.explain("refused")
	if e.State != consumer.StateRefused || e.Letter == nil || e.Letter.Reason != schemas.CategoryInvalidRequest || e.Result != nil {
		t.Errorf("%+v", e)
	}
	if _, err := s.decision(schemas.Decision{ID: "reviewed", Decision: schemas.DecisionApprove, By: "ada"}); err != nil {
		t.Fatal(err)
	}
	s.eventually("the decision is told", func() bool {
		e := s.explain("reviewed")
		return e.State == schemas.StatusSucceeded && e.Result.Review != nil && e.Result.Review.By == "ada"
	})
}

// A pipeline's request is explained as any, and its jobs are named, so that one can go on to them.
func TestExplainNamesTheJobsOfAPipeline(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, oneLane(30))
	s.mock.answers["NAMES"] = `["n"]`
	s.worker().stop()
	s.publishPipeline("one", document(lines(25, "x")))
	if e := s.explain("one"); e.State != schemas.StateQueued || e.Pipeline != "digest" || e.Request == nil || e.Request.Bytes == 0 || e.Jobs != nil {
		t.Errorf("%+v", e)
	}
	s.worker()
	s.ends("one", schemas.StatusSucceeded)
	s.gone(s.names.Pipeline("digest", "default", "one"))
	e := s.explain("one")
	if e.Pipeline != "digest@1" || e.Jobs == nil || len(e.Jobs.IDs) != 20 || e.Jobs.More != 5 || e.Result.Counts.Calls != 25 {
		t.Fatalf("%+v %+v", e, e.Jobs)
	}
	for _, id := range e.Jobs.IDs {
		if job := s.explain(id); job.State != schemas.StatusSucceeded || job.Pipeline != "" {
			t.Errorf("%s: %+v", id, job)
		}
	}
}
