package consumer

import (
	"context"
	"errors"
	"time"

	"emend/engine"
	"emend/engine/pipeline"
	"emend/engine/run"
	"emend/prompts"
	"emend/schemas"
)

// coordination drives one pipeline run: it publishes jobs, takes in their results, and settles the whole. The result stream is
// its checkpoint: whoever takes the run up finds there what has been done. All of it belongs to the delivery's goroutine, but
// for signals, and for the tasks that it has done beside it.
type coordination struct {
	h    *handler
	name string
	run  *prompts.PipelineRun
	// under is this execution among those under way.
	under *underway
	// parent and content begin the ids of the jobs.
	parent, content string
	// out are the jobs that were published, by the id of their run; jobs are the same by job.
	out  map[string]*child
	jobs map[pipeline.Job]*child
	// unconfirmed counts the requests that were published and not answered by the server.
	unconfirmed int
	// replaces is the sequence of the result that this run may replace, 0 for none.
	replaces uint64
	// resumed says that runs of jobs may be there already.
	resumed bool
	signals *signals
	reuse   *reuse
	tasks   *tasks
	// ready are outcomes to be told to the machine.
	ready []pipeline.Ended
	// swept says that the jobs are taken away all together, once the run is settled: whoever cancelled it waits for that.
	swept bool
	// end is set when the machine has finished. quiet says that somebody else has told how the run ended: nothing is told after it.
	end   *pipeline.Result
	quiet bool
}

// ref is the pipeline as name@version; "" for a run of a model, and for a request that was never planned.
func (c *coordination) ref() string {
	if c == nil || c.run == nil {
		return ""
	}
	return c.run.Plan.Ref()
}

// errConflict says that a job's id is taken by other content.
var errConflict = errors.New("the id of a job is taken by other content")

// execute coordinates the run to its end.
func (c *coordination) execute(work context.Context, replace uint64) {
	h := c.h
	ctx, under := h.w.inflight.add(work, h.key, h.d.seq, c.run.Shell.Deadline)
	defer under.forget()
	c.under = under
	if !c.begun(work) {
		return
	}
	c.resumed, c.replaces = h.d.count > 1 || h.d.before || replace != 0, replace
	var err error
	if c.signals, err = c.hear(); err != nil {
		h.handBack(h.w.base, HandBack{Delay: ledgerRetry, Cause: "ledger"})
		return
	}
	defer c.signals.stop()
	c.reuse = h.w.openReuse(ctx, h.key.Queue, c.run.Reuse)
	h.events.send(schemas.Event{Kind: schemas.EventStarted, Pipeline: c.run.Plan.Ref()})
	err = c.drive(ctx)
	c.tasks.wait()
	c.allKept()
	c.conclude(work, err, replace)
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
	tasks, stop := context.WithCancel(c.h.w.base)
	defer stop()
	c.tasks = newTasks(tasks)
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	err := c.perform(c.run.Run.Step(pipeline.Begun{}))
	for err == nil && c.end == nil {
		select {
		case <-ctx.Done():
			return c.stopped()
		case <-c.signals.wake:
			err = c.heard()
		case <-c.tasks.wake:
			err = c.reported()
		case <-sweep.C:
			if err = c.sweep(); err == nil && c.settledByOthers(ctx) {
				c.quiet = true
				err = c.perform(c.run.Run.Step(pipeline.Stopped{Status: schemas.StatusCancelled}))
			}
		}
		if err == nil {
			err = c.perform(nil)
		}
	}
	if err != nil && ctx.Err() != nil {
		return c.stopped() // what fails while the run is being stopped is the stop
	}
	return err
}

// settledByOthers reports whether a result stands under the run's id that is not the one that it may replace: its jobs are
// needed by nobody any more.
func (c *coordination) settledByOthers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, sweepEvery)
	defer cancel()
	r, seq, err := c.h.w.ledger.Result(ctx, c.h.key)
	return err == nil && r != nil && seq != c.replaces
}

// stopped ends the run whose context is done: put down as it is, or its jobs with it.
func (c *coordination) stopped() error {
	cause := c.under.why()
	switch {
	case errors.Is(cause, context.DeadlineExceeded):
		return c.over(schemas.StatusExpired)
	case errors.Is(cause, errCancelled):
		c.quiet = c.settledByOthers(c.h.w.base)
		return c.over(schemas.StatusCancelled)
	}
	return errPutDown
}

// overWithin is how long jobs of a run that is over may take to say what they have done. Those of one whose time is over are not
// cancelled before: who is cancelled in a call by somebody else does not tell in his result that it was made.
const overWithin = 400 * time.Millisecond

