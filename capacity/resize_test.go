package capacity

import (
	"context"
	"testing"
	"testing/synctest"
)

// More room is given out at once, less takes back nothing; the gate's trouble goes on.
func TestResize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := New(Limits{Permits: 1, Admitted: 2, Trouble: true})
		if err != nil {
			t.Fatal(err)
		}
		first, second := admitted(t, g), admitted(t, g)
		release, err := first.Permit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan func(), 1)
		go func() {
			if r, err := second.Permit(context.WithoutCancel(t.Context())); err == nil {
				got <- r
			}
		}()
		synctest.Wait()
		if len(got) != 0 || g.Free() != 0 {
			t.Error("there is room before the gate grows")
		}
		if err := g.Resize(Limits{Permits: 2, Admitted: 4}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(got) != 1 || g.Free() != 2 {
			t.Errorf("%d permits, %d free", len(got), g.Free())
		}
		if err := g.Resize(Limits{Permits: 1, Admitted: 1}); err != nil {
			t.Fatal(err)
		}
		if s := g.Stats(); s.PermitsInUse != 2 || s.AdmittedInUse != 2 || s.Permits != 1 || g.Free() != 0 {
			t.Errorf("%+v", s)
		}
		release()
		(<-got)()
		first.Release()
		second.Release()
		if s := g.Stats(); s.PermitsInUse != 0 || g.Free() != 1 {
			t.Errorf("%+v", s)
		}
		if err := g.Resize(Limits{Permits: 3, Admitted: 2}); err == nil || g.Stats().Permits != 1 {
			t.Errorf("%v %+v", err, g.Stats())
		}
		// In trouble: the limit in force is no more than the bound.
		_ = g.Resize(Limits{Permits: 16})
		s := admitted(t, g)
		s.Report(Outcome{Kind: Throttled, Cause: "429"})
		if got := g.State(); got.Phase != Slow || got.Limit != 8 {
			t.Errorf("%+v", got)
		}
		_ = g.Resize(Limits{Permits: 4})
		if got := g.State(); got.Phase != Slow || got.Limit != 4 || got.Cause != "429" {
			t.Errorf("%+v", got)
		}
		s.Release()
	})
}

func admitted(t *testing.T, g *Gate) *Slot {
	t.Helper()
	s, err := g.Admit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}
