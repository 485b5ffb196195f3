package run

import (
	"context"
)

// Effects perform the actions of a run. Each returns the event that tells how it ended; none of them panics or returns
// nil. A done context gives a Cancelled.
type Effects interface {
	// Call makes one provider call: Answered, Failed or Cancelled.
	Call(context.Context, State, Call) Event
	// Judge gives the verdict on s.Candidate: Voted, Failed or Cancelled.
	Judge(context.Context, State, Judge) Event
	// Validate asks a validator: Validated or Cancelled. A validator that comes to no decision is a vote, too.
	Validate(context.Context, State, Validate) Event
	// Escalate tells of an escalation: Escalated or Cancelled.
	Escalate(context.Context, State, Escalate) Event
	// Wait pauses: Waited, Failed (not worth while) or Cancelled.
	Wait(context.Context, State, Wait) Event
}

// Result is a run that ended, or waits for a person: its State is then in phase Reviewing and Status is "".
type Result struct {
	Status string
	// Failure is nil unless Status is failed, cancelled or expired.
	Failure *Failure
	State   State
}

// Drive takes the run from State to its end. save is called after each completed generation and each decision, before
// the next call; its error ends Drive with the State that was reached, so that nothing already answered is lost. A nil
// save saves nothing.
func Drive(ctx context.Context, p *Plan, s State, fx Effects, save func(State) error) (Result, error) {
	if s.Phase == New {
		s, _ = p.Step(s, Started{})
	}
	for {
		var e Event
		switch a := p.Pending(s).(type) {
		case Call:
			e = fx.Call(ctx, s, a)
		case Judge:
			e = fx.Judge(ctx, s, a)
		case Validate:
			e = fx.Validate(ctx, s, a)
		case Escalate:
			e = fx.Escalate(ctx, s, a)
		case Wait:
			e = fx.Wait(ctx, s, a)
		default:
			return Result{Status: s.Status, Failure: s.Failure, State: s}, nil
		}
		next, _ := p.Step(s, e)
		if p.Attempts != "" {
			next = p.told(s, next, e)
		}
		if save != nil && worthSaving(s, next) {
			if err := save(next); err != nil {
				return Result{State: next}, err
			}
		}
		s = next
	}
}

// worthSaving: a State is stored when it holds an answer or a vote that the one before did not, and another call may
// follow.
func worthSaving(before, after State) bool {
	if before.Phase != Judging && before.Phase != Validating {
		return false
	}
	return after.Phase == Calling || after.Phase == Validating || after.Phase == Escalating
}
