package consumer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"emend/capacity"
	"emend/internal/telemetry"
)

// askEndpoint is the endpoint whose stats carry the worker's own.
const askEndpoint = "ask"

// workerStats is what a worker tells of itself through the service registry, under the endpoint ask.
type workerStats struct {
	Verdicts map[string]telemetry.PromptVerdicts `json:"verdicts"`
	Gates    map[string]capacity.Stats           `json:"gates"`
	// Definitions are nil in the answer of an older worker.
	Definitions *Definitions `json:"definitions,omitempty"`
}

func (w *Worker) workerStats() workerStats {
	out := workerStats{Verdicts: w.verdicts.Snapshot(), Gates: map[string]capacity.Stats{}, Definitions: new(w.Definitions())}
	e := w.engine.Load()
	for _, b := range e.Snapshot().Backends() {
		if g := e.Gate(b.Name); g != nil {
			out.Gates[b.Name] = g.Stats()
		}
	}
	return out
}

// Status is a space at one moment, as its workers and streams tell.
type Status struct {
	At      time.Time      `json:"at"`
	Workers []WorkerStatus `json:"workers"`
	Queues  []QueueStatus  `json:"queues"`
	// Dead letters and reviews that wait.
	Dead    uint64 `json:"dead"`
	Reviews uint64 `json:"reviews"`
	// Results that are kept. ResultsEver and DeadEver are those that there ever were.
	Results     uint64 `json:"results"`
	ResultsEver uint64 `json:"results_ever"`
	DeadEver    uint64 `json:"dead_ever"`
}

// WorkerStatus is one worker with its gates, by backend.
type WorkerStatus struct {
	ID      string                    `json:"id"`
	Version string                    `json:"version"`
	Started time.Time                 `json:"started"`
	Gates   map[string]capacity.Stats `json:"gates"`
	// Verdicts are what the worker's runs were judged since it started, by prompt.
	Verdicts map[string]telemetry.PromptVerdicts `json:"verdicts"`
	// Definitions are those that the worker runs by; nil for a worker of an older version, which does not tell.
	Definitions *Definitions `json:"definitions,omitempty"`
}

// QueueStatus is one queue of a backend, or of the pipelines, whose backend is "".
type QueueStatus struct {
	Backend string `json:"backend"`
	Queue   string `json:"queue"`
	// Queued wait to be delivered, InFlight are with workers (or waiting there to be delivered again), of at most Limit.
	Queued   uint64 `json:"queued"`
	InFlight int    `json:"in_flight"`
	Limit    int    `json:"limit"`
	// Redelivered were delivered more than once and are not acked.
	Redelivered int `json:"redelivered"`
	// Oldest is the age of the oldest request that is not done, 0 without one.
	Oldest time.Duration `json:"oldest_ns"`
}

// statusWait is how long workers have to answer the roll call.
const statusWait = 400 * time.Millisecond

// Status asks workers and streams. It needs the JetStream API of the space's streams and the service registry.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	workers, err := c.rollCall(ctx)
	if err != nil {
		return nil, err
	}
	out, err := c.Backlog(ctx)
	if err == nil {
		out.Workers = workers
	}
	return out, err
}

