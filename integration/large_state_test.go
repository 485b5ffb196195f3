package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"emend/consumer"
	"emend/engine/run"
	"emend/internal/devnats"
	"emend/schemas"
)

// quotes is an answer that fits into a message of 64 KiB, and whose state, in which every character of it is escaped again, does
// not.
var quotes = `{"a":"` + strings.Repeat(`\"`, 20_000) + `"}`

// ample is a site with messages of 64 KiB whose prompt ample@1 answers with quotes, and has a judge at the other backend that is
// asked with words; other is that backend.
func ample(t *testing.T, words string, replace ...string) (s *site, other *mock) {
	t.Helper()
	s, other = newSite(t, devnats.Options{MaxPayload: 64 << 10}), newMock(t)
	url := fmt.Sprintf("url: %s/v1", s.mock.http.URL)
	replace = append(replace, "other: {dialect: openai, "+url, fmt.Sprintf("other: {dialect: openai, on_trouble: wait, url: %s/v1", other.http.URL))
	s.write("emend.yaml", strings.NewReplacer(replace...).Replace(fmt.Sprintf(base, s.mock.http.URL+"/v1")))
	s.mock.answers["WRITE-MUCH"], other.answers["Judge it"] = quotes, `{"reasons":[],"decision":"approve"}`
	s.write("prompts/judge@1.yaml", "profile: elsewhere\ninputs: {candidate: {max: 1MiB}}\nmessages: [{user: 'Judge it "+words+": {{ .candidate }}'}]\n")
	s.write("prompts/ample@1.yaml", "profile: fast\ninputs: {text: {}}\nmessages: [{user: '{{ .text }}'}]\noutput: {mode: json}\nchecks: [{judge: judge@1}]\n")
	return s, other
}

// objects are the names in the bucket of the queue default.
func (s *site) objects() (names []string) {
	s.Helper()
	ctx, cancel := s.within()
	defer cancel()
	bucket, err := s.js.ObjectStore(ctx, s.names.ObjectBucket("default"))
	s.must(err)
	list, err := bucket.List(ctx)
	if err == nil {
		for _, o := range list {
			names = append(names, o.Name)
		}
	}
	return names
}

// standsApart: the entry of a run is a reference and a state without an answer.
func (s *site) standsApart(id string) {
	s.Helper()
	if e := s.savedState(id); !strings.Contains(e, `"field":"state"`) || strings.Contains(e, `"candidate":`) || !strings.Contains(e, `"calls":1`) {
		s.Errorf("the entry is %.400s", e)
	}
}

// paidOnce: the run has its answer, its producer was called once, and nothing is left of what was saved.
func (s *site) paidOnce(id string, executions int) {
	s.Helper()
	r := s.filled(s.ends(id, schemas.StatusSucceeded))
	if r.Counts.Calls != 1 || r.Counts.Executions != executions || string(r.Output) != quotes || len(r.Validation.Validators) != 1 {
		s.Errorf("%+v, %d bytes, %+v", r.Counts, len(r.Output), r.Validation)
	}
	s.calls(1)
	s.eventually("what was saved is taken away", func() bool { return len(s.objects()) == 0 })
}

// A run whose state no message can hold keeps its answer when it is put down during its judge's call.
func TestALargeStateSurvivesADrain(t *testing.T) {
	t.Parallel()
	s, other := ample(t, holdMark, append(longWait, "drain_timeout: 20s", "drain_timeout: 0s")...)
	first := s.worker()
	s.publish("drained", body("ample", "WRITE-MUCH"))
	receive(s, "the judge is asked", other.arrived)
	first.stop()
	s.standsApart("drained")
	if n := len(s.objects()); n != 1 {
		t.Errorf("%d objects; those of earlier states are of no use", n)
	}
	e, err := s.explained("drained")
	if s.must(err); e.Saved == nil || e.Saved.Phase != run.Validating || e.Saved.Calls != 1 {
		t.Errorf("explained as %+v", e.Saved)
	}
	other.release()
	s.worker()
	s.paidOnce("drained", 2)
}

// explained is what Explain tells of a run of the queue default.
func (s *site) explained(id string) (*consumer.Explanation, error) {
	ctx, cancel := s.within()
	defer cancel()
	return s.client().Explain(ctx, s.key(id))
}

// While the backend of its judge is in trouble, it waits with what it has.
func TestALargeStateWaitsForAJudgesBackend(t *testing.T) {
	t.Parallel()
	s, other := ample(t, "")
	other.fault.Store(http.StatusServiceUnavailable)
	s.worker()
	s.publish("waits", body("ample", "WRITE-MUCH"))
	s.eventually("the judge is waited for several times", func() bool { return other.calls.Load() > 0 && s.waitedFor("waits") >= 2 })
	s.standsApart("waits")
	other.fault.Store(0)
	r := s.ends("waits", schemas.StatusSucceeded)
	s.paidOnce("waits", r.Counts.Executions)
}

// waitedFor is how often a run was handed back.
func (s *site) waitedFor(id string) (n int) {
	s.Helper()
	told, err := s.explained(id)
	s.must(err)
	for _, e := range told.Events {
		if e.Kind == schemas.EventWaiting {
			n++
		}
	}
	return n
}

