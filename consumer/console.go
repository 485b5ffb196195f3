package consumer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/internal/web"
	"emend/schemas"
	"emend/subjects"
)

// Console is a space as the page shows it: what a Client can ask, and a list of the latest runs that follows the result
// stream for as long as someone looks. It needs the JetStream API of the space's streams, and workers that answer.
type Console struct {
	*Client

	mu     sync.Mutex
	closed bool
	// feed follows the stream; nil while nobody looks.
	feed   *feed
	looked time.Time
	idle   *time.Timer
}

const (
	// recentRuns is how many ended runs the list goes back.
	recentRuns = 10_000
	// lookedFor is how long the list is kept up to date after it was asked for.
	lookedFor = 2 * time.Minute
	// pastEvents is how many events of one run are shown at most.
	pastEvents = 5_000
)

// NewConsole makes a console over a client.
func NewConsole(c *Client) *Console { return &Console{Client: c} }

// Close ends the list's following.
func (c *Console) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.rest()
}

// rest stops following. The caller holds mu.
func (c *Console) rest() {
	if c.feed != nil {
		c.feed.stop()
		c.feed = nil
	}
	if c.idle != nil {
		c.idle.Stop()
	}
}

// Status is that of Client.Status, with the numbers that the charts show.
func (c *Console) Status(ctx context.Context) (any, web.Sample, error) {
	s, err := c.Client.Status(ctx)
	if err != nil {
		return nil, web.Sample{}, err
	}
	out := web.Sample{At: s.At, Results: s.ResultsEver, Dead: s.DeadEver}
	for _, q := range s.Queues {
		out.Queued += q.Queued
		out.InFlight += q.InFlight
	}
	for _, w := range s.Workers {
		for _, g := range w.Gates {
			out.Calls += g.PermitsInUse
		}
	}
	return s, out, nil
}

// Runs lists the latest runs.
func (c *Console) Runs(ctx context.Context, f web.Filter) ([]web.Run, error) {
	recent, err := c.follow(ctx)
	if err != nil {
		return nil, err
	}
	return recent.List(f), nil
}

// follow returns the list when it is up to date.
func (c *Console) follow(ctx context.Context) (*web.Recent, error) {
	f, err := c.looking(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case <-f.caughtUp:
		return f.recent, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// looking returns what follows the streams, and has it go on for a while.
func (c *Console) looking(ctx context.Context) (*feed, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errors.New("the program that serves this page is stopping")
	}
	c.looked = time.Now()
	if c.feed == nil {
		f, err := c.newFeed(ctx)
		if err != nil {
			return nil, err
		}
		c.feed, c.idle = f, time.AfterFunc(lookedFor, c.restIfIdle)
	}
	return c.feed, nil
}

func (c *Console) restIfIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.feed == nil {
		return
	}
	if left := lookedFor - time.Since(c.looked); left > 0 {
		c.idle.Reset(left)
		return
	}
	c.rest()
}

// feed follows results and beginnings.
type feed struct {
	recent   *web.Recent
	caughtUp chan struct{}
	stop     func()
}

// newFeed begins anew with the latest results.
func (c *Console) newFeed(ctx context.Context) (*feed, error) {
	f := &feed{recent: web.NewRecent(recentRuns), caughtUp: make(chan struct{})}
	stopEvents, err := c.beginnings(f.recent)
	if err != nil {
		return nil, err
	}
	stopResults, err := c.endings(ctx, f)
	if err != nil {
		stopEvents()
		return nil, err
	}
	f.stop = func() { stopResults(); stopEvents() }
	return f, nil
}

