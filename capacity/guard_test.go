package capacity

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// notified reports whether a channel of Turned is closed by now.
func notified(c <-chan struct{}) bool {
	synctest.Wait()
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestGuardedGateWaitsForLeave: its time is over, those who watch are told, and nobody calls before Probe.
func TestGuardedGateWaitsForLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate(t, Limits{Permits: 2, Trouble: true})
		g.Guard(true)
		g.Report(refused)
		over := g.Turned()
		g.Probe()
		g.Guard(true) // takes back a leave that was not used
		time.Sleep(29 * time.Second)
		if notified(over) {
			t.Error("told of nothing")
		}
		time.Sleep(time.Second)
		if !notified(over) || g.State().Phase != Closed || g.Free() != 0 {
			t.Errorf("told %v, %+v, %d free", notified(over), g.State(), g.Free())
		}
		if _, err := g.Admit(context.Background()); !errors.Is(err, ErrClosed) {
			t.Errorf("admitted: %v", err)
		}
		if _, err := g.Permit(context.Background()); !errors.Is(err, ErrClosed) {
			t.Errorf("a judge calls: %v", err)
		}
		g.Probe()
		if g.State().Phase != Probing || g.Free() != 1 {
			t.Errorf("%+v, %d free", g.State(), g.Free())
		}
		g.Report(refused)
		time.Sleep(30 * time.Second)
		if g.State().Phase != Closed {
			t.Errorf("a leave holds for one probe: %+v", g.State())
		}
		g.Guard(false)
		if g.State().Phase != Probing {
			t.Errorf("nobody guards it any more: %+v", g.State())
		}
	})
}

// TestProbeBeforeItsTime: the leave is there when the time is over.
func TestProbeBeforeItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate(t, Limits{Permits: 2, Trouble: true})
		g.Guard(true)
		g.Probe() // open: nothing to give leave for
		g.Report(refused)
		g.Probe()
		if show(g) != "closed 30s 401" {
			t.Errorf("%s", show(g))
		}
		time.Sleep(30 * time.Second)
		if g.State().Phase != Probing {
			t.Errorf("%+v", g.State())
		}
		g.Report(ok)
		if show(g) != "slow 1" {
			t.Errorf("%s", show(g))
		}
		g.Guard(false)
		g.Report(refused)
		g.Probe() // not guarded: nothing to give
		g.Guard(true)
		time.Sleep(30 * time.Second)
		if g.State().Phase != Closed {
			t.Errorf("a leave from before it was guarded: %+v", g.State())
		}
	})
}

// TestFollow: as long as the other is closed, never shorter than it was, and its pauses double from the other's.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate(t, Limits{Permits: 2, Trouble: true})
		until := time.Now().Add(10 * time.Second)
		g.Follow(GateState{Phase: Closed, Cause: "503", Until: until, Pauses: 3})
		g.Follow(GateState{Phase: Closed, Cause: "429", Until: until.Add(-time.Second), Pauses: 1})
		if s := g.State(); show(g) != "closed 10s 503" || s.Pauses != 3 {
			t.Errorf("%s, %+v", show(g), s)
		}
		time.Sleep(10 * time.Second)
		if s := g.State(); s.Phase != Probing || s.Pauses != 3 {
			t.Errorf("%+v", s)
		}
		g.Report(down)
		if show(g) != "closed 8s 503" {
			t.Errorf("%s", show(g))
		}
		g.Reopen()
		g.Follow(GateState{Phase: Closed, Cause: "503", Until: time.Now().Add(-time.Second), Pauses: 9})
		if show(g) != "slow 1" {
			t.Errorf("closed by what is over: %s", show(g))
		}
	})
}

// TestTurnedTellsOfStatesOnly: runs that come and go are no turn; each state is one, and so is the end of a closed time.
func TestTurnedTellsOfStatesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate(t, Limits{Permits: 2, Trouble: true})
		turned := g.Turned()
		s, err := g.Admit(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		release, err := s.Permit(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		release()
		s.Report(ok)
		s.Release()
		if notified(turned) {
			t.Error("told of a run")
		}
		for _, o := range []Outcome{down, ok, down, refused} {
			turned := g.Turned()
			if g.Report(o); !notified(turned) {
				t.Errorf("%s: not told", show(g))
			}
		}
		turned = g.Turned()
		time.Sleep(30 * time.Second)
		if !notified(turned) || g.State().Phase != Probing {
			t.Errorf("not told of its end: %s", show(g))
		}
	})
}
