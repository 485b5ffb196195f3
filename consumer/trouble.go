package consumer

import (
	"cmp"
	"context"
	"sync"
	"time"

	"emend/engine"
	"emend/engine/run"
	"emend/prompts"
	"emend/schemas"
)

// troubleLog says once that a backend is in trouble, again when the cause changes or after a while, and when it is over:
// ten thousand waiting runs are one line, not ten thousand.
type troubleLog struct {
	mu   sync.Mutex
	said map[string]saidTrouble
}

type saidTrouble struct {
	cause string
	at    time.Time
}

// troubleAgain is when the same trouble is worth another line.
const troubleAgain = 5 * time.Minute

// begins reports whether a backend's trouble is news.
func (t *troubleLog) begins(backend, cause string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, ok := t.said[backend]; ok && last.cause == cause && now.Sub(last.at) < troubleAgain {
		return false
	}
	if t.said == nil {
		t.said = map[string]saidTrouble{}
	}
	t.said[backend] = saidTrouble{cause, now}
	return true
}

// ends reports whether a backend that was said to be in trouble is out of it.
func (t *troubleLog) ends(backend string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, was := t.said[backend]
	delete(t.said, backend)
	return was
}

// waits reports whether the run is to be handed back: a full or closed gate, or its backend's trouble, unless the
// backend says fail or the run keeps failing while others do not.
func (h *handler) waits(res run.Result) bool {
	return h.waitsFor(h.backend, res.Failure, res.State.PutDowns)
}

// waitsFor reports whether a run that was put down so often is to wait after a failure at a backend, its own or a judge's.
func (h *handler) waitsFor(backend string, f *run.Failure, downs int) bool {
	if engine.IsClosed(f) {
		return true
	}
	return engine.IsTrouble(f) && h.engine.Snapshot().OnTrouble(backend) != prompts.OnTroubleFail && downs < maxPutDowns
}

// maxPutDowns: the same run's fifth failure while others succeed is its own.
const maxPutDowns = 4

// wait hands back a run that met trouble of its backend, or of the judge's that back names, with its state.
func (h *handler) wait(ctx context.Context, s run.State, f *run.Failure, back HandBack) {
	backend := cmp.Or(back.Backend, h.backend)
	if !engine.IsClosed(f) && h.answers().of(backend) > h.answersBefore.of(backend) {
		s.PutDowns++
	}
	back.Delay, back.Cause = troubleDelay, engine.Cause(f)
	if engine.IsHeld(f) {
		back.Delay = heldDelay
	}
	if wait, cause := closedFor(h.gateStateOf(backend), time.Now()); wait > 0 {
		back.Delay, back.Cause = wait, cause
	}
	h.sayTrouble(backend, back.Cause, f)
	h.putDown(ctx, s, back)
}

const (
	troubleDelay = 2 * time.Second
	// heldDelay is how long a run waits for calls under way to tell what they cost.
	heldDelay = 5 * time.Second
)

// waitsForJudge reports whether a run is to wait for the backend of a judge: not beyond its own end, for its answer would be lost
// with it. The vote is then a failed one.
func (h *handler) waitsForJudge(backend string, f *run.Failure, downs int) bool {
	now := time.Now()
	wait, _ := closedFor(h.gateStateOf(backend), now)
	end := h.ends()
	return h.waitsFor(backend, f, downs) && (end.IsZero() || now.Add(max(wait, troubleDelay)).Before(end))
}

// ends is when the run expires, zero for never.
func (h *handler) ends() time.Time {
	end := h.plan.Deadline
	if ttl := h.w.limits().QueueTTL; ttl > 0 {
		if last := h.d.published.Add(ttl); end.IsZero() || last.Before(end) {
			return last
		}
	}
	return end
}

// sayTrouble logs why runs wait for a backend, in the engine's own words.
func (h *handler) sayTrouble(backend, cause string, f *run.Failure) {
	what, says := backend, "the backend is in trouble; its runs wait"
	if engine.IsHeld(f) {
		what, says = "budget of "+backend, "the daily budget may not suffice for all calls under way; runs wait for what they cost"
	}
	if h.w.troubles.begins(what, cause, time.Now()) {
		h.log().Warn().Str("of", backend).Str("cause", cause).Str("detail", f.Message).Msg(says)
	}
}

// sayAnswers logs that the backends that a run has called answer again: its own, and those of the judges that voted.
func (h *handler) sayAnswers(votes []schemas.Validator) {
	h.answersAgain(h.backend)
	for i, v := range votes {
		if h.plan != nil && i < len(h.plan.Validators) && v.Outcome != schemas.VoteFailed && v.Calls > 0 {
			h.answersAgain(h.plan.Validators[i].Backend)
		}
	}
}

func (h *handler) answersAgain(backend string) {
	if h.w.troubles.ends(backend) {
		h.log().Info().Str("of", backend).Msg("the backend answers again")
	}
}

// answerCounts counts the runs that the backends of a plan answered in this process: its own, and those of its judges.
type answerCounts struct {
	own     uint64
	judges  map[string]uint64
	backend string
}

func (a answerCounts) of(backend string) uint64 {
	if backend == a.backend {
		return a.own
	}
	return a.judges[backend]
}

func (h *handler) answers() answerCounts {
	out := answerCounts{backend: h.backend, own: h.answersOf(h.backend)}
	for _, v := range h.plan.Validators {
		if v.Backend != "" && v.Backend != h.backend {
			if out.judges == nil {
				out.judges = map[string]uint64{}
			}
			out.judges[v.Backend] = h.answersOf(v.Backend)
		}
	}
	return out
}

func (h *handler) answersOf(backend string) uint64 {
	if g := h.engine.Gate(backend); g != nil {
		return g.Stats().Reports.Answered
	}
	return 0
}
