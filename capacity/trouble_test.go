package capacity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var (
	ok        = Outcome{Kind: Answered}
	throttled = Outcome{Kind: Throttled, Cause: "429"}
	down      = Outcome{Kind: Unavailable, Cause: "503"}
	refused   = Outcome{Kind: Account, Cause: "401"}
)

func after(o Outcome, d time.Duration) Outcome { o.RetryAfter = d; return o }

// show is a state in a few letters: "open", "slow 4", "closed 1s 503", "probing".
func show(g *Gate) string {
	s := g.State()
	switch s.Phase {
	case Slow:
		return fmt.Sprintf("slow %d", s.Limit)
	case Closed:
		return fmt.Sprintf("closed %v %s", time.Until(s.Until), s.Cause)
	}
	return s.Phase.String()
}

// TestReports: each step is an Outcome, a pause, or both as text, and then the state.
func TestReports(t *testing.T) {
	type step struct {
		do   any
		want string
	}
	for name, c := range map[string]struct {
		limits Limits
		steps  []step
	}{
		"down in halves, closed at 1, doubling": {Limits{Permits: 8}, []step{
			{ok, "open"}, {down, "slow 4"}, {throttled, "slow 2"}, {down, "slow 1"}, {down, "closed 1s 503"},
			{999 * time.Millisecond, "closed 1ms 503"}, {time.Millisecond, "probing"}, {down, "closed 2s 503"},
			{2 * time.Second, "probing"}, {throttled, "closed 4s 429"}, {4 * time.Second, "probing"}, {down, "closed 8s 503"},
			{8 * time.Second, "probing"}, {down, "closed 16s 503"}, {16 * time.Second, "probing"}, {down, "closed 30s 503"},
			{30 * time.Second, "probing"}, {down, "closed 30s 503"}}},
		"up by one": {Limits{Permits: 3}, []step{
			{down, "slow 1"}, {ok, "slow 2"}, {ok, "slow 2"}, {ok, "open"}, {down, "slow 1"}}},
		"a failure starts the count of answers anew": {Limits{Permits: 8}, []step{
			{down, "slow 4"}, {ok, "slow 4"}, {ok, "slow 4"}, {ok, "slow 4"}, {down, "slow 2"}, {ok, "slow 2"}, {ok, "slow 3"}}},
		"an answered probe": {Limits{Permits: 3}, []step{
			{after(down, 5*time.Second), "closed 5s 503"}, {5 * time.Second, "probing"}, {ok, "slow 1"}, {ok, "slow 2"}, {ok, "slow 2"}, {ok, "open"}}},
		"a probe that fails in one place only is no long pause later": {Limits{Permits: 3}, []step{
			{down, "slow 1"}, {down, "closed 1s 503"}, {time.Second, "probing"}, {down, "closed 2s 503"}, {2 * time.Second, "probing"},
			{ok, "slow 1"}, {down, "closed 4s 503"}, {4 * time.Second, "probing"}, {ok, "slow 1"}, {ok, "slow 2"}, {down, "slow 1"}, {down, "closed 1s 503"}}},
		"the provider says how long": {Limits{Permits: 8}, []step{
			{after(throttled, time.Hour), "closed 1h0m0s 429"}, {ok, "closed 1h0m0s 429"}, {after(throttled, time.Minute), "closed 1h0m0s 429"},
			{after(down, 2*time.Hour), "closed 2h0m0s 503"}, {2 * time.Hour, "probing"}, {after(down, time.Minute), "closed 1m0s 503"}}},
		"the account": {Limits{Permits: 8}, []step{
			{refused, "closed 30s 401"}, {ok, "closed 30s 401"}, {30 * time.Second, "probing"}, {refused, "closed 30s 401"}, {30 * time.Second, "probing"}, {ok, "slow 1"}}},
		"the account, and how long": {Limits{Permits: 8}, []step{{after(refused, time.Hour), "closed 1h0m0s 401"}}},
		"the account while closed":  {Limits{Permits: 8}, []step{{after(down, time.Second), "closed 1s 503"}, {refused, "closed 30s 401"}}},
		"eight in a row": {Limits{Permits: 1 << 20}, []step{
			{down, "slow 524288"}, {down, "slow 262144"}, {down, "slow 131072"}, {ok, "slow 131072"}, {down, "slow 65536"}, {down, "slow 32768"},
			{down, "slow 16384"}, {down, "slow 8192"}, {down, "slow 4096"}, {down, "slow 2048"}, {down, "slow 1024"}, {down, "closed 1s 503"}}},
		"one permit":             {Limits{Permits: 1}, []step{{down, "slow 1"}, {ok, "open"}, {down, "slow 1"}, {down, "closed 1s 503"}, {time.Second, "probing"}, {ok, "open"}}},
		"unlimited, none aboard": {Limits{}, []step{{down, "slow 1"}, {ok, "open"}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.limits.Trouble = true
				g := gate(t, c.limits)
				for i, s := range c.steps {
					switch do := s.do.(type) {
					case Outcome:
						g.Report(do)
					case time.Duration:
						time.Sleep(do)
					}
					if got := show(g); got != s.want {
						t.Fatalf("step %d, %+v: %s, want %s", i+1, s.do, got, s.want)
					}
				}
			})
		})
	}
}

