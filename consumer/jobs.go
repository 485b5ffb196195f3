package consumer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/engine/pipeline"
	"emend/schemas"
	"emend/subjects"
)

// child is a job that was published.
type child struct {
	job         pipeline.Job
	key         Key
	backend     string
	fingerprint string
	// sent says that its request is stored: from then on either it or a result is there.
	sent bool
	// early is a word that came before the publish was reported.
	early *word
	// reuse is the key under which its output may be kept.
	reuse string
	// request is its run's; fresh says that no kept output will do.
	request schemas.Request
	fresh   bool
	since   time.Time
}

// sweepEvery is how often jobs are looked at of whose end no word came: events may be lost. patienceOf is how long a job is
// not looked at.
const (
	sweepEvery = 2 * time.Second
	patienceOf = 2 * time.Second
)

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
	c.tasks.do(func(ctx context.Context) report { return c.begin(ctx, ch) })
	return nil
}

// errStale says that a job ended before this pipeline run was asked for, by an answer that is not accepted and completely
// validated: it is no checkpoint of this one.
var errStale = errors.New("an earlier run of the job was not accepted by every validator")

// anew runs a job again whose result under id is stale. Such a result is an answer, which nothing replaces: the job gets an id of
// this request, under which a redelivery finds it.
func (c *coordination) anew(ch *child, id string) {
	if c.jobs[ch.job] != ch || ch.key.ID != id {
		return
	}
	delete(c.out, id)
	ch.key.ID = pipeline.AgainID(id, c.h.d.seq)
	ch.sent, ch.early, ch.since = false, nil, time.Now()
	c.out[ch.key.ID] = ch
	c.tasks.do(func(ctx context.Context) report { return c.begin(ctx, ch) })
}

// begin is the task that starts a job. It touches nothing of the coordination that changes.
func (c *coordination) begin(ctx context.Context, ch *child) report {
	if out := c.reuse.get(ctx, ch.reuse); out != nil && !ch.fresh {
		return func() error {
			c.told(ch.job, pipeline.Outcome{Status: schemas.StatusSucceeded, Output: out, Reused: true})
			return nil
		}
	}
	w := c.h.w
	body, err := w.blobs.Offload(ctx, ch.key.Queue, ch.request, int(w.nc.MaxPayload())-headerRoom)
	if err != nil {
		return fails(fmt.Errorf("the request of job %s: %w", ch.key.ID, err))
	}
	fingerprint := schemas.Fingerprint(ch.backend, body)
	if c.resumed {
		if o, err := c.settled(ctx, ch, fingerprint); o != nil || err != nil {
			return c.outcome(ch, ch.key.ID, o, err)
		}
	}
	err = c.send(ctx, ch, body)
	return func() error {
		ch.fingerprint, ch.sent = fingerprint, err == nil
		if err == nil && ch.early != nil {
			return c.hearOf(ch, *ch.early)
		}
		return err
	}
}

func fails(err error) report { return func() error { return err } }

// outcome reports what a look at a job's run under id came to.
func (c *coordination) outcome(ch *child, id string, o *pipeline.Outcome, err error) report {
	return func() error {
		if errors.Is(err, errStale) {
			c.anew(ch, id)
			return nil
		}
		if err == nil && o != nil {
			c.told(ch.job, *o)
		}
		return err
	}
}

// send stores the request of a job's run; one that is there already must be the same.
func (c *coordination) send(ctx context.Context, ch *child, body []byte) error {
	w := c.h.w
	m := &nats.Msg{Subject: w.names.Run(ch.backend, ch.key.Queue, ch.key.ID), Data: body, Header: nats.Header{}}
	if c.signals.inbox != "" {
		m.Header.Set(subjects.HeaderReplyTo, c.signals.inbox+"."+ch.key.ID)
	}
	if tp := c.h.d.msg.Header.Get(subjects.HeaderTraceparent); tp != "" && len(tp) <= 128 {
		m.Header.Set(subjects.HeaderTraceparent, tp)
	}
	ctx, cancel := context.WithTimeout(ctx, publishTry)
	defer cancel()
	err := c.store(ctx, m)
	if !isCode(err, codeStreamFull) {
		return err
	}
	there, lookErr := w.ledger.queued(ctx, m.Subject)
	switch {
	case lookErr != nil:
		return lookErr
	case there == nil:
		return err // the stream itself is full, or it ended in between: the run is handed back, and finds out
	case !bytes.Equal(there.Data, body):
		return fmt.Errorf("%w: %s is queued or running; publish the pipeline run under another id", errConflict, ch.key.ID)
	}
	return nil
}

