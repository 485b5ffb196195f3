package consumer

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"emend/prompts"
	"emend/schemas"
	"emend/subjects"
)

// limited is fleetConfig with limits of the backend mock, whose model has a price of $1 and $2 for a million tokens.
func limited(r *rig, limits string) {
	r.yaml = strings.Replace(fleetConfig, "permits: 4, admitted: 8, call_timeout: 60s}", "permits: 8, admitted: 16, call_timeout: 60s, "+limits+"}", 1)
}

// Eight workers, 600 calls a minute: in no span of a minute is one more made, and at least 95% of them are. One of the workers dies
// on the way, and its lease with it.
func TestEightWorkersShareARateLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const runs, limit = 750, 600
		r, c := newCalled(t, func(r *http.Request, _ string, _ int) (*http.Response, error) { return good(r) })
		limited(r, "requests_per_minute: 600")
		var fleet []*working
		for range 8 {
			fleet = append(fleet, r.work(Options{}))
		}
		began := time.Now()
		for i := range runs {
			_, err := r.js.PublishAsync(r.names.Run("mock", "default", fmt.Sprint("r", i)), []byte(jsonRequest), jetstream.WithStallWait(time.Minute))
			r.must(err)
		}
		time.Sleep(30 * time.Second)
		r.stop(fleet[7])
		awaits(t, "all runs end", time.Second, time.Hour, func() bool { return r.kept(r.names.ResultsStream()) == runs })
		at := c.times("mock.invalid")
		slices.SortFunc(at, time.Time.Compare)
		if len(at) != runs {
			t.Errorf("%d calls for %d runs", len(at), runs)
		}
		for i := range at {
			if j := i + limit; j < len(at) && at[j].Sub(at[i]) < time.Minute {
				t.Fatalf("%d calls within %v", limit+1, at[j].Sub(at[i]))
			}
		}
		if took, could := at[len(at)-1].Sub(began), time.Duration(runs)*time.Minute/limit; took > could*100/95+time.Second {
			t.Errorf("%d runs took %v, the limit allows %v", runs, took, could)
		}
		for _, w := range fleet[:7] {
			r.stop(w)
		}
	})
}

// A provider that says that nothing is left is not called until it has said.
func TestAProvidersOwnWordHoldsTheRate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, c := newCalled(t, func(r *http.Request, _ string, n int) (*http.Response, error) {
			resp, err := good(r)
			if n == 1 {
				resp.Header.Set("x-ratelimit-remaining-requests", "0")
				resp.Header.Set("x-ratelimit-reset-requests", "40s")
			}
			return resp, err
		})
		limited(r, "requests_per_minute: 6000, tokens_per_minute: 60000000")
		w := r.work(Options{})
		r.ask("first", jsonRequest)
		awaits(t, "the first ends", time.Second, time.Hour, func() bool { return r.kept(r.names.ResultsStream()) == 1 })
		for i := range 3 {
			r.ask(fmt.Sprint("more", i), jsonRequest)
		}
		awaits(t, "the others end", time.Second, time.Hour, func() bool { return r.kept(r.names.ResultsStream()) == 4 })
		at := c.times("mock.invalid")
		if gap := at[1].Sub(at[0]); gap < 40*time.Second || gap > 44*time.Second {
			t.Errorf("it was called again after %v", gap)
		}
		r.stop(w)
	})
}

const boundedRequest = `{"messages": [{"role": "user", "content": "rate"}], "output": {"mode": "json"}, "settings": {"max_output_tokens": 10}}`

// The workers together spend no more than the budget of the day; what does not fit fails as budget, is retryable and
// in the dead letters.
func TestWorkersShareADailyBudget(t *testing.T) {
	for _, of := range []string{"backend", "queue"} {
		bubble(t, func(t *testing.T) {
			const runs = 150
			r, c := newCalled(t, func(r *http.Request, _ string, _ int) (*http.Response, error) { return good(r) })
			// A call of 10 and 5 tokens costs $0.00000450; one is set aside for $0.0001634 and more.
			limited(r, "prices: openai")
			r.yaml = strings.ReplaceAll(r.yaml, "model: small", "model: gpt-4o-mini")
			if of == "backend" {
				r.yaml = strings.Replace(r.yaml, "prices: openai", "prices: openai, daily_budget: 0.0006", 1)
			} else {
				r.yaml = strings.Replace(r.yaml, "default: {weight: 4,", "default: {weight: 4, daily_budget: 0.0006,", 1)
			}
			first, second := r.work(Options{}), r.work(Options{})
			for i := range runs {
				r.ask(fmt.Sprint("r", i), boundedRequest)
			}
			awaits(t, "all runs end", time.Second, time.Hour, func() bool { return r.kept(r.names.ResultsStream()) == runs })
			spent, failed := schemas.USD(0), 0
			for _, res := range r.results(runs) {
				if res.Cost != nil {
					spent += *res.Cost.USD
				}
				if res.Error != nil && res.Error.Category == schemas.CategoryBudget && res.Error.Retryable {
					failed++
				}
			}
			if calls := len(c.times("mock.invalid")); spent > 6*schemas.Dollar/10000 || calls+failed != runs || failed == 0 || calls < 90 {
				t.Errorf("%s: $%s spent, %d calls, %d failed", of, spent, calls, failed)
			}
			r.stop(first)
			r.stop(second)
		})
	}
}

