package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"emend/capacity"
	"emend/engine/event"
	"emend/engine/provider"
	"emend/engine/run"
	"emend/prompts"
	"emend/schemas"
)

// Execution is a planned run to be taken from a State to its end; the face for callers that own a queue.
type Execution struct {
	Plan  *run.Plan
	State run.State
	// Observer receives the events; nil for none.
	Observer event.Observer
	// Save is called with the State between generations; see run.Drive. Nil saves nothing.
	Save func(run.State) error
	// Patience bounds a wait before another attempt; a longer one ends the execution with the failure that asked for it.
	// 0 means no bound but the deadline.
	Patience time.Duration
	// Allow is asked before every call; its error ends the execution as it is, and Execute returns it. Nil allows all.
	Allow func() error
	// Meter is asked before every call, by judges too; nil for none.
	Meter Meter
	// Propagate tells the traceparent that a call is made with, once its AttemptStarted was observed; nil sends none.
	Propagate func() string
	// Waits tells whether the run is put down while a judge's backend is in trouble: Execute then returns a *JudgeTrouble. Nil is
	// never: the judge's vote is a failed one.
	Waits func(backend string, f *run.Failure) bool
	// Untold says that the caller tells the run's end itself: the Observer gets no Finished.
	Untold bool
	// Prepared says that preparation was a step of its own, apart in time.
	Prepared bool
}

// Execute admits the run at its backend's gate, drives it to its end, and releases everything. The error is Save's; how
// the run ended is in the Result. A full or closed gate is a failure of category capacity with no call made.
func (e *Engine) Execute(ctx context.Context, x Execution) (run.Result, error) {
	if ends, bounded := ctx.Deadline(); !x.Plan.Deadline.IsZero() && (!bounded || x.Plan.Deadline.Before(ends)) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, x.Plan.Deadline)
		defer cancel()
	}
	began := time.Now()
	obs := observer{to: x.Observer, position: position(x.Plan)}
	started := event.Started{Position: obs.position, Prepared: x.Prepared, MaxCalls: x.Plan.MaxNow(x.State) + x.Plan.MaxValidatorCalls()}
	started.At = began
	obs.send(ctx, started)
	res, err := e.admitted(ctx, x, obs)
	if err == nil && !x.Untold {
		obs.send(ctx, finished(obs, res, time.Since(began)))
	}
	return res, err
}

func position(p *run.Plan) event.Position {
	return event.Position{RunID: p.ID, Prompt: p.Prompt, Profile: p.Profile, Backend: p.Backend, Model: p.Model}
}

// admitted holds the run's place from here to its end.
func (e *Engine) admitted(ctx context.Context, x Execution, obs observer) (run.Result, error) {
	gate := e.gates[x.Plan.Backend]
	if gate == nil {
		return refuse(x.State, run.Failure{Category: schemas.CategoryInvalidRequest,
			Message: fmt.Sprintf("backend %q is not defined", x.Plan.Backend)}), nil
	}
	slot, err := gate.Admit(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return refuse(x.State, run.Failure{Category: statusOf(ctx.Err()), Message: "the run was " + statusOf(ctx.Err()), Cause: ctx.Err()}), nil
		}
		return refuse(x.State, gateFailure(x.Plan.Backend, err)), nil
	}
	defer slot.Release()
	fx := &effects{client: e.client(x.Plan), injected: e.injected != nil, plan: x.Plan, permit: slot.Permit, obs: obs,
		patience: x.Patience, allow: x.Allow, meter: x.Meter, queue: x.Plan.Queue, propagate: x.Propagate, judges: e.asked}
	fx.judges.waits = x.Waits
	res, err := run.Drive(ctx, x.Plan, x.Plan.Revive(x.State), fx, x.Save)
	if err == nil {
		err = fx.denied
	}
	if t, ok := errors.AsType[*JudgeTrouble](err); ok {
		reportJudge(slot, x, res, t)
		return res, err
	}
	if !IsTrouble(res.Failure) || e.snapshot.OnTrouble(x.Plan.Backend) == prompts.OnTroubleWait {
		report(slot, res) // a backend whose runs fail at once is not waited for: its gate stays open
	}
	return res, err
}

// JudgeTrouble ends an execution whose run is to be taken up again when a judge's backend is out of trouble: nothing is wrong with
// the run, and what it has is in its State.
type JudgeTrouble struct {
	// Validator is the judge, Backend where it calls.
	Validator, Backend string
	Failure            run.Failure
}

// Error names judge and trouble.
func (t *JudgeTrouble) Error() string { return "judge " + t.Validator + ": " + t.Failure.Message }

// reportJudge tells the run's own gate of an execution that a judge's trouble ended: the judge's, if it calls there, or else that
// the backend answered, if it was called.
func reportJudge(slot *capacity.Slot, x Execution, res run.Result, t *JudgeTrouble) {
	switch {
	case t.Backend == x.Plan.Backend:
		report(slot, run.Result{Failure: &t.Failure})
	case res.State.Counts.Calls > x.State.Counts.Calls:
		report(slot, run.Result{})
	}
}

