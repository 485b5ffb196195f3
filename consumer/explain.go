package consumer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"emend/capacity"
	"emend/engine/run"
	"emend/schemas"
)

// Explanation is all that streams and workers tell of one run, at one moment. It holds no content but the result's counts.
type Explanation struct {
	At    time.Time `json:"at"`
	ID    string    `json:"id"`
	Queue string    `json:"queue"`
	// State is the status of the stored result, a state of schemas.Progress, or StateRefused.
	State   string `json:"state"`
	Backend string `json:"backend,omitempty"`
	// Pipeline is the name of a pipeline run's, Jobs are its runs.
	Pipeline string         `json:"pipeline,omitempty"`
	Jobs     *ExplainedJobs `json:"jobs,omitempty"`
	// Request is there until the run is acked.
	Request *ExplainedRequest `json:"request,omitempty"`
	// Gates are how the backend's gate stands in each worker; none without workers.
	Gates map[string]capacity.GateState `json:"gates,omitempty"`
	// Workers answer the roll call.
	Workers int `json:"workers"`
	// Saved is what a run left when it was handed back.
	Saved *ExplainedState `json:"saved,omitempty"`
	// Events in the order in which they were stored; those beyond keep.events are gone.
	Events []schemas.Event `json:"events"`
	// Review, Letter and Result are what is stored under the id, without content.
	Review *schemas.ReviewEntry `json:"review,omitempty"`
	Letter *schemas.DeadEntry   `json:"letter,omitempty"`
	Result *ExplainedResult     `json:"result,omitempty"`
}

// StateRefused is the state of a request that left a dead letter and no result.
const StateRefused = "refused"

// ExplainedRequest is a request that is queued or under way.
type ExplainedRequest struct {
	Seq       uint64    `json:"seq"`
	Published time.Time `json:"published"`
	Bytes     int       `json:"bytes"`
	// Prompt and Profile are what the request names.
	Prompt  string `json:"prompt,omitempty"`
	Profile string `json:"profile,omitempty"`
	// Delivered says that a worker has had it; else Ahead is at most how many were published before it and are not done.
	Delivered bool   `json:"delivered"`
	Ahead     uint64 `json:"ahead,omitempty"`
}

// ExplainedState is a saved state.
type ExplainedState struct {
	At    time.Time `json:"at"`
	Cause string    `json:"cause,omitempty"`
	// Starts are the unclean ones. Phase, Calls and Repairs are how far it came.
	Starts  int       `json:"starts"`
	Phase   run.Phase `json:"phase,omitempty"`
	Calls   int       `json:"calls"`
	Repairs int       `json:"repairs"`
}

