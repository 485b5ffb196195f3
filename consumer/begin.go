package consumer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"emend/engine/pipeline"
	"emend/schemas"
	"emend/subjects"
)

// child is a job that was begun. It belongs to the coordinator's goroutine.
type child struct {
	job         pipeline.Job
	key         Key
	backend     string
	fingerprint string
	// published says that its request has left, sent that it is stored: from then on either it or a result is there.
	published, sent bool
	// early says that its run was told to be finished before its request was told to be stored.
	early bool
	// reuse is the key under which its output may be kept.
	reuse string
	// request is its run's; fresh says that no kept output will do.
	request schemas.Request
	fresh   bool
	since   time.Time
}

// publish starts a job, unless an output for it is there: that of an earlier run of the same, or the result of its own run,
// which an earlier coordinator began. What asks the server is done beside.
func (c *coordination) publish(p pipeline.Publish) error {
	if err := c.h.allowed(); err != nil {
		return err
	}
	inputs, err := c.run.Run.Inputs(p.Job)
	if err != nil {
		c.told(p.Job, failure(schemas.CategoryInvalidRequest, err.Error()))
		return nil
	}
	step := c.run.Run.Binding(p.Job)
	ch := &child{job: p.Job, key: Key{c.h.key.Queue, pipeline.ChildID(c.parent, c.content, p.Job)}, backend: step.Backend, since: time.Now(),
		request: c.run.JobRequest(p.Job, inputs), fresh: p.Fresh}
	if p.Fresh {
		ch.key.ID += "-fresh"
	}
	if c.reuse.used() {
		ch.reuse = pipeline.ReuseKey(step, inputs)
	}
	c.out[ch.key.ID], c.jobs[ch.job] = ch, ch
	switch {
	case !c.reuse.reads || ch.fresh:
		return c.begin(ch)
	case c.resumed:
		at := *ch
		c.tasks.do(func(ctx context.Context) report { return c.recall(ctx, ch, at) })
	default:
		c.reuse.waiting = append(c.reuse.waiting, ch)
	}
	return nil
}

// recall is the task that looks for the result of a job that an earlier delivery of this request ran. It goes before a kept output,
// which may be that result's: what the job has cost is this run's.
func (c *coordination) recall(ctx context.Context, ch *child, at child) report {
	body, err := c.h.w.blobs.Offload(ctx, at.key.Queue, at.request, c.limit())
	if err != nil {
		return fails(fmt.Errorf("the request of job %s: %w", at.key.ID, err))
	}
	for _, id := range []string{at.key.ID, pipeline.AgainID(at.key.ID, c.h.d.seq)} {
		r, _, err := c.h.w.ledger.Result(ctx, Key{at.key.Queue, id})
		if err != nil {
			return fails(err)
		}
		if r == nil {
			break
		}
		if r.Request.Seq <= c.h.d.seq {
			continue // of an earlier request; where it is no checkpoint, its job runs under the second id
		}
		o, err := c.counts(ctx, r, schemas.Fingerprint(at.backend, body))
		return c.outcome(ch, at.key.ID, o, err)
	}
	return func() error {
		if c.jobs[ch.job] == ch {
			c.reuse.waiting = append(c.reuse.waiting, ch)
		}
		return nil
	}
}

// errStale says that a job ended before this pipeline run was asked for, by an answer that is not accepted and completely
// validated: it is no checkpoint of this one.
var errStale = errors.New("an earlier run of the job was not accepted by every validator")

// anew runs a job again whose result under id is stale. Such a result is an answer, which nothing replaces: the job gets an id of
// this request, under which a redelivery finds it.
func (c *coordination) anew(ch *child, id string) error {
	if c.jobs[ch.job] != ch || ch.key.ID != id {
		return nil
	}
	delete(c.out, id)
	ch.key.ID = pipeline.AgainID(id, c.h.d.seq)
	ch.published, ch.sent, ch.early, ch.since = false, false, false, time.Now()
	c.out[ch.key.ID] = ch
	return c.begin(ch)
}

// begin publishes a job's request at once, or has the server asked first for the result that may be there already.
func (c *coordination) begin(ch *child) error {
	if c.resumed {
		c.tasks.do(func(ctx context.Context) report { return c.prepare(ctx, ch) })
		return nil
	}
	buf := scratch.Get().(*[]byte)
	defer putBack(buf)
	body, err := ch.request.AppendJSON((*buf)[:0])
	*buf = body
	switch {
	case err != nil:
		return fmt.Errorf("the request of job %s: %w", ch.key.ID, err)
	case len(body) > c.limit():
		c.tasks.do(func(ctx context.Context) report { return c.prepare(ctx, ch) })
		return nil
	}
	return c.send(ch, body)
}

