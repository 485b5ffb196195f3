package consumer

import (
	"testing"
	"time"

	"emend/capacity"
	"emend/prompts"
)

func woken(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestPoolIsWokenByWhatFreesPlaces: at an open gate by a turn of it and not by the runs that come and go; by those too where they
// decide who may be next, or are a retired pool's.
func TestPoolIsWokenByWhatFreesPlaces(t *testing.T) {
	r := newRig(t)
	w := r.newWorker(Options{AckWait: time.Hour})
	cfg := w.Engine().Snapshot().Config()
	p, g := newPool(w, prompts.Backend{Name: "mock"}, cfg), w.Engine().Gate("mock")
	passes := func() {
		t.Helper()
		slot, err := g.Admit(t.Context())
		r.must(err)
		slot.Release()
	}
	changed := p.changed()
	if passes(); woken(changed) {
		t.Error("woken by a run that came and went")
	}
	p.before = []*pool{newPool(w, prompts.Backend{Name: "mock"}, cfg)}
	of := p.changed()
	if passes(); !woken(of) {
		t.Error("not woken by a run of a retired pool")
	}
	p.before = nil
	if g.Report(capacity.Outcome{Kind: capacity.Unavailable}); !woken(changed) || g.State().Phase == capacity.Open {
		t.Error("not woken by a gate that slowed down")
	}
	changed = p.changed()
	if passes(); !woken(changed) {
		t.Error("not woken by a run that came and went at a slow gate")
	}
	if newPool(w, prompts.Backend{Name: "nobody"}, cfg).changed() != nil {
		t.Error("a pool without a gate waits for one")
	}
}
