package consumer

import (
	"errors"
	"time"

	"emend/capacity"
	"emend/engine/run"
	"emend/prompts"
	"emend/schemas"
)

// Delivery is what is known of a delivered request when it is decided upon.
type Delivery struct {
	// Seq is the request's stream sequence, Fingerprint what it asks (backend and body).
	Seq         uint64
	Fingerprint string
	Published   time.Time
	// Starts is the number of earlier starts that did not end in a clean hand-back.
	Starts int
	// Plan is nil when Refusal is not; Refusal matches prompts.ErrMalformed, ErrUnknown or ErrForbidden.
	Plan    *run.Plan
	Refusal error
}

// Whereabouts is what the stores hold of a run: its result with the sequence of the message, and its saved state.
type Whereabouts struct {
	Result    *schemas.Result
	ResultSeq uint64
	State     *run.State
	// Review is the entry of a run that waits for a person.
	Review *review
	// Granted says that an operator's replay may replace Result, though its content is another.
	Granted bool
}

// Limits of a delivery; see the definition files.
type Limits struct {
	MaxStarts    int
	CatalogGrace time.Duration
	QueueTTL     time.Duration
}

// Disposition is what to do with a delivery: one of Execute, Resume, Resend, InReview, HandBack, Dead, Expire.
type Disposition interface{ disposition() }

// Execute runs from the start; Replace is the sequence of the settled outcome that the new result replaces, else 0.
type Execute struct{ Replace uint64 }

// Resume takes the run up from its saved state.
type Resume struct {
	State   run.State
	Replace uint64
}

// Resend sends the stored result again and acks. No call.
type Resend struct{ Result *schemas.Result }

// InReview acks a request whose run waits for a person; the requester is told so. No call.
type InReview struct{}

// HandBack gives the message back for Delay, with the cause that `emend get` shows.
type HandBack struct {
	Delay time.Duration
	Cause string
	// Judge is the judge whose backend, Backend, is in trouble; both are "" where it is the run's own.
	Judge, Backend string
}

// Dead ends a request that cannot be run: a dead letter, a reply, and for Settle a stored result too.
type Dead struct {
	Category, Message string
	Settle            bool
	Replace           uint64
}

// Expire settles a run whose time is over. No call.
type Expire struct {
	Reason  string
	Replace uint64
}

func (Execute) disposition()  {}
func (Resume) disposition()   {}
func (Resend) disposition()   {}
func (InReview) disposition() {}
func (HandBack) disposition() {}
func (Dead) disposition()     {}
func (Expire) disposition()   {}

// unknownRetry is the pause before an unknown prompt is looked up again.
const unknownRetry = 2 * time.Second

// TooManyStarts reports whether a run is to be given up before anything of it is decoded.
func TooManyStarts(starts int, lim Limits) bool { return lim.MaxStarts > 0 && starts >= lim.MaxStarts }

// Decide says what to do with a delivery. It is pure. Its order is design section 3, "One delivery": what cannot be run
// first, then what is settled, then what waits, then what runs.
func Decide(d Delivery, w Whereabouts, gate capacity.GateState, lim Limits, now time.Time) Disposition {
	if dead := abandoned(d, w, lim); dead != nil {
		return dead
	}
	if d.Refusal != nil {
		return refused(d, w, lim, now)
	}
	replace, settled := settledAs(d, w)
	if settled != nil {
		return settled
	}
	if waiting := waitsForPerson(d, w); waiting != nil {
		return waiting
	}
	if over := expired(d, lim, now); over != "" {
		return Expire{Reason: over, Replace: replace}
	}
	if wait, cause := closedFor(gate, now); wait > 0 {
		return HandBack{Delay: wait, Cause: cause}
	}
	if w.State != nil && d.Plan.Fits(*w.State) == nil {
		return Resume{State: *w.State, Replace: replace}
	}
	return Execute{Replace: replace}
}

