package consumer

import (
	"fmt"
	"slices"
	"testing"

	"emend/engine/pipeline"
	"emend/schemas"
)

func TestJobsOfAReport(t *testing.T) {
	jobs, ran := jobsOf(&schemas.PipelineReport{Stages: []schemas.StageReport{
		{Stage: schemas.StageChunk, Prompt: "cut@1", Jobs: schemas.JobCounts{Total: 1, Done: 1}},
		{Stage: schemas.StageExtract, Lane: "a", Prompt: "x@1", Jobs: schemas.JobCounts{Total: 2, Done: 2, Reused: 1}},
		{Stage: schemas.StageMerge, Lane: "a", Jobs: schemas.JobCounts{Total: 1, Done: 1}},
		{Stage: schemas.StageExtract, Lane: "b", Prompt: "y@1", Jobs: schemas.JobCounts{Total: 2, Done: 1}},
		{Stage: schemas.StageNormalize, Lane: "b", Prompt: "z@1", Jobs: schemas.JobCounts{Total: 1}},
	}})
	if got := fmt.Sprint(jobs, ran); got != "[{chunk -1 0 1} {extract 0 1 1} {extract 0 2 1} {extract 1 1 1} {extract 1 2 1} {normalize 1 0 1}] 3" {
		t.Error(got)
	}
}

// storesResult stores a result of queue default.
func (p *place) storesResult(r schemas.Result) {
	p.Helper()
	body, err := schemas.Marshal(r)
	p.must(err)
	_, err = p.js.Publish(p.Context(), p.names.Result(r.Queue, r.ID), body)
	p.must(err)
}

// TestJobsThatRanAgainAreNamed: under the ids that those runs have, behind the job's own, in the order of the jobs; whether the results
// can be listed or are too many for that. Those of other requests under the parent's id, and of other parents, are not named.
func TestJobsThatRanAgainAreNamed(t *testing.T) {
	p := newPlace(t)
	p.set(config(), 0)
	l := p.ledger()
	k := Key{"default", "doc"}
	report := &schemas.PipelineReport{Pipeline: "d@1", Digest: "digest", Stages: []schemas.StageReport{
		{Stage: schemas.StageExtract, Lane: "a", Prompt: "x@1", Jobs: schemas.JobCounts{Total: 4, Done: 4, Reused: 1}},
		{Stage: schemas.StageNormalize, Lane: "a", Prompt: "z@1", Jobs: schemas.JobCounts{Total: 1, Done: 1}, Attempts: map[string]int{pipeline.KindRetry: 1}},
	}}
	parent := schemas.Result{ID: k.ID, Queue: k.Queue, Status: schemas.StatusSucceeded, Pipeline: report}
	parent.Request.SHA256, parent.Request.Seq = "sha", 77
	p.storesResult(parent)
	tag := pipeline.ParentTag(k.Queue, k.ID)
	prefix := tag + "-" + pipeline.ContentTag("sha", "digest")
	want := []string{"-extract-0-1", "-extract-0-1-r77", "-extract-0-2-fresh", "-extract-0-3", "-normalize-0", "-normalize-0-again3", "-normalize-0-again3-r77"}
	for i, suffix := range want {
		want[i] = prefix + suffix
		status := schemas.StatusSucceeded
		if suffix == "-extract-0-1" || suffix == "-normalize-0-again3" {
			status = schemas.StatusUnverified
		}
		p.storesResult(schemas.Result{ID: want[i], Queue: k.Queue, Status: status})
	}
	for _, other := range []string{tag + "-othercontent-extract-0-4", pipeline.ParentTag(k.Queue, "another") + "-x-extract-0-4", prefix + "-extract-0-9", "run"} {
		p.storesResult(schemas.Result{ID: other, Queue: k.Queue, Status: schemas.StatusSucceeded})
	}
	ids, of, err := l.storedJobs(t.Context(), k)
	if err != nil || of != len(want) || !slices.Equal(ids, want) {
		t.Errorf("%d: %v, %v\nwant %v", of, ids, err, want)
	}
	f := family{l: l, queue: k.Queue, prefix: prefix + "-", seq: 77, again: true}
	jobs, _ := jobsOf(report)
	for _, j := range jobs {
		f.ids = append(f.ids, pipeline.ChildID(tag, pipeline.ContentTag("sha", "digest"), j))
	}
	if ids, err := f.lookedUp(t.Context()); err != nil || !slices.Equal(ids, want) {
		t.Errorf("looked up: %v, %v\nwant %v", ids, err, want)
	}
}
