package capacity

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
)

// ErrFull: admission is full. ErrClosed: the backend is in trouble and nothing may be called. Use errors.Is.
var (
	ErrFull   = errors.New("capacity: admission is full")
	ErrClosed = errors.New("capacity: the gate is closed")
)

// FullError is an ErrFull with its numbers.
type FullError struct{ Limit int }

// Error tells the limit.
func (e *FullError) Error() string {
	return fmt.Sprintf("admission is full: %d runs hold a place; wait for one to end, or raise admitted", e.Limit)
}

// Is matches ErrFull.
func (e *FullError) Is(target error) bool { return target == ErrFull }

// ClosedError is an ErrClosed with its cause and when a probe may pass.
type ClosedError struct {
	Cause string
	Until time.Time
}

// Error tells the cause.
func (e *ClosedError) Error() string { return "the gate is closed: " + e.Cause }

// Is matches ErrClosed.
func (e *ClosedError) Is(target error) bool { return target == ErrClosed }

// Limits of a gate. Zero means unlimited.
type Limits struct {
	// Permits bounds the calls under way, Admitted the runs that hold a place; Admitted is at least Permits.
	Permits, Admitted int
	// Trouble lets Report slow and close the gate. Without it the gate only bounds (seed 003).
	Trouble bool
}

// Gate bounds one backend. It is safe for concurrent use and runs no goroutine.
type Gate struct {
	limits Limits
	mu     sync.Mutex
	// admitted, inUse and waiting are guarded by mu, like all below. A waiter is in the list exactly as long as it has
	// neither been granted nor woken.
	admitted, inUse int
	waiting         *list.List
	changed         chan struct{}
	trouble         trouble
}

// waiter waits for a permit; its channel receives nil with the permit, or why there is none.
type waiter struct {
	slot  *Slot
	ready chan error
}

// Slot is a run's place. Release it exactly when the run ends; a second Release does nothing.
type Slot struct {
	gate     *Gate
	released bool
	// probe says that this run is the one that may try a backend in trouble.
	probe bool
}

// New makes a gate.
func New(l Limits) (*Gate, error) {
	switch {
	case l.Permits < 0 || l.Admitted < 0:
		return nil, fmt.Errorf("capacity: permits %d and admitted %d must not be negative", l.Permits, l.Admitted)
	case l.Admitted > 0 && l.Permits > l.Admitted:
		return nil, fmt.Errorf("capacity: admitted %d is less than permits %d; a permit needs an admitted run", l.Admitted, l.Permits)
	}
	return &Gate{limits: l, waiting: list.New(), changed: make(chan struct{})}, nil
}

// Admit takes a place for a run without waiting. It returns a *FullError, a *ClosedError, or the context's error.
func (g *Gate) Admit(ctx context.Context) (*Slot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &Slot{gate: g}
	if g.limits.Admitted > 0 && g.admitted >= g.limits.Admitted {
		return nil, &FullError{Limit: g.limits.Admitted}
	}
	if err := g.trouble.admit(s, time.Now()); err != nil {
		return nil, err
	}
	g.admitted++
	g.notify()
	return s, nil
}

// Release gives the place back. A permit that the run still holds stays until its own release.
func (s *Slot) Release() {
	g := s.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.released {
		return
	}
	s.released = true
	g.admitted--
	g.trouble.leave(s)
	g.grant()
	g.notify()
}

// Permit waits for the right to make one call, first come first served among all runs of the gate. When the context
// ends at the moment of the grant, the context wins and the permit goes to the next (seed 000). The release function may
// be called more than once.
func (s *Slot) Permit(ctx context.Context) (release func(), err error) {
	g := s.gate
	g.mu.Lock()
	if err := s.refusal(ctx); err != nil {
		g.mu.Unlock()
		return nil, err
	}
	if g.waiting.Len() == 0 && g.inUse < g.permits() {
		g.inUse++
		g.mu.Unlock()
		return g.releaser(), nil
	}
	w := &waiter{slot: s, ready: make(chan error, 1)}
	at := g.waiting.PushBack(w)
	g.mu.Unlock()
	select {
	case err := <-w.ready:
		return g.granted(ctx, err)
	case <-ctx.Done():
		return nil, g.leave(ctx, w, at)
	}
}

func (s *Slot) refusal(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.released {
		return errors.New("capacity: the run's place was released")
	}
	return s.gate.trouble.call(s, time.Now())
}

// granted settles the race of grant and cancel in favour of cancel.
func (g *Gate) granted(ctx context.Context, err error) (func(), error) {
	if err != nil {
		return nil, err
	}
	release := g.releaser()
	if ctx.Err() != nil {
		release()
		return nil, ctx.Err()
	}
	return release, nil
}

// leave takes a cancelled waiter out; a grant that came meanwhile is passed on.
func (g *Gate) leave(ctx context.Context, w *waiter, at *list.Element) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case err := <-w.ready:
		if err == nil {
			g.inUse--
			g.grant()
		}
	default:
		g.waiting.Remove(at)
	}
	return ctx.Err()
}

func (g *Gate) releaser() func() {
	var once sync.Once
	return func() {
		once.Do(func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.inUse--
			g.grant()
			g.notify()
		})
	}
}

// permits is the bound in force now.
func (g *Gate) permits() int {
	n := g.limits.Permits
	if n == 0 {
		n = math.MaxInt
	}
	return g.trouble.bound(n)
}

// grant gives free permits to the longest waiting; those that may not call any more are told why. The caller holds mu.
func (g *Gate) grant() {
	now := time.Now()
	for e := g.waiting.Front(); e != nil; {
		next := e.Next()
		w := e.Value.(*waiter)
		switch err := g.trouble.call(w.slot, now); {
		case err != nil:
			g.waiting.Remove(e)
			w.ready <- err
		case g.inUse < g.permits():
			g.waiting.Remove(e)
			g.inUse++
			w.ready <- nil
		default:
			return
		}
		e = next
	}
}

// Changed returns a channel that closes at the next change of places, permits or state.
func (g *Gate) Changed() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed
}

func (g *Gate) notify() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// Stats is what a gate holds now.
type Stats struct {
	// Permits and Admitted are the configured bounds, 0 for unlimited.
	Permits       int       `json:"permits"`
	PermitsInUse  int       `json:"permits_in_use"`
	Waiting       int       `json:"waiting"`
	Admitted      int       `json:"admitted"`
	AdmittedInUse int       `json:"admitted_in_use"`
	State         GateState `json:"state"`
}

// Stats returns a snapshot.
func (g *Gate) Stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	return Stats{Permits: g.limits.Permits, PermitsInUse: g.inUse, Waiting: g.waiting.Len(), Admitted: g.limits.Admitted,
		AdmittedInUse: g.admitted, State: g.trouble.state(time.Now())}
}