// limit bounds the request of a job.
func (c *coordination) limit() int { return int(c.h.w.nc.MaxPayload()) - headerRoom }

// prepare is the task that makes a job's request, and looks for its result. It changes nothing of the coordination.
func (c *coordination) prepare(ctx context.Context, ch *child) report {
	body, err := c.h.w.blobs.Offload(ctx, ch.key.Queue, ch.request, c.limit())
	if err != nil {
		return fails(fmt.Errorf("the request of job %s: %w", ch.key.ID, err))
	}
	if c.resumed {
		o, err := c.settled(ctx, ch, schemas.Fingerprint(ch.backend, body))
		if o != nil || err != nil {
			return c.outcome(ch, ch.key.ID, o, err)
		}
	}
	return func() error {
		if c.jobs[ch.job] != ch {
			return nil // nobody needs it any more
		}
		return c.send(ch, body)
	}
}

func fails(err error) report { return func() error { return err } }

// outcome reports what a look at a job's run under id came to.
func (c *coordination) outcome(ch *child, id string, o *pipeline.Outcome, err error) report {
	return func() error {
		if errors.Is(err, errStale) {
			return c.anew(ch, id)
		}
		if err == nil && o != nil {
			c.told(ch.job, *o)
		}
		return err
	}
}

// send publishes the request of a job's run. Whether it is stored is told by a word.
func (c *coordination) send(ch *child, body []byte) error {
	w := c.h.w
	ch.fingerprint, ch.published, ch.since = schemas.Fingerprint(ch.backend, body), true, time.Now()
	m := &nats.Msg{Subject: w.names.Run(ch.backend, ch.key.Queue, ch.key.ID), Reply: c.signals.acks + ch.key.ID, Data: body, Header: nats.Header{}}
	if c.signals.inbox != "" {
		m.Header.Set(subjects.HeaderReplyTo, c.signals.inbox)
	}
	if tp := c.h.d.msg.Header.Get(subjects.HeaderTraceparent); tp != "" && len(tp) <= 128 {
		m.Header.Set(subjects.HeaderTraceparent, tp)
	}
	if err := w.nc.PublishMsg(m); err != nil {
		return fmt.Errorf("the request of job %s: %w", ch.key.ID, err)
	}
	c.unconfirmed++
	return nil
}

// confirmed takes in the server's answer to a job's request. One that was there already must be the same.
func (c *coordination) confirmed(ch *child, answer *nats.Msg) error {
	_, err := acked(answer, nobody(answer))
	switch {
	case err == nil:
		c.stored(ch)
		return nil
	case !isCode(err, codeStreamFull):
		return fmt.Errorf("the request of job %s: %w", ch.key.ID, err)
	}
	at := *ch
	c.tasks.do(func(ctx context.Context) report {
		if err := c.same(ctx, &at, err); err != nil {
			return fails(err)
		}
		return func() error { c.stored(ch); return nil }
	})
	return nil
}

// same checks that the request that is there in place of a job's is the same; full is why the job's was not stored.
func (c *coordination) same(ctx context.Context, ch *child, full error) error {
	there, err := c.h.w.ledger.queued(ctx, c.h.w.names.Run(ch.backend, ch.key.Queue, ch.key.ID))
	switch {
	case err != nil:
		return err
	case there == nil:
		return full // the stream itself is full, or it ended in between: the run is handed back, and finds out
	case schemas.Fingerprint(ch.backend, there.Data) != ch.fingerprint:
		return fmt.Errorf("%w: %s is queued or running; publish the pipeline run under another id", errConflict, ch.key.ID)
	}
	return nil
}

// stored notes that a job's request is stored.
func (c *coordination) stored(ch *child) {
	ch.sent = true
	if ch.early {
		ch.early = false
		c.lookAt(ch)
	}
}

// confirmAll waits for the answers to the requests that are under way: until then nobody can end their runs.
func (c *coordination) confirmAll() {
	ctx, cancel := context.WithTimeout(c.h.w.base, publishTry)
	defer cancel()
	for c.unconfirmed > 0 {
		select {
		case <-ctx.Done():
			return
		case <-c.signals.wake:
		}
		for _, w := range c.signals.take() {
			if w.ack != nil {
				c.unconfirmed--
			}
		}
	}
}
