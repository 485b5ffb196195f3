package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"emend/consumer"
	"emend/schemas"
)

// step is an event so many seconds after explainAt.
func step(kind string, second, seq int, delivery uint64, worker string) schemas.Event {
	return schemas.Event{Kind: kind, At: explainAt.Add(time.Duration(second) * time.Second), Seq: seq, Delivery: delivery, Worker: worker, Outcome: "failed"}
}

// stepsText is what explain prints, without times.
func stepsText(t *testing.T, e *consumer.Explanation) string {
	t.Helper()
	var out bytes.Buffer
	e.At, e.ID, e.Queue, e.Backend = explainAt.Add(time.Hour), "a", "q", "b"
	(&app{streams: streams{out: &out}}).explained(e)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")[1:]
	for i, l := range lines {
		if at, rest, ok := strings.Cut(l, " "); ok && strings.Count(at, ":") == 2 {
			lines[i] = rest
		}
	}
	return strings.Join(lines, "\n")
}

func handedBackTimes(n int, cause string) (out []schemas.Event) {
	for i := range n {
		x := step(schemas.EventWaiting, 2*i, 1, uint64(i+1), "w")
		x.Cause, x.WaitMS = cause, new(int64(2000))
		out = append(out, x)
	}
	return out
}

func TestTheStepsOfARun(t *testing.T) {
	done := &consumer.ExplainedResult{Seq: 9, Status: "failed", At: explainAt}
	for name, c := range map[string]struct {
		e    consumer.Explanation
		want string
	}{
		"hand-backs for one cause are one line": {consumer.Explanation{State: schemas.StateWaiting, Workers: 1, Backend: "b", Request: &consumer.ExplainedRequest{Seq: 4, Delivered: true, Profile: "fsat"}, Events: handedBackTimes(30, "unknown_profile")},
			"published: message 4, 0 bytes\ndeliveries 1 to 30: handed back 30 times, each for 2s: unknown_profile; the last at 10:03:58\nnow: handed back: unknown_profile \"fsat\"; no worker serves backend b"},
		"a hand-back alone": {consumer.Explanation{State: "failed", Events: handedBackTimes(1, "401")}, "delivery 1, worker w\nhanded back for 2s: 401"},
		"a cancel is of no delivery": {consumer.Explanation{State: "failed", Result: done, Events: []schemas.Event{step(schemas.EventFinished, 0, 1, 0, "w")}},
			"worker w, by request\nstored: result message 9: failed; queued 0s, waited 0s, in calls 0s, in all 0s\nfailed\nacked: the request is gone from the queue"},
		"an id that runs again": {consumer.Explanation{State: "failed", Events: []schemas.Event{step(schemas.EventStarted, 0, 1, 1, "w"), step(schemas.EventFinished, 1, 2, 1, "w"), step(schemas.EventStarted, 2, 1, 1, "w")}},
			"delivery 1, worker w\nstarted on  \nfailed\npublished again: delivery 1, worker w\nstarted on  "},
		"an id that was published again": {consumer.Explanation{State: "failed", Request: &consumer.ExplainedRequest{Seq: 7, Published: explainAt.Add(2 * time.Second)}, Events: []schemas.Event{step(schemas.EventFinished, 1, 2, 1, "w"), step(schemas.EventStarted, 3, 1, 1, "w")}},
			"delivery 1, worker w\nfailed\npublished: message 7, 0 bytes\ndelivery 1, worker w\nstarted on  "},
		"an id that waits again": {consumer.Explanation{State: "failed", Request: &consumer.ExplainedRequest{Seq: 7, Published: explainAt.Add(2 * time.Second)}, Events: []schemas.Event{step(schemas.EventFinished, 1, 2, 1, "w")}},
			"delivery 1, worker w\nfailed\npublished: message 7, 0 bytes"},
		"what a cancel aborted": {consumer.Explanation{State: "cancelled", Events: []schemas.Event{step(schemas.EventStarted, 0, 1, 1, "w"), step(schemas.EventFinished, 1, 1, 0, "w"), step(schemas.EventAttempt, 1, 2, 1, "w"), step(schemas.EventSuperseded, 1, 3, 1, "w")}},
			"delivery 1, worker w\nstarted on  \nworker w, by request\nfailed\ndelivery 1, worker w\nfailed after ?\nsuperseded: another result stands; these calls are on the bill"},
		"what a cancel aborted, and the id published again": {consumer.Explanation{State: "failed", Request: &consumer.ExplainedRequest{Seq: 7, Published: explainAt.Add(2 * time.Second)},
			Events: []schemas.Event{step(schemas.EventFinished, 1, 1, 0, "w"), step(schemas.EventSuperseded, 1, 3, 1, "w"), step(schemas.EventStarted, 3, 1, 1, "w")}},
			"worker w, by request\nfailed\ndelivery 1, worker w\nsuperseded: another result stands; these calls are on the bill\npublished: message 7, 0 bytes\ndelivery 1, worker w\nstarted on  "},
		"a worker that died": {consumer.Explanation{State: "failed", Events: []schemas.Event{step(schemas.EventStarted, 0, 1, 1, "w"), step(schemas.EventStarted, 30, 1, 2, "v")}},
			"delivery 1, worker w\nstarted on  \ndelivery 2, worker v: worker w did not answer within ack_wait\nstarted on  "},
		"jobs": {consumer.Explanation{State: "failed", Pipeline: "d@1", Events: handedBackTimes(1, "x"), Jobs: &consumer.ExplainedJobs{IDs: []string{"p-1", "p-2"}, More: 3}},
			"delivery 1, worker w\nhanded back for 2s: x\njobs, each a run of its own: emend explain ID\n  p-1\n  p-2\n  and 3 more"},
	} {
		if got := stepsText(t, &c.e); got != c.want && got != strings.TrimSpace(c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}
