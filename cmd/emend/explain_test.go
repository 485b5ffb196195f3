package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"emend/capacity"
	"emend/consumer"
	"emend/schemas"
)

var explainAt = time.Date(2026, 12, 1, 10, 3, 0, 0, time.Local)

func shut(until time.Time) map[string]capacity.GateState {
	return map[string]capacity.GateState{
		"w-1": {Phase: capacity.Closed, Cause: "401", Since: explainAt.Add(-time.Minute), Until: explainAt.Add(5 * time.Second)},
		"w-2": {Phase: capacity.Closed, Cause: "401", Since: explainAt.Add(-time.Minute), Until: until},
	}
}

func TestTheSituationOfARun(t *testing.T) {
	waiting := schemas.Event{Kind: schemas.EventWaiting, Cause: "503", At: explainAt.Add(-time.Second), WaitMS: new(int64(4000))}
	for want, e := range map[string]consumer.Explanation{
		"gate closed since 10:02:00: 401; probe in 12 s; 4,120 ahead": {State: schemas.StateQueued, Request: &consumer.ExplainedRequest{Ahead: 4120}, Workers: 2, Gates: shut(explainAt.Add(12 * time.Second))},
		"no worker answers; 0 ahead":                                  {State: schemas.StateQueued, Request: &consumer.ExplainedRequest{}},
		"no worker serves backend old; 1,000 ahead":                   {State: schemas.StateQueued, Backend: "old", Request: &consumer.ExplainedRequest{Ahead: 1000}, Workers: 1},
		"999 ahead":                               {State: schemas.StateQueued, Request: &consumer.ExplainedRequest{Ahead: 999}, Workers: 1, Gates: map[string]capacity.GateState{"w": {}}},
		"the gate probes with one run; 7 ahead":   {State: schemas.StateQueued, Request: &consumer.ExplainedRequest{Ahead: 7}, Workers: 1, Gates: map[string]capacity.GateState{"w": {Phase: capacity.Probing, Cause: "429"}}},
		"the gate is slow: 429; 7 ahead":          {State: schemas.StateQueued, Request: &consumer.ExplainedRequest{Ahead: 7}, Workers: 1, Gates: map[string]capacity.GateState{"w": {Phase: capacity.Slow, Cause: "429"}}},
		"handed back: 503; delivered again in 3s": {State: schemas.StateWaiting, Request: &consumer.ExplainedRequest{Delivered: true}, Events: []schemas.Event{waiting}, Workers: 1, Gates: map[string]capacity.GateState{"w": {}}},
		"handed back: 503 at backend other of judge j@1; delivered again in 3s": {State: schemas.StateWaiting, Request: &consumer.ExplainedRequest{Delivered: true}, Workers: 1, Gates: map[string]capacity.GateState{"w": {}},
			Events: []schemas.Event{{Kind: schemas.EventWaiting, Cause: "503", At: explainAt.Add(-time.Second), WaitMS: new(int64(4000)), Validator: "j@1", Backend: "other"}}},
		"handed back: draining; no worker answers":                                           {State: schemas.StateWaiting, Request: &consumer.ExplainedRequest{Delivered: true}, Saved: &consumer.ExplainedState{Cause: "draining"}},
		"with worker w-1 for 1s since its last event":                                        {State: schemas.StateRunning, Request: &consumer.ExplainedRequest{Delivered: true}, Events: []schemas.Event{{Kind: schemas.EventAttemptStarted, Worker: "w-1", At: explainAt.Add(-time.Second)}}},
		"with a worker, or about to be delivered again":                                      {State: schemas.StateRunning, Request: &consumer.ExplainedRequest{Delivered: true}},
		"waits for a person since 10:03:00: schema_invalid, 2 findings; emend review show a": {State: schemas.StateInReview, Review: &schemas.ReviewEntry{Since: explainAt, Class: "schema_invalid", Findings: 2}},
		"": {State: schemas.StatusSucceeded},
	} {
		e.At, e.ID, e.Queue = explainAt, "a", "q"
		if got := (&app{}).situation(&e); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

func TestExplainedRuns(t *testing.T) {
	var out bytes.Buffer
	a := &app{streams: streams{out: &out}}
	e := &consumer.Explanation{At: explainAt, ID: "a", Queue: "q", Backend: "b", State: schemas.StatusFailed,
		Events: []schemas.Event{{Kind: schemas.EventAttemptStarted, Delivery: 2, Worker: "w-1", Generation: 1, Attempt: 1, WaitMS: new(int64(70)), At: explainAt}},
		Letter: &schemas.DeadEntry{Seq: 3, Reason: "timeout", Error: "too slow", At: explainAt},
		Result: &consumer.ExplainedResult{Seq: 9, At: explainAt, Status: schemas.StatusFailed, Error: &schemas.Error{Category: "timeout", Message: "too slow"},
			Review: &schemas.Review{Decision: "reject", By: "ada", At: explainAt}, Warnings: []string{"look"}, TimingMS: schemas.Timing{Queued: 5, Total: 900}}}
	if err := a.printExplanation(e); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a (queue q, backend b): failed", "delivery 2, worker w-1", "call 1.1", "after 70ms for a permit", "dead letter 3: timeout: too slow",
		"ada decided: reject", "stored: result message 9: failed (timeout: too slow); queued 5ms, waited 0s, in calls 0s, in all 900ms", "warning: look", "acked"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("lacks %q:\n%s", want, out.String())
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("%d is %q", n, got)
		}
	}
}

func TestExplainFromTheShell(t *testing.T) {
	dir, at := batchSpace(t)
	write(t, filepath.Join(dir, "in.jsonl"), `{"id":"a-1","inputs":{"kind":"WRONG"}}`)
	if r := at("batch", "run", filepath.Join(dir, "in.jsonl"), "-o", filepath.Join(dir, "out.jsonl"), "--prompt", "work"); r.code != exitInvalid {
		t.Fatalf("%+v", r)
	}
	r := at("explain", "a-1")
	for end := time.Now().Add(30 * time.Second); !strings.Contains(r.out, "acked") && time.Now().Before(end); { // the ack follows the reply
		r = at("explain", "a-1")
	}
	for _, want := range []string{"a-1 (queue default, backend model): invalid", "started on model", "call 1.1", "invalid: not_json", "stored: result message", "acked"} {
		if r.code != exitOK || !strings.Contains(r.out, want) {
			t.Errorf("lacks %q: %+v", want, r)
		}
	}
	if r := at("explain", "nobody"); r.code != exitFailed || !strings.Contains(r.err, "no run nobody in queue default") {
		t.Errorf("%+v", r)
	}
	if r := at("explain", "nobody", "--json"); r.code != exitFailed || !strings.Contains(r.out, `"state":"not_found"`) {
		t.Errorf("%+v", r)
	}
}
