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

const judgedRequest = `{"prompt": "judged"}`

// tribunal is a rig whose prompt judged has two judges: fair at the run's own backend, strict at the other. What says names calls
// gets its answer until over is called; every other judge approves.
type tribunal struct {
	*rig
	*calls
	mu sync.Mutex
	// asked counts the calls by role, bad those that got the answer of trouble.
	asked map[string]int
	bad   int
	met   string
}

// The roles that calls name.
const (
	roleProducer = "PRODUCE"
	roleFair     = "FAIR"
	roleStrict   = "STRICT"
)

func newTribunal(t *testing.T, met string, trouble func(*http.Request) (*http.Response, error)) *tribunal {
	t.Helper()
	b := &tribunal{asked: map[string]int{}, met: met}
	b.rig, b.calls = newCalled(t, func(r *http.Request, body string, _ int) (*http.Response, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, role := range []string{roleStrict, roleFair, roleProducer} {
			if !strings.Contains(body, role) {
				continue
			}
			b.asked[role]++
			if role == b.met {
				b.bad++
				return trouble(r)
			}
			if role != roleProducer {
				return says(r, http.StatusOK, `{"choices": [{"message": {"content": "{\"decision\":\"approve\",\"reasons\":[]}"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}`, nil)
			}
			return good(r)
		}
		return good(r)
	})
	judge := "inputs: {candidate: {}}\nmessages: [{user: '%s {{ .candidate }}'}]\n"
	b.prompts = map[string]string{"fair@1": "profile: fast\n" + fmt.Sprintf(judge, roleFair), "strict@1": "profile: elsewhere\n" + fmt.Sprintf(judge, roleStrict),
		"judged@1": "profile: fast\nmessages: [{user: " + roleProducer + "}]\noutput: {mode: json}\nchecks: [{judge: fair@1}, {judge: strict@1}]\n"}
	return b
}

// over ends the trouble.
func (b *tribunal) over() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.met = ""
}

// were are the calls by role, and those of them that met the trouble.
func (b *tribunal) were(role string) (asked, bad int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked[role], b.bad
}

// TestARunWaitsForAJudgesBackend: while the backend of a judge is in trouble, runs wait with the answer that they have, whoever
// takes them up; nobody but that judge is asked again, and nothing ends unverified. What waits is told.
func TestARunWaitsForAJudgesBackend(t *testing.T) {
	for name, c := range map[string]struct {
		judge, backend, cause string
		trouble               func(*http.Request) (*http.Response, error)
	}{
		"another backend":     {roleStrict, "other", "503 overloaded", coded(503, "overloaded", nil)},
		"a rotated key":       {roleStrict, "other", "401 invalid_api_key", coded(401, "invalid_api_key", nil)},
		"a dead port":         {roleStrict, "other", "unreachable", func(*http.Request) (*http.Response, error) { return nil, refusedPort() }},
		"the run's own place": {roleFair, "mock", "503 overloaded", coded(503, "overloaded", nil)},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				const runs = 12
				b := newTribunal(t, c.judge, c.trouble)
				told := b.firstWait()
				first, second := b.work(Options{}), b.work(Options{})
				b.putMany("mock", "default", "r", runs, judgedRequest)
				e := receive(t, "a wait is told", told)
				if e.Validator != strings.ToLower(c.judge)+"@1" || e.Backend != c.backend || e.Cause != c.cause || e.WaitMS == nil {
					t.Errorf("the wait is told as %+v", e)
				}
				time.Sleep(3 * time.Minute)
				if n := b.kept(b.rig.names.ResultsStream()); n != 0 {
					t.Errorf("%d runs ended in the trouble", n)
				}
				if c.backend == "other" { // at its own backend's closed gate a run is handed back before its judge is asked
					b.getTells("r0", c.cause+" at backend other of judge "+e.Validator)
				}
				b.over()
				awaits(t, "everything ends", time.Second, time.Hour, func() bool { return b.kept(b.rig.names.ResultsStream()) == runs })
				for _, r := range b.results(runs) {
					if r.Status != schemas.StatusSucceeded || r.Counts.Calls != 1 || len(r.Validation.Validators) != 2 {
						t.Errorf("%s: %s, %+v, %+v", r.ID, r.Status, r.Counts, r.Validation.Validators)
					}
				}
				b.check(runs, c.judge)
				b.stop(first)
				b.stop(second)
			})
		})
	}
}

