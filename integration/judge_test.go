package integration

import (
	"context"
	"slices"
	"strings"
	"testing"

	"emend/engine"
	"emend/internal/devnats"
	"emend/schemas"
)

// judged is a site whose prompts judged@1 and strict@1 ask a judge at another backend with one permit.
func judged(t *testing.T, replace ...string) *site {
	t.Helper()
	s := newSite(t, devnats.Options{}, append([]string{"permits: 4,", "permits: 1, admitted: 1,"}, replace...)...)
	s.mock.answers["Judge it"] = `{"reasons":[],"decision":"approve"}`
	s.write("prompts/judge@1.yaml", "profile: elsewhere\ninputs: {candidate: {}}\nmessages: [{user: 'Judge it: {{ .candidate }}'}]\n")
	s.write("prompts/slow-judge@1.yaml", "profile: elsewhere\ninputs: {candidate: {}}\nmessages: [{user: 'Judge it HOLD: {{ .candidate }}'}]\n")
	s.write("prompts/judged@1.yaml", files["prompts/rate@1.yaml"]+"checks: [{judge: judge@1}]\n")
	s.write("prompts/slowly@1.yaml", files["prompts/rate@1.yaml"]+"checks: [{judge: judge@1}, {judge: slow-judge@1}]\n")
	return s
}

func TestAJudgeAtAnotherBackend(t *testing.T) {
	t.Parallel()
	s := judged(t)
	s.worker()
	s.publish("j", body("judged", "fine"))
	r := s.ends("j", schemas.StatusSucceeded)
	if v := r.Validation.Validators; len(v) != 1 || v[0].Name != "judge@1" || v[0].Outcome != schemas.VoteApproved || r.Counts.Calls != 1 || r.Counts.ValidatorCalls != 1 || r.ValidatorUsage.Calls != 1 {
		t.Errorf("%+v %+v", v, r.Counts)
	}
	events := s.events("default", "j")
	if got := kinds(events); got != "started attempt_started attempt validation attempt_started attempt validation validator finished" {
		t.Errorf("events %s", got)
	}
	if e := events[4]; e.Validator != "judge@1" || e.Backend != "other" || e.RunID != "j" {
		t.Errorf("the judge's call is told as %+v", e)
	}
	if e := events[len(events)-1]; e.Totals.Counts.ValidatorCalls != 1 || e.Totals.Counts.Calls != 1 {
		t.Errorf("totals %+v", e.Totals)
	}
}

// A drain while the second judge is asked: whoever takes the run up asks that judge again, and nobody else.
func TestARunPutDownBetweenJudges(t *testing.T) {
	t.Parallel()
	s := judged(t, "drain_timeout: 20s", "drain_timeout: 0s")
	w := s.worker()
	s.publish("slow", body("slowly", "fine"))
	receive(s, "the second judge is asked", s.mock.arrived)
	w.stop()
	receive(s, "its call is aborted", s.mock.left)
	s.mock.release()
	s.worker()
	r := s.ends("slow", schemas.StatusSucceeded)
	if v := r.Validation.Validators; len(v) != 2 || v[0].Calls != 1 || v[1].Calls != 1 {
		t.Errorf("%+v", v)
	}
	if r.Counts.Calls != 1 || r.Counts.ValidatorCalls != 3 || r.Counts.Executions != 2 || string(r.Output) != `{"score":1}` {
		t.Errorf("%+v %s", r.Counts, r.Output)
	}
	s.calls(4)
}

