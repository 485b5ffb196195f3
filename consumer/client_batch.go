package consumer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"emend/schemas"
)

// ErrFull says that the server takes no more requests now; one that waits and publishes again loses nothing.
var ErrFull = errors.New("the stream of requests is full")

// Batch publishes many runs of one queue and hands over what is sent for them. It is safe for concurrent use.
type Batch struct {
	client         *Client
	backend, queue string
	inbox          string
	sub            *nats.Subscription
}

// Batch begins a batch. arrived is called on one goroutine with the result of each run that the batch published, or with nil for
// one that waits for a person; a reply may be lost, so whoever needs it looks, too.
func (c *Client) Batch(backend, queue string, arrived func(id string, r *schemas.Result)) (*Batch, error) {
	b := &Batch{client: c, backend: backend, queue: queue, inbox: c.nc.NewInbox() + "."}
	var err error
	b.sub, err = c.nc.Subscribe(b.inbox+"*", func(m *nats.Msg) {
		id := strings.TrimPrefix(m.Subject, b.inbox)
		if inReview(m.Data) != nil {
			arrived(id, nil)
		} else if r, err := decodeResult(m.Data); err == nil && r.ID == id {
			arrived(id, r)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("subscribe to the inbox of the batch: %w", err)
	}
	return b, nil
}

// Close ends what comes in; runs under way go on.
func (b *Batch) Close() { _ = b.sub.Unsubscribe() }

// Prepare makes the body of a request, with what is too large stored apart, and tells the fingerprint that its result will bear.
func (b *Batch) Prepare(ctx context.Context, req schemas.Request) (body []byte, fingerprint string, err error) {
	if body, err = b.client.Body(ctx, b.queue, req); err != nil {
		return nil, "", err
	}
	return body, schemas.Fingerprint(b.backend, body), nil
}

// Publish stores a run: see Client.Publish. ErrFull matches when the stream takes no more.
func (b *Batch) Publish(ctx context.Context, id string, body []byte) error {
	_, err := b.client.Publish(ctx, b.backend, Key{Queue: b.queue, ID: id}, body, b.inbox+id)
	if isCode(err, codeStreamFull) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// Look returns the stored result of a run, or the state that it is in.
func (b *Batch) Look(ctx context.Context, id string) (*schemas.Result, string, error) {
	r, p, err := b.client.Get(ctx, Key{Queue: b.queue, ID: id})
	if p != nil {
		return nil, p.State, err
	}
	return r, "", err
}

// Fill puts an output that is stored apart into its result.
func (b *Batch) Fill(ctx context.Context, r *schemas.Result) error { return b.client.Fill(ctx, r) }

// Cancel stops a run of the batch.
func (b *Batch) Cancel(ctx context.Context, id string) (*schemas.CancelReply, error) {
	return b.client.Cancel(ctx, Key{Queue: b.queue, ID: id})
}
