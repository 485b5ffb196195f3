package consumer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"emend/engine"
	"emend/engine/pipeline"
	"emend/engine/run"
	"emend/prompts"
	"emend/schemas"
)

// coordination drives one pipeline run: it publishes jobs, waits for their results, and settles the whole. The result stream
// is its checkpoint: whoever takes the run up finds there what has been done. It belongs to the delivery's goroutine; the
// subscription to finished events only signals it.
type coordination struct {
	h    *handler
	name string
	run  *prompts.PipelineRun
	// parent and content begin the ids of the jobs.
	parent, content string
	// out are the jobs that were published, by the id of their run; jobs are the same by job.
	out  map[string]*child
	jobs map[pipeline.Job]*child
	// resumed says that runs of jobs may be there already.
	resumed bool
	signals *signals
	reuse   *reuse
	// ready are outcomes that were there already, to be told to the machine.
	ready []pipeline.Ended
	// end is set when the machine has finished.
	end *pipeline.Result
}

// errConflict says that a job's id is taken by other content.
var errConflict = errors.New("the id of a job is taken by other content")

// execute coordinates the run to its end.
func (c *coordination) execute(work context.Context, replace uint64) {
	h := c.h
	ctx, _, forget := h.w.inflight.add(work, h.key)
	defer forget()
	if !c.begun(work) {
		return
	}
	c.resumed = h.d.count > 1 || replace != 0
	if at := c.run.Shell.Deadline; !at.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, at)
		defer cancel()
	}
	var err error
	if c.signals, err = h.w.finishes(h.key.Queue, c.parent); err != nil {
		h.handBack(h.w.base, HandBack{Delay: ledgerRetry, Cause: "events"})
		return
	}
	defer c.signals.stop()
	c.reuse = h.w.openReuse(ctx, h.key.Queue, c.run.Reuse)
	h.events.send(schemas.Event{Kind: schemas.EventStarted, Pipeline: c.run.Plan.Ref()})
	c.conclude(work, c.drive(ctx), replace)
}

// begun notes the start; false ends the delivery.
func (c *coordination) begun(work context.Context) bool {
	h := c.h
	switch err := h.begin(work); {
	case errors.Is(err, ErrOvertaken):
		h.lost(err, run.State{})
		return false
	case err != nil:
		h.log().Warn().Err(err).Msg("the start could not be noted; the run is handed back")
		h.handBack(h.w.base, HandBack{Delay: ledgerRetry, Cause: "ledger"})
		return false
	}
	return true
}

// drive runs the machine until it has finished, ctx is done, or something stands in the way.
func (c *coordination) drive(ctx context.Context) error {
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	if err := c.perform(ctx, c.run.Run.Step(pipeline.Begun{})); err != nil {
		return c.orStopped(ctx, err)
	}
	for c.end == nil {
		select {
		case <-ctx.Done():
			return c.stopped(ctx)
		case <-c.signals.wake:
			for _, id := range c.signals.take() {
				if err := c.look(ctx, c.out[id]); err != nil {
					return c.orStopped(ctx, err)
				}
			}
		case <-sweep.C:
			if err := c.sweep(ctx); err != nil {
				return c.orStopped(ctx, err)
			}
		}
		if err := c.perform(ctx, nil); err != nil {
			return c.orStopped(ctx, err)
		}
	}
	return nil
}

// orStopped: an error while the run is being stopped is the stop.
func (c *coordination) orStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return c.stopped(ctx)
	}
	return err
}

// stopped ends the run whose context is done: put down as it is, or its jobs with it.
func (c *coordination) stopped(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, errPutDown) {
		return cause
	}
	status := schemas.StatusCancelled
	if errors.Is(cause, context.DeadlineExceeded) {
		status = schemas.StatusExpired
	} else if !errors.Is(cause, errCancelled) {
		return errPutDown
	}
	return c.perform(c.h.w.base, c.run.Run.Step(pipeline.Stopped{Status: status}))
}

// perform does actions, and tells the machine what was there already, until there is nothing more to do at once.
func (c *coordination) perform(ctx context.Context, acts []pipeline.Action) error {
	var ended *child
	for {
		if err := c.act(ctx, acts, ended); err != nil {
			return err
		}
		if len(c.ready) == 0 {
			return nil
		}
		next := c.ready[0]
		c.ready = c.ready[1:]
		ended = c.forget(next.Job)
		acts = c.run.Run.Step(next)
	}
}

// act does actions; ended is the job whose end led to them, nil for none.
func (c *coordination) act(ctx context.Context, acts []pipeline.Action, ended *child) error {
	var abandoned []*child
	for _, a := range acts {
		switch a := a.(type) {
		case pipeline.Publish:
			if err := c.publish(ctx, a); err != nil {
				return err
			}
		case pipeline.Abandon:
			if ch := c.forget(a.Job); ch != nil {
				abandoned = append(abandoned, ch)
			}
		case pipeline.Keep:
			c.keep(ctx, ended, a.Output)
		case pipeline.Tell:
			jobs := a.Jobs
			c.h.events.send(schemas.Event{Kind: schemas.EventStage, Pipeline: c.run.Plan.Ref(), Stage: a.Stage, Lane: a.Lane, Outcome: a.Outcome, Jobs: &jobs})
		case pipeline.Finish:
			c.end = &a.Result
		}
	}
	c.h.w.cancelJobs(c.h.w.base, abandoned)
	return nil
}

// conclude settles the run, or hands it back.
func (c *coordination) conclude(work context.Context, err error, replace uint64) {
	h := c.h
	switch {
	case errors.Is(err, errLeaseLost):
		h.lost(err, run.State{})
	case errors.Is(err, errPutDown):
		h.handBack(h.w.base, HandBack{Cause: "draining"})
	case errors.Is(err, errConflict):
		r := plain(schemas.StatusFailed, schemas.Source{}, c.run.Shell.Metadata)
		r.Error = &schemas.Error{Category: schemas.CategoryIDConflict, Message: err.Error()}
		h.settle(work, r, replace, run.State{})
	case err != nil:
		h.log().Warn().Err(err).Msg("a job could not be published or looked at; the pipeline run is handed back")
		h.handBack(h.w.base, HandBack{Delay: ledgerRetry, Cause: "ledger"})
	default:
		h.settle(work, c.result(), replace, run.State{})
	}
}

// result is the machine's on the wire. Its jobs each told their usage when they finished: the finished event of the whole has
// no totals of them.
func (c *coordination) result() schemas.Result {
	r := engine.WirePipeline(c.run.Shell, *c.end)
	r.Counts.Executions = int(c.h.d.count)
	return r
}

// warn logs what does not end a run.
func (c *coordination) warn(err error, what string) {
	c.h.log().Warn().Err(err).Msg(fmt.Sprintf("%s of %s", what, c.run.Plan.Ref()))
}