// over ends the run whose time is over, or which was cancelled, once its jobs have ended, which end by themselves, or do not say so.
// What goes wrong on the way keeps nobody.
func (c *coordination) over(status string) error {
	if status == schemas.StatusCancelled {
		c.tellWorkers()
	}
	patience := time.NewTimer(overWithin)
	defer patience.Stop()
	c.reuse.waiting = nil
	acts := c.run.Run.Step(pipeline.TimeUp{Status: status})
	for {
		if err := c.perform(acts); err != nil || c.end != nil {
			return err
		}
		acts = nil
		select {
		case <-c.signals.wake:
			_ = c.heard()
		case <-c.tasks.wake:
			_ = c.reported()
		case <-patience.C:
			acts = c.run.Run.Step(pipeline.Stopped{Status: status})
		}
	}
}

// perform does actions, and tells the machine what is known of jobs, until there is nothing more to do at once.
func (c *coordination) perform(acts []pipeline.Action) error {
	var ended *child
	for {
		if err := c.act(acts, ended); err != nil {
			return err
		}
		if len(c.ready) == 0 {
			c.find()
			return nil
		}
		next := c.ready[0]
		c.ready = c.ready[1:]
		ended = c.forget(next.Job)
		acts = c.run.Run.Step(next)
	}
}

// act does actions; ended is the job whose end led to them, nil for none.
func (c *coordination) act(acts []pipeline.Action, ended *child) error {
	c.stopAll(acts)
	for _, a := range acts {
		switch a := a.(type) {
		case pipeline.Publish:
			if err := c.publish(a); err != nil {
				return err
			}
		case pipeline.Abandon:
			c.abandon(a.Job)
		case pipeline.Keep:
			c.keep(ended, a.Output)
		case pipeline.Tell:
			if c.quiet {
				continue
			}
			jobs := a.Jobs
			c.h.events.send(schemas.Event{Kind: schemas.EventStage, Pipeline: c.run.Plan.Ref(), Stage: a.Stage, Lane: a.Lane, Outcome: a.Outcome, Jobs: &jobs})
		case pipeline.Finish:
			c.end = &a.Result
		}
	}
	return nil
}

// stopAll stops all jobs at once where the run ends without an answer; then they are taken away one by one.
func (c *coordination) stopAll(acts []pipeline.Action) {
	if len(acts) == 0 {
		return
	}
	end, ends := acts[len(acts)-1].(pipeline.Finish)
	if !ends || !unanswered(end.Result.Status) || len(c.out) == 0 {
		return
	}
	c.swept = end.Result.Status == schemas.StatusCancelled
	c.tellWorkers()
}

// tellWorkers has all workers stop the jobs.
func (c *coordination) tellWorkers() {
	ctx, cancel := context.WithTimeout(c.h.w.base, serviceWait)
	defer cancel()
	if err := c.h.w.stopChildren(ctx, c.h.key); err != nil {
		c.h.log().Warn().Err(err).Msg("the workers could not be told to stop the jobs; they are cancelled one by one")
	}
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
		c.clear()
		r := plain(schemas.StatusFailed, schemas.Source{}, c.run.Shell.Metadata)
		r.Error = &schemas.Error{Category: schemas.CategoryIDConflict, Message: err.Error()}
		h.settle(work, r, replace, run.State{})
	case err != nil:
		h.log().Warn().Err(err).Msg("a job could not be published or looked at; the pipeline run is handed back")
		h.handBack(h.w.base, HandBack{Delay: ledgerRetry, Cause: "ledger"})
	default:
		if unanswered(c.end.Status) && !c.swept {
			c.clear()
		}
		h.settle(work, c.result(), replace, run.State{})
		if c.swept {
			c.clear()
		}
	}
}

// clear ends the jobs that are left of a run that ends without them, those too whose publish was under way when it ended.
func (c *coordination) clear() {
	c.confirmAll()
	ctx, cancel := context.WithTimeout(c.h.w.base, serviceWait)
	defer cancel()
	if err := c.h.w.cancelChildren(ctx, c.h.key); err != nil {
		c.h.log().Warn().Err(err).Msg("jobs may be left that nobody needs; they run to their end")
	}
}

// result is the machine's on the wire, with the sums of its jobs.
func (c *coordination) result() schemas.Result {
	r := engine.WirePipeline(c.run.Shell, *c.end)
	r.Counts.Executions = int(c.h.d.count)
	return r
}