// What calls under way have set aside is not spent: runs wait for it, on this worker and on others, and none fails while what they do
// cost leaves room. A judge's call waits in the same way, and its run keeps the answer.
func TestRunsWaitForWhatOthersHaveSetAside(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const runs = 20
		r, c := newCalled(t, func(r *http.Request, body string, _ int) (*http.Response, error) {
			nap(r, 3*time.Second)
			if strings.Contains(body, "JUDGE") {
				return says(r, http.StatusOK, `{"choices": [{"message": {"content": "{\"decision\":\"approve\",\"reasons\":[]}"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}`, nil)
			}
			return good(r)
		})
		// A call costs $0.00000450; of what one sets aside, $0.00016 and $0.00032, there is room for two or three at a time, where eight may call.
		limited(r, "prices: openai, daily_budget: 0.0006")
		r.yaml = strings.ReplaceAll(r.yaml, "model: small}", "model: gpt-4o-mini, settings: {max_output_tokens: 10}}")
		r.prompts = map[string]string{"j@1": "profile: fast\ninputs: {candidate: {}}\nmessages: [{user: 'JUDGE {{ .candidate }}'}]\n",
			"judged@1": "profile: fast\nmessages: [{user: rate}]\noutput: {mode: json}\nchecks: [{judge: j@1}]\n"}
		first, second, third := r.work(Options{}), r.work(Options{}), r.work(Options{})
		for i := range runs {
			r.ask(fmt.Sprint("r", i), `{"prompt": "judged"}`)
		}
		awaits(t, "all runs end", time.Second, time.Hour, func() bool { return r.kept(r.names.ResultsStream()) == runs })
		for _, res := range r.results(runs) {
			if res.Status != schemas.StatusSucceeded {
				t.Errorf("%s: %s %+v", res.ID, res.Status, res.Error)
			}
		}
		if n := len(c.times("mock.invalid")); n != 2*runs {
			t.Errorf("%d calls for %d runs and their judges", n, runs)
		}
		for _, w := range []*working{first, second, third} {
			r.stop(w)
		}
	})
}

// ask publishes a request.
func (r *rig) ask(id, body string) {
	r.Helper()
	_, err := r.js.Publish(r.Context(), r.names.Run("mock", "default", id), []byte(body))
	r.must(err)
}

// results reads the stored results.
func (r *rig) results(n int) []*schemas.Result {
	r.Helper()
	var out []*schemas.Result
	l := r.ledger()
	for _, id := range r.ids() {
		res, _, err := l.Result(r.Context(), Key{"default", id})
		r.must(err)
		if res != nil {
			out = append(out, res)
		}
	}
	if len(out) != n {
		r.Fatalf("%d of %d results", len(out), n)
	}
	return out
}

// ids lists the runs of the queue default that have a result.
func (r *rig) ids() []string {
	r.Helper()
	s, err := r.js.Stream(r.Context(), r.names.ResultsStream())
	r.must(err)
	info, err := s.Info(r.Context(), jetstream.WithSubjectFilter(r.names.ResultFilter("default")))
	r.must(err)
	var out []string
	for subject := range info.State.Subjects {
		_, id, err := r.names.ParseResult(subject)
		r.must(err)
		out = append(out, id)
	}
	return out
}

// A rate that stays is the same with its new limit; without limits there is no meter, so that runs pay nothing for it.
func TestAMeterFollowsItsConfiguration(t *testing.T) {
	names, err := subjects.New(subjects.DefaultSpace)
	if err != nil {
		t.Fatal(err)
	}
	m := &meter{names: names}
	load := func(limits, queue string) *metered {
		s, err := prompts.LoadFS(fstest.MapFS{"emend.yaml": {Data: []byte("backends: {b: {dialect: openai, url: 'https://api.openai.com/v1'" + limits + "}}\nqueues: {default: {" + queue +
			"}}\nprofiles: {p: {backend: b, model: gpt-4o-mini}}\n")}})
		if err != nil {
			t.Fatal(err)
		}
		m.configure(s)
		return m.current.Load()
	}
	if load("", "") != nil || m.engines() != nil {
		t.Error("there is a meter without limits")
	}
	first := load(", requests_per_minute: 60, daily_budget: 5", "daily_budget: 1")
	second := load(", requests_per_minute: 90, tokens_per_minute: 1000, daily_budget: 6", "daily_budget: 1")
	if m.engines() == nil || first.requests["b"] != second.requests["b"] || second.tokens["b"] == nil || first.backends["b"] == second.backends["b"] || first.queues["default"] != second.queues["default"] {
		t.Errorf("%+v %+v", first, second)
	}
	if load("", "") != nil {
		t.Error("limits that are gone are kept")
	}
}