// endings notes results, the latest that are stored and those to come.
func (c *Console) endings(ctx context.Context, f *feed) (stop func(), err error) {
	s, err := c.js.Stream(ctx, c.names.ResultsStream())
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", c.names.ResultsStream(), err)
	}
	last := s.CachedInfo().State.LastSeq
	results, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{HeadersOnly: true, DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq: last - min(last, recentRuns) + 1})
	if err != nil {
		return nil, fmt.Errorf("read stream %s: %w", c.names.ResultsStream(), err)
	}
	caught := sync.OnceFunc(func() { close(f.caughtUp) })
	if results.CachedInfo().NumPending == 0 {
		caught()
	}
	reading, err := results.Consume(func(m jetstream.Msg) {
		if meta, err := m.Metadata(); err == nil {
			c.ended(f.recent, m, meta)
			if meta.NumPending == 0 {
				caught()
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read stream %s: %w", c.names.ResultsStream(), err)
	}
	return reading.Stop, nil
}

func (c *Console) ended(recent *web.Recent, m jetstream.Msg, meta *jetstream.MsgMetadata) {
	queue, id, err := c.names.ParseResult(m.Subject())
	if err != nil {
		return
	}
	h := m.Headers()
	recent.Ended(web.Run{Queue: queue, ID: id, Status: h.Get(subjects.HeaderStatus), Prompt: h.Get(subjects.HeaderPrompt),
		Backend: h.Get(subjects.HeaderBackend), Pipeline: h.Get(subjects.HeaderPipeline), At: meta.Timestamp, Place: meta.Sequence.Stream})
}

// beginnings notes which runs begin and which are put down.
func (c *Console) beginnings(recent *web.Recent) (stop func(), err error) {
	var subs []*nats.Subscription
	stop = func() {
		for _, s := range subs {
			_ = s.Unsubscribe()
		}
	}
	for _, kind := range []string{schemas.EventStarted, schemas.EventWaiting, schemas.EventEscalated} {
		sub, err := c.nc.Subscribe(c.names.KindOf("*", kind), func(m *nats.Msg) {
			queue, id, _, err := c.names.ParseEvent(m.Subject)
			switch {
			case err != nil:
			case kind == schemas.EventStarted:
				recent.Started(queue, id, m.Data)
			default:
				recent.PutDown(queue, id)
			}
		})
		if err != nil {
			stop()
			return nil, fmt.Errorf("subscribe to events: %w", err)
		}
		subs = append(subs, sub)
	}
	return stop, nil
}

// Run is one run with its events.
func (c *Console) Run(ctx context.Context, queue, id string) (*web.Detail, error) {
	k, err := c.key(queue, id)
	if err != nil {
		return nil, err
	}
	r, p, err := c.Get(ctx, k)
	if err != nil {
		return nil, told(err)
	}
	if r != nil {
		if err := c.Fill(ctx, r); err != nil {
			return nil, err
		}
	}
	events, err := c.Past(ctx, k)
	if err != nil {
		return nil, err
	}
	if p != nil && p.State == schemas.StateNotFound && len(events) == 0 {
		return nil, web.ErrNotFound
	}
	return &web.Detail{Result: r, Progress: p, Events: events}, nil
}

func (c *Console) key(queue, id string) (Key, error) {
	if !subjects.ValidName(queue) {
		return Key{}, &web.Refusal{Err: fmt.Errorf("queue %q is no queue's name", queue)}
	}
	if err := subjects.CheckID(id); err != nil {
		return Key{}, &web.Refusal{Err: err}
	}
	return Key{Queue: queue, ID: id}, nil
}

// told makes what a worker refused the asker's own matter.
func told(err error) error {
	if errors.Is(err, ErrNoQueue) {
		return &web.Missing{Err: err}
	}
	if _, ok := errors.AsType[*ServiceError](err); ok {
		return &web.Refusal{Err: err}
	}
	return err
}

// Watch hands over the events of a run.
func (c *Console) Watch(queue, id string, fn func(schemas.Event)) (stop func(), err error) {
	k, err := c.key(queue, id)
	if err != nil {
		return nil, err
	}
	return c.Client.Watch(k, fn)
}

// Cancel stops a run.
func (c *Console) Cancel(ctx context.Context, queue, id string) (*schemas.CancelReply, error) {
	k, err := c.key(queue, id)
	if err != nil {
		return nil, err
	}
	r, err := c.Client.Cancel(ctx, k)
	return r, told(err)
}

// Letters lists dead letters.
func (c *Console) Letters(ctx context.Context, queue string, q schemas.DeadQuery) (*schemas.DeadList, error) {
	return inQueue(queue, func() (*schemas.DeadList, error) { return c.Client.Letters(ctx, queue, q) })
}

// Letter shows a dead letter.
func (c *Console) Letter(ctx context.Context, queue, id string, seq uint64) (*schemas.DeadDetail, error) {
	return inQueue(queue, func() (*schemas.DeadDetail, error) { return c.Client.Letter(ctx, Key{Queue: queue, ID: id}, seq) })
}

// Replay publishes a dead letter anew.
func (c *Console) Replay(ctx context.Context, queue string, r schemas.Replay) (*schemas.Replayed, error) {
	return inQueue(queue, func() (*schemas.Replayed, error) { return c.Client.Replay(ctx, queue, r) })
}

// Purge removes dead letters.
func (c *Console) Purge(ctx context.Context, queue string, p schemas.Purge) (int, error) {
	return inQueue(queue, func() (int, error) { return c.Client.Purge(ctx, queue, p) })
}

// Reviews lists the runs that wait for a person.
func (c *Console) Reviews(ctx context.Context, queue string, q schemas.ReviewQuery) (*schemas.ReviewList, error) {
	return inQueue(queue, func() (*schemas.ReviewList, error) { return c.Client.Reviews(ctx, queue, q) })
}

// Review shows a run that waits for a person.
func (c *Console) Review(ctx context.Context, queue, id string) (*schemas.ReviewDetail, error) {
	return inQueue(queue, func() (*schemas.ReviewDetail, error) { return c.Client.Review(ctx, Key{Queue: queue, ID: id}) })
}

// Decide decides a review.
func (c *Console) Decide(ctx context.Context, queue string, d schemas.Decision) (*schemas.Result, error) {
	return inQueue(queue, func() (*schemas.Result, error) { return c.Client.Decide(ctx, queue, d) })
}

// inQueue asks something of a queue whose name comes from outside.
func inQueue[T any](queue string, ask func() (T, error)) (T, error) {
	if !subjects.ValidName(queue) {
		var none T
		return none, &web.Refusal{Err: fmt.Errorf("queue %q is no queue's name", queue)}
	}
	v, err := ask()
	return v, told(err)
}

// Past returns the kept events of a run in the order in which they were stored, at most some thousand.
func (c *Client) Past(ctx context.Context, k Key) ([]schemas.Event, error) {
	s, err := c.js.Stream(ctx, c.names.EventsStream())
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", c.names.EventsStream(), err)
	}
	events, err := s.CreateConsumer(ctx, jetstream.ConsumerConfig{FilterSubject: c.names.EventFilter(k.Queue, k.ID), AckPolicy: jetstream.AckNonePolicy,
		MemoryStorage: true, Replicas: 1, InactiveThreshold: 5 * time.Second})
	if err != nil {
		return nil, fmt.Errorf("read stream %s: %w", c.names.EventsStream(), err)
	}
	out := []schemas.Event{}
	n := int(min(events.CachedInfo().NumPending, pastEvents))
	if n == 0 {
		return out, nil
	}
	batch, err := events.Fetch(n, jetstream.FetchContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("read stream %s: %w", c.names.EventsStream(), err)
	}
	for m := range batch.Messages() {
		if e, ok := decodeEvent(m.Data()); ok {
			out = append(out, e)
		}
	}
	return out, batch.Error()
}
