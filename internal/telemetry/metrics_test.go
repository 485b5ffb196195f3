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
	{Kind: schemas.EventAttempt, Backend: "b", Model: "m", GenerationKind: "initial", Outcome: "completed", DurationMS: new(int64(20)), WaitMS: new(int64(0)), Usage: &schemas.Tokens{Input: new(int64(7)), Output: new(int64(3))}, Cost: new(schemas.Dollar / 4)},
	{Kind: schemas.EventAttempt, Backend: "b", GenerationKind: "initial", Outcome: "provider_status", Status: 429, Validator: "j@1"},
	{Kind: schemas.EventRetry, Backend: "b", Cause: "provider_status", Status: 429},
	{Kind: schemas.EventValidation, Prompt: "p@1", Findings: []schemas.EventFinding{{Pointer: "/secret", Keyword: "type"}}},
	{Kind: schemas.EventRepair, Prompt: "p@1", Outcome: "targeted"},
	{Kind: schemas.EventStage, Outcome: "correction"},
	{Kind: schemas.EventValidator, Validator: "j@1", Outcome: "approved"},
	{Kind: schemas.EventWaiting, Backend: "b", Cause: "429 some_code_of_the_provider"},
	{Kind: schemas.EventEscalated, Outcome: "review"},
	{Kind: schemas.EventSuperseded},
	{Kind: schemas.EventFinished, Backend: "b", Queue: "q", Outcome: "failed", Category: "invalid_request"},
	{Kind: schemas.EventFinished, Backend: "b", Queue: "q", Outcome: "succeeded", Model: "m"},
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
emend_runs_total{backend="b",category="invalid_request",prompt="(none)",queue="q",status="failed"} 1
emend_runs_total{backend="b",category="",prompt="(inline)",queue="q",status="succeeded"} 1
emend_runs_total{backend="b",category="timeout",prompt="p@1",queue="q",status="failed"} 1
emend_run_seconds_sum{backend="b",status="failed"} 1.5
emend_call_seconds_count{backend="b"} 2
emend_gate_phase{backend="b",phase="closed"} 1
emend_gate_phase{backend="b",phase="open"} 0
emend_permits_in_use{backend="b"} 2
emend_waiting_for_permit{backend="b"} 1
emend_admitted{backend="b"} 3
emend_backlog_read 1
emend_queued{backend="b",queue="q"} 4120
emend_in_flight{backend="b",queue="q"} 64
emend_redelivered{backend="b",queue="q"} 2
emend_queue_oldest_seconds{backend="b",queue="q"} 90
emend_dead_letters 7
emend_reviews_waiting 1
gen_ai_client_operation_duration_seconds_count{error_type="",gen_ai_operation_name="chat",gen_ai_provider_name="gcp.gemini",gen_ai_request_model="m"} 1
gen_ai_client_operation_duration_seconds_count{error_type="429",gen_ai_operation_name="chat",gen_ai_provider_name="gcp.gemini",gen_ai_request_model=""} 1
gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",gen_ai_provider_name="gcp.gemini",gen_ai_request_model="m",gen_ai_token_type="input"} 7
gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",gen_ai_provider_name="gcp.gemini",gen_ai_request_model="m",gen_ai_token_type="output"} 3
`

func TestMetrics(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	m := NewMetrics(r)
	NewGates(r, func() map[string]capacity.Stats {
		return map[string]capacity.Stats{"b": {PermitsInUse: 2, Waiting: 1, AdmittedInUse: 3, State: capacity.GateState{Phase: capacity.Closed, Until: time.Now()}}}
	})
	m.Providers(func(string) string { return ProviderName("gemini") })
	NewBacklogs(r, func() (*Backlog, error) {
		return &Backlog{Dead: 7, Reviews: 1, Queues: []Queue{{Backend: "b", Queue: "q", Queued: 4120, InFlight: 64, Redelivered: 2, Oldest: 90 * time.Second}}}, nil
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

func TestABacklogThatCannotBeReadIsSaid(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	NewBacklogs(r, func() (*Backlog, error) { return nil, errors.New("no answer") })
	text, err := gathered(r)
	if err != nil || !strings.Contains(text, "emend_backlog_read 0\n") || strings.Contains(text, "emend_dead_letters") {
		t.Errorf("%v\n%s", err, text)
	}
}
