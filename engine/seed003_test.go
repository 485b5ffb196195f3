package engine_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"emend/engine"
	"emend/engine/event"
	"emend/engine/provider"
	"emend/prompts"
	"emend/schemas"
)

// Each test is one clause of seed 003's target end state. Time is virtual.

func TestSeed003_TwoExtraAttemptsByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{replies: []reply{fails(503), fails(429), says("1")}}
		e := newEngine(t, w)
		r, err := e.Run(t.Context(), ask(schemas.ModeJSON))
		if err != nil || w.calls() != 3 || r.Counts.Retries != 2 || r.Counts.Repairs != 0 {
			t.Errorf("%v, %d calls, %+v", err, w.calls(), r)
		}
		idle(t, e)
	})
}

func TestSeed003_ExplicitZeroDisables(t *testing.T) {
	zero := 0
	for name, build := range map[string]func(*wire) (*engine.Engine, engine.RunRequest){
		"engine": func(w *wire) (*engine.Engine, engine.RunRequest) {
			return newEngine(t, w, engine.WithTransientRetries(0)), ask(schemas.ModeJSON)
		},
		"request": func(w *wire) (*engine.Engine, engine.RunRequest) {
			r := ask(schemas.ModeJSON)
			r.TransientRetries = &zero
			return newEngine(t, w), r
		},
	} {
		w := &wire{replies: []reply{fails(503)}}
		e, r := build(w)
		if _, err := e.Run(t.Context(), r); !errors.Is(err, engine.ErrLLMGenerate) || w.calls() != 1 {
			t.Errorf("%s: %v after %d calls", name, err, w.calls())
		}
	}
}

func TestSeed003_ARequestOverridesTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := 1
		w := &wire{replies: []reply{fails(500), fails(500)}}
		r := ask(schemas.ModeJSON)
		r.TransientRetries = &one
		_, err := newEngine(t, w, engine.WithTransientRetries(0)).Run(t.Context(), r)
		if g, ok := errors.AsType[*engine.GenerationError](err); !ok || g.Attempts != 2 || !g.Exhausted || w.calls() != 2 {
			t.Errorf("%v after %d calls", err, w.calls())
		}
	})
}

// Also reports H02 and H04, and every form of Retry-After.
func TestSeed003_RetryAfterIsAMinimum(t *testing.T) {
	for name, c := range map[string]struct {
		reply reply
		least time.Duration
	}{
		"seconds":     {fails(429, "Retry-After", "30"), 30 * time.Second},
		"fraction":    {fails(429, "Retry-After", "41.5"), 41500 * time.Millisecond},
		"ms":          {fails(503, "Retry-After-Ms", "45000"), 45 * time.Second},
		"invalid":     {fails(503, "Retry-After", "soon"), 0},
		"none at all": {fails(503), 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{replies: []reply{c.reply, says("1")}}
			began := time.Now()
			if _, err := newEngine(t, w).Run(t.Context(), ask(schemas.ModeJSON)); err != nil {
				t.Fatal(name, err)
			}
			if d := time.Since(began); d < c.least || d > c.least+21*time.Second || d == 0 {
				t.Errorf("%s: waited %s, at least %s", name, d, c.least)
			}
		})
	}
	w := &wire{replies: []reply{{status: 529, body: `{"type":"error","error":{"type":"overloaded_error"}}`}}}
	if _, err := newEngine(t, w).Run(t.Context(), ask(schemas.ModeJSON)); err == nil || w.calls() != 1 {
		t.Errorf("529: %v after %d calls", err, w.calls())
	}
}

func TestSeed003_PermanentFailuresAreNotRetried(t *testing.T) {
	for name, r := range map[string]reply{
		"400": fails(400), "401": fails(401), "404": fails(404), "quota": {status: 429, body: `{"error":{"code":"insufficient_quota"}}`},
		"told not to": fails(503, "X-Should-Retry", "false"), "malformed": {status: 200, body: "<html>"},
		"transport": {do: func(*http.Request) error { return errors.New("SECRET connection") }},
	} {
		w := &wire{replies: []reply{r}}
		_, err := newEngine(t, w).Run(t.Context(), ask(schemas.ModeJSON))
		g, ok := errors.AsType[*engine.GenerationError](err)
		if !ok || w.calls() != 1 || g.Exhausted || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v after %d calls", name, err, w.calls())
		}
	}
}

