package consumer

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"emend/engine/pipeline"
	"emend/engine/run"
	"emend/prompts"
	"emend/schemas"
)

// coordinated is a coordination over a server, without a run.
func coordinated(p *place) *coordination {
	p.Helper()
	p.set(config(), 0)
	w := &Worker{nc: p.nc, js: p.js, names: p.names, ledger: p.ledger(), base: context.Background()}
	c := &coordination{h: &handler{w: w, d: &delivery{msg: &nats.Msg{}, seq: 5}, key: Key{"default", "parent"}, lease: newLease(time.Now(), time.Hour)},
		out: map[string]*child{}, jobs: map[pipeline.Job]*child{}, tasks: newTasks(p.Context()), reuse: &reuse{}}
	var err error
	c.signals, err = newSignals(p.nc)
	p.must(err)
	p.Cleanup(c.signals.stop)
	p.Cleanup(c.tasks.wait)
	p.Cleanup(w.ledger.Close)
	return c
}

// testJob is a job of a coordination that asks a text.
func (c *coordination) testJob(chunk int, backend, text string) *child {
	raw, _ := json.Marshal(text)
	j := pipeline.Job{Stage: schemas.StageExtract, Chunk: chunk, Attempt: 1}
	ch := &child{job: j, key: Key{"default", pipeline.ChildID("p", "c", j)}, backend: backend, request: schemas.Request{Prompt: "x@1", Inputs: map[string]json.RawMessage{"chunk": raw}}}
	c.out[ch.key.ID], c.jobs[j] = ch, ch
	return ch
}

// next takes in the next words or reports.
func (c *coordination) next(t *testing.T) error {
	t.Helper()
	select {
	case <-c.signals.wake:
		return c.heard()
	case <-c.tasks.wake:
		return c.reported()
	case <-time.After(20 * time.Second):
		t.Fatal("no word")
	}
	return nil
}

// A job's request leaves at once, and is known to be stored when the server says so.
func TestRequestOfAJobIsConfirmed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := coordinated(p)
	ch := c.testJob(1, "mock", "one")
	p.must(c.begin(ch))
	if ch.sent || !ch.published || c.unconfirmed != 1 {
		t.Errorf("%+v, %d", ch, c.unconfirmed)
	}
	p.must(c.next(t))
	m, err := c.h.w.ledger.queued(t.Context(), p.names.Run("mock", "default", ch.key.ID))
	if err != nil || m == nil || schemas.Fingerprint("mock", m.Data) != ch.fingerprint || !ch.sent || c.unconfirmed != 0 {
		t.Errorf("%v %v, %+v, %d", m, err, ch, c.unconfirmed)
	}
}

// What is there under a job's id must be the same; where no stream takes it, the delivery ends.
func TestRequestOfAJobThatIsThere(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		backend, text string
		want          error
	}{
		{"mock", "one", nil},
		{"mock", "another", errConflict},
		{"unknown", "one", nats.ErrNoResponders},
	} {
		p := newPlace(t)
		c := coordinated(p)
		p.must(c.begin(c.testJob(1, "mock", "one")))
		p.must(c.next(t))
		ch := c.testJob(1, tt.backend, tt.text)
		err := c.begin(ch)
		for err == nil && !ch.sent {
			err = c.next(t)
		}
		if !errors.Is(err, tt.want) || c.unconfirmed != 0 || ch.sent != (tt.want == nil) {
			t.Errorf("%s %s: %v, %d under way", tt.backend, tt.text, err, c.unconfirmed)
		}
	}
}

// A run that is told to be finished before its request is told to be stored is looked at when it is.
func TestFinishedBeforeStored(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := coordinated(p)
	ch := c.testJob(1, "mock", "one")
	p.must(c.begin(ch))
	p.must(c.hearOf(word{id: ch.key.ID}))
	if !ch.early || ch.sent {
		t.Errorf("%+v", ch)
	}
	p.must(c.next(t)) // it is stored, and looked at
	p.must(c.next(t)) // it is queued
	if !ch.sent || ch.early || len(c.ready) != 0 {
		t.Errorf("%+v, %v", ch, c.ready)
	}
	runs, err := p.js.Stream(t.Context(), p.names.RunsStream())
	p.must(err)
	p.must(runs.Purge(t.Context()))
	c.finished(ch)
	p.must(c.next(t))
	if o := c.ready[0].Outcome; o.Status != schemas.StatusFailed || o.Error.Category != schemas.CategoryAbandoned {
		t.Errorf("%+v", o)
	}
}

// A request that the server does not answer ends the delivery at a sweep; one whose turn has not come does not.
func TestRequestWithoutAnAnswerEndsTheDelivery(t *testing.T) {
	t.Parallel()
	c := coordinated(newPlace(t))
	ch := c.testJob(1, "mock", "one")
	ch.since = time.Now().Add(-time.Hour)
	if err := c.sweep(); err != nil {
		t.Errorf("not published: %v", err)
	}
	ch.published = true
	if err := c.sweep(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("published: %v", err)
	}
	ch.since = time.Now()
	if err := c.sweep(); err != nil {
		t.Errorf("just published: %v", err)
	}
}

