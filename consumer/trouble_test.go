package consumer

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"emend/capacity"
	"emend/schemas"
)

// ordeal is a trouble of a backend: what it answers, for how long, and what is expected meanwhile.
type ordeal struct {
	name   string
	answer func(r *http.Request) (*http.Response, error)
	lasts  time.Duration
	// cause is what get and status say, period the least time between two probes, probes the most of them.
	cause  string
	period time.Duration
	probes int
}

// coded is an error of a status, with a code of the provider's.
func coded(status int, code string, header http.Header) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		return says(r, status, fmt.Sprintf(`{"error": {"message": "trouble", "code": %q}}`, code), header)
	}
}

var ordeals = []ordeal{
	{"503 for a minute", coded(503, "overloaded", nil), time.Minute, "503 overloaded", time.Second, 7},
	{"429 that says an hour", coded(429, "rate_limit_exceeded", http.Header{"Retry-After": {"3600"}}), 3 * time.Hour, "429 rate_limit_exceeded", time.Hour, 3},
	{"a rotated key", coded(401, "invalid_api_key", nil), 5 * time.Minute, "401 invalid_api_key", 30 * time.Second, 10},
	{"an exhausted quota", coded(429, "insufficient_quota", nil), 5 * time.Minute, "429 insufficient_quota", 30 * time.Second, 10},
	{"a dead port", func(*http.Request) (*http.Response, error) { return nil, refusedPort() }, time.Minute, "unreachable", time.Second, 7},
}

// troubled is a backend that goes through the ordeals, one after the other, with good answers in between.
type troubled struct {
	mu sync.Mutex
	// now is the ordeal that is on, nil for none; good are the answers given since the last.
	now *ordeal
	// left are the good answers to come before next, which is nil when all is over.
	left int
	next *ordeal
	// began is when the ordeal took effect, closed where the calls of it stand.
	began time.Time
	bad   []time.Time
}

func (b *troubled) answer(r *http.Request, _ string, _ int) (*http.Response, error) {
	if r.URL.Hostname() != "mock.invalid" {
		return good(r)
	}
	if o := b.turn(); o != nil {
		return o.answer(r)
	}
	return good(r)
}

// turn counts a call, and begins the next ordeal when its time has come.
func (b *troubled) turn() *ordeal {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now == nil && b.next != nil {
		if b.left--; b.left < 0 {
			b.now, b.next, b.began = b.next, nil, time.Now()
		}
	}
	if b.now != nil {
		b.bad = append(b.bad, time.Now())
	}
	return b.now
}

// meet lets a trouble begin after some good answers.
func (b *troubled) meet(o ordeal, after int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next, b.left, b.bad = &o, after, nil
}

// on is when the ordeal began, zero before.
func (b *troubled) on() (began time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now != nil {
		began = b.began
	}
	return began
}

// over ends the ordeal and returns when it was called meanwhile.
func (b *troubled) over() []time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = nil
	return b.bad
}

// TestTenThousandRunsThroughFiveTroubles: three workers have 10,000 runs queued at a backend that gets into one trouble after
// the other, in virtual time. Few calls are made meanwhile: what was open when it began, then one probe a period of all workers
// together. Its cause is told, the other backend goes on, no run fails, and everything succeeds when it is over.
func TestTenThousandRunsThroughFiveTroubles(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const runs, workers, permits = 10_000, 3, 4
		b := &troubled{}
		r, c := newCalled(t, b.answer)
		var fleet []*working
		for range workers {
			fleet = append(fleet, r.work(Options{}))
		}
		b.meet(ordeals[0], 0)
		r.putMany("mock", "default", "r", runs, jsonRequest)
		wasted := 0
		for i, o := range ordeals {
			if i > 0 {
				b.meet(o, 200)
			}
			wasted += r.suffer(b, o, workers*permits)
		}
		awaits(t, "everything succeeds", time.Second, time.Hour, func() bool { return r.kept(r.names.ResultsStream()) == runs+len(ordeals) })
		if n := r.kept(r.names.DeadStream()); n != 0 {
			t.Errorf("%d dead letters", n)
		}
		if n := len(c.times("mock.invalid")); n != runs+wasted {
			t.Errorf("%d calls, %d of them in trouble, for %d runs", n, wasted, runs)
		}
		for _, w := range fleet {
			r.stop(w)
		}
	})
}

