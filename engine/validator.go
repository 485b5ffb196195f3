package engine

import (
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"emend/capacity"
	"emend/engine/event"
	"emend/engine/run"
	"emend/schemas"
)

// judges asks validators: each is a run of its own on the same candidate, whose calls take permits at its own backend
// and no admission (design section 3).
type judges struct {
	client func(*run.Plan) LLMClient
	gate   func(backend string) *capacity.Gate
	// functions are the validators in Go, by name.
	functions map[string]Validator
	failures  func(ctx context.Context, validator string, err error)
	// closes says of a backend that its trouble closes its gate, and waits that a run is put down until it is over; waits is nil
	// where no run is.
	closes func(backend string) bool
	waits  func(backend string, f *run.Failure) bool
}

// Validate asks one validator until it comes to a decision or its tries are used up. One that comes to none is a vote,
// too: never an approval.
func (x *effects) Validate(ctx context.Context, s run.State, a run.Validate) run.Event {
	v := x.plan.Validators[a.Index]
	out := run.Validated{Vote: schemas.Validator{Name: v.Name, Outcome: schemas.VoteSkipped}}
	began := time.Now()
	question := run.Question{Candidate: s.Text(), Messages: x.plan.Messages}
	if !s.Judged.Valid() && !s.Chain {
		question.Findings = s.Judged.Findings
	}
	if v.Go {
		question.Value = s.Judged.Value
		return x.function(ctx, s, v, question, began)
	}
	p, err := v.Plan(question)
	if err != nil {
		out.Vote.Cause = schemas.CategoryInvalidRequest
		x.voted(ctx, s, v, out, began)
		return out
	}
	p.Session = x.plan.Session
	for try := range v.Retries + 1 {
		if try > 0 {
			out.Vote.Tries = try + 1
		}
		p.MaxCost = x.plan.MaxCost
		if stopped := x.ask(ctx, s, p, &out); stopped != nil {
			return *stopped
		}
		if out.Vote.Outcome != schemas.VoteFailed || out.Vote.Cause == schemas.CategoryBudget {
			break // what cannot be paid for now cannot be at the next try either
		}
	}
	x.voted(ctx, s, v, out, began)
	return out
}

// ask makes one try and notes its outcome and what it cost.
func (x *effects) ask(ctx context.Context, s run.State, p *run.Plan, out *run.Validated) *run.Cancelled {
	judge := &effects{client: x.judges.client(p), injected: x.injected, plan: p, permit: x.permit, allow: x.allow, patience: x.patience, meter: x.meter, queue: x.queue, propagate: x.propagate,
		obs: observer{to: x.obs.to, position: position(p)}}
	judge.obs.position.RunID, judge.obs.position.Validator, judge.obs.position.StageAttempt = x.plan.ID, p.Prompt, s.Stage
	judge.before = s.Cost
	judge.before.Join(out.Cost)
	gate := x.judges.gate(p.Backend)
	if p.Backend != x.plan.Backend {
		judge.permit = gate.Permit
	}
	res, err := run.Drive(ctx, p, p.Start(), judge, nil)
	if p.Backend != x.plan.Backend && (!IsTrouble(res.Failure) || x.judges.closes(p.Backend)) {
		report(gate, res)
	}
	out.Usage.Join(res.State.Usage)
	out.Cost.Join(res.State.Cost)
	out.Vote.Calls += res.State.Counts.Calls
	out.Waited += res.State.Waited
	x.denied = judge.denied
	if f := res.Failure; x.denied == nil && (IsTrouble(f) || IsClosed(f)) && x.judges.waits != nil && x.judges.waits(p.Backend, f) {
		x.denied = &JudgeTrouble{Validator: p.Prompt, Backend: p.Backend, Failure: *f}
	}
	if err != nil || ctx.Err() != nil || x.denied != nil {
		return &run.Cancelled{Status: statusOf(ctx.Err()), Cause: ctx.Err(), Vote: out}
	}
	said := vote(res)
	said.Name, said.Calls, said.Tries = out.Vote.Name, out.Vote.Calls, out.Vote.Tries
	out.Vote = said
	return nil
}

