package pipeline

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"emend/schemas"
)

// staged is a pipeline of one lane with a prompt in every stage.
func staged() *Plan {
	chunk, normalize := model("split@1"), model("n@1")
	normalize.Retries = 2
	return &Plan{Name: "p", Version: 1, Digest: "d", Window: 2, Chunk: chunk, Lanes: []Lane{{Name: "a", Extract: model("e@1"), Merge: model("m@1"), Normalize: normalize}}}
}

func jobOf(stage string) Job {
	switch stage {
	case schemas.StageChunk:
		return Job{Stage: stage, Lane: -1, Attempt: 1}
	case schemas.StageExtract:
		return Job{Stage: stage, Chunk: 1, Attempt: 1}
	}
	return Job{Stage: stage, Attempt: 1}
}

// upTo brings a run of one chunk to where the job of a stage is out.
func upTo(t *testing.T, p *Plan, stage string) *Run {
	t.Helper()
	r, err := New(p, Request{Document: json.RawMessage(`"one\ntwo\n"`)})
	if err != nil {
		t.Fatal(err)
	}
	r.Step(Begun{})
	for _, s := range schemas.PipelineStages {
		if s == stage {
			break
		}
		output := `["x"]`
		if s == schemas.StageChunk {
			output = `{"starts":[1]}`
		}
		r.Step(Ended{Job: jobOf(s), Outcome: ok(output)})
	}
	if out := r.Out(); len(out) != 1 || out[0] != jobOf(stage) {
		t.Fatalf("%s: out are %v", stage, out)
	}
	return r
}

// words are the actions without what they tell and keep.
func words(acts []Action) string {
	var out []string
	for _, a := range acts {
		switch a := a.(type) {
		case Publish:
			out = append(out, fmt.Sprintf("publish %s%s", a.Job.Stage, map[bool]string{true: fmt.Sprint(" ", a.Job.Attempt)}[a.Job.Attempt > 1]))
		case Abandon:
			out = append(out, "abandon "+a.Job.Stage)
		case Finish:
			out = append(out, a.Result.Status)
		}
	}
	return strings.Join(out, ", ")
}

// Every stage's job with every end that it can have, under each policy.
func TestEveryCell(t *testing.T) {
	next := map[string]string{schemas.StageChunk: "publish extract", schemas.StageExtract: "publish merge", schemas.StageMerge: "publish normalize", schemas.StageNormalize: "succeeded"}
	for _, stage := range schemas.PipelineStages {
		good := `["x"]`
		if stage == schemas.StageChunk {
			good = `{"starts":[1]}`
		}
		accepted := next[stage]
		unverified := accepted
		if stage == schemas.StageNormalize {
			unverified = "unverified"
		}
		left := "rejected"
		if stage == schemas.StageExtract {
			left = "failed" // nothing is left to merge
		}
		for _, c := range []struct {
			status, output string
			policy         schemas.StagePolicy
			want           string
		}{
			{schemas.StatusSucceeded, good, strict, accepted},
			{schemas.StatusUnverified, good, strict, unverified},
			{schemas.StatusRejected, good, strict, "failed"},
			{schemas.StatusInvalid, good, strict, "failed"},
			{schemas.StatusRejected, good, lenient, left},
			{schemas.StatusInvalid, good, lenient, left},
			{schemas.StatusFailed, "", lenient, "failed"},
			{schemas.StatusCancelled, "", lenient, "failed"},
			{schemas.StatusExpired, "", lenient, "expired"},
		} {
			p := staged()
			for _, s := range []*Step{&p.Chunk, &p.Lanes[0].Extract, &p.Lanes[0].Merge, &p.Lanes[0].Normalize} {
				s.Policy = c.policy
			}
			r := upTo(t, p, stage)
			if got := words(r.Step(Ended{Job: jobOf(stage), Outcome: Outcome{Status: c.status, Output: json.RawMessage(c.output)}})); got != c.want {
				t.Errorf("%s %s under %s: %q, want %q", stage, c.status, c.policy.SemanticRejection, got, c.want)
			}
		}
		r := upTo(t, staged(), stage)
		if got := r.Step(Ended{Job: Job{Stage: stage, Chunk: 77, Attempt: 9}}); got != nil {
			t.Errorf("%s: another job's word does %v", stage, got)
		}
		if got := words(r.Step(Stopped{Status: schemas.StatusCancelled})); got != "abandon "+stage+", cancelled" {
			t.Errorf("%s stopped: %s", stage, got)
		}
	}
}

