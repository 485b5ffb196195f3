package integration

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"emend/engine/pipeline"
	"emend/prompts"
	"emend/schemas"
)

// judgedFiles are a pipeline of two lanes whose prompt has a judge.
var judgedFiles = map[string]string{
	"prompts/names@1.yaml": "profile: fast\ninputs: {chunk: {}}\nmessages: [{user: 'NAMES {{ .chunk }}'}]\noutput: {mode: json}\nchecks: [{judge: judge}]\n",
	"prompts/judge@1.yaml": "profile: fast\ninputs: {candidate: {}}\nmessages: [{user: 'JUDGE {{ .candidate }}'}]\n",
	"pipelines/digest@1.yaml": "chunk: {by: json_lines}\nlanes: {names: {extract: {prompt: names}, merge: {by: concatenate}}, more: {extract: {prompt: names}}}\n" +
		"reuse: none\nvalidation_policy: {semantic_rejection: fail_run}\n",
}

func lenientJudged() map[string]string {
	out := map[string]string{}
	for name, text := range judgedFiles {
		out[name] = strings.Replace(text, "extract: {prompt: names}, merge", "extract: {prompt: names, validation_policy: {semantic_rejection: reject_output}}, merge", 1)
		out[name] = strings.Replace(out[name], "more: {extract: {prompt: names}}", "more: {extract: {prompt: names, validation_policy: {semantic_rejection: reject_output}}}", 1)
	}
	return out
}

func (s *site) judgeAnswers(n int) {
	for i := 1; i <= n; i++ {
		s.mock.answers[fmt.Sprintf("NAMES \\\"x line%d.", i)] = fmt.Sprintf(`["n%d"]`, i)
	}
	s.mock.answers["JUDGE"] = `{"reasons": [], "decision": "approve"}`
	s.mock.answers[`JUDGE [\"n2\"]`] = `{"reasons": [{"code": "invented", "guidance": "take it out"}], "decision": "reject"}`
}

func TestRejectedChunkFailsTheRunByDefault(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, judgedFiles)
	s.judgeAnswers(3)
	s.worker()
	s.publishPipeline("one", document(lines(3, "x")))
	r := s.ends("one", schemas.StatusFailed)
	if r.Error.Category != schemas.CategoryRejected || !strings.HasPrefix(r.Error.Message, "extract of chunk 2 in lane names: ") || r.Output != nil {
		t.Errorf("%+v", r.Error)
	}
	if s.last(s.names.DeadStream(), s.dead("one")) == nil {
		t.Error("it leaves no dead letter")
	}
	s.eventually("no job is left", func() bool { return s.count(s.names.RunsStream()) == 0 })
}

// One rejected chunk ends neither other chunks nor other lanes where the policy says so.
func TestRejectedChunkIsLeftOutUnderItsPolicy(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, lenientJudged())
	s.judgeAnswers(3)
	s.worker()
	s.publishPipeline("one", document(lines(3, "x")))
	r := s.ends("one", schemas.StatusRejected)
	if want := `{"names":["n1","n3"],"more":["n1","n3"]}`; string(r.Output) != want {
		t.Errorf("%s, want %s", r.Output, want)
	}
	got := r.Pipeline.Rejections
	if len(got) != 2 || got[0].Chunk != 2 || got[0].Lane != "names" || got[0].By[0] != "judge@1" || got[0].Codes[0] != "invented" || got[1].Lane != "more" {
		t.Errorf("%+v", got)
	}
	for _, st := range r.Pipeline.Stages {
		if st.Stage == schemas.StageExtract && (st.Jobs.Rejected != 1 || st.Jobs.Done != 3 || st.Decision != schemas.StageAdvanced || st.RejectedBy["judge@1"] != 1) {
			t.Errorf("%+v", st)
		}
	}
	if r.ValidatorUsage == nil || r.ValidatorUsage.Calls != 6 {
		t.Errorf("%+v", r.ValidatorUsage)
	}
}

// A job that fails fails the run; published anew, only what has no answer is run again.
func TestFailedJobFailsTheRunAndIsRunAgainAlone(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, map[string]string{"pipelines/digest@1.yaml": "chunk: {by: json_lines}\nlanes: {a: {extract: {prompt: names}}}\nreuse: none\nwindow: 1\n"})
	s.mock.answers["x line1."], s.mock.answers["x line2."], s.mock.answers["x line4."] = "[1]", "[2]", "[4]"
	doc := strings.Replace(lines(4, "x"), "x line3.", "x BAD-REQUEST", 1)
	s.worker()
	s.publishPipeline("one", document(doc))
	r := s.ends("one", schemas.StatusFailed)
	if r.Error.Category != schemas.CategoryProviderStatus || !strings.HasPrefix(r.Error.Message, "extract of chunk 3 in lane a: ") || r.Counts.Calls != 3 {
		t.Errorf("%+v %+v", r.Error, r.Counts)
	}
	s.gone(s.names.Pipeline("digest", "default", "one"))
	s.mock.answers["x BAD-REQUEST"] = "[3]"
	s.publishPipeline("one", document(doc))
	s.eventually("the run is settled anew", func() bool { return s.result("one").Status == schemas.StatusSucceeded })
	if r := s.result("one"); string(r.Output) != `{"a":[1,2,3,4]}` {
		t.Errorf("%s", r.Output)
	}
	s.calls(5)
}

