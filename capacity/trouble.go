package capacity

import (
	"time"
)

// OutcomeKind says how a backend did with a run, after the engine's own retries.
type OutcomeKind int

// Kinds of an Outcome.
const (
	// Answered: it gave a completion.
	Answered OutcomeKind = iota
	// Throttled: 429.
	Throttled
	// Unavailable: 500, 502, 503, 504, or a request that never left.
	Unavailable
	// Account: bad key, forbidden, unknown model, exhausted quota: waiting does not help, somebody must act.
	Account
)

// Outcome is what a run tells its gate.
type Outcome struct {
	Kind OutcomeKind
	// RetryAfter is the provider's minimum wait, 0 for none.
	RetryAfter time.Duration
	// Cause in a few words, without content: "429 rate_limit_exceeded".
	Cause string
}

// Phase of a gate.
type Phase int

// Phases. Open: the configured bound. Slow: a smaller one. Closed: no call until a time. Probing: one run may try.
const (
	Open Phase = iota
	Slow
	Closed
	Probing
)

// String names the phase in lower case.
func (p Phase) String() string { return [...]string{"open", "slow", "closed", "probing"}[p] }

// MarshalText writes the name.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// GateState is what a gate lets through, and why.
type GateState struct {
	Phase Phase `json:"phase"`
	// Limit is the bound on permits while Slow.
	Limit int       `json:"limit,omitempty"`
	Cause string    `json:"cause,omitempty"`
	Until time.Time `json:"until,omitzero"`
}

// Pauses of a closed gate: doubling from closeMin to closeMax, or accountPause for a fault that somebody must mend.
const (
	closeMin     = time.Second
	closeMax     = 30 * time.Second
	accountPause = 30 * time.Second
	// closeAfter failures in a row at the lowest limit close the gate.
	closeAfter = 2
	// wideOpen is the limit at which a gate without a configured bound is open again.
	wideOpen = 1024
)

// trouble is the part of a gate that reacts to its backend: additive up, multiplicative down (design section 3). It is
// guarded by the gate's mutex; its phase is a function of its fields and the time.
type trouble struct {
	// limit is the bound while above 0; 0 is no trouble.
	limit int
	// fails counts failures in a row, wins successes since the limit last grew, closes closings in a row.
	fails, wins, closes int
	cause               string
	// until is when a closed gate lets its probe through; zero when it is not closed.
	until time.Time
	// prober is the run that may try; nil when nobody does.
	prober *Slot
}

// State returns the phase now.
func (g *Gate) State() GateState {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.trouble.state(time.Now())
}

func (t *trouble) state(now time.Time) GateState {
	switch {
	case !t.until.IsZero() && now.Before(t.until):
		return GateState{Phase: Closed, Cause: t.cause, Until: t.until}
	case !t.until.IsZero():
		return GateState{Phase: Probing, Limit: 1, Cause: t.cause}
	case t.limit > 0:
		return GateState{Phase: Slow, Limit: t.limit, Cause: t.cause}
	}
	return GateState{Phase: Open}
}

// admit lets a run in; the first one after a closed time becomes the probe.
func (t *trouble) admit(s *Slot, now time.Time) error {
	if t.until.IsZero() {
		return nil
	}
	if now.Before(t.until) || t.prober != nil {
		return t.closed()
	}
	t.prober, s.probe = s, true
	return nil
}

// call says whether a run may make a call.
func (t *trouble) call(s *Slot, now time.Time) error {
	if t.until.IsZero() || t.prober == s {
		return nil
	}
	if now.Before(t.until) || t.prober != nil {
		return t.closed()
	}
	t.prober, s.probe = s, true
	return nil
}

func (t *trouble) closed() error { return &ClosedError{Cause: t.cause, Until: t.until} }

// leave frees the probe's place when its run ends without a report.
func (t *trouble) leave(s *Slot) {
	if t.prober == s {
		t.prober = nil
	}
}

func (t *trouble) bound(n int) int {
	switch {
	case !t.until.IsZero():
		return max(n, 1) // only the probe passes call
	case t.limit > 0:
		return min(n, t.limit)
	}
	return n
}

// Report tells the gate how its backend did with a run. Without Limits.Trouble it does nothing.
func (g *Gate) Report(o Outcome) {
	if !g.limits.Trouble {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	top := g.limits.Permits
	if top == 0 {
		top = wideOpen
	}
	before := g.trouble.state(now)
	if o.Kind == Answered {
		g.trouble.answered(top)
	} else {
		g.trouble.failed(o, now, min(top, max(g.inUse, g.admitted, 1)))
	}
	g.grant()
	if g.trouble.state(now) != before {
		g.notify()
	}
}

// answered opens a gate by one step: a probe's success makes it slow at 1; after as many successes as the limit, the
// limit grows by one until it reaches the top.
func (t *trouble) answered(top int) {
	t.fails = 0
	switch {
	case !t.until.IsZero():
		t.until, t.prober, t.limit, t.wins, t.closes = time.Time{}, nil, 1, 0, 0
	case t.limit == 0:
		return
	default:
		t.wins++
		if t.wins >= t.limit {
			t.limit, t.wins = t.limit+1, 0
		}
	}
	if t.limit >= top {
		t.limit, t.cause = 0, ""
	}
}

// failed narrows a gate by half, and closes it when the provider says how long, when somebody must act, when a probe
// failed, or when the lowest limit is still too much. Reports of runs that started before it closed change nothing but
// a later time to wait until.
func (t *trouble) failed(o Outcome, now time.Time, load int) {
	t.cause, t.wins = o.Cause, 0
	if !t.until.IsZero() && now.Before(t.until) {
		if at := now.Add(o.RetryAfter); at.After(t.until) {
			t.until = at
		}
		return
	}
	t.fails++
	probing := !t.until.IsZero()
	if t.limit == 0 {
		t.limit = load
	}
	t.limit = max(t.limit/2, 1)
	switch {
	case o.Kind == Account:
		t.close(now, accountPause)
	case o.RetryAfter > 0:
		t.close(now, o.RetryAfter)
	case probing || (t.limit == 1 && t.fails >= closeAfter):
		t.close(now, min(closeMin<<min(t.closes, 10), closeMax))
	}
}

func (t *trouble) close(now time.Time, d time.Duration) {
	t.until, t.prober = now.Add(d), nil
	t.closes++
}
