package integration

import (
	"slices"
	"strings"
	"testing"
	"time"

	"emend/consumer"
	"emend/schemas"
)

func (s *site) bill(since time.Duration, by ...string) *consumer.Bill {
	s.Helper()
	ctx, cancel := s.within()
	defer cancel()
	b, err := s.client().Bill(ctx, time.Now().Add(-since), by)
	s.must(err)
	return b
}

// The bill has every call: those of runs, of a worker that was killed, of an execution that was superseded; and says of what it
// does not know the cost.
func TestTheBillCountsEveryCall(t *testing.T) {
	t.Parallel()
	s := start(t, "permits: 16, admitted: 32", "prices: openai, permits: 16, admitted: 32", "model: small", "model: gpt-4o-mini")
	for _, id := range []string{"a", "b", "c"} {
		s.publish(id, body("say", id))
		r := s.ends(id, schemas.StatusSucceeded)
		if r.Cost == nil || r.Cost.State != schemas.CostKnown || r.Cost.USD.String() != "0.0000045" {
			t.Errorf("%+v", r.Cost)
		}
	}
	s.publish("d", `{"prompt": "rate", "profile": "slow", "inputs": {"text": "x"}}`) // its model has no price
	s.ends("d", schemas.StatusSucceeded)
	s.event("d", schemas.EventFinished)
	// A worker that was killed in its call, and one whose result was another's.
	s.must(s.nc.Publish(s.names.Event("default", "e", schemas.EventAttemptStarted),
		[]byte(`{"v":1,"run_id":"e","queue":"default","kind":"attempt_started","seq":2,"delivery":1,"worker":"w-dead","prompt":"say@1","backend":"mock","generation":1,"attempt":1}`)))
	for _, kind := range []string{schemas.EventAttemptStarted, schemas.EventAttempt} {
		s.must(s.nc.Publish(s.names.Event("default", "a", kind),
			[]byte(`{"v":1,"run_id":"a","queue":"default","kind":"`+kind+`","seq":3,"delivery":2,"worker":"w-late","prompt":"say@1","backend":"mock","generation":1,"attempt":1,"outcome":"completed","usage":{"input_tokens":10,"output_tokens":5},"cost_usd":0.0000045}`)))
	}
	s.must(s.nc.Flush())
	s.eventually("all calls are on the bill", func() bool { return s.bill(time.Hour).Total.Calls == 5 })
	b := s.bill(time.Hour, "prompt", "queue")
	want := []consumer.BillRow{{Of: []string{"say@1", "default"}, Calls: 4, Input: 40, Output: 20, USD: 18 * schemas.Dollar / 1_000_000, Open: 1},
		{Of: []string{"rate@1", "default"}, Calls: 1, Input: 10, Output: 5, Unknown: 1}}
	if !slices.EqualFunc(b.Rows, want, func(x, y consumer.BillRow) bool {
		return slices.Equal(x.Of, y.Of) && x.Calls == y.Calls && x.Input == y.Input && x.Output == y.Output && x.USD == y.USD && x.Unknown == y.Unknown && x.Open == y.Open
	}) {
		t.Errorf("%+v", b.Rows)
	}
	if b := s.bill(time.Hour, "worker", "outcome", "day", "hour"); b.Total.USD != 18*schemas.Dollar/1_000_000 || b.Total.Open != 1 {
		t.Errorf("%+v", b.Total)
	}
	if b := s.bill(time.Nanosecond); len(b.Rows) != 0 || b.Total.Calls != 0 {
		t.Errorf("%+v", b)
	}
	ctx, cancel := s.within()
	defer cancel()
	if _, err := s.client().Bill(ctx, time.Now(), []string{"colour"}); err == nil || !strings.Contains(err.Error(), `not by "colour"`) {
		t.Errorf("%v", err)
	}
}

// What events do not tell any more, results do.
func TestTheBillGoesOnWithResultsWhereEventsEnd(t *testing.T) {
	t.Parallel()
	s := start(t, "permits: 16, admitted: 32", "prices: openai, permits: 16, admitted: 32", "model: small", "model: gpt-4o-mini")
	s.publish("old", body("say", "x"))
	s.ends("old", schemas.StatusSucceeded)
	s.event("old", schemas.EventFinished)
	ctx, cancel := s.within()
	defer cancel()
	events, err := s.js.Stream(ctx, s.names.EventsStream())
	s.must(err)
	s.must(events.Purge(ctx))
	s.publish("new", body("say", "y"))
	s.ends("new", schemas.StatusSucceeded)
	s.event("new", schemas.EventFinished)
	b := s.bill(time.Hour, "queue")
	if b.Total.Calls != 2 || b.Total.USD != 9*schemas.Dollar/1_000_000 || !b.Events.After(b.Since) || len(b.Rows) != 1 {
		t.Errorf("%+v", b)
	}
}
