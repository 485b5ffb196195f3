package capacity

import "time"

// Pauses of a closed gate: doubling from closeMin to closeMax, or accountPause for a fault that somebody must mend.
const (
	closeMin     = time.Second
	closeMax     = 30 * time.Second
	accountPause = 30 * time.Second
	// closeAfter failures in a row close a gate at any limit.
	closeAfter = 8
	// holdMost bounds how many rounds of answers pass at a limit above which the backend throttles before more is tried again.
	holdMost = 32
)

// trouble is the part of a gate that reacts to its backend: additive up, multiplicative down. It is guarded by the
// gate's mutex; its phase is a function of its fields and the time.
type trouble struct {
	// permits is the configured bound, 0 for none; top the limit at which the gate is open again.
	permits, top int
	// limit is the bound in force; 0 while there is no trouble.
	limit int
	// cuts numbers the halvings and closings. fails counts failures in a row, wins the answers since the limit last
	// grew, closes the pauses since it last grew.
	cuts                uint64
	fails, wins, closes int
	cause               string
	// proved is the highest limit at which a whole round of answers came since the last halving, 0 for none. hold is how many
	// rounds are due at it before the next is tried: it doubles each time that is throttled.
	proved, hold int
	// until is when a closed gate lets its probe through; zero when it is neither closed nor probing.
	until time.Time
	// since is when until was last zero.
	since time.Time
	// prober is the run that may call while probing; nil while there is none.
	prober *Slot
	// guarded: a closed time that is over ends only when leave was given for it.
	guarded, leaveGiven bool
}

func (t *trouble) phase() Phase {
	switch {
	case t.until.IsZero() && t.limit == 0:
		return Open
	case t.until.IsZero():
		return Slow
	case time.Now().Before(t.until), t.guarded && !t.leaveGiven:
		return Closed
	}
	return Probing
}

func (t *trouble) state() GateState {
	switch p := t.phase(); p {
	case Slow:
		return GateState{Phase: p, Limit: t.limit, Cause: t.cause}
	case Closed:
		return GateState{Phase: p, Cause: t.cause, Until: t.until, Since: t.since, Pauses: t.closes}
	case Probing:
		return GateState{Phase: p, Limit: 1, Cause: t.cause, Since: t.since, Pauses: t.closes}
	}
	return GateState{Phase: Open}
}

// refuses says why a run may not call now, nil if it may.
func (t *trouble) refuses(s *Slot) error {
	switch t.phase() {
	case Open, Slow:
		return nil
	case Probing:
		if t.prober == nil || t.prober == s {
			return nil
		}
	}
	return &ClosedError{Cause: t.cause, Until: t.until}
}

// enter makes a run that was not refused the probe, if one is due.
func (t *trouble) enter(s *Slot) {
	if t.prober == nil && t.phase() == Probing {
		t.prober = s
	}
}

// leave frees the probe's place, and says whether the run held it.
func (t *trouble) leave(s *Slot) bool {
	held := t.prober == s
	if held {
		t.prober = nil
	}
	return held
}

// report takes in how the backend did with a run (nil: of unknown calls). load is the number of runs in flight.
func (t *trouble) report(s *Slot, o Outcome, load int) {
	old := s != nil && s.since < t.cuts
	switch p := t.phase(); {
	case p == Closed, p == Probing && s != nil && t.prober != s:
		t.late(o)
	case o.Kind == Answered && p == Probing:
		t.slowest()
	case o.Kind == Answered:
		t.answered(old)
	default:
		t.failed(o, p, old, load)
	}
}

// late: what was under way when the gate closed opens nothing, but may tell of a longer pause.
func (t *trouble) late(o Outcome) {
	switch {
	case o.Kind == Account:
		t.closeUntil(o.Cause, time.Now().Add(max(accountPause, o.RetryAfter)), 0)
	case o.Kind != Answered && o.RetryAfter > 0:
		t.closeUntil(o.Cause, time.Now().Add(o.RetryAfter), 0)
	}
}

// closeUntil closes the gate, or keeps it closed for longer; never for shorter.
func (t *trouble) closeUntil(cause string, until time.Time, load int) {
	if until.After(t.until) {
		t.start(load)
		t.shut()
		t.cause, t.until, t.prober, t.leaveGiven = cause, until, nil, false
		t.cuts++
	}
}

// slowest reopens a gate at one call at a time.
func (t *trouble) slowest() {
	t.until, t.prober, t.leaveGiven, t.limit, t.wins, t.fails = time.Time{}, nil, false, 1, 0, 0
	t.proved, t.hold = 0, 0
	t.whole()
}

// answered counts an answer; as many as the limit raise it by one, more where the next limit was found to be too much.
func (t *trouble) answered(old bool) {
	t.fails = 0
	if t.limit == 0 || old {
		return
	}
	t.wins++
	if t.wins >= t.limit && t.limit > t.proved {
		t.proved, t.hold = t.limit, 1
	}
	if t.wins >= t.limit*max(t.hold, 1) {
		t.limit, t.wins, t.closes = t.limit+1, 0, 0
		t.whole()
	}
}

// whole opens a gate whose bound has grown back.
func (t *trouble) whole() {
	if t.limit >= t.top {
		t.limit, t.top, t.cause, t.closes, t.proved, t.hold = 0, 0, "", 0, 0, 0
	}
}

// start begins trouble: a gate without a configured bound takes the runs in flight for one.
func (t *trouble) start(load int) {
	if t.limit == 0 {
		t.top = t.permits
		if t.top == 0 {
			t.top = max(load, 1)
		}
		t.limit = t.top
	}
}

// failed narrows the gate, and closes it when narrowing does not help or the provider asks for it.
func (t *trouble) failed(o Outcome, p Phase, old bool, load int) {
	lowest := p == Slow && t.limit == 1 && !old
	t.cause, t.wins = o.Cause, 0
	if t.fails++; !old {
		t.start(load)
		t.narrow(o, p)
		t.cuts++
	}
	switch {
	case o.Kind == Account:
		t.pause(max(accountPause, o.RetryAfter), load)
	case o.RetryAfter > 0:
		t.pause(o.RetryAfter, load)
	case p == Probing, lowest, t.fails >= closeAfter:
		t.pause(min(closeMin<<min(t.closes, 10), closeMax), load)
		t.closes++
	}
}

// narrow halves the limit, unless the backend throttled just above one that it had answered in full: then that one is what it
// takes, and the next try above it is put off for longer.
func (t *trouble) narrow(o Outcome, p Phase) {
	if o.Kind == Throttled && p == Slow && t.limit == t.proved+1 && t.limit > 1 {
		t.limit, t.hold = t.proved, min(2*t.hold, holdMost)
		return
	}
	t.limit, t.proved, t.hold = max(t.limit/2, 1), 0, 0
}

func (t *trouble) pause(d time.Duration, load int) {
	t.start(load)
	t.shut()
	t.until, t.prober, t.leaveGiven, t.fails = time.Now().Add(d), nil, false, 0
	t.cuts++
}

// resize takes another bound on permits. Trouble goes on with it: the limit in force is no more than the bound, and the gate is open again
// when it has grown to it.
func (t *trouble) resize(permits int) {
	t.permits = permits
	if t.limit == 0 || permits == 0 {
		return
	}
	t.top = permits
	t.limit = min(t.limit, permits)
}

// shut notes when the gate was last open.
func (t *trouble) shut() {
	if t.until.IsZero() {
		t.since = time.Now()
	}
}
