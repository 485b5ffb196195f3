package integration

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"emend/schemas"
)

// each hands over all that a stream holds.
func (s *site) each(stream string, do func(subject string, body []byte)) {
	s.Helper()
	ctx, cancel := s.within()
	defer cancel()
	held, err := s.js.Stream(ctx, stream)
	s.must(err)
	state := held.CachedInfo().State
	for seq := state.FirstSeq; seq <= state.LastSeq && state.Msgs > 0; seq++ {
		if m, err := held.GetMsg(ctx, seq); err == nil { // what was replaced is not there
			do(m.Subject, m.Data)
		}
	}
}

// toldOfJobs counts the calls that the jobs of pipeline runs are told to have made: in their results, and in the events of executions
// whose result is not the stored one.
func (s *site) toldOfJobs() (calls int) {
	s.Helper()
	s.each(s.names.ResultsStream(), func(_ string, body []byte) {
		if r := s.decode(body); r.Source.Backend != "" {
			calls += r.Counts.Calls
		}
	})
	s.each(s.names.EventsStream(), func(_ string, body []byte) {
		var e schemas.Event
		s.must(json.Unmarshal(body, &e))
		if e.Kind == schemas.EventSuperseded {
			calls += e.Totals.Counts.Calls
		}
	})
	return calls
}

// begun counts the calls that events tell the beginning of.
func (s *site) begun() (calls int) {
	s.Helper()
	s.each(s.names.EventsStream(), func(_ string, body []byte) {
		var e schemas.Event
		if s.must(json.Unmarshal(body, &e)); e.Kind == schemas.EventAttemptStarted {
			calls++
		}
	})
	return calls
}

// However a pipeline ends, the bill has every call that was made for it, once, and so have results and superseded events together.
func TestEveryCallOfAStoppedPipelineIsToldOnce(t *testing.T) {
	t.Parallel()
	for _, status := range []string{schemas.StatusExpired, schemas.StatusCancelled} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			s := newPipelines(t, oneLane(5))
			s.mock.answers["NAMES"] = `["n"]`
			s.worker()
			request := schemas.PipelineRequest{Inputs: map[string]json.RawMessage{"document": quoted(lines(6, "x") + lines(9, holdMark))}}
			if status == schemas.StatusExpired {
				request.TimeoutS = new(2.0)
			}
			body, err := json.Marshal(request)
			s.must(err)
			s.publishPipeline("one", string(body))
			if status == schemas.StatusCancelled {
				receive(s, "a call is open", s.mock.arrived)
				s.cancelRun("one")
			}
			r := s.ends("one", status)
			s.eventually("the work queue is empty", func() bool { return s.count(s.names.RunsStream()) == 0 })
			// A call that was aborted before its request was written counts, too, and the backend knows nothing of it.
			told := ""
			defer func() { t.Log(told) }()
			s.eventually("every call is told once", func() bool {
				b, begun, made := s.bill(time.Hour), s.begun(), int(s.mock.calls.Load())
				told = fmt.Sprintf("%d calls in the bill, %d open, %d in results, %d begun, %d arrived", b.Total.Calls, b.Total.Open, s.toldOfJobs(), begun, made)
				return b.Total.Calls == begun && b.Total.Open == 0 && s.toldOfJobs() == begun && begun >= made
			})
			if begun := s.begun(); r.Counts.Calls > begun {
				t.Errorf("the whole tells of %d calls, %d were begun", r.Counts.Calls, begun)
			}
		})
	}
}

// Where events do not reach back, the bill takes the results of jobs, and not their sums in the pipeline's beside them.
func TestTheBillCountsNoJobTwice(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, oneLane(5))
	s.mock.answers["NAMES"] = `["n"]`
	s.worker()
	s.publishPipeline("one", document(lines(7, "x")))
	if r := s.ends("one", schemas.StatusSucceeded); r.Counts.Calls != 7 || r.Cost == nil {
		t.Fatalf("%+v %+v", r.Counts, r.Cost)
	}
	s.event("one", schemas.EventFinished)
	ctx, cancel := s.within()
	defer cancel()
	events, err := s.js.Stream(ctx, s.names.EventsStream())
	s.must(err)
	s.must(events.Purge(ctx))
	for _, stream := range []string{s.names.EventsStream(), s.names.ResultsStream()} {
		held, err := s.js.Stream(ctx, stream)
		s.must(err)
		before := held.CachedInfo().State.Consumers
		s.bill(time.Hour)
		now := before + 1
		for tries := 0; now > before && tries < 300; tries++ { // the library deletes one that it began anew beside: asked so often, not until idle readers go by themselves
			held, err := s.js.Stream(ctx, stream)
			s.must(err)
			now = held.CachedInfo().State.Consumers
		}
		if now > before { // fewer, where a reader of the test itself went meanwhile
			t.Errorf("%s: %d readers stand when the bill is made, %d before", stream, now, before)
		}
	}
	if b := s.bill(time.Hour, "prompt"); b.Total.Calls != 7 || len(b.Rows) != 1 || b.Rows[0].Of[0] != "names@1" {
		t.Errorf("%+v", b)
	}
}