func TestWithoutTroubleReportsAreOnlyCounted(t *testing.T) {
	g := gate(t, Limits{Permits: 2})
	s := admit(t, g)
	for _, o := range []Outcome{ok, throttled, down, after(refused, time.Hour)} {
		s.Report(o)
	}
	if st := g.Stats(); st.State.Phase != Open || st.Reports != (Reports{Answered: 1, Throttled: 1, Unavailable: 1, Account: 1, LastCause: "401"}) {
		t.Errorf("%+v", st)
	}
}

func TestUnlimitedTakesTheRunsInFlightForABound(t *testing.T) {
	g := gate(t, Limits{Trouble: true})
	slots := []*Slot{admit(t, g), admit(t, g), admit(t, g), admit(t, g), admit(t, g)}
	permit(t, slots[0])
	g.Report(down)
	if got := show(g); got != "slow 2" || g.Free() != 0 {
		t.Errorf("%s, free %d", got, g.Free())
	}
	for range 2 + 3 + 4 {
		g.Report(ok)
	}
	if got := show(g); got != "open" {
		t.Error(got)
	}
}

// TestABurstHalvesOnce: calls that began together and fail together are one event.
func TestABurstHalvesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate(t, Limits{Permits: 16, Trouble: true})
		var slots []*Slot
		for range 6 {
			s := admit(t, g)
			permit(t, s)()
			slots = append(slots, s)
		}
		for _, s := range slots {
			s.Report(down)
		}
		if got := show(g); got != "slow 8" {
			t.Errorf("after a burst: %s", got)
		}
		permit(t, slots[0])()
		slots[1].Report(ok)
		if g.trouble.wins != 0 {
			t.Error("an answer from before the cut raises the limit")
		}
		slots[0].Report(down)
		if got := show(g); got != "slow 4" {
			t.Errorf("after a new call: %s", got)
		}
		for range 7 {
			slots[1].Report(down)
		}
		if got := show(g); got != "closed 1s 503" {
			t.Errorf("after eight in a row: %s", got)
		}
	})
}

// TestAnOldFailureStartsNoTrouble: the gate had trouble and is over it; what fails now began before.
func TestAnOldFailureStartsNoTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate(t, Limits{Permits: 2, Trouble: true})
		old := admit(t, g)
		g.Report(down)
		g.Report(ok)
		old.Report(down)
		if show(g) != "open" || g.Stats().State.Cause != "" {
			t.Error(show(g))
		}
		old.Report(after(down, time.Second))
		if show(g) != "closed 1s 503" {
			t.Error(show(g))
		}
	})
}

func TestSlowBoundsThePermits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate(t, Limits{Permits: 4, Trouble: true})
		a, b := permit(t, admit(t, g)), permit(t, admit(t, g))
		g.Report(down) // 2
		granted := make(chan func(), 1)
		go func() {
			release, err := g.Permit(t.Context())
			if err != nil {
				t.Error(err)
			}
			granted <- release
		}()
		synctest.Wait()
		if g.Stats().Waiting != 1 {
			t.Error("a third call went through at limit 2")
		}
		g.Report(down) // 1
		a()
		synctest.Wait()
		if g.Stats().Waiting != 1 {
			t.Error("a second call went through at limit 1")
		}
		g.Report(ok) // 2
		(<-granted)()
		b()
	})
}

func isClosed(t *testing.T, err error, cause string) {
	t.Helper()
	closed, is := errors.AsType[*ClosedError](err)
	if !is || !errors.Is(err, ErrClosed) || errors.Is(err, ErrFull) || closed.Cause != cause || !strings.Contains(err.Error(), cause) {
		t.Errorf("got %v, want a closed gate because of %s", err, cause)
	}
}

func TestClosedRefusesAndWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate(t, Limits{Permits: 1, Admitted: 3, Trouble: true})
		a, b := admit(t, g), admit(t, g)
		busy := permit(t, a)
		woken := make(chan error, 2)
		go func() { _, err := b.Permit(t.Context()); woken <- err }()
		go func() { _, err := g.Permit(t.Context()); woken <- err }()
		synctest.Wait()
		a.Report(after(throttled, time.Minute))
		isClosed(t, <-woken, "429")
		isClosed(t, <-woken, "429")
		_, err := g.Admit(t.Context())
		isClosed(t, err, "429")
		_, err = b.Permit(t.Context())
		isClosed(t, err, "429")
		if g.Free() != 0 {
			t.Errorf("free %d", g.Free())
		}
		busy()
		a.Release()
		b.Release()
		empty(t, g)
	})
}

func TestOneProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate(t, Limits{Permits: 4, Admitted: 8, Trouble: true})
		early := admit(t, g)
		permit(t, early)()
		g.Report(after(down, time.Second))
		changed := g.Changed()
		<-changed // the closed time is over
		if show(g) != "probing" || g.Free() != 1 {
			t.Fatalf("%s, free %d", show(g), g.Free())
		}
		probe := admit(t, g)
		if g.Free() != 0 {
			t.Errorf("free %d beside a probe", g.Free())
		}
		_, err := g.Admit(t.Context())
		isClosed(t, err, "503")
		_, err = early.Permit(t.Context())
		isClosed(t, err, "503")
		_, err = g.Permit(t.Context())
		isClosed(t, err, "503")
		early.Report(ok)
		if show(g) != "probing" {
			t.Error("a run that is not the probe opened the gate")
		}
		early.Report(down)
		if show(g) != "probing" {
			t.Error("a run that is not the probe closed the gate")
		}
		release := permit(t, probe)
		probe.Report(ok)
		if show(g) != "slow 1" {
			t.Error(show(g))
		}
		release()
		permit(t, early)()
		probe.Release()
		early.Release()
		empty(t, g)
	})
}

// TestProbeEndsWithoutAReport: however it ends, the next may try.
func TestProbeEndsWithoutAReport(t *testing.T) {
	for name, run := range map[string]func(t *testing.T, g *Gate){
		"released":               func(t *testing.T, g *Gate) { admit(t, g).Release() },
		"released after a call":  func(t *testing.T, g *Gate) { s := admit(t, g); permit(t, s)(); s.Release() },
		"released during a call": func(t *testing.T, g *Gate) { s := admit(t, g); r := permit(t, s); s.Release(); r() },
		"a guest": func(t *testing.T, g *Gate) {
			release, err := g.Permit(t.Context())
			if err != nil || g.Free() != 0 {
				t.Errorf("%v, free %d", err, g.Free())
			}
			release()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := gate(t, Limits{Permits: 1, Trouble: true})
				g.Report(after(down, time.Second))
				time.Sleep(time.Second)
				fires(t, g, "the end of the probe", func() { run(t, g) })
				if g.Free() != 1 {
					t.Errorf("free %d", g.Free())
				}
				empty(t, g)
				s := admit(t, g)
				s.Report(ok)
				s.Release()
			})
		})
	}
}

func TestProbeWhileOldCallsHoldEveryPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate(t, Limits{Permits: 1, Trouble: true})
		old := admit(t, g)
		busy := permit(t, old)
		g.Report(after(down, time.Second))
		time.Sleep(time.Second)
		probe, granted := admit(t, g), make(chan func(), 1)
		go func() { granted <- permit(t, probe) }()
		synctest.Wait()
		if g.Stats().Waiting != 1 {
			t.Error("the probe has no turn yet")
		}
		busy()
		(<-granted)()
		old.Release()
		probe.Release()
		empty(t, g)
	})
}

func TestACancelledWaitFreesTheProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate(t, Limits{Permits: 1, Trouble: true})
		busy := permit(t, admit(t, g))
		g.Report(after(down, time.Second))
		time.Sleep(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		probe, ended := admit(t, g), make(chan error, 1)
		go func() { _, err := probe.Permit(ctx); ended <- err }()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) || g.Free() != 1 {
			t.Errorf("%v, free %d", err, g.Free())
		}
		busy()
		permit(t, admit(t, g))()
	})
}

func TestALongerPauseEndsTheProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate(t, Limits{Permits: 2, Trouble: true})
		late := admit(t, g)
		permit(t, late)()
		g.Report(after(down, time.Second))
		time.Sleep(time.Second)
		probe := admit(t, g)
		late.Report(after(throttled, time.Minute))
		_, err := probe.Permit(t.Context())
		isClosed(t, err, "429")
		probe.Report(ok)
		if got := show(g); got != "closed 1m0s 429" {
			t.Error(got)
		}
	})
}

func TestCloseAndReopen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate(t, Limits{Permits: 4, Trouble: true})
		g.Reopen()
		g.Close("past", time.Now())
		if show(g) != "open" {
			t.Error(show(g))
		}
		g.Close("another worker: 503", time.Now().Add(time.Minute))
		g.Close("shorter", time.Now().Add(time.Second))
		if show(g) != "closed 1m0s another worker: 503" {
			t.Error(show(g))
		}
		g.Reopen()
		if show(g) != "slow 1" {
			t.Error(show(g))
		}
		g.Reopen()
		g.Report(ok)
		if show(g) != "slow 2" {
			t.Error(show(g))
		}
		g.Close("store", time.Now().Add(time.Second))
		time.Sleep(time.Second)
		if show(g) != "probing" {
			t.Error(show(g))
		}
	})
}

func TestStateAsJSON(t *testing.T) {
	for p := Open; p <= Probing; p++ {
		b, err := json.Marshal(GateState{Phase: p})
		var back GateState
		if err != nil || json.Unmarshal(b, &back) != nil || back.Phase != p {
			t.Errorf("%s: %v", b, err)
		}
	}
	var p Phase
	if err := p.UnmarshalText([]byte("ajar")); err == nil || !strings.Contains(err.Error(), `"ajar" is none of [open`) {
		t.Error(err)
	}
	if Phase(9).String() != "phase 9" {
		t.Error(Phase(9).String())
	}
}
