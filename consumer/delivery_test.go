package consumer

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"emend/capacity"
	"emend/engine"
	"emend/engine/run"
	"emend/prompts"
	"emend/schemas"
)

const rigConfig = `
backends:
  mock: {dialect: openai, url: "http://mock.invalid/v1", permits: 4, admitted: 8, call_timeout: 60s}
queues:
  default: {in_flight: 8}
  team-a: {in_flight: 8}
profiles:
  fast: {backend: mock, model: small}
transient_retries: 0
drain_timeout: 100ms
`

// model is a transport that answers each call with the next of its replies: a text, or a status.
type model struct {
	called  chan string
	replies chan any
}

// RoundTrip answers.
func (m *model) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	m.called <- string(body)
	select {
	case reply := <-m.replies:
		status, text := http.StatusOK, ""
		switch v := reply.(type) {
		case int:
			status, text = v, `{"error": {"message": "trouble", "code": "mock_trouble"}}`
		case string:
			quoted, _ := json.Marshal(v)
			text = `{"choices": [{"message": {"content": ` + string(quoted) + `}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}`
		}
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// rig is a place with a model; each worker of it has its own engine.
type rig struct {
	*place
	model *model
	// yaml is the emend.yaml of the workers to come, transport what carries their calls.
	yaml string
	// prompts are the files of prompts/, by name.
	prompts   map[string]string
	transport http.RoundTripper
}

func newRig(t *testing.T) *rig {
	r := &rig{place: newPlace(t), yaml: rigConfig, model: &model{called: make(chan string, 64), replies: make(chan any, 64)}}
	r.transport = r.model
	return r
}

// working is a worker that runs.
type working struct {
	*Worker
	cancel context.CancelFunc
	done   chan error
}

func (r *rig) newWorker(o Options) *Worker {
	r.Helper()
	folder := fstest.MapFS{"emend.yaml": {Data: []byte(r.yaml)}}
	for name, text := range r.prompts {
		folder["prompts/"+name+".yaml"] = &fstest.MapFile{Data: []byte(text)}
	}
	snap, err := prompts.LoadFS(folder)
	r.must(err)
	e, err := engine.New(snap, engine.WithTransport(r.transport), engine.WithTrouble())
	r.must(err)
	nc, _ := r.connect()
	o.Log = zerolog.Nop()
	w, err := NewWorker(nc, e, o)
	r.must(err)
	return w
}

func (r *rig) work(o Options) *working {
	r.Helper()
	ready := make(chan struct{})
	o.Ready = func() { close(ready) }
	ctx, cancel := context.WithCancel(context.Background())
	w := &working{Worker: r.newWorker(o), cancel: cancel, done: make(chan error, 1)}
	go func() { w.done <- w.Run(ctx) }()
	r.Cleanup(cancel)
	receive(r.T, "the worker is ready", ready)
	return w
}

func (r *rig) stop(w *working) {
	r.Helper()
	w.cancel()
	r.must(receive(r.T, "the worker ends", w.done))
}

// watch subscribes to the events of all runs.
func (r *rig) watch() <-chan schemas.Event {
	r.Helper()
	c, err := NewClient(r.nc, "emend", "")
	r.must(err)
	out := make(chan schemas.Event, 256)
	stop, err := c.Watch(Key{}, func(e schemas.Event) { out <- e })
	r.must(err)
	r.Cleanup(stop)
	return out
}

// until takes events until one of that kind comes.
func until(t *testing.T, events <-chan schemas.Event, kind string) schemas.Event {
	t.Helper()
	for {
		if e := receive(t, "event "+kind, events); e.Kind == kind {
			return e
		}
	}
}

const jsonRequest = `{"profile": "fast", "messages": [{"role": "user", "content": "rate"}], "output": {"mode": "json", "repair_attempts": 1}}`

// resize bounds the results stream, which Plan then wants to undo: workers are started with CheckStreams false before.
func (r *rig) resize(bytes int64) {
	r.Helper()
	s, err := r.js.Stream(r.Context(), r.names.ResultsStream())
	r.must(err)
	cfg := s.CachedInfo().Config
	cfg.MaxBytes = bytes
	_, err = r.js.UpdateStream(r.Context(), cfg)
	r.must(err)
}

func (r *rig) state(id string) *saved {
	r.Helper()
	kv, err := r.js.KeyValue(r.Context(), r.names.StateBucket())
	r.must(err)
	entry, err := kv.Get(r.Context(), r.names.StateKey("default", id))
	r.must(err)
	var s saved
	r.must(json.Unmarshal(entry.Value(), &s))
	return &s
}

// TestDrainKeepsAnAnswerThatCannotBeStored: the gates close while the store is full, the drain saves the answer, and the
// next worker stores it without a call.
func TestDrainKeepsAnAnswerThatCannotBeStored(t *testing.T) {
	r := newRig(t)
	w := r.work(Options{})
	r.resize(64)
	events := r.watch()
	r.put("default", "paid", jsonRequest, nil)
	r.model.replies <- `{"score": 1}`
	receive(t, "the call", r.model.called)
	until(t, events, schemas.EventValidation)
	g := w.Engine().Gate("mock")
	for changed := g.Changed(); g.State().Phase != capacity.Closed; changed = g.Changed() {
		receive(t, "the gate closes", changed)
	}
	if s := g.State(); s.Cause != causeStore {
		t.Errorf("gate %+v", s)
	}
	r.stop(w)
	if s := r.state("paid"); s.Starts != 0 || s.State == nil || s.State.Phase != run.Judging || s.State.Candidate.Text != `{"score": 1}` {
		t.Errorf("kept %+v", s)
	}
	r.resize(-1)
	second := r.work(Options{})
	e := until(t, events, schemas.EventFinished)
	if e.Outcome != schemas.StatusSucceeded || e.Totals.Counts.Calls != 1 || e.Totals.Counts.Executions != 2 {
		t.Errorf("finished %+v, %+v", e, e.Totals)
	}
	res, _, err := r.ledger().Result(t.Context(), Key{"default", "paid"})
	if err != nil || string(res.Output) != `{"score":1}` && string(res.Output) != `{"score": 1}` {
		t.Errorf("stored %s, %v", res.Output, err)
	}
	if len(r.model.called) != 0 {
		t.Error("the answer was paid twice")
	}
	r.stop(second)
}

// TestGatesOpenWhenTheResultIsStored: room in the store ends the trouble without a restart.
func TestGatesOpenWhenTheResultIsStored(t *testing.T) {
	r := newRig(t)
	w := r.work(Options{})
	r.resize(64)
	events := r.watch()
	r.put("default", "one", jsonRequest, nil)
	r.model.replies <- `1`
	g := w.Engine().Gate("mock")
	for changed := g.Changed(); g.State().Phase != capacity.Closed; changed = g.Changed() {
		receive(t, "the gate closes", changed)
	}
	r.resize(-1)
	until(t, events, schemas.EventFinished)
	r.put("default", "two", jsonRequest, nil)
	r.model.replies <- `2`
	if e := until(t, events, schemas.EventFinished); e.RunID != "two" || e.Outcome != schemas.StatusSucceeded {
		t.Errorf("%+v", e)
	}
	r.stop(w)
}

// TestCancelOfARunThatWaits: the bill of what it spent is told once, and its leftovers cost the next run of that id nothing.
func TestCancelOfARunThatWaits(t *testing.T) {
	r := newRig(t)
	w := r.work(Options{})
	events := r.watch()
	r.put("default", "waits", jsonRequest, nil)
	r.model.replies <- `no JSON`
	r.model.replies <- 503
	if e := until(t, events, schemas.EventWaiting); !strings.HasPrefix(e.Cause, "503") {
		t.Errorf("waits for %q", e.Cause)
	}
	if out, err := w.Cancel(t.Context(), Key{"default", "waits"}); err != nil || !out.Cancelled {
		t.Fatalf("%+v, %v", out, err)
	}
	e := until(t, events, schemas.EventFinished)
	if e.Outcome != schemas.StatusCancelled || e.Totals.Counts.Calls != 2 || e.Totals.Usage == nil || *e.Totals.Usage.Input != 10 {
		t.Errorf("finished %+v, %+v", e, e.Totals)
	}
	res, _, err := r.ledger().Result(t.Context(), Key{"default", "waits"})
	if err != nil || res.Counts.Calls != 2 {
		t.Errorf("stored %+v, %v", res, err)
	}
	r.gone(res.Request.Seq)
	r.put("default", "waits", jsonRequest, nil)
	r.model.replies <- `no JSON`
	r.model.replies <- `3`
	if e := until(t, events, schemas.EventFinished); e.Delivery != 1 || e.Outcome != schemas.StatusSucceeded || e.Totals.Counts.Calls != 2 {
		t.Errorf("the next run of the id: %+v, %+v", e, e.Totals)
	}
	r.stop(w)
}

// TestAFailedRunTellsItsTokens: its result has no usage, so that its end is told with what its answers cost.
func TestAFailedRunTellsItsTokens(t *testing.T) {
	r := newRig(t)
	w := r.work(Options{})
	events := r.watch()
	r.put("default", "fails", jsonRequest, nil)
	r.model.replies <- `no JSON`
	r.model.replies <- 400
	e := until(t, events, schemas.EventFinished)
	if e.Outcome != schemas.StatusFailed || e.Totals.Counts.Calls != 2 || e.Totals.Usage == nil || *e.Totals.Usage.Input != 10 {
		t.Errorf("finished %+v, %+v", e, e.Totals)
	}
	res, _, err := r.ledger().Result(t.Context(), Key{"default", "fails"})
	if err != nil || res.Usage != nil || res.Counts.Calls != 2 {
		t.Errorf("stored %+v, %v", res, err)
	}
	r.stop(w)
}

// TestCancelLeavesOtherContentsResult: a queued request of other content is no licence to overwrite what is stored.
func TestCancelLeavesOtherContentsResult(t *testing.T) {
	r := newRig(t)
	r.set(config(), 0)
	w := r.newWorker(Options{})
	w.ledger = r.ledger()
	k := Key{"default", "taken"}
	r.put(k.Queue, k.ID, jsonRequest, nil)
	_, _, err := w.ledger.Settle(t.Context(), k, r.result(k, "a", 99, schemas.StatusFailed, 3), by("a"), 0)
	r.must(err)
	out, err := w.Cancel(t.Context(), k)
	if err != nil || out.Cancelled || out.Status != schemas.StatusFailed {
		t.Errorf("%+v, %v", out, err)
	}
	if out, err := w.Cancel(t.Context(), Key{"default", "nowhere"}); err != nil || out.Status != schemas.CancelNotFound {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestRunRefusesWhatItCannotServe: every way that Run can fail at its start is an error, and leaves nothing behind.
func TestRunRefusesWhatItCannotServe(t *testing.T) {
	r := newRig(t)
	err := r.newWorker(Options{CheckStreams: true}).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "create stream EMEND_RUNS") || !strings.Contains(err.Error(), "create bucket emend_state") {
		t.Errorf("missing streams: %v", err)
	}
	closed := r.newWorker(Options{})
	closed.nc.Close()
	if err := closed.Run(t.Context()); err == nil {
		t.Error("a closed connection is no error")
	}
	_, err = r.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: r.names.DeadStream(), Subjects: []string{r.names.AllDead()}, Storage: jetstream.MemoryStorage})
	r.must(err)
	if err := r.newWorker(Options{}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "storage is Memory") {
		t.Errorf("a stream of another kind: %v", err)
	}
}