// vote reads a judge's run: its contract has seen to it that a valid answer is a decision.
func vote(res run.Result) (v schemas.Validator) {
	v.Outcome = schemas.VoteFailed
	if f := res.Failure; f != nil {
		if v.Cause = f.Category; v.Cause == schemas.StatusExpired || v.Cause == schemas.StatusCancelled {
			v.Cause = schemas.CategoryTimeout // what it had to wait for is longer than the run may take
		}
		return v
	}
	var said struct {
		Decision string           `json:"decision"`
		Reasons  []schemas.Reason `json:"reasons"`
		Warnings []schemas.Reason `json:"warnings"`
	}
	if res.Status != schemas.StatusSucceeded || json.Unmarshal(res.State.Judged.Value, &said) != nil {
		v.Cause = schemas.CategoryOutputInvalid
		return v
	}
	if said.Decision != schemas.DecisionApprove {
		return decided(orUnspecified(said.Reasons), said.Warnings)
	}
	return decided(nil, said.Warnings)
}

// orUnspecified is one reason without a code for a rejection that gives none.
func orUnspecified(said []schemas.Reason) []schemas.Reason {
	if len(said) == 0 {
		return []schemas.Reason{{}}
	}
	return said
}

// decided is the vote of a validator that came to a decision: it rejects with reasons, whatever they are worth. What is beyond
// the bounds is not kept, so that no correction can be made of it; warnings beyond them are one that says so.
func decided(reasons, warnings []schemas.Reason) (v schemas.Validator) {
	v.Outcome = schemas.VoteApproved
	if len(reasons) > 0 {
		v.Outcome = schemas.VoteRejected
		var ok bool
		if v.Reasons, ok = sound(reasons); !ok {
			v.Reasons, v.Cause = nil, schemas.CauseCorrectionImpossible
		}
	}
	if len(warnings) > 0 {
		var ok bool
		if v.Warnings, ok = sound(warnings); !ok {
			v.Warnings = []schemas.Reason{{Code: "beyond_bounds"}}
		}
	}
	return v
}

// sound makes codes of a validator's words: small letters, digits and _, so that they can be counted and shown. A reason
// without a code is unspecified.
func sound(said []schemas.Reason) ([]schemas.Reason, bool) {
	if len(said) > schemas.MaxReasons {
		return nil, false
	}
	out := make([]schemas.Reason, 0, len(said))
	for _, r := range said {
		code := strings.Trim(strings.Map(codeRune, strings.ToLower(r.Code)), "_")
		if code == "" {
			code = "unspecified"
		}
		if len(code) > schemas.MaxCode || len(r.Guidance) > schemas.MaxGuidance || !utf8.ValidString(r.Guidance) {
			return nil, false
		}
		out = append(out, schemas.Reason{Code: code, Guidance: r.Guidance})
	}
	return out, true
}

func codeRune(c rune) rune {
	if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
		return c
	}
	return '_'
}

// voted tells of a vote.
func (x *effects) voted(ctx context.Context, s run.State, v run.Validator, out run.Validated, began time.Time) {
	e := event.Validator{Position: x.obs.position, Outcome: out.Vote.Outcome, Cause: out.Vote.Cause, Duration: time.Since(began)}
	e.At, e.Validator, e.StageAttempt = time.Now(), v.Name, s.Stage
	if x.plan.Audit {
		for _, r := range out.Vote.Reasons {
			e.Codes = append(e.Codes, r.Code)
		}
	}
	x.obs.send(ctx, e)
}

// Escalate tells where an exhausted run goes.
func (x *effects) Escalate(ctx context.Context, _ run.State, a run.Escalate) run.Event {
	if ctx.Err() != nil {
		return stop(ctx, false, run.CallTimes{})
	}
	e := event.Escalated{Position: x.obs.position, Sink: a.Sink}
	e.At = time.Now()
	x.obs.send(ctx, e)
	return run.Escalated{}
}
