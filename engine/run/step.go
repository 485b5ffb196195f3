package run

import (
	"fmt"
	"slices"
	"time"

	"emend/engine/contract"
	"emend/schemas"
)

// Event is what happened: one of Started, Answered, Failed, Waited, Voted, Validated, Escalated, Decided, Cancelled.
type Event interface{ event() string }

// Started begins a run.
type Started struct{}

// Answered is a completed call.
type Answered struct {
	Candidate Candidate
	Tokens    *schemas.Tokens
	Call      CallTimes
}

// Failed is a call that did not complete, a verdict that could not be reached, or a wait that is not worth while.
// NotStarted says that no call was made (no permit, no credential, an invalid request).
type Failed struct {
	Failure    Failure
	NotStarted bool
	Tokens     *schemas.Tokens
	Call       CallTimes
}

// CallTimes are what a call cost in time.
type CallTimes struct {
	Wait, Duration time.Duration
	// Appended is what the call was sent behind the ordinary prompt; only under attempts: full.
	Appended []schemas.Message
}

// Waited ends a wait, which took D.
type Waited struct{ D time.Duration }

// Voted is the verdict on the candidate.
type Voted struct {
	Verdict contract.Verdict
	// Style and Targets are the correction that the verdict calls for, if any budget is left; "" is StyleConversation.
	Style   string
	Targets []string
	// Changed are places that the targeted correction before it changed unasked.
	Changed []string
}

// Validated is one validator's vote, with what it cost.
type Validated struct {
	Vote   schemas.Validator
	Usage  schemas.UsageSum
	Cost   schemas.CostSum
	Waited time.Duration
}

// Escalated says that an escalation was told.
type Escalated struct{}

// Decided is a person's decision. Text and Verdict are those of an edit.
type Decided struct {
	Review  schemas.Review
	Text    string
	Verdict contract.Verdict
}

// Cancelled ends a run: Status is schemas.StatusCancelled or StatusExpired. Open says that a call was under way.
type Cancelled struct {
	Status string
	Cause  error
	Open   bool
	Call   CallTimes
	// Vote is what an unfinished vote cost so far; nil outside of validation.
	Vote *Validated
}

func (Started) event() string   { return "started" }
func (Answered) event() string  { return "answered" }
func (Failed) event() string    { return "failed" }
func (Waited) event() string    { return "waited" }
func (Voted) event() string     { return "voted" }
func (Validated) event() string { return "validated" }
func (Escalated) event() string { return "escalated" }
func (Decided) event() string   { return "decided" }
func (Cancelled) event() string { return "cancelled" }

// Action is what to do next: one of Call, Judge, Validate, Wait, Escalate, Finish.
type Action interface{ action() }

// Call asks for one provider call: attempt Attempt of generation Generation. Style and N of M describe a correction;
// N is 0 for the initial generation.
type Call struct {
	Generation, Attempt int
	Kind, Style         string
	N, M                int
	// Stage is the stage attempt, StageKind why it began.
	Stage     int
	StageKind string
}

// Judge asks for the verdict on the latest candidate.
type Judge struct{}

// Validate asks validator number Index of the plan for its vote on the latest candidate.
type Validate struct{ Index int }

// Escalate tells that an exhausted run goes to Sink.
type Escalate struct{ Sink string }

// Wait asks for a pause before another attempt: at least AtLeast, and backoff number N (from 1) of the generation.
type Wait struct {
	AtLeast time.Duration
	N       int
}

// Finish ends the run, or puts it down for a person (phase Reviewing).
type Finish struct{}

func (Call) action()     {}
func (Judge) action()    {}
func (Validate) action() {}
func (Wait) action()     {}
func (Escalate) action() {}
func (Finish) action()   {}

// cell is one entry of the machine's table: what an event does in a phase, and where it may lead.
type cell struct {
	to []Phase
	do func(*Plan, State, Event) State
}

