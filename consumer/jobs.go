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
	// reuse is the key under which its output may be kept.
	reuse string
	since time.Time
}

// sweepEvery is how often jobs are looked at of whose end no word came: events may be lost. patienceOf is how long a job is
// not looked at.
const (
	sweepEvery = 2 * time.Second
	patienceOf = 2 * time.Second
)

// publish starts a job, unless an output for it is there: that of an earlier run of the same, or the result of its own run,
// which an earlier coordinator began.
func (c *coordination) publish(ctx context.Context, p pipeline.Publish) error {
	if err := c.h.allowed(); err != nil {
		return err
	}
	inputs, err := c.run.Run.Inputs(p.Job)
	if err != nil {
		c.ready = append(c.ready, pipeline.Ended{Job: p.Job, Outcome: failure(schemas.CategoryInvalidRequest, err.Error())})
		return nil
	}
	step := c.run.Run.Binding(p.Job)
	ch := &child{job: p.Job, key: Key{c.h.key.Queue, pipeline.ChildID(c.parent, c.content, p.Job)}, backend: step.Backend, since: time.Now(),
		reuse: pipeline.ReuseKey(step, inputs)}
	if p.Fresh {
		ch.key.ID += "-fresh"
	}
	if out := c.reuse.get(ctx, ch.reuse); out != nil && !p.Fresh {
		c.ready = append(c.ready, pipeline.Ended{Job: p.Job, Outcome: pipeline.Outcome{Status: schemas.StatusSucceeded, Output: out, Reused: true}})
		return nil
	}
	body, err := c.h.w.blobs.Offload(ctx, ch.key.Queue, c.run.JobRequest(p.Job, inputs), int(c.h.w.nc.MaxPayload())-headerRoom)
	if err != nil {
		return fmt.Errorf("the request of job %s: %w", ch.key.ID, err)
	}
	ch.fingerprint = schemas.Fingerprint(ch.backend, body)
	c.out[ch.key.ID], c.jobs[ch.job] = ch, ch
	if c.resumed {
		if done, err := c.settled(ctx, ch); done || err != nil {
			return err
		}
	}
	return c.send(ctx, ch, body)
}

// send stores the request of a job's run; one that is there already must be the same.
func (c *coordination) send(ctx context.Context, ch *child, body []byte) error {
	w := c.h.w
	m := &nats.Msg{Subject: w.names.Run(ch.backend, ch.key.Queue, ch.key.ID), Data: body, Header: nats.Header{}}
	if tp := c.h.d.msg.Header.Get(subjects.HeaderTraceparent); tp != "" && len(tp) <= 128 {
		m.Header.Set(subjects.HeaderTraceparent, tp)
	}
	ctx, cancel := context.WithTimeout(ctx, publishTry)
	defer cancel()
	_, err := w.js.PublishMsg(ctx, m)
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

// settled takes in the result of a job's run, if it has one. A result that is no answer, from before this pipeline run, is to
// be replaced.
func (c *coordination) settled(ctx context.Context, ch *child) (bool, error) {
	r, _, err := c.h.w.ledger.Result(ctx, ch.key)
	if err != nil || r == nil {
		return false, err
	}
	if r.Request.SHA256 != ch.fingerprint {
		return false, fmt.Errorf("%w: %s is settled; publish the pipeline run under another id", errConflict, ch.key.ID)
	}
	if unanswered(r.Status) && r.Request.Seq <= c.h.d.seq {
		return false, nil
	}
	if err := c.h.w.blobs.Fill(ctx, r); err != nil {
		return false, err
	}
	c.told(ch, pipeline.OutcomeOf(r))
	return true, nil
}

func (c *coordination) told(ch *child, o pipeline.Outcome) {
	c.ready = append(c.ready, pipeline.Ended{Job: ch.job, Outcome: o})
}

// look finds out whether a job has ended: by a result, or by a refusal, which leaves none.
func (c *coordination) look(ctx context.Context, ch *child) error {
	if ch == nil {
		return nil
	}
	if done, err := c.settled(ctx, ch); done || err != nil {
		return err
	}
	w := c.h.w
	m, err := w.ledger.queued(ctx, w.names.Run(ch.backend, ch.key.Queue, ch.key.ID))
	if m != nil || err != nil {
		return err
	}
	if done, err := c.settled(ctx, ch); done || err != nil { // between the two looks it may have ended
		return err
	}
	c.told(ch, w.refusalOf(ctx, ch))
	return nil
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
func (c *coordination) sweep(ctx context.Context) error {
	now := time.Now()
	for _, ch := range c.out {
		if now.Sub(ch.since) < patienceOf {
			continue
		}
		ch.since = now
		if err := c.look(ctx, ch); err != nil {
			return err
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

// keep stores an accepted output for other runs.
func (c *coordination) keep(ctx context.Context, ch *child, output json.RawMessage) {
	if ch == nil {
		return
	}
	if err := c.reuse.put(ctx, ch.reuse, output); err != nil {
		c.warn(err, "an output could not be kept for reuse")
	}
}

// cancelAtOnce bounds the jobs that are cancelled at the same time.
const cancelAtOnce = 16

// cancelJobs ends runs of jobs that nobody needs any more. What cannot be cancelled runs to its end, and its result is not
// looked at.
func (w *Worker) cancelJobs(ctx context.Context, jobs []*child) {
	if len(jobs) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, serviceWait)
	defer cancel()
	places := make(chan struct{}, cancelAtOnce)
	var all sync.WaitGroup
	for _, ch := range jobs {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			if _, err := w.Cancel(ctx, ch.key); err != nil {
				w.log.Warn().Err(err).Str("run", ch.key.ID).Msg("a job could not be cancelled; it runs to its end")
			}
		})
	}
	all.Wait()
}

// cancelChildren ends the jobs of a pipeline run that are queued or running, whoever published them.
func (w *Worker) cancelChildren(ctx context.Context, k Key) error {
	parent := pipeline.ParentTag(k.Queue, k.ID)
	info, err := w.ledger.runs.Info(ctx, jetstream.WithSubjectFilter(w.names.RunsOf(k.Queue)))
	if err != nil {
		return fmt.Errorf("list the queued runs: %w", err)
	}
	var jobs []*child
	for subject := range info.State.Subjects {
		if backend, queue, id, err := w.names.ParseRun(subject); err == nil && pipeline.IsChildOf(parent, id) {
			jobs = append(jobs, &child{key: Key{queue, id}, backend: backend})
		}
	}
	w.cancelJobs(ctx, jobs)
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
