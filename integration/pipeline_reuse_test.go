package integration

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"emend/consumer"
	"emend/schemas"
)

// reusing is a pipeline with a prompt in each stage of its one lane.
var reusing = map[string]string{
	"pipelines/digest@1.yaml": "chunk: {by: json_lines}\nlanes: {a: {extract: {prompt: names}, merge: {prompt: join}, normalize: {prompt: tidy}}}\n",
	"prompts/join@1.yaml":     "profile: fast\ninputs: {items: {}}\nmessages: [{user: 'JOIN {{ .items }}'}]\noutput: {mode: json}\n",
}

func pipelineRequest(document, reuse, attempts string) string {
	raw, err := json.Marshal(schemas.PipelineRequest{Inputs: map[string]json.RawMessage{"document": quoted(document)}, Reuse: reuse, Attempts: attempts})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// calledFor runs a pipeline and returns its result with the number of calls that were made for it.
func (s *site) calledFor(id, text string) (*schemas.Result, int64) {
	s.Helper()
	before := s.mock.calls.Load()
	s.publishPipeline(id, text)
	return s.ends(id, schemas.StatusSucceeded), s.mock.calls.Load() - before
}

func TestAcceptedOutputsAreReused(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, reusing)
	s.mock.answers["NAMES"], s.mock.answers["JOIN"] = `["n"]`, `["joined"]`
	s.worker()
	doc := lines(4, "x")
	first, calls := s.calledFor("first", pipelineRequest(doc, "", ""))
	if calls != 6 {
		t.Fatalf("%d calls, want 4 extractions, a merge, a normalize", calls)
	}
	s.eventually("the outputs are kept", func() bool { return s.count("KV_"+s.names.ReuseBucket()) == 6 })
	again, calls := s.calledFor("again", pipelineRequest(doc, schemas.ReuseAuto, schemas.AttemptsFull))
	if calls != 0 || string(again.Output) != string(first.Output) || again.Usage != nil || again.Pipeline.Stages[1].Jobs.Reused != 4 {
		t.Errorf("%d calls: %s %+v", calls, again.Output, again.Pipeline.Stages)
	}
	if job := again.Pipeline.Jobs[0]; !job.Reused || job.Run != "" || string(job.Output) != `["n"]` {
		t.Errorf("%+v", job)
	}
	if _, calls := s.calledFor("changed", pipelineRequest(strings.Replace(doc, "line3", "line 3", 1), "", "")); calls != 1 {
		t.Errorf("%d calls, want one for the line that is new", calls)
	}
	if _, calls := s.calledFor("refreshed", pipelineRequest(doc, schemas.ReuseRefresh, "")); calls != 6 {
		t.Errorf("refresh: %d calls", calls)
	}
	if r, calls := s.calledFor("none", pipelineRequest(doc, schemas.ReuseNone, schemas.AttemptsNone)); calls != 6 || r.Pipeline != nil {
		t.Errorf("none: %d calls, %+v", calls, r.Pipeline)
	}
	if n := s.count("KV_" + s.names.ReuseBucket()); n != 7 {
		t.Errorf("%d outputs are kept, want 7", n)
	}
}

// none takes nothing and keeps nothing, refresh takes nothing and keeps: what a later run takes tells them apart.
func TestWordsOfReuse(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, reusing)
	s.mock.answers["NAMES"], s.mock.answers["JOIN"] = `["n"]`, `["joined"]`
	doc := lines(2, "x")
	for i, c := range []struct {
		reuse, tidy, output string
		calls               int64
		kept                uint64
	}{
		{schemas.ReuseNone, "zero", "zero", 4, 0},
		{schemas.ReuseAuto, "one", "one", 4, 4},
		{schemas.ReuseRefresh, "two", "two", 4, 4},
		{schemas.ReuseAuto, "unasked", "two", 0, 4},
		{schemas.ReuseNone, "three", "three", 4, 4},
		{schemas.ReuseAuto, "unasked", "two", 0, 4},
	} {
		s.mock.answers["TIDY"] = `"` + c.tidy + `"`
		w := s.worker()
		r, calls := s.calledFor(fmt.Sprint("run-", i), pipelineRequest(doc, c.reuse, ""))
		w.stop()
		if kept := s.count("KV_" + s.names.ReuseBucket()); string(r.Output) != `{"a":"`+c.output+`"}` || calls != c.calls || kept != c.kept {
			t.Errorf("run %d, %s: %s with %d calls, %d are kept; want %s, %d, %d", i, c.reuse, r.Output, calls, kept, c.output, c.calls, c.kept)
		}
	}
}