// TestSpent: what a superseded execution tells is what it added to the state that it began with.
func TestSpent(t *testing.T) {
	ten, four := int64(10), int64(4)
	var before run.State
	before.Counts, before.Model = schemas.Counts{Calls: 1, Executions: 1}, time.Second
	before.Usage.Add(&schemas.Tokens{Input: &ten, Output: &four, Other: map[string]float64{"a": 1}})
	after := before
	after.Counts, after.Model = schemas.Counts{Calls: 3, Repairs: 1, Executions: 2}, 3*time.Second
	after.Usage.Add(&schemas.Tokens{Input: &four, Other: map[string]float64{"a": 2, "b": 5}})
	after.Usage.Add(nil)
	s := spent(after, &before)
	u := s.Usage.Usage()
	if s.Counts != (schemas.Counts{Calls: 2, Repairs: 1, Executions: 1}) || s.Model != 2*time.Second || *u.Input != 4 || u.Output != nil ||
		u.Calls != 2 || u.CallsWithoutUsage != 1 || u.Other["a"] != 2 || u.Other["b"] != 5 {
		t.Errorf("%+v, usage %+v", s.Counts, u)
	}
	if all := spent(after, nil); all.Counts.Calls != 3 {
		t.Errorf("%+v", all.Counts)
	}
	if none := spent(before, &before); none.Counts.Calls != 0 {
		t.Errorf("%+v", none.Counts)
	}
}

// A worker that is told to stop before it serves has nothing in its hands: it ends well, as one that drained.
func TestAWorkerStoppedWhileItStartsEndsWell(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r.must(r.newWorker(Options{}).Run(ctx))
}
