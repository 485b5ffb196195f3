package main

import (
	"strings"
	"testing"

	"emend/schemas"
)

func stageEvent(lane, stage, outcome string, jobs schemas.JobCounts) schemas.Event {
	return schemas.Event{Kind: schemas.EventStage, Pipeline: "p@1", Lane: lane, Stage: stage, Outcome: outcome, Jobs: &jobs}
}

// On a terminal the tree is drawn over itself: a stage keeps its place, and lanes keep together.
func TestTreeIsDrawnInPlace(t *testing.T) {
	var out strings.Builder
	a := &app{streams: streams{out: &out, tty: true}}
	tree := a.tree(true)
	tree.show(stageEvent("", schemas.StageChunk, schemas.StageAdvanced, schemas.JobCounts{Total: 1, Done: 1}))
	tree.show(stageEvent("a", schemas.StageExtract, "running", schemas.JobCounts{Total: 4}))
	tree.show(stageEvent("b", schemas.StageExtract, "running", schemas.JobCounts{Total: 4}))
	tree.show(stageEvent("a", schemas.StageExtract, "advanced", schemas.JobCounts{Total: 4, Done: 4, Rejected: 1, Reused: 2}))
	out.Reset()
	tree.show(stageEvent("a", schemas.StageMerge, "running", schemas.JobCounts{Total: 1}))
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if !strings.HasPrefix(lines[0], "\x1b[5A") || len(lines) != 6 {
		t.Fatalf("%q", lines)
	}
	for i, want := range []string{"chunk", "a", "extract   4/4", "merge     0/1", "b", "extract   0/4"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d is %q, want %s", i, lines[i], want)
		}
	}
	if !strings.Contains(lines[2], "2 reused, 1 rejected") {
		t.Errorf("%q", lines[2])
	}
}

func TestTreeElsewhereIsLines(t *testing.T) {
	var out strings.Builder
	a := &app{streams: streams{out: &out}}
	tree := a.tree(true)
	tree.show(schemas.Event{Kind: schemas.EventStarted, RunID: "x", Pipeline: "p@1"})
	tree.show(stageEvent("a", schemas.StageExtract, "failed", schemas.JobCounts{Total: 4, Done: 3, Failed: 1, Incomplete: 1}))
	if got := out.String(); strings.Contains(got, "\x1b") || !strings.Contains(got, "started p@1") || !strings.Contains(got, "a extract   3/4 failed (1 incomplete, 1 failed)\n") {
		t.Errorf("%q", got)
	}
	out.Reset()
	a.json = true
	tree.show(stageEvent("a", schemas.StageExtract, "failed", schemas.JobCounts{Total: 4}))
	if !strings.HasPrefix(out.String(), "{") {
		t.Errorf("%q", out.String())
	}
}