// A judge whose backend fails is never an approval, and does not harm the run's own backend.
func TestAJudgeInTrouble(t *testing.T) {
	t.Parallel()
	s := judged(t)
	s.mock.answers["Judge it"] = "nonsense"
	w := s.worker()
	s.publish("u", body("judged", "fine"))
	if r := s.ends("u", schemas.StatusUnverified); r.Validation.Validators[0].Outcome != schemas.VoteFailed || r.Validation.Validators[0].Cause != schemas.CategoryOutputInvalid {
		t.Errorf("%+v", r.Validation.Validators)
	}
	for _, backend := range []string{"mock", "other"} {
		if st := w.engine.Gate(backend).Stats(); st.PermitsInUse != 0 || st.AdmittedInUse != 0 {
			t.Errorf("%s: left over %+v", backend, st)
		}
	}
	if !slices.ContainsFunc(s.events("default", "u"), func(e schemas.Event) bool { return e.Kind == schemas.EventValidator && e.Outcome == schemas.VoteFailed }) {
		t.Error("the failed vote is not told")
	}
}

// Cancelled while a judge is asked: its call is aborted, the answer is not accepted, and nothing is left at either backend.
func TestCancelWhileAJudgeIsAsked(t *testing.T) {
	t.Parallel()
	s := judged(t)
	w := s.worker()
	s.publish("slow", body("slowly", "fine"))
	receive(s, "the second judge is asked", s.mock.arrived)
	if r := s.cancelRun("slow"); r.Status != schemas.StatusCancelled {
		t.Errorf("%+v", r)
	}
	receive(s, "its call is aborted", s.mock.left)
	r := s.ends("slow", schemas.StatusCancelled)
	if r.Output != nil || r.Error != nil {
		t.Errorf("%+v", r)
	}
	s.eventually("nothing is held at either backend", func() bool {
		a, b := w.engine.Gate("mock").Stats(), w.engine.Gate("other").Stats()
		return a.PermitsInUse+a.AdmittedInUse+b.PermitsInUse+b.AdmittedInUse == 0
	})
	s.eventually("its request is gone", func() bool { return s.count(s.names.RunsStream()) == 0 })
	s.calls(3)
}

// Over NATS a rule, a function of the worker's own program and a judge reject one answer together. A worker that is drained while
// the judge is asked about what both have rejected has paid for the answer: the next asks the judge, and corrects.
func TestRuleFunctionAndJudgeRejectTogether(t *testing.T) {
	t.Parallel()
	s := judged(t, "drain_timeout: 20s", "drain_timeout: 0s")
	s.engine = []engine.Option{engine.WithValidators(engine.Validator{Name: "even", Validate: func(_ context.Context, c engine.CandidateView) (engine.Vote, error) {
		if strings.Contains(string(c.Value), "1") {
			return engine.Vote{Reject: []engine.Reason{{Code: "odd", Guidance: "give an even score"}}}, nil
		}
		return engine.Vote{}, nil
	}})}
	s.mock.answers[`{\"score\":1}`] = `{"reasons":[{"code":"low","guidance":"be generous"}],"decision":"reject"}`
	s.mock.answers["it was reviewed and rejected"] = `{"score":2}`
	s.write("prompts/checked@1.yaml", files["prompts/rate@1.yaml"]+"checks: [{field: score, min: 2, code: small, message: at least 2}, {judge: slow-judge@1}, {go: even}]\nretries: 1\n")
	w := s.worker()
	s.publish("c", body("checked", "fine"))
	receive(s, "the judge is asked", s.mock.arrived)
	w.stop()
	receive(s, "its call is aborted", s.mock.left)
	s.mock.release()
	s.worker()
	r := s.ends("c", schemas.StatusSucceeded)
	if r.Counts.Calls != 2 || r.Counts.Corrections != 1 || r.Counts.Repairs != 0 || r.Counts.ValidatorCalls != 3 || r.Counts.Executions != 2 || string(r.Output) != `{"score":2}` {
		t.Errorf("%+v %s", r.Counts, r.Output)
	}
	if got := r.Stages[0].RejectedBy; !slices.Equal(got, []string{"small", "slow-judge@1", "even"}) {
		t.Errorf("rejected by %v", got)
	}
	if v := r.Validation.Validators; len(v) != 3 || v[0].Name != "small" || v[2].Name != "even" || v[2].Outcome != schemas.VoteApproved {
		t.Errorf("%+v", v)
	}
}
