package capacity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

func gate(t testing.TB, l Limits) *Gate {
	t.Helper()
	g, err := New(l)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func admit(t testing.TB, g *Gate) *Slot {
	t.Helper()
	s, err := g.Admit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func permit(t testing.TB, s *Slot) func() {
	t.Helper()
	release, err := s.Permit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return release
}

// empty checks that nothing leaked.
func empty(t testing.TB, g *Gate) {
	t.Helper()
	if s := g.Stats(); s.PermitsInUse != 0 || s.Waiting != 0 || s.AdmittedInUse != 0 || g.trouble.prober != nil {
		t.Errorf("left over: %+v", s)
	}
}

func TestLimits(t *testing.T) {
	for l, want := range map[Limits]string{
		{}: "", {Permits: 4}: "", {Admitted: 4}: "", {Permits: 4, Admitted: 4}: "",
		{Permits: -1}:             "must not be negative",
		{Admitted: -1}:            "must not be negative",
		{Permits: 5, Admitted: 4}: "admitted 4 is less than permits 5",
	} {
		_, err := New(l)
		if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: %v, want %q", l, err, want)
		}
	}
}

func TestAdmission(t *testing.T) {
	g := gate(t, Limits{Permits: 1, Admitted: 2})
	a, b := admit(t, g), admit(t, g)
	_, err := g.Admit(t.Context())
	full, ok := errors.AsType[*FullError](err)
	if !ok || !errors.Is(err, ErrFull) || errors.Is(err, ErrClosed) || full.Limit != 2 || full.InUse != 2 || g.Free() != 0 {
		t.Errorf("a third run: %v, free %d", err, g.Free())
	}
	a.Release()
	a.Release()
	if g.Free() != 1 {
		t.Errorf("free %d after one release given twice", g.Free())
	}
	c := admit(t, g)
	b.Release()
	c.Release()
	empty(t, g)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Admit(done); !errors.Is(err, context.Canceled) {
		t.Errorf("with a cancelled context: %v", err)
	}
	empty(t, g)
}

func TestUnlimited(t *testing.T) {
	g := gate(t, Limits{})
	slots := make([]*Slot, 100)
	releases := make([]func(), 100)
	for i := range slots {
		slots[i] = admit(t, g)
		releases[i] = permit(t, slots[i])
	}
	if s := g.Stats(); s.PermitsInUse != 100 || s.AdmittedInUse != 100 || g.Free() != Unlimited {
		t.Errorf("%+v, free %d", s, g.Free())
	}
	for i := range slots {
		releases[i]()
		slots[i].Release()
	}
	empty(t, g)
}

func TestFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate(t, Limits{Permits: 1})
		first := permit(t, admit(t, g))
		var mu sync.Mutex
		var order []int
		for i := range 20 {
			go func() {
				ask := g.Permit // guests and runs stand in one line
				if i%2 == 0 {
					s := admit(t, g)
					defer s.Release()
					ask = s.Permit
				}
				release, err := ask(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				release()
			}()
			synctest.Wait()
		}
		first()
		synctest.Wait()
		if fmt.Sprint(order) != "[0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19]" {
			t.Errorf("order %v", order)
		}
	})
}

func TestReleaseIsIdempotent(t *testing.T) {
	g := gate(t, Limits{Permits: 2})
	s := admit(t, g)
	a, b := permit(t, s), permit(t, s)
	a()
	a()
	if n := g.Stats().PermitsInUse; n != 1 {
		t.Errorf("%d permits in use after one release given twice", n)
	}
	b()
	s.Release()
	empty(t, g)
}

func TestReleaseOfASlotLeavesItsPermit(t *testing.T) {
	g := gate(t, Limits{Permits: 1})
	s := admit(t, g)
	release := permit(t, s)
	s.Release()
	if st := g.Stats(); st.PermitsInUse != 1 || st.AdmittedInUse != 0 {
		t.Errorf("%+v", st)
	}
	if _, err := s.Permit(t.Context()); !errors.Is(err, ErrReleased) {
		t.Errorf("a permit for a released slot: %v", err)
	}
	release()
	empty(t, g)
}

func TestReleaseOfASlotEndsItsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate(t, Limits{Permits: 1})
		busy, s, other := permit(t, admit(t, g)), admit(t, g), admit(t, g)
		results := make(chan error, 3)
		for _, slot := range []*Slot{s, other, s} {
			go func() {
				release, err := slot.Permit(t.Context())
				if err == nil {
					release()
				}
				results <- err
			}()
			synctest.Wait()
		}
		s.Release()
		if a, b := <-results, <-results; !errors.Is(a, ErrReleased) || !errors.Is(b, ErrReleased) {
			t.Errorf("%v, %v", a, b)
		}
		busy()
		if err := <-results; err != nil {
			t.Errorf("the other run: %v", err)
		}
	})
}

func TestCancelledWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate(t, Limits{Permits: 1})
		a := admit(t, g)
		busy := permit(t, a)
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error)
		go func() { _, err := g.Permit(ctx); result <- err }()
		synctest.Wait()
		cancel()
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if _, err := a.Permit(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("asked with a cancelled context: %v", err)
		}
		busy()
		a.Release()
		empty(t, g)
	})
}

// TestCancellationWinsTheGrant: grant and cancellation fall together; the permit then goes to the next who waits.
func TestCancellationWinsTheGrant(t *testing.T) {
	for range 300 {
		synctest.Test(t, func(t *testing.T) {
			g := gate(t, Limits{Permits: 1})
			busy := admit(t, g)
			permit(t, busy)
			ctx, cancel := context.WithCancel(t.Context())
			lost, won := make(chan error, 1), make(chan error, 1)
			go func() { _, err := g.Permit(ctx); lost <- err }()
			synctest.Wait()
			go func() { _, err := g.Permit(t.Context()); won <- err }()
			synctest.Wait()
			g.mu.Lock()
			cancel()
			g.give(busy) // grants the first, whose context is done by now
			g.mu.Unlock()
			if err := <-lost; !errors.Is(err, context.Canceled) {
				t.Fatalf("a cancelled call got %v", err)
			}
			if err := <-won; err != nil {
				t.Errorf("won: %v", err)
			}
		})
	}
}

// TestGrantRace: under real threads every ask ends with a permit or a context error, and nothing is left over.
func TestGrantRace(t *testing.T) {
	g := gate(t, Limits{Permits: 3, Admitted: 64})
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for range 100 {
				contend(t, g, i)
			}
		})
	}
	wg.Wait()
	empty(t, g)
}

func contend(t *testing.T, g *Gate, i int) {
	s, err := g.Admit(t.Context())
	if err != nil {
		t.Error(err)
		return
	}
	defer s.Release()
	ctx, cancel := context.WithCancel(t.Context())
	if i%3 == 0 {
		go cancel()
	}
	defer cancel()
	release, err := s.Permit(ctx)
	if err != nil {
		if i%3 != 0 || !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		return
	}
	if n := g.Stats().PermitsInUse; n > 3 {
		t.Errorf("%d permits in use", n)
	}
	release()
}

func TestChanged(t *testing.T) {
	g := gate(t, Limits{Trouble: true})
	var s *Slot
	fires(t, g, "admit", func() { s = admit(t, g) })
	fires(t, g, "release", func() { s.Release() })
	fires(t, g, "slow", func() { g.Report(Outcome{Kind: Unavailable}) })
	if c := g.Changed(); c != g.Changed() {
		t.Error("two channels without a change between")
	}
}

func fires(t *testing.T, g *Gate, name string, do func()) {
	t.Helper()
	c := g.Changed()
	do()
	select {
	case <-c:
	default:
		t.Errorf("%s told nobody", name)
	}
}

func BenchmarkRun(b *testing.B) {
	g := gate(b, Limits{Permits: 16, Admitted: 32, Trouble: true})
	b.ReportAllocs()
	for b.Loop() {
		s, err := g.Admit(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		release, err := s.Permit(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		release()
		s.Report(Outcome{Kind: Answered})
		s.Release()
	}
}

func BenchmarkContended(b *testing.B) {
	g := gate(b, Limits{Permits: 2})
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			release, err := g.Permit(b.Context())
			if err != nil {
				b.Error(err)
				return
			}
			release()
		}
	})
}
