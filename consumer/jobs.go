package consumer

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"emend/engine/pipeline"
	"emend/schemas"
	"emend/subjects"
)

// sweepEvery is how often jobs are looked at of whose end no word came: events may be lost. patienceOf is how long a job is
// not looked at.
const (
	sweepEvery = 2 * time.Second
	patienceOf = 2 * time.Second
)

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
	if err := c.h.w.blobs.fillOutput(ctx, r); err != nil {
		return nil, err
	}
	o := pipeline.OutcomeOf(r)
	return &o, nil
}

func (c *coordination) told(j pipeline.Job, o pipeline.Outcome) {
	c.ready = append(c.ready, pipeline.Ended{Job: j, Outcome: o})
}

// heard takes in what came of jobs.
func (c *coordination) heard() (errs error) {
	for _, w := range c.signals.take() {
		errs = errors.Join(errs, c.hearOf(w))
	}
	return errs
}

// hearOf takes in one word. What is told of a job that nobody waits for any more is passed over.
func (c *coordination) hearOf(w word) error {
	switch {
	case w.reply != nil:
		if r := replied(w.reply.Data); r != nil && c.out[r.ID] != nil {
			return c.answered(c.out[r.ID], r)
		}
	case w.ack != nil:
		c.unconfirmed--
		if ch := c.out[w.id]; ch != nil {
			return c.confirmed(ch, w.ack)
		}
	case c.out[w.id] != nil:
		c.finished(c.out[w.id])
	}
	return nil
}

// answered takes in the reply of a job's run, which is its stored result, or a refusal.
func (c *coordination) answered(ch *child, r *schemas.Result) error {
	ch.sent = true
	if r.OutputBlob != nil {
		c.lookAt(ch)
		return nil
	}
	o, err := c.counts(c.h.w.base, r, ch.fingerprint)
	return c.outcome(ch, r.ID, o, err)()
}

// finished has a job looked at whose run is said to have ended.
func (c *coordination) finished(ch *child) {
	if ch.sent {
		c.lookAt(ch)
		return
	}
	ch.early = true
}

// reported takes in what came of tasks.
func (c *coordination) reported() (errs error) {
	for _, r := range c.tasks.take() {
		errs = errors.Join(errs, r())
	}
	return errs
}

// lookAt has a job looked at, which may have ended by a result, or by a refusal, which leaves none. Its request must be stored.
func (c *coordination) lookAt(ch *child) {
	ch.since = time.Now()
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

// sweep looks at the jobs of which no word came for a while. A request that is not confirmed ends this delivery: the next one finds
// out whether it is stored.
func (c *coordination) sweep() error {
	now := time.Now()
	for _, ch := range c.out {
		switch waits := now.Sub(ch.since); {
		case ch.sent && waits >= patienceOf:
			c.lookAt(ch)
		case ch.published && !ch.sent && waits >= publishTry:
			return fmt.Errorf("the request of job %s: %w", ch.key.ID, errNoAnswer)
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
	if ch == nil || c.swept {
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

// cancelAtOnce bounds the jobs that are cancelled at the same time.
const cancelAtOnce = 16

// cancelJob ends the run of a job that nobody needs any more. One that cannot be cancelled runs to its end, and its result is
// not looked at.
func (w *Worker) cancelJob(ctx context.Context, k Key) {
	if _, err := w.Cancel(ctx, k); err != nil {
		w.log.Warn().Err(err).Str("run", k.ID).Msg("a job could not be cancelled; it runs to its end")
	}
}

// stopChildren has all workers stop the jobs of a pipeline run at once, those too that they take up from now on: while jobs are
// cancelled one by one, the place of each would be the next one's to begin a call.
func (w *Worker) stopChildren(ctx context.Context, k Key) error {
	info, err := w.ledger.runs.Info(ctx)
	if err != nil {
		return fmt.Errorf("read the last sequence of the queued runs: %w", err)
	}
	return w.nc.Publish(w.names.Control(k.Queue, k.ID), strconv.AppendUint(nil, info.State.LastSeq, 10))
}

// cancelChildren ends the jobs of a pipeline run that are queued or running, whoever published them.
func (w *Worker) cancelChildren(ctx context.Context, k Key) error {
	if err := w.stopChildren(ctx, k); err != nil {
		return err
	}
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
