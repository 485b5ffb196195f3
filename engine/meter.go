package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"emend/engine/run"
	"emend/schemas"
)

// ErrBudget matches the error of a Meter for a call that a shared budget has no room for.
var ErrBudget = errors.New("the daily budget is used up")

// ErrBudgetHeld matches the error of a Meter for a call that a shared budget has no room for now: it may have, when calls under way
// have told what they cost.
var ErrBudgetHeld = errors.New("what is left of the daily budget is set aside for calls under way")

// Meter knows what calls may use together with those of others: rates and budgets. It is used concurrently.
type Meter interface {
	// Begin is called before every provider call, with its permit held. It waits until the call's share of the rate is there; an
	// error that matches ErrBudget ends the run, one that matches ErrBudgetHeld is a failure of category capacity, one of the context
	// stops it. End is called once, when the call has ended.
	Begin(context.Context, Metered) (end func(Spent), err error)
}

// Metered is a call before it is made: where it goes, whose run it is of, and what it may use.
type Metered struct {
	Backend, Queue string
	// Tokens is an estimate, USD the most that it can cost; 0 where the price is not known. Bounded says that it is a bound, too,
	// for an answer has a limit.
	Tokens  int64
	USD     schemas.USD
	Bounded bool
}

// Spent is what a call did use, where it told. Hold is how long the provider says that it takes no more.
type Spent struct {
	USD   schemas.USD
	Known bool
	Hold  time.Duration
}

// What an estimate takes an answer for that has no limit, and what providers put around messages, in tokens.
const (
	usualOutput = 4096
	around      = 1024
)

// size bounds the tokens of a request from above: none is shorter than a byte.
func size(req *GenerateRequest) int64 {
	n := int64(around)
	for _, m := range req.Messages {
		n += int64(len(m.Role) + len(m.Content) + len(m.Parts) + 16)
	}
	if req.Schema != nil {
		n += int64(len(req.Schema.Bytes))
	}
	return n
}

// longest is how long the answer may be, and whether that is a bound.
func longest(req *GenerateRequest) (int64, bool) {
	if n := req.Settings.MaxOutputTokens; n != nil {
		return *n, true
	}
	return usualOutput, false
}

// bytesPerToken is what an estimate takes a token for.
const bytesPerToken = 4

// metered is what a call may use; of no interest, and not reckoned, where nothing is shared and the run has no bound.
func (x *effects) metered(req *GenerateRequest) Metered {
	if x.meter == nil && x.plan.MaxCost == 0 {
		return Metered{}
	}
	out, bounded := longest(req)
	in := size(req)
	m := Metered{Backend: x.plan.Backend, Queue: x.queue, Tokens: (in-around)/bytesPerToken + out, Bounded: bounded && x.plan.Price != nil}
	if x.plan.Price != nil {
		m.USD = x.plan.Price.AtMost(in, out)
	}
	return m
}

// unaffordable is why a run that has a bound on its cost makes no further call; nil if it may. Calls that did not tell what they
// cost are taken for as dear as this one.
func (x *effects) unaffordable(s run.State, m Metered) *run.Failure {
	most := x.plan.MaxCost
	if most == 0 {
		return nil
	}
	spent := x.before.USD + s.Cost.USD + schemas.USD(x.before.Unknown+s.Cost.Unknown)*m.USD
	if m.Bounded && spent+m.USD <= most {
		return nil
	}
	return &run.Failure{Category: schemas.CategoryBudget, Permanent: true, Billed: s.Cost.Calls > 0,
		Message: fmt.Sprintf("the next call could cost $%s, and of max_cost $%s about $%s is spent", m.USD, most, spent)}
}

// begin asks for the call's share of what is shared; the event is not nil when there is none.
func (x *effects) begin(ctx context.Context, m Metered, times run.CallTimes) (end func(Spent), e run.Event) {
	if x.meter == nil {
		return func(Spent) {}, nil
	}
	end, err := x.meter.Begin(ctx, m)
	switch {
	case err == nil:
		return end, nil
	case errors.Is(err, ErrBudget):
		return nil, run.Failed{NotStarted: true, Call: times, Failure: run.Failure{Category: schemas.CategoryBudget, Permanent: true, Message: err.Error(), Cause: err}}
	case ctx.Err() != nil:
		return nil, stop(ctx, false, times)
	case errors.Is(err, ErrBudgetHeld):
		return nil, run.Failed{NotStarted: true, Call: times, Failure: run.Failure{Category: schemas.CategoryCapacity, Message: err.Error(), Cause: err}}
	}
	return nil, run.Failed{NotStarted: true, Call: times, Failure: run.Failure{Category: schemas.CategoryCapacity, Message: "the shared limits could not be asked: " + err.Error(), Cause: err}}
}

// spent is what an ended call cost.
func (x *effects) spent(resp *GenerateResponse, e run.Event) (s Spent) {
	if resp != nil {
		s.Hold = resp.Hold
	}
	switch e := e.(type) {
	case run.Answered:
		s.USD, s.Known = x.plan.Price.Of(e.Tokens)
	case run.Failed:
		s.Hold = e.Failure.RetryAfter
		if s.USD, s.Known = x.plan.Price.Of(e.Tokens); !e.Failure.Billed {
			s.Known = true // nothing is charged
		}
	}
	return s
}
