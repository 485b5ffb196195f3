package consumer

import (
	"strings"
	"testing"
	"time"

	"emend/engine/run"
	"emend/schemas"
)

// Votes lose what they say beside their codes, and whoever else has them does not.
func TestBareVotesKeepTheirCodes(t *testing.T) {
	votes := []schemas.Validator{{Name: "a", Reasons: []schemas.Reason{{Code: "x", Guidance: "long"}, {Code: "y"}}}, {Name: "b", Warnings: []schemas.Reason{{Code: "z", Guidance: "longer"}}}}
	bare, n, size := bareVotes(votes)
	if n != 2 || size != 10 || bare[0].Reasons[0] != (schemas.Reason{Code: "x"}) || bare[1].Warnings[0] != (schemas.Reason{Code: "z"}) {
		t.Errorf("%d, %d bytes, %+v", n, size, bare)
	}
	if votes[0].Reasons[0].Guidance != "long" || votes[1].Warnings[0].Guidance != "longer" {
		t.Errorf("the votes themselves are %+v", votes)
	}
	if text := unguidedText("the result", n, size, 1024); !strings.Contains(text, "2 reasons and warnings of the votes, 10 bytes") {
		t.Error(text)
	}
}

// What takes the place of a result that is too large tells all that was paid.
func TestAResultThatIsTooLargeTellsItsBill(t *testing.T) {
	r := schemas.Result{ID: "r", Counts: schemas.Counts{Calls: 3}, Usage: &schemas.Usage{Calls: 3}, ValidatorUsage: &schemas.Usage{Calls: 2}, Cost: &schemas.Cost{}}
	out := tooLarge(r, 2048, 1024)
	if out.Status != schemas.StatusFailed || out.Counts != r.Counts || out.Usage != r.Usage || out.ValidatorUsage != r.ValidatorUsage || out.Cost != r.Cost {
		t.Errorf("%+v", out)
	}
}

// The entry of a review leaves out what its votes say beside their codes, once, with a warning for the result; the run's own state
// keeps it.
func TestAReviewThatIsTooLargeKeepsItsCodes(t *testing.T) {
	p := newPlace(t)
	h := &handler{w: &Worker{nc: p.js.Conn(), blobs: NewBlobs(p.js, p.names, time.Hour, 1)}, key: aKey}
	s := run.State{Votes: []schemas.Validator{{Name: "a", Warnings: []schemas.Reason{{Code: "z", Guidance: "longer"}}}}}
	r := &review{State: s}
	if !h.lighten(p.Context(), r) || r.State.Votes[0].Warnings[0] != (schemas.Reason{Code: "z"}) || s.Votes[0].Warnings[0].Guidance != "longer" {
		t.Errorf("%+v, the run's %+v", r.State.Votes, s.Votes)
	}
	if w := r.Planned.Warnings; len(w) != 1 || !strings.Contains(w[0], "6 bytes, is left out: the review is larger") {
		t.Errorf("warnings %q", w)
	}
	if h.lighten(p.Context(), r) {
		t.Error("it can be made smaller again")
	}
}