// Who ends the jobs of a run waits until each request is stored, those too whose jobs nobody needs any more.
func TestConfirmAllWaitsForEveryAnswer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := coordinated(p)
	for i := range 40 {
		ch := c.testJob(i+1, "mock", "one")
		p.must(c.begin(ch))
		delete(c.out, ch.key.ID)
	}
	c.confirmAll()
	s, err := p.js.Stream(t.Context(), p.names.RunsStream())
	p.must(err)
	if n := s.CachedInfo().State.Msgs; n != 40 || c.unconfirmed != 0 {
		t.Errorf("%d requests are stored, %d under way", n, c.unconfirmed)
	}
}

// A reply is taken in whatever else is known, one of nobody's job and one that is no result are passed over.
func TestRepliesOfJobs(t *testing.T) {
	t.Parallel()
	c := coordinated(newPlace(t))
	ch := c.testJob(1, "mock", "one")
	ch.fingerprint = "f"
	reply := func(id, fingerprint string, seq uint64) error {
		body, err := schemas.Marshal(schemas.Result{ID: id, Status: schemas.StatusSucceeded, Output: json.RawMessage(`[1]`), Request: schemas.RequestRef{SHA256: fingerprint, Seq: seq}})
		if err != nil {
			t.Fatal(err)
		}
		return c.hearOf(word{reply: &nats.Msg{Data: body}})
	}
	for _, err := range []error{reply("nobody", "f", 9), c.hearOf(word{reply: &nats.Msg{Data: []byte("{")}}), c.hearOf(word{id: "nobody"}), reply(ch.key.ID, "f", 9)} {
		if err != nil {
			t.Error(err)
		}
	}
	if len(c.ready) != 1 || string(c.ready[0].Outcome.Output) != "[1]" || c.ready[0].Job != ch.job {
		t.Errorf("%+v", c.ready)
	}
	if err := reply(ch.key.ID, "g", 9); !errors.Is(err, errConflict) {
		t.Errorf("%v", err)
	}
}

// When the time is over, what the jobs that are out have done is in the sums of the whole; they are not cancelled.
func TestTimeUpWaitsForTheJobs(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := coordinated(p)
	plan := &pipeline.Plan{Name: "p", Version: 1, Window: 2, Chunker: pipeline.Chunker{By: pipeline.ByJSONLines}, Lanes: []pipeline.Lane{{Name: "a",
		Extract: pipeline.Step{Prompt: "x@1", Backend: "mock", Inputs: map[string]int{pipeline.InputChunk: 100}}}}}
	r, err := pipeline.New(plan, pipeline.Request{Document: json.RawMessage(`"1\n2\n3\n"`)})
	p.must(err)
	c.run = &prompts.PipelineRun{Plan: plan, Run: r, Shell: &run.Plan{}}
	c.h.events = &publisher{nc: p.nc, names: p.names, key: c.h.key}
	p.must(c.perform(r.Step(pipeline.Begun{})))
	for id, ch := range c.out {
		body, err := schemas.Marshal(schemas.Result{ID: id, Status: schemas.StatusExpired, Counts: schemas.Counts{Calls: 2}, Request: schemas.RequestRef{SHA256: ch.fingerprint, Seq: 9}})
		p.must(err)
		c.signals.add(word{reply: &nats.Msg{Data: body}})
	}
	p.must(c.over(schemas.StatusExpired))
	if c.end == nil || c.end.Status != schemas.StatusExpired || c.end.Counts.Calls != 4 || c.end.Report.Stages[1].Jobs != (schemas.JobCounts{Total: 3, Done: 2, Failed: 2}) {
		t.Errorf("%+v", c.end)
	}
}

// All workers hear of a run that fails, before any of its jobs is cancelled, and up to which request; of one that has an answer, or
// no job out, they hear nothing.
func TestWorkersHearOfARunThatEndsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := coordinated(p)
	heard, err := p.nc.SubscribeSync(p.names.AllControls())
	p.must(err)
	finish := func(status string) {
		c.stopAll([]pipeline.Action{pipeline.Abandon{}, pipeline.Finish{Result: pipeline.Result{Status: status}}})
		p.must(p.nc.Flush())
	}
	finish(schemas.StatusFailed)
	c.stopAll(nil)
	job := c.testJob(1, "mock", "one")
	p.must(c.begin(job))
	p.must(c.next(t)) // its request is stored
	finish(schemas.StatusSucceeded)
	if n, _, err := heard.Pending(); n != 0 || err != nil {
		t.Fatalf("%d notices, %v", n, err)
	}
	finish(schemas.StatusFailed)
	m, err := heard.NextMsg(serviceWait)
	p.must(err)
	if m.Subject != p.names.Control("default", "parent") || string(m.Data) != "1" || c.swept {
		t.Errorf("%s %s", m.Subject, m.Data)
	}
	finish(schemas.StatusCancelled)
	if n, _, _ := heard.Pending(); n != 1 || !c.swept {
		t.Errorf("%d notices of a cancelled run, swept %v", n, c.swept)
	}
}
