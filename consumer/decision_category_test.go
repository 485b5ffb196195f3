package consumer

import (
	"errors"
	"fmt"
	"testing"

	"emend/schemas"
)

// A client tells by the category what to do about a refused decision: correct the edit, look again, or try again.
func TestCategoriesOfRefusedDecisions(t *testing.T) {
	for err, want := range map[error]string{ErrDecision: schemas.CategoryInvalidRequest, ErrNoReview: schemas.CategoryInvalidRequest, ErrEdit: schemas.CategoryOutputInvalid,
		ErrDecided: schemas.CategoryIDConflict, ErrChanged: schemas.CategoryIDConflict, errors.New("no answer from the server"): schemas.CategoryCapacity} {
		if got := decisionCategory(fmt.Errorf("%w: because", err)); got != want {
			t.Errorf("%v: %s, expected %s", err, got, want)
		}
	}
}