// A cancel tells what was spent, and nothing is left of the state.
func TestALargeStateIsCancelled(t *testing.T) {
	t.Parallel()
	s, other := ample(t, holdMark)
	s.worker()
	s.publish("stopped", asks("ample", "WRITE-MUCH", schemas.AttemptsFull))
	receive(s, "the judge is asked", other.arrived)
	s.standsApart("stopped")
	if c := s.cancelRun("stopped"); !c.Cancelled {
		t.Fatalf("%+v", c)
	}
	receive(s, "the judge's call is aborted", other.left)
	r := s.filled(s.ends("stopped", schemas.StatusCancelled))
	if r.Counts.Calls != 1 || len(r.Attempts) == 0 || *r.Attempts[0].Content.Answer != quotes {
		t.Errorf("%+v, %d attempts", r.Counts, len(r.Attempts))
	}
}

// Whoever takes up the run of a worker that was killed asks its judge again, and nobody else.
func TestALargeStateSurvivesAKill(t *testing.T) {
	t.Parallel()
	s, other := ample(t, holdMark, shortWait...)
	doomed := s.process("doomed")
	s.publish("killed", body("ample", "WRITE-MUCH"))
	receive(s, "the judge is asked", other.arrived)
	doomed.kill()
	other.release()
	s.worker()
	s.paidOnce("killed", 2)
}

// A state that somebody took away costs its call again, and what was spent stays counted.
func TestALargeStateThatIsGone(t *testing.T) {
	t.Parallel()
	s, other := ample(t, holdMark, append(longWait, "drain_timeout: 20s", "drain_timeout: 0s")...)
	first := s.worker()
	s.publish("robbed", body("ample", "WRITE-MUCH"))
	receive(s, "the judge is asked", other.arrived)
	first.stop()
	ctx, cancel := s.within()
	defer cancel()
	s.must(s.js.DeleteObjectStore(ctx, s.names.ObjectBucket("default")))
	other.release()
	s.worker()
	if r := s.filled(s.ends("robbed", schemas.StatusSucceeded)); r.Counts.Calls != 2 || r.Counts.Executions != 2 || string(r.Output) != quotes {
		t.Errorf("%+v, %d bytes", r.Counts, len(r.Output))
	}
	s.calls(2)
}

// A result that its judge's guidance makes too large keeps output, verdict and codes, and says what is left out.
func TestALargeVoteLosesNoOutput(t *testing.T) {
	t.Parallel()
	s, other := ample(t, "")
	s.write("prompts/ample@1.yaml", "profile: fast\ninputs: {text: {}}\nmessages: [{user: '{{ .text }}'}]\noutput: {mode: json}\nchecks: [{judge: judge@1}]\nvalidation_policy: {semantic_rejection: reject_output}\n")
	s.mock.answers["WRITE-MUCH"] = `{"a":1}`
	reason := `{"code":"wrong","guidance":"` + strings.Repeat("g", 10_000) + `"}`
	other.answers["Judge it"] = `{"decision":"reject","reasons":[` + strings.Repeat(reason+",", 7) + reason + `]}`
	s.worker()
	s.publish("told-much", body("ample", "WRITE-MUCH"))
	r := s.result("told-much")
	if r.Error != nil || string(r.Output) != `{"a":1}` || r.OutputBlob != nil || r.Validation == nil || len(r.Validation.Validators) != 1 {
		t.Fatalf("%s, %+v, output %s, apart %+v", r.Status, r.Error, r.Output, r.OutputBlob)
	}
	v := r.Validation.Validators[0]
	if v.Outcome != schemas.VoteRejected || len(v.Reasons) != 8 || v.Reasons[7] != (schemas.Reason{Code: "wrong"}) {
		t.Errorf("%+v", v)
	}
	if w := strings.Join(r.Warnings, "\n"); !strings.Contains(w, "the guidance of 8 reasons and warnings of the votes, 80000 bytes, is left out") {
		t.Errorf("warnings %q", w)
	}
}

// A pipeline whose jobs no message can hold keeps its output and its provenance, and says what is left out.
func TestALargePipelineLosesNoOutput(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{MaxPayload: 16 << 10})
	for name, text := range pipelineFiles {
		s.write(name, text)
	}
	s.mock.answers["TIDY"] = `"tidied"`
	s.worker()
	const chunks = 60
	s.publishPipeline("listed", strings.TrimSuffix(document(lines(chunks, "A")), "}")+`,"attempts":"full"}`)
	r := s.ends("listed", schemas.StatusSucceeded)
	if len(r.Output) == 0 || r.OutputBlob != nil || len(r.Pipeline.Jobs) != 0 || len(r.Pipeline.Stages) == 0 || r.Counts.Calls == 0 || r.Usage == nil {
		t.Errorf("%s %+v %+v", r.Output, r.Counts, r.Pipeline)
	}
	if w := strings.Join(r.Warnings, "\n"); !strings.Contains(w, "pipeline.jobs, ") || !strings.Contains(w, "is left out") {
		t.Errorf("warnings %q", w)
	}
}