// getTells awaits that get says why a run waits: a look may fall into a redelivery.
func (b *tribunal) getTells(id, cause string) {
	b.Helper()
	client, err := NewClient(b.nc, b.rig.names.Space(), "")
	b.must(err)
	awaits(b.T, "get tells the cause", 100*time.Millisecond, time.Hour, func() bool {
		_, p, err := client.Get(b.Context(), Key{"default", id})
		b.must(err)
		return p != nil && p.State == schemas.StateWaiting && p.Cause == cause
	})
}

// firstWait receives the first event that tells of a wait.
func (b *tribunal) firstWait() <-chan schemas.Event {
	b.Helper()
	client, err := NewClient(b.nc, b.rig.names.Space(), "")
	b.must(err)
	first := make(chan schemas.Event, 1)
	stop, err := client.Watch(Key{}, func(e schemas.Event) {
		if e.Kind == schemas.EventWaiting {
			select {
			case first <- e:
			default:
			}
		}
	})
	b.must(err)
	b.Cleanup(stop)
	return first
}

// check counts the calls of all roles: one a run, and those of the trouble.
func (b *tribunal) check(runs int, judge string) {
	b.Helper()
	for _, role := range []string{roleProducer, roleFair, roleStrict} {
		asked, bad := b.were(role)
		if role != judge {
			bad = 0
		}
		if asked != runs+bad || bad > 60 {
			b.Errorf("%s was asked %d times, %d of them in trouble, for %d runs", role, asked, bad, runs)
		}
	}
	if n := b.kept(b.rig.names.DeadStream()); n != 0 {
		b.Errorf("%d dead letters", n)
	}
}

// TestARunDoesNotWaitForAJudgeBeyondItsEnd: its answer is not lost with it. A backend that says fail is not waited for, and its
// gate stays open.
func TestARunDoesNotWaitForAJudgeBeyondItsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		request, config string
		within          time.Duration
		phase           capacity.Phase
	}{
		"its deadline":    {`{"prompt": "judged", "timeout_s": 45}`, "", 45 * time.Second, capacity.Closed},
		"the queue's":     {judgedRequest, "queue_ttl: 2m\n", 2 * time.Minute, capacity.Closed},
		"on_trouble fail": {judgedRequest, "", 10 * time.Second, capacity.Open},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := newTribunal(t, roleStrict, coded(401, "invalid_api_key", nil))
				b.yaml += c.config
				if c.phase == capacity.Open {
					b.yaml = strings.Replace(b.yaml, "other: {", "other: {on_trouble: fail, ", 1)
				}
				w := b.work(Options{})
				began := time.Now()
				b.ask("x", c.request)
				awaits(t, "the run ends", time.Second, time.Hour, func() bool { return b.kept(b.rig.names.ResultsStream()) == 1 })
				r := b.results(1)[0]
				if r.Status != schemas.StatusUnverified || r.Output == nil || r.Counts.Calls != 1 || r.Validation.Validators[1].Outcome != schemas.VoteFailed {
					t.Errorf("%s %s %+v %+v", r.Status, r.Output, r.Counts, r.Validation)
				}
				if took := time.Since(began); took > c.within {
					t.Errorf("it took %v", took)
				}
				if p := w.engine.Load().Gate("other").State().Phase; (p == capacity.Open) != (c.phase == capacity.Open) {
					t.Errorf("the judge's gate is %v", p)
				}
				b.stop(w)
			})
		})
	}
}
