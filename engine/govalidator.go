package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"emend/engine/run"
	"emend/schemas"
)

// Validator judges valid candidates in Go (seed 004). It is deterministic: it is asked once a candidate, behind the judges of
// the prompt, and never again for the same. What it rejects is corrected from the run's retries, as what a judge rejects. It
// must be safe for concurrent use.
type Validator struct {
	// Name stands in votes: letters, digits and _ - . @, at most 64.
	Name string
	// Validate approves with a zero Vote, rejects with reasons, or came to no decision with an error: ErrSkip, if it could not be
	// asked. A panic is an error. Neither an error's nor a panic's text is shown.
	Validate func(ctx context.Context, c CandidateView) (Vote, error)
}

// CandidateView is the candidate that a Validator judges, a copy of its own.
type CandidateView struct {
	// Text is the answer, Value its JSON value under a JSON contract, else nil.
	Text  string
	Value json.RawMessage
	// Messages is the ordinary conversation that it answers.
	Messages []Message
}

// Vote is a Validator's decision: an approval without reasons. A rejection stands whatever its reasons are, but more than 32, a
// code of more than 64 characters or a guidance over 16 KiB, or no UTF-8, cannot be told to the model: the policy then applies
// at once.
type Vote struct{ Reject []Reason }

// Reason is a stable code, and how to correct it; the guidance is shown to the model, so it must say no secret.
type Reason = schemas.Reason

// ErrSkip says that a Validator's prerequisites are not there.
var ErrSkip = errors.New("the validator could not be asked")

// WithValidators has every run of a prompt, named "id" or "id@version", judged in Go too, by RunPrepared, Run and RunPipeline. A
// worker does not know them: over NATS a judge or a rule does the same.
func WithValidators(prompt string, list ...Validator) Option {
	return func(e *Engine) { e.validators = append(e.validators, promptValidators{prompt, list}) }
}

// promptValidators are those of one prompt.
type promptValidators struct {
	prompt string
	list   []Validator
}

// checkValidators refuses what could not be told apart, or called.
func (e *Engine) checkValidators() error {
	seen := map[string]bool{}
	for _, p := range e.validators {
		if _, ok := e.snapshot.Prompt(p.prompt); !ok {
			return fmt.Errorf("engine.New: validators for %q: there is no such prompt", p.prompt)
		}
		for _, v := range p.list {
			switch key := p.prompt + " " + v.Name; {
			case v.Name == "" || len(v.Name) > maxCode || strings.Trim(v.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.@") != "":
				return fmt.Errorf("engine.New: validators for %q: the name %q must have 1 to %d letters, digits and _ - . @", p.prompt, v.Name, maxCode)
			case v.Validate == nil:
				return fmt.Errorf("engine.New: validator %s of %q has no function", v.Name, p.prompt)
			case seen[key]:
				return fmt.Errorf("engine.New: validator %s of %q is given twice", v.Name, p.prompt)
			default:
				seen[key] = true
			}
		}
	}
	return nil
}

// withValidators adds a prompt's validators to a plan of this process. A request that brings its own contract has replaced the
// prompt's checks, and these with them.
func (e *Engine) withValidators(p *run.Plan, ownContract bool) {
	if ownContract {
		return
	}
	id, _, _ := strings.Cut(p.Prompt, "@")
	for _, of := range e.validators {
		if of.prompt != id && of.prompt != p.Prompt {
			continue
		}
		for _, v := range of.list {
			p.Validators = append(slices.Clip(p.Validators), run.Validator{Name: v.Name, Decide: v.decide})
		}
	}
}

// decide calls the function; whatever it does is a vote.
func (v Validator) decide(ctx context.Context, q run.Question) (outcome string, reasons []schemas.Reason, cause string) {
	defer func() {
		if recover() != nil {
			outcome, reasons, cause = schemas.VoteFailed, nil, schemas.CategoryInternal
		}
	}()
	view := CandidateView{Text: q.Candidate, Messages: slices.Clone(q.Messages)}
	if q.Value != nil {
		view.Value = bytes.Clone(q.Value)
	}
	vote, err := v.Validate(ctx, view)
	switch {
	case errors.Is(err, ErrSkip):
		return schemas.VoteSkipped, nil, schemas.CategoryInvalidRequest
	case err != nil:
		return schemas.VoteFailed, nil, schemas.CategoryInternal
	case len(vote.Reject) == 0:
		return schemas.VoteApproved, nil, ""
	}
	return rejection(vote.Reject)
}

// decided asks a validator that needs no model.
func (x *effects) decided(ctx context.Context, s run.State, v run.Validator, q run.Question, began time.Time) run.Event {
	out := run.Validated{Vote: schemas.Validator{Name: v.Name}}
	out.Vote.Outcome, out.Vote.Reasons, out.Vote.Cause = v.Decide(ctx, q)
	if ctx.Err() != nil {
		return run.Cancelled{Status: statusOf(ctx.Err()), Cause: ctx.Err(), Vote: &out}
	}
	x.voted(ctx, s, v, out, began)
	return out
}