// What a validator could not decide about, or rejected, is no checkpoint: a failed run that is published anew asks for it again,
// and takes over what was accepted. A redelivery of the same request pays for nothing twice.
func TestIncompleteAndRejectedJobsAreNoCheckpoint(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, map[string]string{"prompts/names@1.yaml": judgedFiles["prompts/names@1.yaml"], "prompts/judge@1.yaml": judgedFiles["prompts/judge@1.yaml"],
		"pipelines/digest@1.yaml": "chunk: {by: json_lines}\nlanes: {a: {extract: {prompt: names, validation_policy: {semantic_rejection: reject_output}}}}\nreuse: none\nwindow: 1\n"})
	s.judgeAnswers(3)
	s.mock.answers[`JUDGE [\"n3\"]`] = "no decision"
	s.write("emend.yaml", strings.Replace(s.read("emend.yaml"), "drain_timeout: 20s", "drain_timeout: 0s", 1))
	doc := document(strings.Replace(lines(4, "x"), "x line4.", "x BAD-REQUEST", 1))
	w := s.worker()
	s.publishPipeline("one", doc)
	s.ends("one", schemas.StatusFailed)
	s.gone(s.names.Pipeline("digest", "default", "one"))
	s.calls(7)
	s.mock.answers[`JUDGE [\"n2\"]`] = s.mock.answers["JUDGE"]
	s.mock.answers[`JUDGE [\"n3\"]`] = s.mock.answers["JUDGE"]
	s.mock.answers["x BAD-REQUEST"] = `["` + holdMark + `"]`
	s.publishPipeline("one", doc)
	receive(s, "the last judge is asked", s.mock.arrived)
	w.stop()
	s.mock.release()
	s.worker()
	s.eventually("the run is settled anew", func() bool { return s.result("one").Status == schemas.StatusSucceeded })
	r := s.result("one")
	if string(r.Output) != `{"a":["n1","n2","n3","HOLD"]}` || r.Pipeline.Stages[1].Jobs.Incomplete+r.Pipeline.Stages[1].Jobs.Rejected != 0 {
		t.Errorf("%s %+v", r.Output, r.Pipeline.Stages[1])
	}
	s.calls(14)
}

// snapshot loads the site's definitions.
func (s *site) snapshot() *prompts.Snapshot {
	s.Helper()
	snap, err := prompts.LoadDir(s.dir)
	s.must(err)
	return snap
}

// childID is the id of a job of pipeline run id, which asks body.
func (s *site) childID(id, body string, j pipeline.Job) string {
	s.Helper()
	plan, _ := s.snapshot().PipelinePlan("digest")
	return pipeline.ChildID(pipeline.ParentTag("default", id), pipeline.ContentTag(schemas.Fingerprint("_pipeline.digest", []byte(body)), plan.Digest), j)
}

func TestChildIDThatIsTakenIsAConflict(t *testing.T) {
	t.Parallel()
	for name, settled := range map[string]bool{"queued": false, "settled": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newPipelines(t, nil)
			text := document(lines(2, "x"))
			id := s.childID("one", text, pipeline.Job{Stage: schemas.StageExtract, Lane: 0, Chunk: 2, Attempt: 1})
			s.worker()
			if settled {
				s.publish(id, body("say", "other"))
				s.ends(id, schemas.StatusSucceeded)
			} else {
				s.publish(id, body("say", holdMark))
				receive(s, "the other run calls", s.mock.arrived)
			}
			s.publishPipeline("one", text)
			if r := s.ends("one", schemas.StatusFailed); r.Error.Category != schemas.CategoryIDConflict || !strings.Contains(r.Error.Message, "another id") {
				t.Errorf("%+v", r.Error)
			}
		})
	}
}