// What shapes an output is part of its key: another version of a prompt reuses nothing of the one before it, another queue
// nothing of this one.
func TestReuseEndsWithWhatShapedTheOutput(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, reusing)
	s.mock.answers["NAMES"], s.mock.answers["JOIN"] = `["n"]`, `["joined"]`
	w := s.worker()
	doc := pipelineRequest(lines(3, "x"), "", "")
	s.calledFor("first", doc)
	before := s.mock.calls.Load()
	s.must(s.tryPublish(s.names.Pipeline("digest", "team-a", "first"), doc, ""))
	s.decode(s.stored(s.names.ResultsStream(), s.names.Result("team-a", "first")).Data())
	if calls := s.mock.calls.Load() - before; calls != 5 {
		t.Errorf("another queue: %d calls", calls)
	}
	w.stop()
	s.write("prompts/tidy@1.yaml", strings.Replace(pipelineFiles["prompts/tidy@1.yaml"], "TIDY", "TIDY up", 1))
	s.worker()
	if _, calls := s.calledFor("tidied", doc); calls != 1 {
		t.Errorf("another normalize: %d calls", calls)
	}
}

// Nothing that is incomplete or rejected is kept.
func TestIncompleteOutputsAreNotReused(t *testing.T) {
	t.Parallel()
	files := lenientJudged()
	files["pipelines/digest@1.yaml"] = strings.Replace(files["pipelines/digest@1.yaml"], "reuse: none\n", "", 1)
	s := newPipelines(t, files)
	s.judgeAnswers(3)
	s.mock.answers[`JUDGE [\"n3\"]`] = `no decision`
	s.worker()
	s.publishPipeline("one", pipelineRequest(lines(3, "x"), "", ""))
	r := s.ends("one", schemas.StatusRejected)
	for _, st := range r.Pipeline.Stages {
		if st.Stage == schemas.StageExtract && (st.Jobs.Incomplete != 1 || st.FailedValidators["judge@1"] != 1 || st.Jobs.Rejected != 1) {
			t.Errorf("%+v", st)
		}
	}
	if n := s.count("KV_" + s.names.ReuseBucket()); n != 1 {
		t.Errorf("%d outputs are kept, want the accepted one, which both lanes share", n)
	}
}

// A reused chunk plan that today's rules reject is not used, and is written over only when a new one is accepted.
func TestReusedChunkPlanIsJudgedAgain(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"pipelines/digest@1.yaml": "chunk: {prompt: split}\nlanes: {a: {extract: {prompt: names}}}\n",
		"prompts/split@1.yaml":    "profile: fast\ninputs: {document: {}}\nmessages: [{user: 'SPLIT {{ .document }}'}]\n",
	}
	s := newPipelines(t, files)
	s.mock.answers["SPLIT"], s.mock.answers["NAMES"] = `{"starts": [1, 2, 3]}`, `["n"]`
	w := s.worker()
	doc := pipelineRequest(lines(3, "x"), "", "")
	if r, calls := s.calledFor("first", doc); calls != 4 || r.Pipeline.Chunks != 3 {
		t.Fatalf("%d calls, %d chunks", calls, r.Pipeline.Chunks)
	}
	if r, calls := s.calledFor("second", doc); calls != 0 || r.Pipeline.Stages[0].Jobs.Reused != 1 {
		t.Errorf("%d calls, %+v", calls, r.Pipeline.Stages[0])
	}
	w.stop()
	s.write("pipelines/digest@1.yaml", strings.Replace(files["pipelines/digest@1.yaml"], "{prompt: split}", "{prompt: split, checks: [{rule: 'size(starts) < 3'}]}", 1))
	s.mock.answers["SPLIT"] = `{"starts": [1, 3]}`
	s.worker()
	r, calls := s.calledFor("third", doc)
	if calls != 2 || r.Pipeline.Chunks != 2 || r.Pipeline.Stages[0].Jobs.Reused != 0 || r.Pipeline.Stages[0].Attempts[schemas.StageInitial] != 1 {
		t.Errorf("%d calls, want a chunk plan and the one chunk that is new; %d chunks, %+v", calls, r.Pipeline.Chunks, r.Pipeline.Stages[0])
	}
	if r, calls := s.calledFor("fourth", doc); calls != 0 || r.Pipeline.Chunks != 2 {
		t.Errorf("%d calls, %d chunks", calls, r.Pipeline.Chunks)
	}
}

