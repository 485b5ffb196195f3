package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"emend/consumer"
	"emend/schemas"
	"emend/subjects"
)

// requester is who asks for plain runs, and does of his own what a coordinator does of its jobs: he makes each body, publishes it
// with a subject to reply to, waits until it is stored, and reads the result that comes.
type requester struct {
	b       *bed
	client  *consumer.Client
	replies *nats.Subscription
	inbox   string
}

func (b *bed) requester() (*requester, error) {
	client, err := consumer.NewClient(b.nc, b.space, "")
	if err != nil {
		return nil, err
	}
	r := &requester{b: b, client: client, inbox: b.nc.NewInbox()}
	if r.replies, err = b.nc.SubscribeSync(r.inbox + ".*"); err != nil {
		return nil, err
	}
	return r, r.replies.SetPendingLimits(-1, -1)
}

// plain asks for one run a text, all at once, and awaits the last result.
func (b *bed) plain(texts []string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	r, err := b.requester()
	if err != nil {
		return 0, err
	}
	defer func() { _ = r.replies.Unsubscribe() }()
	began := time.Now()
	for _, text := range texts {
		if err := r.ask(ctx, text); err != nil {
			return 0, err
		}
	}
	for range texts {
		if err := r.answer(ctx); err != nil {
			return 0, err
		}
	}
	select {
	case <-b.js.PublishAsyncComplete():
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return time.Since(began), nil
}

func (r *requester) ask(ctx context.Context, text string) error {
	input, err := schemas.Marshal(text)
	if err != nil {
		return err
	}
	body, err := r.client.Body(ctx, "default", schemas.Request{Prompt: "extract@1", Inputs: map[string]json.RawMessage{"chunk": input}})
	if err != nil {
		return err
	}
	id := subjects.NewID()
	m := &nats.Msg{Subject: fmt.Sprintf("%s.run.model.default.%s", r.b.space, id), Data: body, Header: nats.Header{}}
	m.Header.Set(subjects.HeaderReplyTo, r.inbox+"."+id)
	_, err = r.b.js.PublishMsgAsync(m)
	return err
}

func (r *requester) answer(ctx context.Context) error {
	m, err := r.replies.NextMsgWithContext(ctx)
	if err != nil {
		return err
	}
	var result schemas.Result
	if err := json.Unmarshal(m.Data, &result); err != nil {
		return err
	}
	if result.Status != schemas.StatusSucceeded || len(result.Output) == 0 {
		return fmt.Errorf("run %s: %s, %+v", result.ID, result.Status, result.Error)
	}
	return nil
}

// texts are what n runs are asked about; no two rounds ask the same.
func texts(round string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%q\n", fmt.Sprintf("%s %d %s", round, i, strings.Repeat("a line of an invoice, ", 18)))
	}
	return out
}

// pipeline runs one pipeline over texts, each of which is a chunk.
func (b *bed) pipeline(id string, texts []string, reuse string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	text := strings.Join(texts, "")
	client, err := consumer.NewClient(b.nc, b.space, "")
	if err != nil {
		return 0, err
	}
	began := time.Now()
	document, err := schemas.Marshal(text)
	if err != nil {
		return 0, err
	}
	r, err := client.RunPipeline(ctx, "digest", consumer.Key{Queue: "default", ID: id}, schemas.PipelineRequest{Inputs: map[string]json.RawMessage{"document": document}, Reuse: reuse}, nil)
	if err != nil {
		return 0, err
	}
	if r.Status != schemas.StatusSucceeded || r.Counts.Calls != len(texts) {
		return 0, fmt.Errorf("pipeline run %s: %s, %d calls, %+v", id, r.Status, r.Counts.Calls, r.Error)
	}
	return time.Since(began), nil
}
