package capacity

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// model is the naive gate: a list of who waits, in order, and counts. It knows trouble only as the bound in force.
type model struct {
	t        *rapid.T
	g        *Gate
	limits   Limits
	slots    []*Slot
	held     []*call
	waits    []*call
	admitted int
}

// call is one ask for a permit, as its caller sees it.
type call struct {
	slot    *Slot // nil for a guest
	cancel  context.CancelFunc
	release func()
	err     error
	done    chan struct{}
	stopped bool
}

// TestModel runs random operations one after another, lets each come to rest, and compares the gate with the model.
func TestModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) {
			permits := rapid.IntRange(0, 3).Draw(rt, "permits")
			l := Limits{Permits: permits, Admitted: rapid.SampledFrom([]int{0, permits, permits + 1, permits + 3}).Draw(rt, "admitted"),
				Trouble: rapid.Bool().Draw(rt, "trouble")}
			m := &model{t: rt, g: gate(t, l), limits: l}
			defer m.end()
			rt.Repeat(map[string]func(*rapid.T){
				"admit": m.admit, "ask": m.ask, "guest": m.guest, "cancel": m.cancelOne, "give": m.give, "leave": m.leave,
				"report": m.report, "sleep": m.sleep, "guard": m.guard, "": m.check,
			})
		})
	})
}

func (m *model) admit(t *rapid.T) {
	phase, free := m.g.State().Phase, m.g.Free()
	s, err := m.g.Admit(context.Background())
	full := m.limits.Admitted > 0 && m.admitted >= m.limits.Admitted
	switch {
	case err == nil:
		if full || phase == Closed || (phase == Probing && free == 0) {
			t.Fatalf("admitted while %v, free %d, %d runs", phase, free, m.admitted)
		}
		m.slots, m.admitted = append(m.slots, s), m.admitted+1
	case errors.Is(err, ErrClosed):
		if phase != Closed && phase != Probing {
			t.Fatalf("%v while %v", err, phase)
		}
	case !errors.Is(err, ErrFull) || !full:
		t.Fatalf("%v with %d runs", err, m.admitted)
	}
}

func (m *model) ask(t *rapid.T) {
	if len(m.slots) == 0 {
		t.Skip()
	}
	s := rapid.SampledFrom(m.slots).Draw(t, "slot")
	m.start(s, s.Permit)
}

func (m *model) guest(*rapid.T) { m.start(nil, m.g.Permit) }

func (m *model) start(s *Slot, ask func(context.Context) (func(), error)) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &call{slot: s, cancel: cancel, done: make(chan struct{})}
	go func() {
		c.release, c.err = ask(ctx)
		close(c.done)
	}()
	m.waits = append(m.waits, c)
	m.settle()
}

// settle lets the gate come to rest and sorts the calls that ended: grants come in the order of the asks.
func (m *model) settle() {
	synctest.Wait()
	still, overtaken := m.waits[:0:0], false
	for _, c := range m.waits {
		select {
		case <-c.done:
			m.ended(c, overtaken)
		default:
			still, overtaken = append(still, c), true
		}
	}
	m.waits = still
}

func (m *model) ended(c *call, overtaken bool) {
	switch {
	case c.err == nil && c.stopped:
		m.t.Fatal("a cancelled call got a permit")
	case c.err == nil && overtaken:
		m.t.Fatal("a call was granted before one that had waited longer")
	case c.err == nil:
		m.held = append(m.held, c)
	case errors.Is(c.err, context.Canceled) != c.stopped:
		m.t.Fatalf("stopped %v: %v", c.stopped, c.err)
	case errors.Is(c.err, ErrReleased) && (c.slot == nil || slices.Contains(m.slots, c.slot)):
		m.t.Fatalf("%v, but its place is held", c.err)
	case errors.Is(c.err, ErrClosed) && !m.limits.Trouble:
		m.t.Fatal(c.err)
	}
	c.cancel()
}

func (m *model) cancelOne(t *rapid.T) {
	if len(m.waits) == 0 {
		t.Skip()
	}
	c := rapid.SampledFrom(m.waits).Draw(t, "wait")
	c.stopped = true
	c.cancel()
	m.settle()
}

func (m *model) give(t *rapid.T) {
	if len(m.held) == 0 {
		t.Skip()
	}
	i := rapid.IntRange(0, len(m.held)-1).Draw(t, "held")
	c := m.held[i]
	m.held = slices.Delete(m.held, i, i+1)
	c.release()
	if rapid.Bool().Draw(t, "twice") {
		c.release()
	}
	m.settle()
}

func (m *model) leave(t *rapid.T) {
	if len(m.slots) == 0 {
		t.Skip()
	}
	i := rapid.IntRange(0, len(m.slots)-1).Draw(t, "slot")
	s := m.slots[i]
	m.slots = slices.Delete(m.slots, i, i+1)
	m.admitted--
	s.Release()
	s.Release()
	m.settle()
}

