package run

import (
	"fmt"
	"slices"
	"time"

	"emend/engine/contract"
	"emend/schemas"
)

// Event is what happened: one of Started, Answered, Failed, Waited, Voted, Cancelled.
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
type CallTimes struct{ Wait, Duration time.Duration }

// Waited ends a wait, which took D.
type Waited struct{ D time.Duration }

// Voted is the verdict on the candidate.
type Voted struct{ Verdict contract.Verdict }

// Cancelled ends a run: Status is schemas.StatusCancelled or StatusExpired. Open says that a call was under way.
type Cancelled struct {
	Status string
	Cause  error
	Open   bool
	Call   CallTimes
}

func (Started) event() string   { return "started" }
func (Answered) event() string  { return "answered" }
func (Failed) event() string    { return "failed" }
func (Waited) event() string    { return "waited" }
func (Voted) event() string     { return "voted" }
func (Cancelled) event() string { return "cancelled" }

// Action is what to do next: one of Call, Judge, Wait, Finish.
type Action interface{ action() }

// Call asks for one provider call: attempt Attempt of generation Generation. Style and N of M describe a correction;
// N is 0 for the initial generation.
type Call struct {
	Generation, Attempt int
	Kind, Style         string
	N, M                int
}

// Judge asks for the verdict on the latest candidate.
type Judge struct{}

// Wait asks for a pause before another attempt: at least AtLeast, and backoff number N (from 1) of the generation.
type Wait struct {
	AtLeast time.Duration
	N       int
}

// Finish ends the run.
type Finish struct{}

func (Call) action()   {}
func (Judge) action()  {}
func (Wait) action()   {}
func (Finish) action() {}

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
		"failed":    {[]Phase{Waiting, Done}, callFailed},
		"cancelled": {[]Phase{Done}, cancelled},
	},
	Waiting: {
		"waited":    {[]Phase{Calling}, waited},
		"failed":    {[]Phase{Done}, waitFailed},
		"cancelled": {[]Phase{Done}, cancelled},
	},
	Judging: {
		"voted":     {[]Phase{Calling, Done}, voted},
		"failed":    {[]Phase{Done}, judgeFailed},
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
	}
	return Finish{}
}

func (p *Plan) call(s State) Call {
	c := Call{Generation: s.Generation, Attempt: s.Attempt + 1, Kind: schemas.GenerationInitial, M: p.Output.RepairAttempts}
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

func answered(_ *Plan, s State, e Event) State {
	a := e.(Answered)
	s = record(s, a.Call, schemas.OutcomeCompleted, 0)
	s.Usage.Add(a.Tokens)
	s.Candidate, s.Judged, s.Failure = &a.Candidate, nil, nil
	s.Phase = Judging
	return s
}

func callFailed(p *Plan, s State, e Event) State {
	f := e.(Failed)
	if !f.NotStarted {
		s = record(s, f.Call, f.Failure.Category, f.Failure.Status)
		if f.Failure.Billed || !f.Tokens.Empty() {
			s.Usage.Add(f.Tokens)
		}
	}
	f.Failure.Attempts = s.Attempt
	s.Failure = &f.Failure
	if !p.transient(&f.Failure) {
		return failed(s)
	}
	if s.Left.Transient == 0 {
		s.Failure.Exhausted = p.TransientRetries > 0
		return failed(s)
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

func voted(p *Plan, s State, e Event) State {
	v := e.(Voted).Verdict
	s.Judged = &Judged{Class: v.Class, Findings: v.Findings, Omitted: v.Omitted, CutOff: v.CutOff, Value: v.Value}
	switch {
	case v.Valid():
		s.Phase, s.Status = Done, schemas.StatusSucceeded
	case s.Left.Repair == 0 || (s.Cut() && s.Regenerated):
		return exhausted(p, s)
	default:
		return repair(p, s)
	}
	return s
}

// Cut reports whether the latest candidate is invalid because it ends too early: the provider said so, or the text
// shows it whatever the provider said.
func (s State) Cut() bool {
	return s.Candidate != nil && !s.Judged.Valid() && (s.Candidate.Finish == "length" || (s.Judged != nil && s.Judged.CutOff))
}

// repair starts a corrective generation. A cut answer is asked for again from the beginning, once a run: showing it
// would only lengthen the next answer's prompt (design section 5).
func repair(p *Plan, s State) State {
	s.Left.Repair--
	s.Style = StyleConversation
	if s.Cut() {
		s.Style, s.Regenerated = StyleRegenerate, true
	}
	s.Counts.Repairs++
	s.Generation++
	s.Attempt, s.Left.Transient, s.Phase = 0, p.TransientRetries, Calling
	return s
}

// exhausted ends a run whose final candidate is invalid: a result, not an error, unless the contract says fail.
func exhausted(p *Plan, s State) State {
	s.Phase, s.Status = Done, schemas.StatusInvalid
	if p.Output.OnExhausted == "fail" {
		s.Status = schemas.StatusFailed
		s.Failure = &Failure{Category: schemas.CategoryOutputInvalid, Exhausted: true, Attempts: s.Counts.Calls, Billed: true,
			Message: fmt.Sprintf("the final candidate is %s after %d corrective calls", s.Judged.Class, s.Counts.Repairs)}
	}
	return s
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
	s.Attempts = append(slices.Clip(s.Attempts), schemas.Attempt{Generation: s.Generation, GenerationKind: kind, Attempt: s.Attempt,
		Outcome: outcome, Status: status, DurationMS: t.Duration.Milliseconds(), WaitMS: t.Wait.Milliseconds()})
	s.Model += t.Duration
	s.Waited += t.Wait
	return s
}