func TestSeed003_CancellationInterruptsWaitingAndActiveAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{replies: []reply{fails(429, "Retry-After", "3600")}}
		e := newEngine(t, w)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := e.Run(ctx, ask(schemas.ModeJSON)); !errors.Is(err, context.Canceled) || w.calls() != 1 {
			t.Errorf("during backoff: %v after %d calls", err, w.calls())
		}
		idle(t, e)
	})
	synctest.Test(t, func(t *testing.T) {
		w := &wire{replies: []reply{{do: func(r *http.Request) error { <-r.Context().Done(); return r.Context().Err() }}}}
		e := newEngine(t, w)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := e.Run(ctx, ask(schemas.ModeJSON)); !errors.Is(err, context.DeadlineExceeded) || w.calls() != 1 {
			t.Errorf("during transport: %v after %d calls", err, w.calls())
		}
		idle(t, e)
	})
}

func TestSeed003_AWaitPastTheDeadlineEndsTheRunNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{replies: []reply{fails(429, "Retry-After", "60")}}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		_, err := newEngine(t, w).Run(ctx, ask(schemas.ModeJSON))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 0 || w.calls() != 1 {
			t.Errorf("%v after %s and %d calls", err, time.Since(began), w.calls())
		}
	})
}

func TestSeed003_CancelDuringCapacityWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		block := reply{do: func(*http.Request) error { <-hold; return nil }, status: 200, body: says("1").body}
		w := &wire{replies: []reply{block}}
		e := engineOver(t, definitions(1, 2), engine.WithTransport(w))
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := e.Run(t.Context(), ask(schemas.ModeJSON)); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(func() {
			if _, err := e.Run(ctx, ask(schemas.ModeJSON)); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		synctest.Wait()
		if _, err := e.Run(t.Context(), ask(schemas.ModeJSON)); !errors.Is(err, engine.ErrCapacity) {
			t.Errorf("a third run over the admission of 2: %v", err)
		}
		cancel()
		synctest.Wait()
		close(hold)
		wg.Wait()
		if w.calls() != 1 {
			t.Errorf("%d calls", w.calls())
		}
		idle(t, e)
	})
}

// A run that waits to retry leaves the only permit to others, and keeps its place.
func TestSeed003_ThePermitIsFreeDuringBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{replies: []reply{fails(429, "Retry-After", "60"), says("2"), says("1")}}
		e := engineOver(t, definitions(1, 2), engine.WithTransport(w))
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := e.Run(t.Context(), ask(schemas.ModeJSON)); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		began := time.Now()
		if _, err := e.Run(t.Context(), ask(schemas.ModeJSON)); err != nil || time.Since(began) != 0 {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		if s := e.Gate("b").Stats(); s.AdmittedInUse != 1 || s.PermitsInUse != 0 {
			t.Errorf("while the first waits: %+v", s)
		}
		wg.Wait()
		idle(t, e)
	})
}

func TestSeed003_PeakConcurrencyIsThePermits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, peak atomic.Int32
		w := &wire{}
		for range 20 {
			w.replies = append(w.replies, reply{status: 200, body: says("1").body, do: func(*http.Request) error {
				n := now.Add(1)
				for old := peak.Load(); n > old && !peak.CompareAndSwap(old, n); old = peak.Load() {
				}
				time.Sleep(time.Second)
				now.Add(-1)
				return nil
			}})
		}
		e := engineOver(t, definitions(3, 20), engine.WithTransport(w))
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := e.Run(t.Context(), ask(schemas.ModeJSON)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if peak.Load() != 3 {
			t.Errorf("at most %d calls at once, the permits are 3", peak.Load())
		}
		idle(t, e)
	})
}

func TestSeed003_UnlimitedBackendsStayUnlimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{}
		for range 50 {
			w.replies = append(w.replies, reply{status: 200, body: says("1").body, do: func(*http.Request) error { time.Sleep(time.Second); return nil }})
		}
		e := engineOver(t, definitions(0, 0), engine.WithTransport(w))
		began := time.Now()
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := e.Run(t.Context(), ask(schemas.ModeJSON)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if d := time.Since(began); d != time.Second {
			t.Errorf("50 calls of a second took %s", d)
		}
	})
}

func TestSeed003_InjectedClientsOwnTheirRetries(t *testing.T) {
	n := 0
	e := newEngine(t, &wire{}, engine.WithLLMClient(client(func(context.Context, *engine.GenerateRequest) (*engine.GenerateResponse, error) {
		n++
		return nil, &provider.Error{Kind: provider.KindStatus, Status: 503}
	})))
	if _, err := e.Run(t.Context(), ask(schemas.ModeJSON)); !errors.Is(err, engine.ErrLLMGenerate) || n != 1 {
		t.Errorf("%v after %d calls", err, n)
	}
}

func TestSeed003_RetriesApplyToRepairGenerationsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{replies: []reply{says("bad"), fails(502), says("1")}}
		obs := &collected{}
		r := ask(schemas.ModeJSON)
		r.Observer = obs
		res, err := newEngine(t, w).Run(t.Context(), r)
		if err != nil || res.Counts.Repairs != 1 || res.Counts.Retries != 1 {
			t.Fatalf("%v, %+v", err, res)
		}
		want := []string{"started", "attempt_started", "attempt", "validation", "repair", "attempt_started", "attempt", "retry",
			"attempt_started", "attempt", "validation", "finished"}
		if got := obs.kinds(); !slices.Equal(got, want) {
			t.Errorf("events %v", got)
		}
		if string(w.bodies[1]) != string(w.bodies[2]) {
			t.Error("a retry sends the same request, byte for byte")
		}
	})
}

func TestSeed003_ErrorsAreTypedAndRedacted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{replies: []reply{fails(500), fails(500), fails(429, "Retry-After", "9")}}
		_, err := newEngine(t, w).Run(t.Context(), ask(schemas.ModeJSON))
		g, ok := errors.AsType[*engine.GenerationError](err)
		if !ok || g.Status != 429 || g.Attempts != 3 || !g.Exhausted || g.RetryAfter != 9*time.Second || g.Code != "c" {
			t.Errorf("%+v", g)
		}
		pe, ok := errors.AsType[*provider.Error](err)
		if !ok || !strings.Contains(pe.Detail, "SECRET") || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("the provider's text is for who asks, not for the message: %v", err)
		}
	})
}

func TestSeed003_ObservationsOfFailures(t *testing.T) {
	t.Run("before any call", func(t *testing.T) {
		obs := &collected{}
		_, err := newEngine(t, &wire{}).Run(t.Context(), engine.RunRequest{Prompt: "nowhere", Observer: obs})
		end, ok := obs.events[len(obs.events)-1].(event.Finished)
		if err == nil || !ok || end.Status != schemas.StatusFailed || end.Category != schemas.CategoryInvalidRequest || end.Backend != "" {
			t.Errorf("%v, %+v", err, obs.events)
		}
	})
	t.Run("after usage was received", func(t *testing.T) {
		obs := &collected{}
		r := ask(schemas.ModeJSON)
		r.Observer = obs
		_, err := newEngine(t, &wire{replies: []reply{says("bad", 7, 3), fails(401)}}).Run(t.Context(), r)
		end := obs.events[len(obs.events)-1].(event.Finished)
		if err == nil || end.Totals.Usage.Input == nil || *end.Totals.Usage.Input != 7 || end.Totals.Counts.Calls != 2 {
			t.Errorf("%v, %+v", err, end)
		}
	})
}