func (e *Engine) judges() judges {
	closes := func(backend string) bool { return e.snapshot.OnTrouble(backend) == prompts.OnTroubleWait }
	return judges{client: e.client, gate: e.Gate, functions: e.functions, failures: e.failures, closes: closes}
}

// client is the injected one, or HTTP at the plan's backend with the profile's own time limit, if it has one.
func (e *Engine) client(p *run.Plan) LLMClient {
	if e.injected != nil {
		return e.injected
	}
	endpoint := e.endpoints[p.Backend]
	if p.Profile == "" {
		return &builtin{http: e.http, endpoint: endpoint}
	}
	if c := e.clients[p.Profile]; c != nil && c.endpoint.Backend == endpoint.Backend {
		return c
	}
	return e.within(endpoint, e.snapshot.CallTimeout(p.Profile).Std())
}

// within is the built-in client at an endpoint, with a time limit of its own for each call.
func (e *Engine) within(endpoint *provider.Endpoint, limit time.Duration) *builtin {
	if limit != endpoint.Timeout {
		own := *endpoint
		own.Timeout = limit
		endpoint = &own
	}
	return &builtin{http: e.http, endpoint: endpoint}
}

// refuse ends a run that was not admitted.
func refuse(s run.State, f run.Failure) run.Result {
	status := schemas.StatusFailed
	if f.Category == schemas.StatusCancelled || f.Category == schemas.StatusExpired {
		status = f.Category
	}
	s.Phase, s.Status, s.Failure = run.Done, status, &f
	return run.Result{Status: status, Failure: &f, State: s}
}

// report tells the gate how the backend did, after the engine's own retries (design section 3, "Trouble").
func report(slot interface{ Report(capacity.Outcome) }, res run.Result) {
	f := res.Failure
	switch {
	case answered(f):
		slot.Report(capacity.Outcome{Kind: capacity.Answered})
	case IsTrouble(f):
		slot.Report(capacity.Outcome{Kind: troubleKind(f), RetryAfter: min(f.RetryAfter, longestClosure), Cause: Cause(f)})
	}
}

// AnsweredWell reports whether a run that failed had an answer all the same: what was wrong with it is a verdict.
func AnsweredWell(f *run.Failure) bool { return answered(f) }

// answered reports whether a run's end tells that its backend answered.
func answered(f *run.Failure) bool {
	return f == nil || f.Category == schemas.CategoryOutputInvalid || f.Category == schemas.CategoryRejected || f.Category == schemas.CategoryValidator
}

// longestClosure bounds how long a provider's word can close a gate: an absurd Retry-After must not end a backend.
const longestClosure = time.Hour

// IsTrouble reports whether a failure belongs to the backend and not to the run: 429 and the transient 5xx after the
// engine's own retries, a request that provably never left, and whatever is wrong with the account.
func IsTrouble(f *run.Failure) bool { return run.Trouble(f) }

func troubleKind(f *run.Failure) capacity.OutcomeKind {
	switch {
	case f.Account:
		return capacity.Account
	case f.Status == 429:
		return capacity.Throttled
	}
	return capacity.Unavailable
}

// CauseNoCredential is the Cause of a process that cannot read the credential: its own trouble, which others need not have.
const CauseNoCredential = "no_credential"

// CauseBudgetHeld is the Cause of a budget that is set aside for calls under way.
const CauseBudgetHeld = "budget_held"

// Cause is a failure in a few words without content: "429 rate_limit_exceeded", CauseNoCredential, "unreachable" (no
// connection), CauseBudgetHeld, or the category.
func Cause(f *run.Failure) string {
	s := f.Category
	switch {
	case f.Status != 0:
		s = fmt.Sprint(f.Status)
	case f.NotSent && f.Account:
		s = CauseNoCredential
	case f.NotSent:
		s = "unreachable"
	case IsHeld(f):
		s = CauseBudgetHeld
	}
	if f.Code != "" {
		s += " " + f.Code
	}
	return s
}

func finished(obs observer, res run.Result, d time.Duration) event.Finished {
	out := event.Finished{Position: obs.position, Status: res.Status, Duration: d, Totals: Totals(res)}
	out.At = time.Now()
	if res.Status == schemas.StatusFailed && res.Failure != nil {
		out.Category = res.Failure.Category
	}
	return out
}

// Totals of a run that ended, with the usage of failed ones too.
func Totals(res run.Result) schemas.Totals {
	s := res.State
	return schemas.Totals{Counts: s.Counts, Usage: s.Usage.Usage(), ValidatorUsage: validatorUsage(s), Cost: s.Cost.Cost(),
		TimingMS: schemas.Timing{Waiting: s.Waited.Milliseconds(), Model: s.Model.Milliseconds()}}
}

// IsClosed reports whether a failure came from a gate that is full or closed, or from a budget that is set aside for calls under
// way, so that nothing was called.
func IsClosed(f *run.Failure) bool {
	return f != nil && f.Category == schemas.CategoryCapacity && (errors.Is(f.Cause, capacity.ErrFull) || errors.Is(f.Cause, capacity.ErrClosed) || IsHeld(f))
}

// IsHeld reports whether a failure came from a budget that is set aside for calls under way.
func IsHeld(f *run.Failure) bool { return f != nil && errors.Is(f.Cause, ErrBudgetHeld) }