// ExplainedResult is a stored result without its output.
type ExplainedResult struct {
	Seq      uint64          `json:"seq"`
	At       time.Time       `json:"at"`
	Status   string          `json:"status"`
	Class    string          `json:"class,omitempty"`
	Error    *schemas.Error  `json:"error,omitempty"`
	Counts   schemas.Counts  `json:"counts"`
	TimingMS schemas.Timing  `json:"timing_ms"`
	Source   schemas.Source  `json:"source"`
	Review   *schemas.Review `json:"review,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
}

// Explain gathers what is known of a run, from its request to its ack. It needs the rights of Status.
func (c *Client) Explain(ctx context.Context, k Key) (*Explanation, error) {
	l, err := NewLedger(ctx, c.js, c.names)
	if err != nil {
		return nil, fmt.Errorf("%w; has a worker set up this space?", err)
	}
	e := &Explanation{At: time.Now().UTC(), ID: k.ID, Queue: k.Queue, Events: []schemas.Event{}}
	for _, part := range []func(context.Context, *Ledger, Key, *Explanation) error{c.explainRequest, explainSaved, c.explainEvents, explainStored, explainJobs, c.explainGates} {
		if err := part(ctx, l, k, e); err != nil {
			return nil, err
		}
	}
	if e.State = e.state(); e.State == schemas.StateNotFound && len(e.Events) == 0 {
		if err := l.knowsQueue(ctx, k.Queue); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (c *Client) explainRequest(ctx context.Context, l *Ledger, k Key, e *Explanation) error {
	m, err := l.asked(ctx, k)
	if m == nil || err != nil {
		return err
	}
	e.Request = &ExplainedRequest{Seq: m.Sequence, Published: m.Time, Bytes: len(m.Data)}
	var durable string
	if name, _, _, err := c.names.ParsePipeline(m.Subject); err == nil {
		e.Pipeline, durable = name, c.names.PipelineDurable(k.Queue)
	} else if e.Backend, _, _, err = c.names.ParseRun(m.Subject); err != nil {
		return err
	} else {
		durable = c.names.Durable(e.Backend, k.Queue)
	}
	if r, err := schemas.DecodeRequest(m.Data); err == nil && e.Pipeline == "" {
		e.Request.Prompt, e.Request.Profile = r.Prompt, r.Profile
	}
	return c.explainPlace(ctx, durable, e)
}

// asked is the request of a run, of a model or of a pipeline; nil when there is none.
func (l *Ledger) asked(ctx context.Context, k Key) (*jetstream.RawStreamMsg, error) {
	for _, subject := range []string{l.names.RunOf(k.Queue, k.ID), l.names.PipelineOf(k.Queue, k.ID)} {
		m, err := l.runs.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(subject))
		if err == nil {
			return m, nil
		}
		if !errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil, fmt.Errorf("read the request of %s/%s: %w", k.Queue, k.ID, err)
		}
	}
	return nil, nil
}

// explainPlace tells whether the request was delivered, or how many are before it.
func (c *Client) explainPlace(ctx context.Context, name string, e *Explanation) error {
	durable, err := c.js.Consumer(ctx, c.names.RunsStream(), name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil // the backend or the queue is not served any more
	}
	if err != nil {
		return fmt.Errorf("durable %s: %w", name, err)
	}
	info := durable.CachedInfo()
	if at := info.Delivered.Stream; e.Request.Seq > at {
		e.Request.Ahead = min(e.Request.Seq-at-1, max(info.NumPending, 1)-1) + uint64(info.NumAckPending)
	} else {
		e.Request.Delivered = true
	}
	return nil
}

func explainSaved(ctx context.Context, l *Ledger, k Key, e *Explanation) error {
	entry, err := l.state.Get(ctx, l.names.StateKey(k.Queue, k.ID))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the saved state of %s/%s: %w", k.Queue, k.ID, err)
	}
	var s saved
	if json.Unmarshal(entry.Value(), &s) != nil {
		return nil
	}
	e.Saved = &ExplainedState{At: entry.Created(), Cause: s.Cause, Starts: s.Starts}
	if s.State != nil {
		e.Saved.Phase, e.Saved.Calls, e.Saved.Repairs = cmp.Or(s.Phase, s.State.Phase), s.State.Counts.Calls, s.State.Counts.Repairs
	}
	return nil
}

func (c *Client) explainEvents(ctx context.Context, _ *Ledger, k Key, e *Explanation) error {
	var err error
	if e.Events, err = c.Past(ctx, k); err != nil {
		return err
	}
	for _, x := range e.Events {
		e.Pipeline = cmp.Or(e.Pipeline, x.Pipeline)
		if x.Backend != "" && x.Validator == "" && e.Backend == "" {
			e.Backend = x.Backend
		}
	}
	return nil
}

// explainStored reads what the run has ended with, or waits for.
func explainStored(ctx context.Context, l *Ledger, k Key, e *Explanation) error {
	r, seq, err := l.Result(ctx, k)
	if err != nil {
		return err
	}
	if r != nil {
		if r.Pipeline != nil {
			e.Pipeline = cmp.Or(e.Pipeline, r.Pipeline.Pipeline)
		}
		e.Result = &ExplainedResult{Seq: seq, Status: r.Status, Error: r.Error, Counts: r.Counts, TimingMS: r.TimingMS, Source: r.Source, Review: r.Review, Warnings: r.Warnings}
		if r.Validation != nil {
			e.Result.Class = r.Validation.Class
		}
		if m, err := l.results.GetMsg(ctx, seq); err == nil {
			e.Result.At = m.Time
		}
		if e.Backend == "" {
			e.Backend = r.Source.Backend
		}
	}
	rec, err := l.Review(ctx, k)
	if err != nil {
		return err
	}
	if rec != nil && (r == nil || r.Request.Seq < rec.RequestSeq) {
		entry := rec.entry(k)
		e.Review = &entry
	}
	letter, err := l.letter(ctx, k, 0)
	if errors.Is(err, ErrNoLetter) {
		return nil
	}
	if err == nil {
		entry := letter.entry(l.names)
		e.Letter = &entry
	}
	return err
}

func (c *Client) explainGates(ctx context.Context, _ *Ledger, _ Key, e *Explanation) error {
	workers, err := c.rollCall(ctx)
	if err != nil {
		return err
	}
	e.Workers, e.Gates = len(workers), map[string]capacity.GateState{}
	for _, w := range workers {
		if g, ok := w.Gates[e.Backend]; ok {
			e.Gates[w.ID] = g.State
		}
	}
	return nil
}

// state is where the run stands. A request that is stored is newer than a result under its id.
func (e *Explanation) state() string {
	switch {
	case e.Review != nil:
		return schemas.StateInReview
	case e.Request != nil && !e.Request.Delivered:
		return schemas.StateQueued
	case e.Request != nil:
		if n := len(e.Events); (n > 0 && e.Events[n-1].Kind == schemas.EventWaiting) || (e.Saved != nil && e.Saved.Cause != "") {
			return schemas.StateWaiting
		}
		return schemas.StateRunning
	case e.Result != nil:
		return e.Result.Status
	case e.Letter != nil:
		return StateRefused
	}
	return schemas.StateNotFound
}

// Shut is the gate that opens last, of those that are closed; nil if some worker's is not.
func (e *Explanation) Shut() *capacity.GateState {
	var last *capacity.GateState
	for _, g := range e.Gates {
		if g.Phase != capacity.Closed {
			return nil
		}
		if last == nil || g.Until.After(last.Until) {
			last = &g
		}
	}
	return last
}
