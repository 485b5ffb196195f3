// Package event holds what a run tells while it executes (seed 003): metadata about calls, waits, verdicts and the
// end. It never holds content, credentials or provider text.
package event

import (
	"context"
	"time"

	"emend/schemas"
)

// Observer receives the events of a run, synchronously and in order within the run; different runs call it
// concurrently. It is called without locks held. A slow observer delays its run; a panic is the caller's.
type Observer interface {
	Observe(context.Context, Event)
}

// Func is an Observer made of a function.
type Func func(context.Context, Event)

// Observe calls f.
func (f Func) Observe(ctx context.Context, e Event) { f(ctx, e) }

// Event is one of the types of this package.
type Event interface {
	// Kind is the event's word on the wire.
	Kind() string
	// Where returns the position of the event.
	Where() Position
	sealed()
}

// Position says which run, generation and attempt an event belongs to, as far as known when it happened. Generation
// and Attempt count from 1; 0 is "none yet".
type Position struct {
	At                                     time.Time
	RunID, Prompt, Profile, Backend, Model string
	// StageAttempt counts from 1.
	StageAttempt   int
	Generation     int
	GenerationKind string
	Attempt        int
	// Validator is the judge whose call this is; "" for the run's own.
	Validator string
}

// Where returns p.
func (p Position) Where() Position { return p }
func (Position) sealed()           {}

// Started opens an execution. Prepared says that preparation happened earlier, so that the time between is not in it.
type Started struct {
	Position
	Prepared bool
	// MaxCalls is the most provider calls that the plan allows.
	MaxCalls int
}

// AttemptStarted precedes each provider call, after its permit was granted.
type AttemptStarted struct {
	Position
	// CapacityWait is the time from asking for the permit to having it.
	CapacityWait time.Duration
}

// Attempt follows each provider call.
type Attempt struct {
	Position
	// Outcome is schemas.OutcomeCompleted, an error category, "cancelled" or "expired".
	Outcome                string
	Status                 int
	CapacityWait, Duration time.Duration
	// Usage is nil when nothing was reported, Cost when it is not known.
	Usage *schemas.Tokens
	Cost  *schemas.USD
}

// Retry announces a wait before another attempt of the same generation.
type Retry struct {
	Position
	Cause  string
	Status int
	Delay  time.Duration
}

// Validation is the verdict on a candidate.
type Validation struct {
	Position
	// Class is the contract's word; "" for a candidate that could not be judged.
	Class    string
	Valid    bool
	Findings []schemas.EventFinding
	// Mended is unwrap or syntax for a candidate that was mended locally. Changed are places that the targeted
	// correction before it changed unasked, masked as in findings.
	Mended   string
	Changed  []string
	Duration time.Duration
}

// Repair announces a corrective generation: number N of M allowed. Style is conversation, targeted or regenerate.
type Repair struct {
	Position
	Style string
	N, M  int
}

// Stage announces a further stage attempt; Position.StageAttempt is its number. Cause is why it begins: error,
// structural or correction.
type Stage struct {
	Position
	Cause string
}

// Validator is one validator's vote, after all of its tries; Position.Validator names it.
type Validator struct {
	Position
	// Outcome is approved, rejected, failed or skipped; Cause is the error category of the last two.
	Outcome, Cause string
	// Codes are a judge's reasons, only under audit: full.
	Codes    []string
	Duration time.Duration
}

// Escalated tells that an exhausted run goes to Sink: judge, review or none.
type Escalated struct {
	Position
	Sink string
}

// Finished closes an execution, whatever its end. Its totals are not to be added to the attempts.
type Finished struct {
	Position
	// Status is a result status; Category is the error category of a failed one.
	Status, Category string
	Totals           schemas.Totals
	Duration         time.Duration
}

// Kind is "started".
func (Started) Kind() string { return schemas.EventStarted }

// Kind is "attempt_started".
func (AttemptStarted) Kind() string { return schemas.EventAttemptStarted }

// Kind is "attempt".
func (Attempt) Kind() string { return schemas.EventAttempt }

// Kind is "retry".
func (Retry) Kind() string { return schemas.EventRetry }

// Kind is "validation".
func (Validation) Kind() string { return schemas.EventValidation }

// Kind is "repair".
func (Repair) Kind() string { return schemas.EventRepair }

// Kind is "stage".
func (Stage) Kind() string { return schemas.EventStage }

// Kind is "validator".
func (Validator) Kind() string { return schemas.EventValidator }

// Kind is "escalated".
func (Escalated) Kind() string { return schemas.EventEscalated }

// Kind is "finished".
func (Finished) Kind() string { return schemas.EventFinished }
