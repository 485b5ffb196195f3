package consumer

import (
	"testing"

	"emend/engine/run"
	"emend/schemas"
)

// What a superseded execution tells and what the stored result tells are together what was called, whoever settled, and
// whichever state it saw.
func TestBilled(t *testing.T) {
	at := func(calls, votes int) run.State {
		return run.State{Counts: schemas.Counts{Calls: calls, ValidatorCalls: votes}}
	}
	result := func(status string, calls, votes int) *schemas.Result {
		return &schemas.Result{Status: status, Counts: schemas.Counts{Calls: calls, ValidatorCalls: votes}}
	}
	three := []run.State{at(1, 0), at(2, 0), at(2, 1)}
	for name, c := range map[string]struct {
		checkpoints []run.State
		r           *schemas.Result
		told        int // calls that the execution tells of its 4 and 2
	}{
		"nothing saved, nothing stored":            {nil, nil, 6},
		"nothing saved, cancelled":                 {nil, result(schemas.StatusCancelled, 0, 0), 6},
		"another goes on from the last":            {three, nil, 3},
		"another went on from the last":            {three, result(schemas.StatusSucceeded, 5, 1), 3},
		"cancelled before the first was seen":      {three, result(schemas.StatusCancelled, 0, 0), 6},
		"cancelled with the second":                {three, result(schemas.StatusCancelled, 2, 0), 4},
		"cancelled with the last":                  {three, result(schemas.StatusCancelled, 2, 1), 3},
		"abandoned with the first":                 {three, result(schemas.StatusFailed, 1, 0), 5},
		"expired after calls of its own":           {three, result(schemas.StatusExpired, 4, 1), 3},
		"an answer of the same count is an answer": {three, result(schemas.StatusSucceeded, 1, 0), 3},
	} {
		s := spent(at(4, 2), billed(c.checkpoints, c.r))
		if got := s.Counts.Calls + s.Counts.ValidatorCalls; got != c.told {
			t.Errorf("%s: tells %d calls, want %d", name, got, c.told)
		}
	}
}

// An earlier delivery of the same request that settles after all has none of what a later one saved.
func TestAnEarlierDeliveryKnowsNothingOfALaterOne(t *testing.T) {
	found, own := run.State{Counts: schemas.Counts{Calls: 1}}, run.State{Counts: schemas.Counts{Calls: 2}}
	for name, c := range map[string]struct {
		seq, delivery uint64
		found, known  int
	}{
		"an earlier delivery, nothing found":     {7, 1, 0, 0},
		"an earlier delivery, a state found":     {7, 1, 1, 1},
		"a later delivery":                       {7, 3, 0, 2},
		"another publication":                    {8, 1, 0, 2},
		"no delivery at all, such as a cancel's": {7, 0, 1, 2},
	} {
		h := &handler{d: &delivery{seq: 7, count: 2}, checkpoints: []run.State{found, own}, found: c.found}
		if got := len(h.known(&schemas.Result{Request: schemas.RequestRef{Seq: c.seq, Delivery: c.delivery}})); got != c.known {
			t.Errorf("%s: %d checkpoints, want %d", name, got, c.known)
		}
	}
	if h := (&handler{checkpoints: []run.State{own}}); len(h.known(nil)) != 1 {
		t.Error("where nothing is stored all checkpoints are known")
	}
}
