package main

import (
	"slices"
	"strings"
	"testing"

	"emend/schemas"
)

// An event that was shown as it was stored is not shown once more when it comes; of another delivery or queue it is another.
func TestWatchedShowsEventsOnce(t *testing.T) {
	var shown []int
	w := &watched{show: func(e schemas.Event) { shown = append(shown, e.Seq) }, told: map[[3]any]bool{{"q", uint64(1), 2}: true}}
	for _, e := range []schemas.Event{{Queue: "q", Delivery: 1, Seq: 2}, {Queue: "q", Delivery: 1, Seq: 3}, {Queue: "q", Delivery: 2, Seq: 2}, {Queue: "r", Delivery: 1, Seq: 2}} {
		w.event(e)
	}
	if !slices.Equal(shown, []int{3, 2, 2}) {
		t.Errorf("%v", shown)
	}
}

// A rejection is told in words that its stage has: only an extraction has a chunk, and a chunk stage no lane.
func TestRejectionsAreNamed(t *testing.T) {
	var out strings.Builder
	a := &app{streams: streams{out: &out}}
	a.printPipeline(&schemas.PipelineReport{Pipeline: "p@1", Chunks: 2, Rejections: []schemas.Rejection{{Stage: schemas.StageChunk, Status: "invalid"},
		{Stage: schemas.StageExtract, Lane: "a", Chunk: 2, Status: "rejected", Codes: []string{"x", "y"}}, {Stage: schemas.StageMerge, Lane: "a", Status: "rejected"}}})
	if want := "p@1, 2 chunks\nchunk: invalid\nextract of chunk 2 in lane a: rejected x, y\nmerge in lane a: rejected\n"; out.String() != want {
		t.Errorf("%q", out.String())
	}
}