// suffer waits through an ordeal, checks what is said and how often was called, and returns that.
func (r *rig) suffer(b *troubled, o ordeal, open int) (calls int) {
	r.Helper()
	awaits(r.T, o.name+" begins", 100*time.Millisecond, time.Hour, func() bool { return !b.on().IsZero() })
	ends := b.on().Add(o.lasts)
	time.Sleep(o.lasts / 2)
	r.tells(o)
	r.elsewhereGoesOn(strings.ReplaceAll(o.name, " ", "-"))
	time.Sleep(time.Until(ends))
	bad := b.over()
	burst := 0 // what was under way when it began
	for burst < len(bad) && bad[burst].Sub(bad[0]) < time.Second {
		burst++
	}
	if burst > 2*open { // the place of a call that has failed may be another's before its gate has heard of the failure
		r.Errorf("%s: %d calls at once when it began, %d can be open", o.name, burst, open)
	}
	probes := bad[burst-1:]
	for i := 1; i < len(probes); i++ {
		if gap := probes[i].Sub(probes[i-1]); gap < o.period {
			r.Errorf("%s: probe %d came %v after the one before, the period is %v", o.name, i, gap, o.period)
		}
	}
	if n := len(probes) - 1; n > o.probes || n == 0 {
		r.Errorf("%s: %d probes in %v", o.name, n, o.lasts)
	}
	r.Logf("%s: %d calls when it began, then %d probes in %v", o.name, burst, len(probes)-1, o.lasts)
	return len(bad)
}

// tells checks that status and get name the cause.
func (r *rig) tells(o ordeal) {
	r.Helper()
	c, err := NewClient(r.nc, "emend", "")
	r.must(err)
	st, err := c.Status(r.Context())
	r.must(err)
	for _, w := range st.Workers {
		if g := w.Gates["mock"].State; g.Phase != capacity.Closed || !strings.Contains(g.Cause, o.cause) {
			r.Errorf("%s: status of %s: %+v", o.name, w.ID, g)
		}
		if g := w.Gates["other"].State; g.Phase != capacity.Open {
			r.Errorf("%s: status of the other backend: %+v", o.name, g)
		}
	}
	_, p, err := c.Get(r.Context(), Key{Queue: "default", ID: "r9999"})
	r.must(err)
	if p == nil || !strings.Contains(p.Cause, o.cause) {
		r.Errorf("%s: get says %+v", o.name, p)
	}
}

// elsewhereGoesOn runs one run on the other backend.
func (r *rig) elsewhereGoesOn(id string) {
	r.Helper()
	_, err := r.js.Publish(r.Context(), r.names.Run("other", "default", id), []byte(elsewhereRequest))
	r.must(err)
	ledger := r.ledger()
	awaits(r.T, "the other backend goes on", 10*time.Millisecond, 2*time.Second, func() bool {
		res, _, err := ledger.Result(r.Context(), Key{Queue: "default", ID: id})
		return err == nil && res != nil
	})
}

// TestADeadlineIsKeptWhileTheGateIsClosed: a backend says that it is back in an hour. A run that met it has five minutes: it is
// settled when they are over, and not when the gate opens; nothing is called meanwhile.
func TestADeadlineIsKeptWhileTheGateIsClosed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, c := newCalled(t, func(r *http.Request, _ string, _ int) (*http.Response, error) {
			return ordeals[1].answer(r)
		})
		w := r.work(Options{})
		began := time.Now()
		r.put("default", "bounded", strings.Replace(jsonRequest, "{", `{"timeout_s": 300, `, 1), nil)
		awaits(t, "the deadline", time.Second, 30*time.Minute, func() bool { return r.kept(r.names.ResultsStream()) == 1 })
		res, _, err := r.ledger().Result(r.Context(), Key{"default", "bounded"})
		r.must(err)
		if took := time.Since(began); res.Status != schemas.StatusExpired || took < 5*time.Minute || took > 5*time.Minute+2*lookAgain {
			t.Errorf("%s after %v", res.Status, took)
		}
		if n := len(c.times("mock.invalid")); n != 1 {
			t.Errorf("%d calls", n)
		}
		r.stop(w)
	})
}