func TestSeed003_ObservationsHoldNoContent(t *testing.T) {
	obs := &collected{}
	r := ask(schemas.ModeJSONSchema)
	r.Inputs["q"] = "SECRET QUESTION"
	r.Observer = obs
	w := &wire{replies: []reply{says(`{"SECRETKEY":"SECRET ANSWER"}`), says(`{"a":"SECRET"}`), says(`{"a":1}`)}}
	if _, err := newEngine(t, w).Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for _, e := range obs.events {
		b, err := schemas.Marshal(event.Wire(e))
		if err != nil || strings.Contains(string(b), "SECRET") {
			t.Errorf("%v: %s", err, b)
		}
	}
}

func TestSeed003_CredentialsAreResolvedAtExecution(t *testing.T) {
	d := definitions(1, 1)
	b := d.Config.Backends["b"]
	b.Key.Env = "EMEND_TEST_KEY"
	d.Config.Backends["b"] = b
	w := &wire{replies: []reply{says("1")}}
	e := engineOver(t, d, engine.WithTransport(w))
	p, err := e.Prepare(t.Context(), ask(schemas.ModeJSON))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("EMEND_TEST_KEY", "sk-late")
	if _, err := e.RunPrepared(t.Context(), p); err != nil || w.headers[0].Get("Authorization") != "Bearer sk-late" {
		t.Errorf("%v, header %q", err, w.headers[0].Get("Authorization"))
	}
}

func TestSeed003_AnObserversPanicIsNotSwallowed(t *testing.T) {
	r := ask(schemas.ModeJSON)
	r.Observer = event.Func(func(context.Context, event.Event) { panic("mine") })
	e := newEngine(t, &wire{})
	defer func() {
		if recover() != "mine" {
			t.Error("the panic is the caller's")
		}
		idle(t, e)
	}()
	_, _ = e.Run(t.Context(), r)
}

func TestSeed003_EndpointOnlyProfilesStayUnlimited(t *testing.T) {
	d := definitions(1, 1)
	d.Config.Profiles["own"] = prompts.Profile{Model: "m", Endpoint: &prompts.Backend{Dialect: "openai", URL: "http://own.test/v1"}}
	hold := make(chan struct{})
	var open sync.WaitGroup
	w := &wire{}
	for range 5 {
		open.Add(1)
		w.replies = append(w.replies, reply{status: 200, body: says("1").body, do: func(*http.Request) error { open.Done(); <-hold; return nil }})
	}
	e := engineOver(t, d, engine.WithTransport(w))
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			r := ask(schemas.ModeJSON)
			r.Profile = "own"
			if _, err := e.Run(t.Context(), r); err != nil {
				t.Error(err)
			}
		})
	}
	open.Wait() // all five are under way at once, over a backend limit of one
	close(hold)
	wg.Wait()
}

// Prepared execution: what lies between preparation and execution is in nobody's measurements.
func TestSeed003_PreparedExecutionIsToldApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		obs := &collected{}
		r := ask(schemas.ModeJSON)
		r.Observer = obs
		e := newEngine(t, &wire{replies: []reply{says("1")}})
		p, err := e.Prepare(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		res, err := e.RunPrepared(t.Context(), p)
		if err != nil || res.Duration != 0 {
			t.Fatalf("%v, took %v", err, res)
		}
		if s, ok := obs.events[0].(event.Started); !ok || !s.Prepared || s.MaxCalls != 9 {
			t.Errorf("%+v", obs.events[0])
		}
		if f := obs.events[len(obs.events)-1].(event.Finished); f.Duration != 0 {
			t.Errorf("the run took %v", f.Duration)
		}
	})
}

func TestSeed003_ObserversOfConcurrentRunsAreCalledInOrderWithinEach(t *testing.T) {
	w := &wire{}
	for range 8 {
		w.replies = append(w.replies, says("1"))
	}
	e := engineOver(t, definitions(2, 8), engine.WithTransport(w))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			obs := &collected{}
			r := ask(schemas.ModeJSON)
			r.Observer = obs
			if _, err := e.Run(t.Context(), r); err != nil || !slices.Equal(obs.kinds(), []string{"started", "attempt_started", "attempt", "validation", "finished"}) {
				t.Errorf("%v, %v", err, obs.kinds())
			}
		})
	}
	wg.Wait()
}
