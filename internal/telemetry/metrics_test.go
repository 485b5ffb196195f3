package telemetry

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"emend/capacity"
	"emend/schemas"
)

// every kind of event, filled; TestEveryKindIsCountedOrIgnoredOnPurpose keeps the list whole.
var every = []schemas.Event{
	{Kind: schemas.EventStarted}, {Kind: schemas.EventAttemptStarted},
	{Kind: schemas.EventAttempt, Backend: "b", GenerationKind: "initial", Outcome: "completed", DurationMS: new(int64(20)), WaitMS: new(int64(0)), Usage: &schemas.Tokens{Input: new(int64(7)), Output: new(int64(3))}, Cost: new(schemas.Dollar / 4)},
	{Kind: schemas.EventAttempt, Backend: "b", GenerationKind: "initial", Outcome: "provider_status", Status: 429, Validator: "j@1"},
	{Kind: schemas.EventRetry, Backend: "b", Cause: "provider_status", Status: 429},
	{Kind: schemas.EventValidation, Prompt: "p@1", Findings: []schemas.EventFinding{{Pointer: "/secret", Keyword: "type"}}},
	{Kind: schemas.EventRepair, Prompt: "p@1", Outcome: "targeted"},
	{Kind: schemas.EventStage, Outcome: "correction"},
	{Kind: schemas.EventValidator, Validator: "j@1", Outcome: "approved"},
	{Kind: schemas.EventWaiting, Backend: "b", Cause: "429 some_code_of_the_provider"},
	{Kind: schemas.EventEscalated, Outcome: "review"},
	{Kind: schemas.EventSuperseded},
	{Kind: schemas.EventFinished, Backend: "b", Queue: "q", Prompt: "p@1", Outcome: "failed", Category: "timeout", Totals: &schemas.Totals{TimingMS: schemas.Timing{Total: 1500}}},
}

const want = `
emend_calls_total{backend="b",kind="initial",outcome="completed",status="",validator=""} 1
emend_calls_total{backend="b",kind="initial",outcome="provider_status",status="429",validator="j@1"} 1
emend_retries_total{backend="b",cause="provider_status",status="429"} 1
emend_findings_total{keyword="type",prompt="p@1"} 1
emend_repairs_total{prompt="p@1",style="targeted"} 1
emend_stage_attempts_total{cause="correction",prompt="(inline)"} 1
emend_votes_total{outcome="approved",validator="j@1"} 1
emend_handed_back_total{backend="b",cause="429"} 1
emend_escalations_total{sink="review"} 1
emend_superseded_total 1
emend_cost_usd_total{backend="b"} 0.25
emend_tokens_total{backend="b",type="input"} 7
emend_tokens_total{backend="b",type="output"} 3
emend_runs_total{backend="b",category="timeout",prompt="p@1",queue="q",status="failed"} 1
emend_run_seconds_sum{backend="b",status="failed"} 1.5
emend_call_seconds_count{backend="b"} 2
emend_gate_phase{backend="b",phase="closed"} 1
emend_gate_phase{backend="b",phase="open"} 0
emend_permits_in_use{backend="b"} 2
emend_waiting_for_permit{backend="b"} 1
emend_admitted{backend="b"} 3
`

func TestMetrics(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	m := NewMetrics(r)
	NewGates(r, func() map[string]capacity.Stats {
		return map[string]capacity.Stats{"b": {PermitsInUse: 2, Waiting: 1, AdmittedInUse: 3, State: capacity.GateState{Phase: capacity.Closed, Until: time.Now()}}}
	})
	for _, e := range every {
		m.Count(e)
	}
	text, err := gathered(r)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(strings.TrimSpace(want)) {
		if !strings.Contains(text, strings.TrimSpace(line)+"\n") {
			t.Errorf("lacks %s", line)
		}
	}
	if strings.Contains(text, "secret") || strings.Contains(text, "some_code") {
		t.Error("a place of an answer, or a provider's word, is a label")
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestEveryKindIsCountedOrIgnoredOnPurpose(t *testing.T) {
	for _, kind := range schemas.EventKinds {
		found := false
		for _, e := range every {
			found = found || e.Kind == kind
		}
		if !found {
			t.Errorf("%s is not in the list", kind)
		}
	}
}

// gathered is the text of a scrape.
func gathered(r *prometheus.Registry) (string, error) {
	w := httptest.NewRecorder()
	promhttp.HandlerFor(r, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != http.StatusOK {
		return "", errors.New(w.Body.String())
	}
	return w.Body.String(), nil
}
