// Package rehearse plays runs without a provider: what would be sent, what correction a bad answer would get, what comes
// of a prompt's tests, and how many corrupted answers a contract has mended (issue 4). Every rehearsal goes through the
// engine itself, with a client that gives prepared answers. Nothing is shared between rehearsals; all functions are safe
// for concurrent use.
package rehearse

import (
	"context"
	"errors"
	"fmt"

	"emend/engine"
	"emend/engine/run"
	"emend/prompts"
	"emend/schemas"
)

// Answer is what a rehearsed model says. Finish is its stop reason in Emend's words, "length" for one that was cut.
type Answer struct{ Text, Finish string }

// ErrNoAnswer says that a run called the model more often than answers are listed.
var ErrNoAnswer = errors.New("there is no further answer")

// script is a client that gives answers in order and keeps what it was asked. One run uses it.
type script struct {
	answers []Answer
	asked   []*engine.GenerateRequest
}

// Generate gives the next answer.
func (c *script) Generate(_ context.Context, r *engine.GenerateRequest) (*engine.GenerateResponse, error) {
	c.asked = append(c.asked, r)
	n := len(c.asked)
	if n > len(c.answers) {
		return nil, fmt.Errorf("%w: call %d was made", ErrNoAnswer, n)
	}
	return &engine.GenerateResponse{Text: c.answers[n-1].Text, Finish: c.answers[n-1].Finish}, nil
}

func (c *script) starved() bool { return len(c.asked) > len(c.answers) }

// played is a run that a script answered.
type played struct {
	plan *run.Plan
	res  run.Result
	// first and last are the States of the first and the latest candidate that was invalid; their Judged is nil if there was
	// none.
	first, last run.State
}

// origin of all rehearsals: what belongs to queues does not apply.
var origin = prompts.Origin{ID: "rehearsal", Library: true}

// play executes a request. adjust may change the plan before it starts; nil leaves it.
func play(ctx context.Context, snap *prompts.Snapshot, req schemas.Request, client engine.LLMClient, adjust func(*run.Plan)) (*played, error) {
	plan, err := snap.Plan(req, origin)
	if err != nil {
		return nil, err
	}
	plan.TransientRetries = 0
	if adjust != nil {
		adjust(plan)
	}
	eng, err := engine.New(snap, engine.WithLLMClient(client))
	if err != nil {
		return nil, err
	}
	defer eng.Close()
	p := &played{plan: plan}
	p.res, err = eng.Execute(ctx, engine.Execution{Plan: plan, State: plan.Start(), Save: p.note})
	if err != nil {
		return nil, err
	}
	return p, p.note(p.res.State)
}

// note keeps the State of an invalid candidate.
func (p *played) note(s run.State) error {
	if s.Judged != nil && !s.Judged.Valid() {
		if p.last = s; p.first.Judged == nil {
			p.first = s
		}
	}
	return nil
}
