package schemas

import (
	"testing"
	"time"

	"emend/internal/allocs"
)

// Events and results are appended to buffers that are used again: nothing is allocated for what most of them hold.
func TestAllocationsOfWhatARunWrites(t *testing.T) {
	n := int64(7)
	usage := &Usage{Tokens: Tokens{Input: &n, Output: &n}, Calls: 1, Complete: true}
	e := &Event{V: 1, RunID: "r", Queue: "q", Kind: EventFinished, Seq: 5, At: time.Unix(1, 0).UTC(), Worker: "w", Delivery: 1, Prompt: "p@1", Backend: "b",
		Outcome: StatusSucceeded, Totals: &Totals{Usage: usage}}
	r := &Result{ID: "r", Queue: "q", Status: StatusSucceeded, Output: []byte(`{"a":1}`), Usage: usage, Attempts: []Attempt{{Generation: 1, Outcome: OutcomeCompleted}},
		Validation: &Validation{Mode: ModeJSONSchema, Valid: true, Findings: []Finding{}, Validators: []Validator{}}}
	buf := make([]byte, 0, 4096)
	allocs.Check(t, "an event", allocs.Pin{}, func() { _, _ = e.AppendJSON(buf[:0]) })
	allocs.Check(t, "a result", allocs.Pin{}, func() { _, _ = r.AppendJSON(buf[:0]) })
}
