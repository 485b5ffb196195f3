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