// table holds every (phase, event) that can happen. What is not in it is a fault of Emend and ends the run as failed
// with category internal. The diagram of the docs is generated from it.
var table = map[Phase]map[string]cell{
	New: {
		"started":   {[]Phase{Calling}, started},
		"cancelled": {[]Phase{Done}, cancelled},
	},
	Calling: {
		"answered":  {[]Phase{Judging}, answered},
		"failed":    {[]Phase{Calling, Waiting, Done}, callFailed},
		"cancelled": {[]Phase{Done}, cancelled},
	},
	Waiting: {
		"waited":    {[]Phase{Calling}, waited},
		"failed":    {[]Phase{Done}, waitFailed},
		"cancelled": {[]Phase{Done}, cancelled},
	},
	Judging: {
		"voted":     {[]Phase{Calling, Validating, Escalating, Done}, voted},
		"failed":    {[]Phase{Done}, judgeFailed},
		"cancelled": {[]Phase{Done}, cancelled},
	},
	Validating: {
		"validated": {[]Phase{Calling, Validating, Escalating, Done}, validated},
		"cancelled": {[]Phase{Done}, cancelled},
	},
	Escalating: {
		"escalated": {[]Phase{Validating, Reviewing, Done}, escalated},
		"cancelled": {[]Phase{Done}, cancelled},
	},
	Reviewing: {
		"decided":   {[]Phase{Done}, decided},
		"cancelled": {[]Phase{Done}, cancelled},
	},
}

// Step is the machine: it has no clock, does no I/O and changes neither argument.
func (p *Plan) Step(s State, e Event) (State, Action) {
	c, ok := table[s.Phase][e.event()]
	if !ok {
		s.Failure = &Failure{Category: schemas.CategoryInternal, Message: fmt.Sprintf("event %s in phase %s", e.event(), s.Phase)}
		s.Phase, s.Status = Done, schemas.StatusFailed
		return s, Finish{}
	}
	s = c.do(p, s, e)
	return s, p.Pending(s)
}

// Pending is the action that a State waits for: how a run that was put down is taken up again. A run in New waits for
// Started, so it is given the call that Started would lead to.
func (p *Plan) Pending(s State) Action {
	switch s.Phase {
	case New:
		_, a := p.Step(s, Started{})
		return a
	case Calling:
		return p.call(s)
	case Waiting:
		return Wait{AtLeast: s.Failure.RetryAfter, N: s.Attempt}
	case Judging:
		return Judge{}
	case Validating:
		return Validate{Index: len(s.Votes)}
	case Escalating:
		return Escalate{Sink: s.Sink}
	}
	return Finish{}
}

func (p *Plan) call(s State) Call {
	c := Call{Generation: s.Generation, Attempt: s.Attempt + 1, Kind: schemas.GenerationInitial, M: p.Output.RepairAttempts,
		Stage: s.Stage, StageKind: s.StageKind}
	if s.Generation > 1 {
		c.Kind, c.Style, c.N = schemas.GenerationRepair, s.Style, s.Generation-1
	}
	return c
}

func started(p *Plan, s State, _ Event) State {
	s.Phase, s.Generation, s.Attempt = Calling, 1, 0
	s.Left.Transient = p.TransientRetries
	return s
}

func answered(p *Plan, s State, e Event) State {
	a := e.(Answered)
	s = record(s, a.Call, schemas.OutcomeCompleted, 0)
	last := &s.Attempts[len(s.Attempts)-1]
	last.Finish, last.ProviderFinish = a.Candidate.Finish, a.Candidate.ProviderFinish
	s.Usage.Add(a.Tokens)
	s.Cost.Add(p.Price.Of(a.Tokens))
	s.Candidate, s.Judged, s.Votes, s.Failure, s.Chain = &a.Candidate, nil, nil, nil, false
	s.Phase = Judging
	return s
}

