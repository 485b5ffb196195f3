package capacity

import (
	"container/list"
	"context"
	"math"
)

// waiter waits for a permit; its channel receives nil with the permit, or why there is none.
type waiter struct {
	slot  *Slot
	ready chan error
}

// Permit waits for the right to make one call, first come first served among all runs of the gate. It returns a
// *ClosedError when the backend is in trouble and this run is not its probe, ErrReleased, or the context's error. The
// release function may be called more than once, and must be called once.
func (s *Slot) Permit(ctx context.Context) (release func(), err error) {
	g := s.gate
	g.mu.Lock()
	if err := s.refusal(ctx); err != nil {
		g.mu.Unlock()
		return nil, err
	}
	g.trouble.enter(s)
	if g.waiting.Len() == 0 && g.inUse < g.bound() {
		g.take(s)
		g.mu.Unlock()
		return s.releaser(), nil
	}
	w := &waiter{slot: s, ready: make(chan error, 1)}
	at := g.waiting.PushBack(w)
	s.waits++
	g.mu.Unlock()
	select {
	case err := <-w.ready:
		return s.granted(ctx, err)
	case <-ctx.Done():
		g.abandon(w, at)
		return nil, ctx.Err()
	}
}

// Permit waits for the right to make one call without a place at this gate: for a run of another backend whose judge
// calls this one. Its turn comes as that of everybody else.
func (g *Gate) Permit(ctx context.Context) (release func(), err error) {
	s := &Slot{gate: g}
	release, err = s.Permit(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	s.released = true
	s.leave()
	return release, err
}

// refusal says why no permit can be waited for. The caller holds mu.
func (s *Slot) refusal(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.released {
		return ErrReleased
	}
	return s.gate.trouble.refuses(s)
}

// granted settles the race of grant and cancellation: cancellation wins, and the permit goes to the next.
func (s *Slot) granted(ctx context.Context, err error) (func(), error) {
	if err != nil {
		return nil, err
	}
	release := s.releaser()
	if ctx.Err() != nil {
		release()
		return nil, ctx.Err()
	}
	return release, nil
}

// abandon takes a cancelled waiter out; a grant that came meanwhile is given back.
func (g *Gate) abandon(w *waiter, at *list.Element) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case err := <-w.ready:
		if err == nil {
			g.give(w.slot)
		}
	default:
		g.waiting.Remove(at)
		w.slot.waits--
		g.grant()
	}
	w.slot.leave()
}

// take and give count a permit. The caller holds mu.
func (g *Gate) take(s *Slot) {
	g.inUse++
	s.calls++
	s.since = g.trouble.cuts
}

func (g *Gate) give(s *Slot) {
	g.inUse--
	s.calls--
	if s.released {
		s.leave()
	}
	g.grant()
}

func (s *Slot) releaser() func() {
	done := false
	return func() {
		s.gate.mu.Lock()
		defer s.gate.mu.Unlock()
		if !done {
			done = true
			s.gate.give(s)
		}
	}
}

// bound is the number of permits in force now. The caller holds mu.
func (g *Gate) bound() int {
	n := g.limits.Permits
	if n == 0 {
		n = math.MaxInt
	}
	if g.trouble.phase() == Slow {
		n = min(n, g.trouble.limit)
	}
	return n
}

// grant gives free permits to the longest waiting, and tells those why who may not call any more. The caller holds mu.
func (g *Gate) grant() {
	if p := g.trouble.phase(); p == Closed || p == Probing {
		g.refuse()
	}
	for g.waiting.Len() > 0 && g.inUse < g.bound() {
		e := g.waiting.Front()
		g.take(e.Value.(*waiter).slot)
		g.answer(e, nil)
	}
}

// refuse ends the waits of all runs but the probe's. The caller holds mu.
func (g *Gate) refuse() {
	for e := g.waiting.Front(); e != nil; {
		next := e.Next()
		if err := g.trouble.refuses(e.Value.(*waiter).slot); err != nil {
			g.answer(e, err)
		}
		e = next
	}
}

// answer ends a wait. The caller holds mu.
func (g *Gate) answer(e *list.Element, err error) {
	w := g.waiting.Remove(e).(*waiter)
	w.slot.waits--
	w.ready <- err
}