func (m *model) report(t *rapid.T) {
	o := Outcome{Kind: rapid.SampledFrom([]OutcomeKind{Answered, Answered, Throttled, Unavailable, Account}).Draw(t, "kind"),
		RetryAfter: time.Duration(rapid.IntRange(0, 2).Draw(t, "retry after")) * time.Second, Cause: "cause"}
	if len(m.slots) > 0 && rapid.Bool().Draw(t, "by a run") {
		rapid.SampledFrom(m.slots).Draw(t, "slot").Report(o)
	} else {
		m.g.Report(o)
	}
	m.settle()
}

// guard does what those do who share a gate's trouble with other processes.
func (m *model) guard(t *rapid.T) {
	switch rapid.IntRange(0, 3).Draw(t, "what") {
	case 0:
		m.g.Guard(rapid.Bool().Draw(t, "on"))
	case 1:
		m.g.Probe()
	case 2:
		m.g.Reopen()
	default:
		if m.limits.Trouble {
			m.g.Follow(GateState{Phase: Closed, Cause: "503", Until: time.Now().Add(time.Duration(rapid.IntRange(-5, 60).Draw(t, "s")) * time.Second), Pauses: 2})
		}
	}
	m.settle()
}

func (m *model) sleep(t *rapid.T) {
	time.Sleep(time.Duration(rapid.IntRange(1, 40).Draw(t, "s")) * time.Second)
	m.settle()
}

// check compares the counts, and holds what must be true in every state.
func (m *model) check(t *rapid.T) {
	s := m.g.Stats()
	if s.PermitsInUse != len(m.held) || s.Waiting != len(m.waits) || s.AdmittedInUse != m.admitted {
		t.Fatalf("%+v, the model has %d permits, %d waiting, %d runs", s, len(m.held), len(m.waits), m.admitted)
	}
	if m.limits.Permits > 0 && s.PermitsInUse > m.limits.Permits {
		t.Fatalf("%d permits of %d", s.PermitsInUse, m.limits.Permits)
	}
	if !m.limits.Trouble && s.State != (GateState{}) {
		t.Fatalf("state %+v without trouble", s.State)
	}
	switch s.State.Phase {
	case Closed:
		if s.Waiting > 0 || m.g.Free() > 0 {
			t.Fatalf("closed with %d waiting, %d free", s.Waiting, m.g.Free())
		}
	case Probing:
		for _, c := range m.waits {
			if p := m.g.trouble.prober; p == nil || (c.slot != nil && c.slot != p) {
				t.Fatal("a run waits beside the probe")
			}
		}
	case Slow, Open:
		m.busy(t, s)
	}
}

// busy: nobody waits while a permit is free.
func (m *model) busy(t *rapid.T, s Stats) {
	bound := m.limits.Permits
	if s.State.Phase == Slow {
		bound = s.State.Limit
		if m.limits.Permits > 1 && bound >= m.limits.Permits {
			t.Fatalf("slow at %d of %d", bound, m.limits.Permits)
		}
	}
	if s.Waiting > 0 && (bound == 0 || s.PermitsInUse < bound) {
		t.Fatalf("%d wait while %d of %d permits are in use", s.Waiting, s.PermitsInUse, bound)
	}
}

// end gives everything back; nothing may be left.
func (m *model) end() {
	for _, c := range m.waits {
		c.stopped = true
		c.cancel()
	}
	m.settle()
	for _, c := range m.held {
		c.release()
	}
	for _, s := range m.slots {
		s.Release()
	}
	synctest.Wait()
	if s := m.g.Stats(); s.PermitsInUse+s.Waiting+s.AdmittedInUse != 0 || m.g.trouble.prober != nil {
		m.t.Fatalf("left over: %+v", s)
	}
}

// TestUnderLoad does the same without order, for the race detector: bounds hold and nothing is left over.
func TestUnderLoad(t *testing.T) {
	g := gate(t, Limits{Permits: 4, Admitted: 8, Trouble: true})
	done := make(chan struct{})
	for i := range 16 {
		go func() {
			for n := range 200 {
				load(t, g, i, n)
			}
			done <- struct{}{}
		}()
	}
	for range 16 {
		<-done
	}
	empty(t, g)
}

func load(t *testing.T, g *Gate, i, n int) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if n%7 == 0 {
		go cancel()
	}
	s, err := g.Admit(ctx)
	if err != nil {
		g.Reopen()
		return
	}
	defer s.Release()
	release, err := s.Permit(ctx)
	if err != nil {
		return
	}
	if st := g.Stats(); st.PermitsInUse > 4 || st.AdmittedInUse > 8 {
		t.Errorf("%+v", st)
	}
	release()
	if i%4 == 0 && n%5 == 0 {
		s.Report(down)
	} else {
		s.Report(ok)
	}
}