// abandoned gives up a request that made its worker die too often, unless its result got stored all the same. Neither an
// earlier answer nor the result of other content is overwritten by it.
func abandoned(d Delivery, w Whereabouts, lim Limits) Disposition {
	if !TooManyStarts(d.Starts, lim) {
		return nil
	}
	replace, settled := settledAs(d, w)
	if settled == nil {
		settled = waitsForPerson(d, w)
	}
	if settled != nil {
		return settled
	}
	return Dead{Category: schemas.CategoryAbandoned, Settle: true, Replace: replace,
		Message: "the run was started several times and its worker never came to an end of it"}
}

func refused(d Delivery, w Whereabouts, lim Limits, now time.Time) Disposition {
	if w.Result != nil && w.Result.Request.SHA256 == d.Fingerprint && !replaceable(w.Result, d.Seq) {
		return Resend{Result: w.Result}
	}
	if w.Review != nil && w.Review.Fingerprint == d.Fingerprint && waitsForPerson(d, w) != nil {
		return InReview{}
	}
	if errors.Is(d.Refusal, prompts.ErrUnknown) && now.Sub(d.Published) < lim.CatalogGrace {
		return HandBack{Delay: unknownRetry, Cause: unknownCause(d.Refusal)}
	}
	return Dead{Category: schemas.CategoryInvalidRequest, Message: d.Refusal.Error()}
}

// unknownCause is the first of what a request names and nobody knows, as a word.
func unknownCause(refusal error) string {
	if gone(refusal) {
		return "unknown_blob"
	}
	r, ok := errors.AsType[*prompts.RequestError](refusal)
	if !ok || len(r.Problems) == 0 {
		return "unknown_prompt"
	}
	switch r.Problems[0].Path {
	case "prompt":
		return "unknown_prompt"
	case "profile":
		return "unknown_profile"
	case "pipeline", "stage.pipeline", "stage.digest":
		return "unknown_pipeline"
	}
	return "unknown_definition"
}

// settledAs: the same content gets its result again, other content under a settled id is a conflict, and an end that was
// no answer (failed, expired, cancelled) is replaced when the content is published anew, or replayed with changes.
func settledAs(d Delivery, w Whereabouts) (replace uint64, out Disposition) {
	if w.Result == nil {
		return 0, nil
	}
	same := w.Result.Request.SHA256 == d.Fingerprint
	switch {
	case (same || w.Granted) && replaceable(w.Result, d.Seq):
		return w.ResultSeq, nil
	case !same:
		return 0, Dead{Category: schemas.CategoryIDConflict, Message: conflict}
	}
	return 0, Resend{Result: w.Result}
}

// waitsForPerson: a run in review is executed by nobody, and other content under its id is a conflict. An entry that has
// its result already is only a leftover.
func waitsForPerson(d Delivery, w Whereabouts) Disposition {
	switch {
	case w.Review == nil || (w.Result != nil && w.Result.Request.Seq >= w.Review.RequestSeq):
		return nil
	case w.Review.Fingerprint != d.Fingerprint:
		return Dead{Category: schemas.CategoryIDConflict, Message: conflict}
	}
	return InReview{}
}

// conflict tells nothing of what is there.
const conflict = "this id is settled with other content; publish under another id"

// replaceable reports whether request seq may replace a result: an end that was no answer, of another request.
func replaceable(r *schemas.Result, seq uint64) bool {
	return unanswered(r.Status) && r.Request.Seq != seq
}

// unanswered are the ends that are no answer.
func unanswered(status string) bool {
	switch status {
	case schemas.StatusFailed, schemas.StatusExpired, schemas.StatusCancelled:
		return true
	}
	return false
}

func expired(d Delivery, lim Limits, now time.Time) string {
	switch {
	case !d.Plan.Deadline.IsZero() && !now.Before(d.Plan.Deadline):
		return "deadline"
	case lim.QueueTTL > 0 && now.Sub(d.Published) >= lim.QueueTTL:
		return "queue_ttl"
	}
	return ""
}

// closedFor is how long a run is handed back for while the gate is closed, and why; 0 if it is not.
func closedFor(gate capacity.GateState, now time.Time) (time.Duration, string) {
	if gate.Phase != capacity.Closed {
		return 0, ""
	}
	if ownTrouble(gate.Cause) {
		return troubleDelay, gate.Cause // another worker's gate is open meanwhile, perhaps
	}
	return max(gate.Until.Sub(now), time.Second), gate.Cause
}
