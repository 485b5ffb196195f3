package consumer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"emend/engine"
	"emend/prompts"
)

// reloaded gives a worker other definitions, as a reload does.
func (r *rig) reloaded(w *working, yaml string) {
	r.Helper()
	snap, err := prompts.LoadFS(fstest.MapFS{"emend.yaml": {Data: []byte(yaml)}})
	r.must(err)
	e, err := engine.New(snap, engine.WithTransport(r.transport), engine.WithTrouble(), engine.WithGates(w.Engine()))
	r.must(err)
	w.Reload(e)
}

// A reload while runs are under way: they end under what they began with, the pools and gates take their new sizes, a new queue and
// a new backend are served, one that is gone is not, and nothing is lost or done twice.
func TestAReloadReshapesThePools(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var slow atomic.Bool
		slow.Store(true)
		r, c := newCalled(t, func(r *http.Request, _ string, _ int) (*http.Response, error) {
			if slow.Load() {
				time.Sleep(20 * time.Second)
			}
			return good(r)
		})
		w := r.work(Options{})
		for i := range 6 {
			r.ask(fmt.Sprint("m", i), jsonRequest)
		}
		_, err := r.js.Publish(r.Context(), r.names.Run("other", "default", "o1"), []byte(elsewhereRequest))
		r.must(err)
		awaits(t, "calls are under way", 100*time.Millisecond, time.Minute, func() bool { return len(c.times("mock.invalid")) == 4 && len(c.times("other.invalid")) == 1 })
		more := strings.NewReplacer("permits: 4, admitted: 8", "permits: 16, admitted: 32", "  other: {dialect: openai, url: \"http://other.invalid/v1\", permits: 4, admitted: 8, call_timeout: 60s}\n",
			"  third: {dialect: openai, url: \"http://third.invalid/v1\", permits: 4, admitted: 8, call_timeout: 60s}\n", "elsewhere: {backend: other", "elsewhere: {backend: third",
			"team-a: {weight: 1, in_flight: 64}", "team-a: {weight: 1, in_flight: 64}\n  team-b: {in_flight: 8}").Replace(fleetConfig)
		began := time.Now()
		r.reloaded(w, more)
		awaits(t, "the waiting calls are made at once", 100*time.Millisecond, time.Minute, func() bool { return len(c.times("mock.invalid")) == 6 })
		if waited := time.Since(began); waited > 5*time.Second {
			t.Errorf("the gate grew after %v", waited)
		}
		if s := w.Engine().Gate("mock").Stats(); s.Permits != 16 || s.Admitted != 32 || s.AdmittedInUse != 6 {
			t.Errorf("%+v", s)
		}
		slow.Store(false)
		for _, k := range [][2]string{{"mock", "team-b"}, {"third", "default"}} {
			awaits(t, "its durable is there", 100*time.Millisecond, time.Minute, func() bool {
				_, err := r.js.Consumer(r.Context(), r.names.RunsStream(), r.names.Durable(k[0], k[1]))
				return err == nil
			})
		}
		_, err = r.js.Publish(r.Context(), r.names.Run("mock", "team-b", "b1"), []byte(jsonRequest))
		r.must(err)
		_, err = r.js.Publish(r.Context(), r.names.Run("third", "default", "t1"), []byte(elsewhereRequest))
		r.must(err)
		_, err = r.js.Publish(r.Context(), r.names.Run("other", "default", "o2"), []byte(elsewhereRequest))
		r.must(err)
		awaits(t, "all but the run of the backend that is gone end", time.Second, time.Minute, func() bool { return r.kept(r.names.ResultsStream()) == 9 })
		if n, m := len(c.times("mock.invalid")), len(c.times("other.invalid")); n != 7 || m != 1 {
			t.Errorf("%d and %d calls", n, m)
		}
		if n := r.kept(r.names.RunsStream()); n != 1 {
			t.Errorf("%d requests are queued", n)
		}
		r.reloaded(w, fleetConfig) // the backend comes back, and has its run
		awaits(t, "the run that waited ends", time.Second, time.Minute, func() bool { return r.kept(r.names.RunsStream()) == 0 })
		if s := w.Engine().Gate("mock").Stats(); s.Permits != 4 || s.Admitted != 8 {
			t.Errorf("%+v", s)
		}
		r.stop(w)
	})
}

// A reload that changes nothing of a pool leaves it as it is.
func TestPoolsThatStay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, _ := newCalled(t, func(r *http.Request, _ string, _ int) (*http.Response, error) { return good(r) })
		w := r.work(Options{})
		wanted := func(yaml string) map[string]*pool {
			snap, err := prompts.LoadFS(fstest.MapFS{"emend.yaml": {Data: []byte(yaml)}})
			r.must(err)
			return w.wanted(snap)
		}
		same := wanted(fleetConfig)
		for _, c := range []struct {
			old, new string
			like     bool
		}{{"call_timeout: 60s", "call_timeout: 50s", true}, {"admitted: 8", "admitted: 9", false}, {"weight: 4", "weight: 5", false}, {"team-a:", "team-b:", false}, {"permits: 4", "permits: 5", true}} {
			if got := same["mock"].like(wanted(strings.ReplaceAll(fleetConfig, c.old, c.new))["mock"]); got != c.like {
				t.Errorf("%s: like is %v", c.new, got)
			}
		}
		r.stop(w)
	})
}

func TestWorkersAnswerAReload(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, _ := newCalled(t, func(r *http.Request, _ string, _ int) (*http.Response, error) { return good(r) })
		calls := 0
		one := r.work(Options{ID: "w-1", Reload: func() error { calls++; return nil }})
		two := r.work(Options{ID: "w-2", Reload: func() error { return errors.New("prompts/a@1.yaml:1: bad") }})
		three := r.work(Options{ID: "w-3"})
		client, err := NewClient(r.nc, r.names.Space(), "")
		r.must(err)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		told, err := client.Reload(ctx)
		if err != nil || calls != 1 || len(told) != 3 || told[0] != (Reloaded{Worker: "w-1"}) || told[1].Error != "prompts/a@1.yaml:1: bad" || told[2].Error != ErrFollows.Error() {
			t.Errorf("%+v %v", told, err)
		}
		for _, w := range []*working{one, two, three} {
			r.stop(w)
		}
		if told, err := client.Reload(ctx); err != nil || len(told) != 0 {
			t.Errorf("%+v %v", told, err)
		}
	})
}
