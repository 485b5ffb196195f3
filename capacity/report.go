package capacity

import (
	"fmt"
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

var phaseNames = [...]string{"open", "slow", "closed", "probing"}

// String names the phase in lower case.
func (p Phase) String() string {
	if p < 0 || int(p) >= len(phaseNames) {
		return fmt.Sprintf("phase %d", int(p))
	}
	return phaseNames[p]
}

// MarshalText writes the name.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads the name.
func (p *Phase) UnmarshalText(b []byte) error {
	for i, name := range phaseNames {
		if name == string(b) {
			*p = Phase(i)
			return nil
		}
	}
	return fmt.Errorf("capacity: phase %.20q is none of %v", b, phaseNames)
}

// GateState is what a gate lets through, and why.
type GateState struct {
	Phase Phase `json:"phase"`
	// Limit is the bound on permits while Slow, 1 while Probing.
	Limit int `json:"limit,omitempty"`
	// Cause is the last failure's, while there is trouble.
	Cause string `json:"cause,omitempty"`
	// Until is when a Closed gate lets a probe through; a guarded one may stay closed longer.
	Until time.Time `json:"until,omitzero"`
	// Since is when a Closed or Probing gate was last open.
	Since time.Time `json:"since,omitzero"`
	// Pauses is how often the gate has closed without growing in between: each pause is twice as long as the last.
	Pauses int `json:"pauses,omitempty"`
}

// State returns the phase now.
func (g *Gate) State() GateState {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.trouble.state()
}

// Report tells the gate how its backend did with this run. Call it before Release, once the engine's own retries are
// over. Only the report of the run that probes can open a gate that probes.
func (s *Slot) Report(o Outcome) { s.gate.report(s, o) }

// Report is Slot.Report for who has no slot: the calls are taken for recent ones, and while the gate probes for the
// probe's.
func (g *Gate) Report(o Outcome) { g.report(nil, o) }

func (g *Gate) report(s *Slot, o Outcome) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reports.count(o)
	if g.limits.Trouble {
		g.change(func() { g.trouble.report(s, o, max(g.admitted, g.inUse)) })
	}
}

// Close closes the gate for a reason that no run of it reported: another worker's gate for the same backend closed, or
// results cannot be stored. A gate that is closed for longer stays so. The caller who knows more ends it with Reopen;
// otherwise the gate probes when the time is over. It works without Limits.Trouble too.
func (g *Gate) Close(cause string, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if until.After(time.Now()) {
		g.change(func() { g.trouble.closeUntil(cause, until, max(g.admitted, g.inUse)) })
	}
}

// Guard, when on, keeps the gate closed beyond its time until Probe is called: several processes agree on who sends the
// probe. Whoever guards a gate waits on Turned for the end of its closed time.
func (g *Gate) Guard(on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.change(func() { g.trouble.guarded, g.trouble.leaveGiven = on, false })
}

// Probe gives a guarded gate the leave to let one run through, as soon as its closed time is over. A gate that is not closed,
// or not guarded, stays as it is.
func (g *Gate) Probe() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.trouble.phase() == Closed {
		g.change(func() { g.trouble.leaveGiven = g.trouble.guarded })
	}
}

// Follow closes the gate as another process's for the same backend is closed: Close, with the length of the pauses to come.
func (g *Gate) Follow(s GateState) {
	g.Close(s.Cause, s.Until)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.trouble.phase() == Closed {
		g.change(func() { g.trouble.closes = max(g.trouble.closes, s.Pauses) })
	}
}

// Reopen lets calls through again, one at a time to begin with, because another worker's probe was answered. A gate that
// is neither closed nor probing stays as it is.
func (g *Gate) Reopen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p := g.trouble.phase(); p == Closed || p == Probing {
		g.change(g.trouble.slowest)
	}
}

// change runs f, which may change the state, and settles what follows from it: waiters get a permit or are refused,
// watchers are told, and a timer stands for the end of a closed time. The caller holds mu.
func (g *Gate) change(f func()) {
	before := g.trouble.state()
	f()
	after := g.trouble.state()
	g.grant()
	if after == before {
		return
	}
	g.turn()
	if g.reopen != nil {
		g.reopen.Stop()
		g.reopen = nil
	}
	if after.Phase == Closed {
		g.reopen = time.AfterFunc(time.Until(after.Until), g.due)
	}
}

func (g *Gate) due() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turn()
}
