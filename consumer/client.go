package consumer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/engine/run"
	"emend/schemas"
	"emend/subjects"
)

// Client publishes runs and reads what becomes of them; what `emend run`, get and watch are made of. It is safe for
// concurrent use.
type Client struct {
	nc    *nats.Conn
	blobs *Blobs
	js    jetstream.JetStream
	names subjects.Names
}

// NewClient makes a client of a space on a connection; domain is a JetStream domain or "".
func NewClient(nc *nats.Conn, space, domain string) (*Client, error) {
	names, err := subjects.New(space)
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc)
	if domain != "" {
		js, err = jetstream.NewWithDomain(nc, domain)
	}
	if err != nil {
		return nil, err
	}
	return &Client{nc: nc, js: js, names: names, blobs: NewBlobs(js, names, clientBlobTTL, 1)}, nil
}

// Space is the space's name.
func (c *Client) Space() string { return c.names.Space() }

// clientBlobTTL is how long inputs are kept that a client stores apart in a bucket that it has to make: longer than a run may
// wait by default.
const clientBlobTTL = 7 * 24 * time.Hour

// Body is a request as a message: inputs that do not fit are stored apart in the queue's bucket.
func (c *Client) Body(ctx context.Context, queue string, req schemas.Request) ([]byte, error) {
	return c.blobs.Offload(ctx, queue, req, int(c.nc.MaxPayload())-headerRoom)
}

// Fill puts an output that is stored apart into its result.
func (c *Client) Fill(ctx context.Context, r *schemas.Result) error { return c.blobs.Fill(ctx, r) }

// ErrDuplicate says that the id is queued or running already.
var ErrDuplicate = errors.New("a request with this id is queued or running already")

// publishTry bounds one try to publish: a confirmation that was lost with its connection never comes.
const publishTry = 5 * time.Second

// Publish stores a request and returns its sequence. The publish is confirmed; one whose confirmation does not come is tried
// again until ctx is done, which its id makes safe. The sequence is 0 where an earlier try turns out to have been stored.
func (c *Client) Publish(ctx context.Context, backend string, k Key, body []byte, replyTo string) (uint64, error) {
	m := &nats.Msg{Subject: requestSubject(c.names, backend, k), Data: body, Header: nats.Header{}}
	if replyTo != "" {
		m.Header.Set(subjects.HeaderReplyTo, replyTo)
	}
	ack, err := c.try(ctx, m)
	again := false
	for ; ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded); again = true {
		ack, err = c.try(ctx, m)
	}
	switch {
	case err == nil:
		return ack.Sequence, nil
	case again && isCode(err, codeStreamFull) && strings.Contains(err.Error(), "per subject"):
		return 0, nil
	case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders):
		return 0, fmt.Errorf("no stream takes %s: is a worker with %s and queue %q set up in this space?", m.Subject, originWords(backend), k.Queue)
	case isCode(err, codeStreamFull) && strings.Contains(err.Error(), "per subject"):
		return 0, ErrDuplicate
	}
	return 0, fmt.Errorf("publish the run: %w", err)
}

func (c *Client) try(ctx context.Context, m *nats.Msg) (*jetstream.PubAck, error) {
	ctx, cancel := context.WithTimeout(ctx, publishTry)
	defer cancel()
	return c.js.PublishMsg(ctx, m)
}

// Run publishes a request, hands every event to watch (nil for none), and returns the result when it is stored.
func (c *Client) Run(ctx context.Context, backend string, k Key, body []byte, watch func(schemas.Event)) (*schemas.Result, error) {
	inbox := c.nc.NewInbox()
	replies, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, fmt.Errorf("subscribe to the reply inbox: %w", err)
	}
	defer func() { _ = replies.Unsubscribe() }()
	finished := make(chan struct{})
	if watch != nil {
		stop, err := c.Watch(k, untilFinished(watch, finished))
		if err != nil {
			return nil, err
		}
		defer stop()
	}
	if _, err := c.Publish(ctx, backend, k, body, inbox); err != nil {
		return nil, err
	}
	r, err := c.await(ctx, replies, k)
	if _, waits := errors.AsType[*InReviewError](err); watch != nil && (err == nil || waits) {
		c.lastWord(ctx, finished)
	}
	return r, err
}

// untilFinished closes finished once the run's last event has been handed over, or the one that sends it to people.
func untilFinished(watch func(schemas.Event), finished chan struct{}) func(schemas.Event) {
	var once sync.Once
	return func(e schemas.Event) {
		watch(e)
		if e.Kind == schemas.EventFinished || (e.Kind == schemas.EventEscalated && e.Outcome == run.SinkReview) {
			once.Do(func() { close(finished) })
		}
	}
}