// What can be known before anything is paid is refused before: the id stays free, and nothing is called.
func TestBadPipelineRequestsAreRefused(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, map[string]string{"prompts/names@1.yaml": strings.Replace(pipelineFiles["prompts/names@1.yaml"], "4MiB", "1KiB", 1)})
	s.worker()
	for i, c := range []struct{ text, says string }{
		{document(" \n"), "the document is empty: there is no chunk to extract from"},
		{document("{not json}\n"), "line 1 of the document is no JSON value"},
		{`{"inputs": {}}`, "inputs.document: is missing"},
		{`{"inputs": {"document": ["a"]}}`, "inputs.document: must be text"},
		{`{"input": {}}`, "input: unknown field"},
		{`{"pipeline": "other", "inputs": {"document": "1"}}`, "the subject is that of"},
		{`{"inputs": {"document": "1"}, "reuse": "maybe"}`, "reuse: must be one of"},
		{`[]`, "a JSON object is expected"},
		{document("1\n\"" + strings.Repeat("x", 2<<10) + "\""), "chunk 2 has 2050 bytes, but input chunk of names@1 takes 1024: cut smaller, or raise its max"},
		{document(strings.Repeat("1\n", pipeline.MaxChunks+1)), "the document has 100001 chunks, allowed are 100000"},
	} {
		id := fmt.Sprint("bad", i)
		inbox, sub := s.replies()
		s.must(s.tryPublish(s.names.Pipeline("digest", "default", id), c.text, inbox))
		if r, _ := s.reply(sub); r.Status != schemas.StatusFailed || r.Error.Category != schemas.CategoryInvalidRequest || !strings.Contains(r.Error.Message, c.says) {
			t.Errorf("%.60s: %+v, want %s", c.text, r.Error, c.says)
		}
		s.gone(s.names.Pipeline("digest", "default", id))
	}
	s.calls(0)
	if n := s.count(s.names.ResultsStream()); n != 0 {
		t.Errorf("%d results", n)
	}
	if err := s.tryPublish(s.names.Pipeline("nothing", "default", "x"), document("1"), ""); err == nil {
		t.Error("an unknown pipeline is taken")
	}
}

// A worker refuses a job of another definition: its catalog is not the coordinator's.
func TestJobOfAnotherDigestIsRefused(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, nil)
	s.worker()
	req := schemas.Request{Prompt: "names@1", Inputs: map[string]json.RawMessage{"chunk": quoted("x")},
		Stage: &schemas.StageRef{Pipeline: "digest@1", Digest: "other", Stage: schemas.StageExtract, Lane: "names", Chunk: 1, Attempt: 1}}
	text, err := json.Marshal(req)
	s.must(err)
	s.refused("x", string(text), "stage.digest: pipeline digest@1 has other content in this catalog")
	s.calls(0)
}

func TestPipelineTellsItsStages(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, nil)
	s.mock.answers["NAMES"], s.mock.answers["NOTES"] = `["n"]`, `[1]`
	s.worker()
	s.publishPipeline("one", document(lines(3, "x")))
	var got []string
	for _, e := range s.events("default", "one") {
		if e.Kind != schemas.EventStage {
			got = append(got, e.Kind)
			continue
		}
		if e.Pipeline != "digest@1" || e.Jobs == nil {
			t.Fatalf("%+v", e)
		}
		if e.Outcome != pipeline.Running || e.Jobs.Done == 0 {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s %d/%d", e.Lane, e.Stage, e.Outcome, e.Jobs.Done, e.Jobs.Total)))
		}
	}
	for _, want := range []string{"started", "chunk advanced 1/1", "names extract running 0/3", "notes extract running 0/3", "names extract advanced 3/3",
		"notes extract advanced 3/3", "names merge advanced 1/1", "notes merge advanced 1/1", "notes normalize running 0/1", "notes normalize advanced 1/1", "finished"} {
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("%q is not told in\n%s", want, strings.Join(got, "\n"))
		}
	}
	end := s.event("one", schemas.EventFinished)
	if end.Outcome != schemas.StatusSucceeded || end.Pipeline != "digest@1" || end.Totals.Counts.Calls != s.result("one").Counts.Calls || end.Totals.Counts.Calls == 0 {
		t.Errorf("its totals are not its jobs': %+v", end.Totals)
	}
}

// The dead letter of a pipeline run is replayed as any: under its id, and only what has no answer is run again.
func TestDeadLetterOfAPipelineIsReplayed(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, oneLane(1))
	s.mock.answers["x line1."] = `["1"]`
	doc := strings.Replace(lines(2, "x"), "x line2.", "x BAD-REQUEST", 1)
	s.worker()
	s.publishPipeline("one", document(doc))
	s.ends("one", schemas.StatusFailed)
	s.gone(s.names.Pipeline("digest", "default", "one"))
	s.unreplayed(schemas.Replay{ID: "one", Profile: "slow"}, "it is a pipeline's")
	s.mock.answers["x BAD-REQUEST"] = `["2"]`
	s.replayed(schemas.Replay{ID: "one"}, "")
	s.eventually("the run is settled anew", func() bool { return s.result("one").Status == schemas.StatusSucceeded })
	if r := s.result("one"); string(r.Output) != `{"a":["1","2"]}` {
		t.Errorf("%s", r.Output)
	}
	s.calls(3)
}
