package rehearse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"emend/engine/corrupt"
	"emend/engine/run"
	"emend/prompts"
	"emend/schemas"
)

// Outcomes of a corrupted answer.
const (
	// Repaired: a correction led to a valid answer.
	Repaired = "repaired"
	// Broken: the budget ended with an invalid one.
	Broken = "broken"
	// Failed: the backend failed, which says nothing of the contract. It counts for nothing.
	Failed = "failed"
	// AskedAnew: the correction asked for a new answer, so that a scripted rehearsal cannot tell. It counts for nothing.
	AskedAnew = "asked_anew"
)

// Grade is what came of one corrupted answer.
type Grade struct {
	Name string `json:"name"`
	// Path is where the answer was corrupted, as people see it; "" for the whole text.
	Path  string `json:"path,omitempty"`
	Class string `json:"class"`
	// Style is that of the first correction.
	Style   string `json:"style"`
	Outcome string `json:"outcome"`
	// Preserved says that the repaired answer is the good one everywhere but at the corrupted place.
	Preserved bool `json:"preserved"`
	// Calls counts the corrective ones.
	Calls int `json:"calls"`
	// Fault is why a run failed; "" if it did not.
	Fault string `json:"fault,omitempty"`
}

// Report is how a contract fared. Rate is Repaired of those that count, 1 if none does.
type Report struct {
	// Answer is the good one, From where it comes from: given, test or schema.
	Answer    json.RawMessage `json:"answer"`
	From      string          `json:"from"`
	Live      bool            `json:"live"`
	Grades    []Grade         `json:"grades"`
	Repaired  int             `json:"repaired"`
	Broken    int             `json:"broken"`
	AskedAnew int             `json:"asked_anew"`
	Failed    int             `json:"failed"`
	Preserved int             `json:"preserved"`
	Calls     int             `json:"calls"`
	Rate      float64         `json:"rate"`
}

// GradeOptions say what is graded with.
type GradeOptions struct {
	// Answer is a good answer; nil takes a valid one of the prompt's tests, else makes one from the schema.
	Answer []byte
	// Live sends corrections to the prompt's own backend, which costs money. Else a script mends what they name.
	Live bool
	// Transport replaces the HTTP transport of a live rehearsal; nil leaves it.
	Transport http.RoundTripper
	// Each is called after each grade; nil for none.
	Each func(Grade)
}

// ErrNothingToGrade says that no correction could follow a bad answer, or that no answer is bad.
var ErrNothingToGrade = errors.New("there is nothing to grade")

// GradeContract gives every corruption of a good answer as the model's first answer and follows the corrections. Judges
// are not asked. Where the request is at fault its error is a *prompts.RequestError.
func GradeContract(ctx context.Context, snap *prompts.Snapshot, req schemas.Request, o GradeOptions) (*Report, error) {
	plan, err := snap.Plan(req, origin)
	if err != nil {
		return nil, err
	}
	if plan.Output.RepairAttempts == 0 {
		return nil, fmt.Errorf("%w: the contract has repair_attempts: 0", ErrNothingToGrade)
	}
	r := &Report{Live: o.Live, Grades: []Grade{}}
	if r.Answer, r.From, err = goodAnswer(snap, plan, o.Answer); err != nil {
		return nil, err
	}
	made, err := corrupt.All(plan.Contract, plan.Output.Schema, r.Answer)
	if err != nil {
		return nil, err
	}
	if len(made) == 0 {
		return nil, fmt.Errorf("%w: the contract accepts every corruption of the answer", ErrNothingToGrade)
	}
	g, err := newGrader(ctx, snap, req, plan, o, r.Answer)
	if err != nil {
		return nil, err
	}
	defer g.close()
	for _, c := range made {
		got, err := g.grade(ctx, c)
		if err != nil {
			return nil, err
		}
		r.add(got)
		if o.Each != nil {
			o.Each(got)
		}
		if err := r.hopeless(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// inARow is how many failures of a backend end a grading.
const inARow = 3

// hopeless is an error when the latest grades are all failures.
func (r *Report) hopeless() error {
	n := len(r.Grades)
	if n < inARow || slices.ContainsFunc(r.Grades[n-inARow:], func(g Grade) bool { return g.Outcome != Failed }) {
		return nil
	}
	return fmt.Errorf("the backend failed %d times in a row: %s", inARow, r.Grades[n-1].Fault)
}

func (r *Report) add(g Grade) {
	r.Grades = append(r.Grades, g)
	r.Calls += g.Calls
	switch g.Outcome {
	case Repaired:
		r.Repaired++
	case Broken:
		r.Broken++
	case AskedAnew:
		r.AskedAnew++
	case Failed:
		r.Failed++
	}
	if g.Preserved {
		r.Preserved++
	}
	r.Rate = 1
	if n := r.Repaired + r.Broken; n > 0 {
		r.Rate = float64(r.Repaired) / float64(n)
	}
}

// goodAnswer finds an answer that the contract accepts, and says where.
func goodAnswer(snap *prompts.Snapshot, plan *run.Plan, given []byte) (json.RawMessage, string, error) {
	if given != nil {
		return given, "given", nil
	}
	if p, ok := snap.Prompt(plan.Prompt); ok {
		for _, t := range p.Tests {
			for _, a := range t.Answers {
				if v := plan.Contract.Judge([]byte(a)); v.Valid() && v.Mended == "" {
					return json.RawMessage(a), "test", nil
				}
			}
		}
	}
	made, err := corrupt.Instance(plan.Contract, plan.Output.Schema)
	if err != nil {
		return nil, "", fmt.Errorf("%w; give a good answer", err)
	}
	return made, "schema", nil
}
