package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"emend/engine/run"
	"emend/schemas"
)

// Validator judges candidates in Go (seed 004), wherever a prompt or a stage names it in its checks as go: NAME, in that place
// of the order. It is deterministic: it is asked once a candidate, and never again for the same. What it rejects is corrected
// from the run's retries, as what a judge rejects. It must be safe for concurrent use.
type Validator struct {
	// Name is what checks name and votes show: letters, digits and _ - . @, at most 64.
	Name string
	// Validate approves with a zero Vote, rejects with reasons, or came to no decision with an error: ErrSkip, if it could not be
	// asked. A panic is an error. Neither an error's nor a panic's text is shown: WithValidatorFailures has both.
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

// Vote is a Validator's decision: an approval without Reject. A rejection stands whatever its reasons are, but more than 32, a
// code of more than 64 characters or a guidance over 16 KiB, or no UTF-8, cannot be told to the model: the policy then applies
// at once. Warn remarks what rejects nothing, within the same bounds; the result has it, the model never.
type Vote struct{ Reject, Warn []Reason }

// Reason is a stable code, and how to correct it; the guidance is shown to the model, so it must say no secret.
type Reason = schemas.Reason

// ErrSkip says that a Validator's prerequisites are not there.
var ErrSkip = errors.New("the validator could not be asked")

// WithValidators gives the functions that checks name with go. New refuses definitions that name others. A worker that is made
// of the engine (consumer.NewWorker) has them too.
func WithValidators(list ...Validator) Option {
	return func(e *Engine) { e.given = append(e.given, list...) }
}

// WithValidatorFailures gives a function that is told why a validator came to no decision: err is the error that it returned, unless
// that is ErrSkip, or its panic with the stack. It is called synchronously, and must be safe for concurrent use. What err says may come
// from the candidate; Emend shows none of it, so the program decides what to log.
func WithValidatorFailures(told func(ctx context.Context, validator string, err error)) Option {
	return func(e *Engine) { e.failures = told }
}

// checkValidators refuses what could not be told apart, or called, and checks that name a function that is not there.
func (e *Engine) checkValidators() error {
	e.functions = make(map[string]Validator, len(e.given))
	for _, v := range e.given {
		_, twice := e.functions[v.Name]
		switch {
		case v.Name == "" || len(v.Name) > schemas.MaxCode || strings.Trim(v.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.@") != "":
			return fmt.Errorf("engine.New: validator: the name %q must have 1 to %d letters, digits and _ - . @", v.Name, schemas.MaxCode)
		case v.Validate == nil:
			return fmt.Errorf("engine.New: validator %s has no function", v.Name)
		case twice:
			return fmt.Errorf("engine.New: validator %s is given twice", v.Name)
		}
		e.functions[v.Name] = v
	}
	named := e.snapshot.GoChecks()
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if _, ok := e.functions[name]; !ok {
			return fmt.Errorf("engine.New: %s names the Go validator %s in its checks, and this program has none of that name; give it with engine.WithValidators in a program of your own", named[name], name)
		}
	}
	return nil
}

// decide calls the function; whatever it does is a vote. err says why a vote failed.
func (v Validator) decide(ctx context.Context, q run.Question) (vote schemas.Validator, err error) {
	view := CandidateView{Text: q.Candidate, Messages: slices.Clone(q.Messages)}
	if q.Value != nil {
		view.Value = bytes.Clone(q.Value)
	}
	said, err := v.call(ctx, view)
	switch {
	case errors.Is(err, ErrSkip):
		return schemas.Validator{Outcome: schemas.VoteSkipped, Cause: schemas.CategoryInvalidRequest}, nil
	case err != nil:
		return schemas.Validator{Outcome: schemas.VoteFailed, Cause: schemas.CategoryInternal}, err
	}
	return decided(said.Reject, said.Warn), nil
}

// call makes an error of a panic, with the stack; it is no ErrSkip, whatever the panic's value is.
func (v Validator) call(ctx context.Context, view CandidateView) (said Vote, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return v.Validate(ctx, view)
}

// function asks a validator that needs no model.
func (x *effects) function(ctx context.Context, s run.State, v run.Validator, q run.Question, began time.Time) run.Event {
	vote, err := x.judges.functions[v.Name].decide(ctx, q)
	if err != nil && x.judges.failures != nil {
		x.judges.failures(ctx, v.Name, err)
	}
	out := run.Validated{Vote: vote}
	out.Vote.Name = v.Name
	if ctx.Err() != nil {
		return run.Cancelled{Status: statusOf(ctx.Err()), Cause: ctx.Err(), Vote: &out}
	}
	x.voted(ctx, s, v, out, began)
	return out
}