func TestNormalizeIsAskedAgainFromItsBudget(t *testing.T) {
	when, err := CompileExpression("size(normalized) > size(merged)", true, VarNormalized, VarMerged)
	if err != nil {
		t.Fatal(err)
	}
	for fallback, want := range map[string]string{FallbackMerged: `{"a":["x"]}`, FallbackLast: `{"a":[1,2]}`, FallbackFail: ""} {
		p := staged()
		p.Lanes[0].Normalize.Again = &Again{When: when, Fallback: fallback}
		r := upTo(t, p, schemas.StageNormalize)
		used := ok(`[1,2]`)
		used.Stages = []schemas.Stage{{Attempt: 1, Kind: schemas.StageInitial, RejectedBy: []string{"j@1"}}, {Attempt: 2, Kind: schemas.StageCorrection}}
		if got := words(r.Step(Ended{Job: jobOf(schemas.StageNormalize), Outcome: used})); got != "publish normalize 3" {
			t.Fatalf("%s: %s: two of three attempts are spent", fallback, got)
		}
		acts := r.Step(Ended{Job: Job{Stage: schemas.StageNormalize, Attempt: 3}, Outcome: ok(`[1,2]`)})
		end := acts[len(acts)-1].(Finish).Result
		if string(end.Output) != want || (want == "") != (end.Status == schemas.StatusFailed) {
			t.Errorf("%s: %s %s", fallback, end.Status, end.Output)
		}
		for _, a := range acts {
			if _, keep := a.(Keep); keep {
				t.Errorf("%s: a fallback is kept", fallback)
			}
		}
	}
	p := staged()
	p.Lanes[0].Normalize.Again = &Again{When: when, Fallback: FallbackMerged}
	r := upTo(t, p, schemas.StageNormalize)
	acts := r.Step(Ended{Job: jobOf(schemas.StageNormalize), Outcome: Outcome{Status: schemas.StatusRejected, Output: json.RawMessage(`[1,2]`)}})
	if end := acts[len(acts)-1].(Finish).Result; end.Status != schemas.StatusFailed || end.Error.Category != schemas.CategoryRejected {
		t.Errorf("a fallback goes over a rejection: %+v", end)
	}
}

// What a stage's prompt does not take is said when it is known.
func TestInputsKeepTheirBounds(t *testing.T) {
	p := twoLanes()
	p.Lanes[0].Extract.Inputs[InputChunk] = 0
	if _, err := New(p, Request{Document: document(1)}); err == nil || !strings.Contains(err.Error(), "chunk 1 has 2 bytes, but input chunk of a@1 takes 0") {
		t.Errorf("%v", err)
	}
	q := staged()
	q.Lanes[0].Merge.Inputs[InputItems] = 3
	r := upTo(t, q, schemas.StageMerge)
	if _, err := r.Inputs(jobOf(schemas.StageMerge)); err == nil || !strings.Contains(err.Error(), "merge of lane a: input items has 7 bytes, but m@1 takes 3") {
		t.Errorf("%v", err)
	}
}

func TestChildIDs(t *testing.T) {
	parent, content := ParentTag("q", "one"), ContentTag("f", "d")
	seen := map[string]bool{}
	for _, j := range []Job{jobOf(schemas.StageChunk), jobOf(schemas.StageExtract), {Stage: schemas.StageExtract, Lane: 1, Chunk: 1, Attempt: 1}, {Stage: schemas.StageExtract, Chunk: 11, Attempt: 1},
		jobOf(schemas.StageMerge), jobOf(schemas.StageNormalize), {Stage: schemas.StageNormalize, Attempt: 2}} {
		id := ChildID(parent, content, j)
		if seen[id] || len(id) > 128 || !IsChildOf(parent, id) || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			t.Errorf("%+v: %s", j, id)
		}
		seen[id] = true
	}
	if ParentTag("q", "one") != parent || ParentTag("q", "two") == parent || ParentTag("r", "one") == parent || IsChildOf(ParentTag("q", "two"), ChildID(parent, content, jobOf(schemas.StageMerge))) {
		t.Error("parents are not told apart")
	}
}

// A run of 10,000 chunks, each with an answer of one KiB, needs far less than 64 MiB.
func TestTenThousandChunksFitInMemory(t *testing.T) {
	const chunks = 10_000
	line := `"` + strings.Repeat("x", 1000) + `"` + "\n"
	doc, err := json.Marshal(strings.Repeat(line, chunks))
	if err != nil {
		t.Fatal(err)
	}
	p := twoLanes()
	p.Window, p.Lanes = 128, p.Lanes[:1]
	p.Lanes[0].Extract.Inputs[InputChunk] = 4096
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r, err := New(p, Request{Document: doc})
	if err != nil {
		t.Fatal(err)
	}
	r.Step(Begun{})
	for n := 1; n < chunks; n++ { // all but the last, so that everything is still held
		j := Job{Stage: schemas.StageExtract, Chunk: n, Attempt: 1}
		if _, err := r.Inputs(j); err != nil {
			t.Fatal(err)
		}
		if acts := r.Step(Ended{Job: j, Outcome: ok(`["` + strings.Repeat("y", 1000) + `"]`)}); len(acts) == 0 {
			t.Fatal("nothing follows")
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if used := int64(after.HeapAlloc) - int64(before.HeapAlloc); used > 32<<20 {
		t.Errorf("%d MiB are held", used>>20)
	}
	runtime.KeepAlive(r)
}
