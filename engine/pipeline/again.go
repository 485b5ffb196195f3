package pipeline

import "encoding/json"

// Words of a fallback: what goes on when a normalize step is asked for again and its budget is used up.
const (
	// FallbackMerged lets the merged value go on as it is, FallbackLast the last normalized one, FallbackFail ends the run.
	FallbackMerged = "merged"
	FallbackLast   = "last"
	FallbackFail   = "fail"
)

// Fallbacks lists them.
var Fallbacks = []string{FallbackMerged, FallbackLast, FallbackFail}

// Again asks for another attempt of a normalize step whose accepted answer is not good enough: from the step's own budget,
// and never over a rejection.
type Again struct {
	// When is true of an answer that is to be asked for again.
	When     *Expression
	Fallback string
}

func (a *Again) wanted(normalized, merged json.RawMessage) (bool, error) {
	if a == nil {
		return false, nil
	}
	return a.When.holds(normalized, merged)
}

// spent counts the stage attempts of a job's run.
func spent(o Outcome) int { return max(len(o.Stages), 1) }