// A chunk plan that today's rules reject stays kept while the new one is rejected, too.
func TestARejectedChunkPlanOverwritesNone(t *testing.T) {
	t.Parallel()
	const free = "chunk: {prompt: split, repair_attempts: 0}\nlanes: {a: {extract: {prompt: names}}}\nvalidation_policy: {semantic_rejection: reject_output}\n"
	s := newPipelines(t, map[string]string{"pipelines/digest@1.yaml": free,
		"prompts/split@1.yaml": "profile: fast\ninputs: {document: {}}\nmessages: [{user: 'SPLIT {{ .document }}'}]\n"})
	s.mock.answers["SPLIT"], s.mock.answers["NAMES"] = `{"starts": [1, 2, 3]}`, `["n"]`
	w := s.worker()
	doc := pipelineRequest(lines(4, "x"), "", "")
	if r, calls := s.calledFor("kept", doc); calls != 4 || r.Pipeline.Chunks != 3 {
		t.Fatalf("%d calls, %d chunks", calls, r.Pipeline.Chunks)
	}
	w.stop()
	s.write("pipelines/digest@1.yaml", strings.Replace(free, "attempts: 0}", "attempts: 0, checks: [{rule: 'size(starts) < 3'}]}", 1))
	s.mock.answers["SPLIT"] = `{"starts": [1, 2, 3, 4]}`
	w = s.worker()
	before := s.mock.calls.Load()
	s.publishPipeline("rejected", doc)
	r := s.ends("rejected", schemas.StatusRejected)
	if calls := s.mock.calls.Load() - before; calls != 1 || r.Pipeline.Stages[0].Jobs.Rejected != 1 {
		t.Errorf("%d calls, %+v", calls, r.Pipeline.Stages[0])
	}
	w.stop()
	s.write("pipelines/digest@1.yaml", free)
	s.worker()
	if r, calls := s.calledFor("again", doc); calls != 0 || r.Pipeline.Chunks != 3 || r.Pipeline.Stages[0].Jobs.Reused != 1 {
		t.Errorf("%d calls, %d chunks, %+v", calls, r.Pipeline.Chunks, r.Pipeline.Stages[0])
	}
}

// A document larger than a message goes through the object store, as do the requests of large chunks and the result.
func TestLargeDocumentGoesThroughTheObjectStore(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, map[string]string{"pipelines/digest@1.yaml": "chunk: {by: json_lines}\nlanes: {a: {extract: {prompt: names}, merge: {by: concatenate}}}\nreuse: none\n"})
	s.mock.answers["NAMES"] = `["` + strings.Repeat("n", 400<<10) + `"]`
	s.worker()
	var doc strings.Builder
	for i := range 3 {
		fmt.Fprintf(&doc, "\"%d%s\"\n", i, strings.Repeat("x", 1500<<10))
	}
	ctx, cancel := s.within()
	defer cancel()
	client := s.client()
	r, err := client.RunPipeline(ctx, "digest", consumer.Key{Queue: "default", ID: "large"}, schemas.PipelineRequest{Inputs: map[string]json.RawMessage{"document": quoted(doc.String())}}, nil)
	s.must(err)
	if r.Status != schemas.StatusSucceeded || r.OutputBlob == nil {
		t.Fatalf("%s %+v", r.Status, r.Error)
	}
	s.must(client.Fill(ctx, r))
	var out struct{ A []string }
	s.must(json.Unmarshal(r.Output, &out))
	if len(out.A) != 3 || len(out.A[2]) != 400<<10 {
		t.Errorf("%d outputs", len(out.A))
	}
}
