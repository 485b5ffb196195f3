package capacity

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"
)

// Limits of a gate. Zero means unlimited.
type Limits struct {
	// Permits bounds the calls under way, Admitted the runs that hold a place; Admitted is at least Permits.
	Permits, Admitted int
	// Trouble lets reports slow and close the gate. Without it the gate only bounds, and reports are only counted
	// (seed 003).
	Trouble bool
}

// Gate bounds one backend. It is safe for concurrent use.
type Gate struct {
	limits Limits
	mu     sync.Mutex
	// What follows is guarded by mu. admitted counts the slots not yet released, inUse the permits not yet released.
	admitted, inUse int
	// waiting holds exactly the waiters that were neither granted nor refused, longest waiting first. It is empty
	// whenever a permit is free and nothing forbids a call.
	waiting list.List
	// changed and turned are made when somebody asks for them, and closed and forgotten at the next change.
	changed, turned chan struct{}
	trouble         trouble
	// reopen tells watchers that the closed time is over.
	reopen  *time.Timer
	reports Reports
}

// New makes a gate.
func New(l Limits) (*Gate, error) {
	switch {
	case l.Permits < 0 || l.Admitted < 0:
		return nil, fmt.Errorf("capacity: permits %d and admitted %d must not be negative; 0 is unlimited", l.Permits, l.Admitted)
	case l.Admitted > 0 && l.Permits > l.Admitted:
		return nil, fmt.Errorf("capacity: admitted %d is less than permits %d; raise it, or set 0 for unlimited", l.Admitted, l.Permits)
	}
	return &Gate{limits: l, trouble: trouble{permits: l.Permits}}, nil
}

// Resize changes the bounds; whether the gate reacts to trouble stays. More room is given out at once; with less, what is held stays
// until it is released.
func (g *Gate) Resize(l Limits) error {
	if _, err := New(l); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limits.Permits, g.limits.Admitted = l.Permits, l.Admitted
	g.trouble.resize(l.Permits)
	g.grant()
	g.notify()
	return nil
}

// Slot is a run's place. Its fields are guarded by the gate's mutex.
type Slot struct {
	gate     *Gate
	released bool
	// calls counts the permits that the run holds, waits those that it waits for.
	calls, waits int
	// since is the number of the last cut that the run's calls knew of.
	since uint64
}

// Admit takes a place for a run, without waiting. It returns a *ClosedError, a *FullError, or the context's error.
// While the gate is probing, the admitted run is the probe.
func (g *Gate) Admit(ctx context.Context) (*Slot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &Slot{gate: g, since: g.trouble.cuts}
	if err := g.trouble.refuses(s); err != nil {
		return nil, err
	}
	if g.limits.Admitted > 0 && g.admitted >= g.limits.Admitted {
		return nil, &FullError{Limit: g.limits.Admitted, InUse: g.admitted}
	}
	g.trouble.enter(s)
	g.admitted++
	g.notify()
	return s, nil
}

// Release gives the place back. Whoever waits for a permit of this run gets ErrReleased; a permit that the run holds
// stays until its own release. A second Release does nothing.
func (s *Slot) Release() {
	g := s.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.released {
		return
	}
	s.released = true
	g.admitted--
	for e := g.waiting.Front(); e != nil && s.waits > 0; {
		next := e.Next()
		if e.Value.(*waiter).slot == s {
			g.answer(e, ErrReleased)
		}
		e = next
	}
	s.leave()
	g.notify()
}

// leave lets another run be the probe, when this one was it and neither calls nor waits. The caller holds mu.
func (s *Slot) leave() {
	if s.calls == 0 && s.waits == 0 && s.gate.trouble.leave(s) {
		s.gate.notify()
	}
}

// Changed returns a channel that is closed when next a run is admitted or leaves, or the state of the gate changes; also
// when a closed time is over. Ask for it before you look at the gate.
func (g *Gate) Changed() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return asked(&g.changed)
}

// Turned returns a channel that is closed when next the state of the gate changes, or a closed time is over: Changed without
// the runs that come and go.
func (g *Gate) Turned() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return asked(&g.turned)
}

func asked(c *chan struct{}) <-chan struct{} {
	if *c == nil {
		*c = make(chan struct{})
	}
	return *c
}

// notify wakes those who watch Changed, turn those who watch Turned too. The caller holds mu.
func (g *Gate) notify() { tell(&g.changed) }

func (g *Gate) turn() {
	tell(&g.changed)
	tell(&g.turned)
}

func tell(c *chan struct{}) {
	if *c != nil {
		close(*c)
		*c = nil
	}
}
