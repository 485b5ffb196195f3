package event

import (
	"time"

	"emend/schemas"
)

// Wire returns the form that is published. RunID, Queue, Seq, Worker and Delivery of the message are the caller's.
// Every event kind has its case; a test lists them.
func Wire(e Event) schemas.Event {
	p := e.Where()
	out := schemas.Event{V: schemas.EventVersion, Kind: e.Kind(), RunID: p.RunID, At: p.At.UTC(), Prompt: p.Prompt, Profile: p.Profile,
		Backend: p.Backend, Model: p.Model, Generation: p.Generation, GenerationKind: p.GenerationKind, Attempt: p.Attempt, Validator: p.Validator}
	if p.Generation > 0 || p.StageAttempt > 1 {
		out.StageAttempt = max(p.StageAttempt, 1)
	}
	switch e := e.(type) {
	case Started:
	case AttemptStarted:
		out.WaitMS = ms(e.CapacityWait)
	case Attempt:
		out.Outcome, out.Status, out.Usage, out.Cost = e.Outcome, e.Status, e.Usage, e.Cost
		out.WaitMS, out.DurationMS = ms(e.CapacityWait), ms(e.Duration)
	case Retry:
		out.Cause, out.Status, out.WaitMS = e.Cause, e.Status, ms(e.Delay)
	case Validation:
		out.Outcome, out.Findings, out.DurationMS = e.outcome(), e.Findings, ms(e.Duration)
		out.Mended, out.Changed = e.Mended, e.Changed
	case Repair:
		out.Outcome = e.Style
	case Stage:
		out.Outcome = e.Cause
	case Validator:
		out.Outcome, out.Cause, out.Codes, out.DurationMS = e.Outcome, e.Cause, e.Codes, ms(e.Duration)
	case Escalated:
		out.Outcome = e.Sink
	case Finished:
		out.Outcome, out.Category, out.DurationMS = e.Status, e.Category, ms(e.Duration)
		out.Totals = &e.Totals
	}
	return out
}

func (v Validation) outcome() string {
	if v.Class == "" {
		return schemas.CategoryValidation
	}
	return v.Class
}

func ms(d time.Duration) *int64 {
	n := d.Milliseconds()
	return &n
}