// store publishes a request and waits until it is stored.
func (c *coordination) store(ctx context.Context, m *nats.Msg) error {
	f, err := c.h.w.js.PublishMsgAsync(m)
	if err != nil {
		return err
	}
	select {
	case <-f.Ok():
		return nil
	case err := <-f.Err():
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settled reads the result of a job's run, if it has one that counts.
func (c *coordination) settled(ctx context.Context, ch *child, fingerprint string) (*pipeline.Outcome, error) {
	r, _, err := c.h.w.ledger.Result(ctx, ch.key)
	if err != nil || r == nil {
		return nil, err
	}
	return c.counts(ctx, r, fingerprint)
}

// counts tells a result that is this job's from another's, and from one before this pipeline run: one that is no answer is to be
// replaced, and only an answer that was accepted and completely validated is taken over (seed 004).
func (c *coordination) counts(ctx context.Context, r *schemas.Result, fingerprint string) (*pipeline.Outcome, error) {
	if r.Request.SHA256 != fingerprint {
		return nil, fmt.Errorf("%w: %s is settled; publish the pipeline run under another id", errConflict, r.ID)
	}
	if before := r.Request.Seq <= c.h.d.seq; before && unanswered(r.Status) {
		return nil, nil
	} else if before && r.Status != schemas.StatusSucceeded {
		return nil, errStale
	}
	if err := c.h.w.blobs.Fill(ctx, r); err != nil {
		return nil, err
	}
	o := pipeline.OutcomeOf(r)
	return &o, nil
}

func (c *coordination) told(j pipeline.Job, o pipeline.Outcome) {
	c.ready = append(c.ready, pipeline.Ended{Job: j, Outcome: o})
}

// heard takes in what came of jobs.
func (c *coordination) heard() error {
	for _, w := range c.signals.take() {
		ch := c.out[w.id]
		if ch == nil {
			continue
		}
		if err := c.hearOf(ch, w); err != nil {
			return err
		}
	}
	return nil
}

// hearOf takes in a word of a job: a reply is the stored result, or a refusal; any other is a reason to look.
func (c *coordination) hearOf(ch *child, w word) error {
	if !ch.sent {
		ch.early = &w
		return nil
	}
	r := replied(w.body)
	if r == nil || r.ID != ch.key.ID || r.OutputBlob != nil {
		c.lookAt(ch)
		return nil
	}
	o, err := c.counts(c.h.w.base, r, ch.fingerprint)
	return c.outcome(ch, r.ID, o, err)()
}

// reported takes in what came of tasks.
func (c *coordination) reported() error {
	for _, r := range c.tasks.take() {
		if err := r(); err != nil {
			return err
		}
	}
	return nil
}

// lookAt has a job looked at, which may have ended by a result, or by a refusal, which leaves none. While its publish is not
// reported there is nothing to see.
func (c *coordination) lookAt(ch *child) {
	ch.since = time.Now()
	if !ch.sent {
		return
	}
	at := *ch
	c.tasks.do(func(ctx context.Context) report {
		o, err := c.look(ctx, &at, at.fingerprint)
		return c.outcome(ch, at.key.ID, o, err)
	})
}

func (c *coordination) look(ctx context.Context, ch *child, fingerprint string) (*pipeline.Outcome, error) {
	if o, err := c.settled(ctx, ch, fingerprint); o != nil || err != nil {
		return o, err
	}
	w := c.h.w
	m, err := w.ledger.queued(ctx, w.names.Run(ch.backend, ch.key.Queue, ch.key.ID))
	if m != nil || err != nil {
		return nil, err
	}
	if o, err := c.settled(ctx, ch, fingerprint); o != nil || err != nil { // between the two looks it may have ended
		return o, err
	}
	o := w.refusalOf(ctx, ch)
	return &o, nil
}

// refusalOf says why a job has neither request nor result.
func (w *Worker) refusalOf(ctx context.Context, ch *child) pipeline.Outcome {
	m, err := w.ledger.dead.GetLastMsgForSubject(ctx, w.names.Dead(ch.key.Queue, ch.key.ID))
	if err != nil {
		return failure(schemas.CategoryAbandoned, "its request is gone, without a result and without a dead letter")
	}
	return failure(m.Header.Get(subjects.HeaderReason), m.Header.Get(subjects.HeaderError))
}

func failure(category, message string) pipeline.Outcome {
	return pipeline.Outcome{Status: schemas.StatusFailed, Error: &schemas.Error{Category: category, Message: message}}
}

// sweep looks at the jobs of which no word came for a while.
func (c *coordination) sweep() error {
	now := time.Now()
	for _, ch := range c.out {
		if now.Sub(ch.since) >= patienceOf {
			c.lookAt(ch)
		}
	}
	return c.h.allowed()
}

// forget takes a job out of those that are waited for; nil if it was not among them.
func (c *coordination) forget(j pipeline.Job) *child {
	ch := c.jobs[j]
	if ch != nil {
		delete(c.jobs, j)
		delete(c.out, ch.key.ID)
	}
	return ch
}

// abandon has a job ended that nobody needs any more.
func (c *coordination) abandon(j pipeline.Job) {
	ch := c.forget(j)
	if ch == nil {
		return
	}
	w := c.h.w
	c.tasks.do(func(context.Context) report {
		ctx, cancel := context.WithTimeout(w.base, serviceWait)
		defer cancel()
		w.cancelJob(ctx, ch.key)
		return nil
	})
}

// keep stores an accepted output for other runs.
func (c *coordination) keep(ch *child, output json.RawMessage) {
	if ch == nil || ch.reuse == "" {
		return
	}
	c.tasks.do(func(context.Context) report {
		ctx, cancel := context.WithTimeout(c.h.w.base, serviceWait)
		defer cancel()
		if err := c.reuse.put(ctx, ch.reuse, output); err != nil {
			c.h.log().Warn().Err(err).Msg("an output could not be kept for reuse")
		}
		return nil
	})
}

// cancelAtOnce bounds the jobs that are cancelled at the same time.
const cancelAtOnce = 16

// cancelJob ends the run of a job that nobody needs any more. One that cannot be cancelled runs to its end, and its result is
// not looked at.
func (w *Worker) cancelJob(ctx context.Context, k Key) {
	if _, err := w.Cancel(ctx, k); err != nil {
		w.log.Warn().Err(err).Str("run", k.ID).Msg("a job could not be cancelled; it runs to its end")
	}
}

// cancelChildren ends the jobs of a pipeline run that are queued or running, whoever published them.
func (w *Worker) cancelChildren(ctx context.Context, k Key) error {
	parent := pipeline.ParentTag(k.Queue, k.ID)
	info, err := w.ledger.runs.Info(ctx, jetstream.WithSubjectFilter(w.names.RunsOf(k.Queue)))
	if err != nil {
		return fmt.Errorf("list the queued runs: %w", err)
	}
	places := make(chan struct{}, cancelAtOnce)
	var all sync.WaitGroup
	for subject := range info.State.Subjects {
		_, queue, id, err := w.names.ParseRun(subject)
		if err != nil || !pipeline.IsChildOf(parent, id) {
			continue
		}
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			w.cancelJob(ctx, Key{queue, id})
		})
	}
	all.Wait()
	return nil
}

// queued is the message on a subject of the runs stream, nil if there is none.
func (l *Ledger) queued(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	m, err := l.runs.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	return m, err
}