// Backlog is Status without the workers, whom it does not ask.
func (c *Client) Backlog(ctx context.Context) (*Status, error) {
	out := &Status{At: time.Now().UTC(), Workers: []WorkerStatus{}}
	var err error
	if out.Queues, err = c.queues(ctx, out.At); err != nil {
		return nil, err
	}
	var reviewsEver uint64
	for _, s := range []struct {
		name      string
		now, ever *uint64
	}{{c.names.DeadStream(), &out.Dead, &out.DeadEver}, {c.names.ReviewsStream(), &out.Reviews, &reviewsEver}, {c.names.ResultsStream(), &out.Results, &out.ResultsEver}} {
		if *s.now, *s.ever, err = c.messages(ctx, s.name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// messages are how many a stream has, and how many it was ever given.
func (c *Client) messages(ctx context.Context, stream string) (now, ever uint64, err error) {
	s, err := c.js.Stream(ctx, stream)
	if err != nil {
		return 0, 0, fmt.Errorf("stream %s: %w", stream, err)
	}
	state := s.CachedInfo().State
	return state.Msgs, state.LastSeq, nil
}

// rollCall asks every worker for its stats, and takes the answers that come in time.
func (c *Client) rollCall(ctx context.Context) ([]WorkerStatus, error) {
	inbox := c.nc.NewInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	subject, err := micro.ControlSubject(micro.StatsVerb, c.names.Service(), "")
	if err != nil {
		return nil, err
	}
	if err := c.nc.PublishRequest(subject, inbox, nil); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, statusWait)
	defer cancel()
	out := []WorkerStatus{}
	for {
		m, err := sub.NextMsgWithContext(ctx)
		switch {
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout), errors.Is(err, nats.ErrNoResponders):
			slices.SortFunc(out, func(a, b WorkerStatus) int { return cmp.Compare(a.ID, b.ID) })
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("ask the workers: %w", err)
		case len(m.Data) == 0:
			continue // the server says that nobody listens
		}
		if w, ok := workerOf(m.Data); ok {
			out = append(out, w)
		}
	}
}

// workerOf reads one answer; one of another shape is another service's.
func workerOf(data []byte) (WorkerStatus, bool) {
	var s micro.Stats
	if json.Unmarshal(data, &s) != nil {
		return WorkerStatus{}, false
	}
	for _, e := range s.Endpoints {
		var told workerStats
		if e.Name == askEndpoint && json.Unmarshal(e.Data, &told) == nil {
			return WorkerStatus{ID: cmp.Or(s.Metadata["worker"], s.ID), Version: s.Version, Started: s.Started, Gates: told.Gates, Verdicts: told.Verdicts, Definitions: told.Definitions}, true
		}
	}
	return WorkerStatus{}, false
}

// queues reads every durable of the runs stream.
func (c *Client) queues(ctx context.Context, now time.Time) ([]QueueStatus, error) {
	s, err := c.js.Stream(ctx, c.names.RunsStream())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, fmt.Errorf("there is no stream %s: no worker has set up this space", c.names.RunsStream())
	}
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", c.names.RunsStream(), err)
	}
	out := []QueueStatus{}
	list := s.ListConsumers(ctx)
	for info := range list.Info() {
		backend, queue, filter, ok := c.served(info.Name)
		if !ok {
			continue
		}
		q := QueueStatus{Backend: backend, Queue: queue, Queued: info.NumPending, InFlight: info.NumAckPending, Limit: info.Config.MaxAckPending,
			Redelivered: info.NumRedelivered}
		if q.Oldest, err = oldest(ctx, s, filter, now); err != nil {
			return nil, err
		}
		out = append(out, q)
	}
	if err := list.Err(); err != nil {
		return nil, fmt.Errorf("durables of %s: %w", c.names.RunsStream(), err)
	}
	slices.SortFunc(out, func(a, b QueueStatus) int {
		return cmp.Or(cmp.Compare(a.Backend, b.Backend), cmp.Compare(a.Queue, b.Queue))
	})
	return out, nil
}

// served is what a durable serves: the queue of a backend, or of the pipelines, whose backend is "".
func (c *Client) served(durable string) (backend, queue, filter string, ok bool) {
	if queue, err := c.names.ParsePipelineDurable(durable); err == nil {
		return "", queue, c.names.PipelinesOf(queue), true
	}
	backend, queue, err := c.names.ParseDurable(durable)
	return backend, queue, c.names.RunFilter(backend, queue), err == nil
}

func oldest(ctx context.Context, s jetstream.Stream, filter string, now time.Time) (time.Duration, error) {
	m, err := s.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(filter))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("the oldest request on %s: %w", filter, err)
	}
	return max(now.Sub(m.Time), 0), nil
}