func callFailed(p *Plan, s State, e Event) State {
	f := e.(Failed)
	if !f.NotStarted {
		s = record(s, f.Call, f.Failure.Category, f.Failure.Status)
		if f.Failure.Billed || !f.Tokens.Empty() {
			s.Usage.Add(f.Tokens)
			s.Cost.Add(p.Price.Of(f.Tokens))
		}
	}
	f.Failure.Attempts = s.Attempt
	s.Failure = &f.Failure
	if f.Failure.Fallback && !s.Fallback && s.Left.Transient > 0 {
		s.Left.Transient-- // one more attempt, in the other form, without a wait (design section 9, native_fallback)
		s.Fallback = true
		return s
	}
	if !p.transient(&f.Failure) {
		return p.ended(s)
	}
	if s.Left.Transient == 0 {
		s.Failure.Exhausted = p.TransientRetries > 0
		return p.ended(s)
	}
	s.Left.Transient--
	s.Phase = Waiting
	return s
}

// transient is seed 003's rule: these statuses only, never a transport failure or a malformed envelope.
func (p *Plan) transient(f *Failure) bool {
	if f.Category != schemas.CategoryProviderStatus || f.Permanent {
		return false
	}
	return TransientStatus(f.Status) || slices.Contains(p.ExtraStatuses, f.Status)
}

// TransientStatus reports whether a status is retried without being asked for: 429, 500, 502, 503, 504 (seed 003).
func TransientStatus(status int) bool {
	switch status {
	case 429, 500, 502, 503, 504:
		return true
	}
	return false
}

func waited(_ *Plan, s State, e Event) State {
	s.Waited += e.(Waited).D
	s.Phase = Calling
	return s
}

// waitFailed ends a run whose wait is not worth while: the failure that made it wait is the run's.
func waitFailed(_ *Plan, s State, _ Event) State { return failed(s) }

func judgeFailed(_ *Plan, s State, e Event) State {
	f := e.(Failed)
	s.Failure = &f.Failure
	return failed(s)
}

func failed(s State) State {
	s.Phase, s.Status = Done, schemas.StatusFailed
	return s
}

func cancelled(_ *Plan, s State, e Event) State {
	c := e.(Cancelled)
	if c.Open {
		s = record(s, c.Call, c.Status, 0)
		s.Usage.Add(nil)
		s.Cost.Add(0, false)
	}
	if v := c.Vote; v != nil {
		s.ValidatorUsage.Join(v.Usage)
		s.Cost.Join(v.Cost)
		s.Counts.ValidatorCalls += v.Vote.Calls
		s.Waited += v.Waited
	}
	last := s.Failure
	s.Failure = &Failure{Category: c.Status, Message: "the run was " + c.Status, Cause: c.Cause, Billed: c.Open}
	if last != nil {
		s.Failure.Message += " after: " + last.Message
		s.Failure.Status, s.Failure.Code, s.Failure.Attempts = last.Status, last.Code, s.Attempt
	}
	s.Phase, s.Status = Done, c.Status
	return s
}

// beyondFirst is 0 for the first stage attempt, which most runs have alone.
func beyondFirst(stage int) int {
	if stage <= 1 {
		return 0
	}
	return stage
}

// record counts one started call. The slice is copied: a State is a value.
func record(s State, t CallTimes, outcome string, status int) State {
	s.Attempt++
	s.Counts.Calls++
	if s.Attempt > 1 {
		s.Counts.Retries++
	}
	kind := schemas.GenerationInitial
	if s.Generation > 1 {
		kind = schemas.GenerationRepair
	}
	s.Attempts = append(slices.Clip(s.Attempts), schemas.Attempt{StageAttempt: beyondFirst(s.Stage), Generation: s.Generation, GenerationKind: kind, Attempt: s.Attempt,
		Outcome: outcome, Status: status, DurationMS: t.Duration.Milliseconds(), WaitMS: t.Wait.Milliseconds()})
	s.Model += t.Duration
	s.Waited += t.Wait
	return s
}