// lastWordWithin bounds the wait for the finished event, which follows the reply and may be lost.
const lastWordWithin = time.Second

func (c *Client) lastWord(ctx context.Context, finished <-chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, lastWordWithin)
	defer cancel()
	select {
	case <-finished:
	case <-ctx.Done():
	}
}

// lookEvery is how often a waiting client looks at the store itself: a reply may be lost, a stored result not.
const lookEvery = 5 * time.Second

func (c *Client) await(ctx context.Context, replies *nats.Subscription, k Key) (*schemas.Result, error) {
	for {
		wait, cancel := context.WithTimeout(ctx, lookEvery)
		m, err := replies.NextMsgWithContext(wait)
		cancel()
		if err == nil {
			if err := inReview(m.Data); err != nil {
				return nil, err
			}
			return decodeResult(m.Data)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, nats.ErrTimeout) {
			return nil, fmt.Errorf("wait for the result: %w", err)
		}
		r, err := c.stored(ctx, k)
		if _, waits := errors.AsType[*InReviewError](err); waits || (err == nil && r != nil) {
			return r, err
		}
	}
}

// stored asks the get service; an error or a progress report is no result yet.
func (c *Client) stored(ctx context.Context, k Key) (*schemas.Result, error) {
	r, p, err := c.Get(ctx, k)
	if p != nil && p.State == schemas.StateInReview {
		return nil, &InReviewError{Progress: *p}
	}
	return r, err
}

func decodeResult(b []byte) (*schemas.Result, error) {
	var r schemas.Result
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("the reply is no result: %w", err)
	}
	return &r, nil
}

// Watch hands the events of runs to fn, on one goroutine, until stop is called. An empty id or queue covers all.
func (c *Client) Watch(k Key, fn func(schemas.Event)) (stop func(), err error) {
	if k.Queue == "" {
		k.Queue = "*"
	}
	if k.ID == "" {
		k.ID = "*"
	}
	sub, err := c.nc.Subscribe(c.names.EventFilter(k.Queue, k.ID), func(m *nats.Msg) {
		if e, ok := decodeEvent(m.Data); ok {
			fn(e)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("subscribe to events: %w", err)
	}
	return func() { _ = sub.Unsubscribe() }, c.nc.Flush()
}

func decodeEvent(b []byte) (e schemas.Event, ok bool) {
	err := json.Unmarshal(b, &e)
	return e, err == nil
}

// Get asks a worker where a run stands: its result, or else its progress.
func (c *Client) Get(ctx context.Context, k Key) (*schemas.Result, *schemas.Progress, error) {
	b, err := c.call(ctx, c.names.GetOf(k.Queue), k)
	if err != nil {
		return nil, nil, err
	}
	var p schemas.Progress
	if err := json.Unmarshal(b, &p); err == nil && p.State != "" {
		return nil, &p, nil
	}
	r, err := decodeResult(b)
	return r, nil, err
}

// Cancel asks a worker to stop a run.
func (c *Client) Cancel(ctx context.Context, k Key) (*schemas.CancelReply, error) {
	b, err := c.call(ctx, c.names.CancelOf(k.Queue), k)
	if err != nil {
		return nil, err
	}
	var r schemas.CancelReply
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("the reply to cancel: %w", err)
	}
	return &r, nil
}

func (c *Client) call(ctx context.Context, subject string, k Key) ([]byte, error) {
	return c.request(ctx, subject, schemas.RunRef{Queue: k.Queue, ID: k.ID})
}

func (c *Client) request(ctx context.Context, subject string, v any) ([]byte, error) {
	body, err := schemas.Marshal(v)
	if err != nil {
		return nil, err
	}
	m, err := c.nc.RequestWithContext(ctx, subject, body)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, fmt.Errorf("no worker listens on %s", subject)
	}
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", subject, err)
	}
	if e := m.Header.Get(subjects.HeaderServiceError); e != "" {
		return nil, &ServiceError{Subject: subject, Category: m.Header.Get(subjects.HeaderServiceErrorCode), Message: e}
	}
	return m.Data, nil
}

// ServiceError is what a worker answers a request with that it refuses.
type ServiceError struct {
	// Subject is the service's, Category one of package schemas or their CodeUnknownQueue, Message the worker's words.
	Subject, Category, Message string
}

// Is matches ErrNoQueue.
func (e *ServiceError) Is(target error) bool {
	return target == ErrNoQueue && e.Category == schemas.CodeUnknownQueue
}

// Error is subject and message.
func (e *ServiceError) Error() string { return e.Subject + ": " + e.Message }
