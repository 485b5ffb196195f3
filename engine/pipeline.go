package engine

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"emend/engine/event"
	"emend/engine/pipeline"
	"emend/engine/run"
	"emend/prompts"
	"emend/schemas"
)

// PipelineRequest asks for one run of a pipeline in this process: the same machine as over NATS, with jobs that are runs of
// this engine. Nothing is stored, so nothing is reused and a run that is broken off is lost.
type PipelineRequest struct {
	// ID correlates events and results.
	ID string
	// Pipeline is "name" (its newest version) or "name@version".
	Pipeline string
	// Inputs by name, document among them.
	Inputs map[string]any
	// Attempts is summary (default), none or full: how much the result tells of its jobs.
	Attempts string
	// MaxCost bounds what all jobs together may cost; 0 does not. Every prompt of the pipeline must have a max_cost then.
	MaxCost   schemas.USD
	SessionID string
	Metadata  map[string]string
	// Observer receives the events of all jobs, those of a job in order; Progress receives what happens to stages. Neither is
	// called while it, or the other, is under way. Nil for none.
	Observer event.Observer
	Progress func(pipeline.Tell)
}

// RunPipeline runs a pipeline to its end. The result is returned whatever its status; an error means that there is none:
// the request was refused (ErrInvalidRequest).
func (e *Engine) RunPipeline(ctx context.Context, r PipelineRequest) (*schemas.Result, error) {
	wire, err := (&RunRequest{Inputs: r.Inputs}).wire()
	if err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(r.Pipeline, "@")
	req := schemas.PipelineRequest{Pipeline: r.Pipeline, Inputs: wire.Inputs, Attempts: r.Attempts, SessionID: r.SessionID, Metadata: r.Metadata}
	if r.MaxCost != 0 {
		req.MaxCost = &r.MaxCost
	}
	planned, err := e.snapshot.PlanPipeline(name, req, prompts.Origin{ID: r.ID, Library: true})
	if err != nil {
		return nil, &categorised{kind: ErrInvalidRequest, message: err.Error(), cause: err}
	}
	l := &local{e: e, run: planned, req: r, ended: make(chan pipeline.Ended), stops: map[pipeline.Job]context.CancelFunc{}, places: e.places(planned.Plan)}
	began := time.Now()
	out := WirePipeline(planned.Shell, l.drive(ctx))
	out.TimingMS.Total = time.Since(began).Milliseconds()
	return &out, nil
}

// local drives a pipeline run in this process. Its own goroutine alone touches the machine; each job has one.
type local struct {
	e      *Engine
	run    *prompts.PipelineRun
	req    PipelineRequest
	ended  chan pipeline.Ended
	stops  map[pipeline.Job]context.CancelFunc
	places map[string]chan struct{}
	jobs   sync.WaitGroup
	// observing lets one of observer and progress be called at a time.
	observing sync.Mutex
}

// places bound the jobs of each backend to what its gate admits: a library has no queue for the others.
func (e *Engine) places(p *pipeline.Plan) map[string]chan struct{} {
	out := map[string]chan struct{}{}
	for _, b := range append(e.snapshot.Backends(), e.snapshot.Endpoints()...) {
		n := p.Window
		if b.Admitted > 0 {
			n = min(n, b.Admitted)
		}
		out[b.Name] = make(chan struct{}, n)
	}
	return out
}

func (l *local) drive(ctx context.Context) pipeline.Result {
	jobs, stop := context.WithCancel(ctx)
	defer l.jobs.Wait()
	defer stop()
	acts := l.run.Run.Step(pipeline.Begun{})
	for {
		if end := l.perform(jobs, acts); end != nil {
			return *end
		}
		select {
		case e := <-l.ended:
			acts = l.run.Run.Step(e)
		case <-ctx.Done():
			acts = l.run.Run.Step(pipeline.Stopped{Status: statusOf(ctx.Err())})
		}
	}
}

func (l *local) perform(ctx context.Context, acts []pipeline.Action) (end *pipeline.Result) {
	for _, a := range acts {
		switch a := a.(type) {
		case pipeline.Publish:
			l.start(ctx, a.Job)
		case pipeline.Abandon:
			l.stops[a.Job]()
		case pipeline.Tell:
			l.tell(a)
		case pipeline.Finish:
			end = &a.Result
		}
	}
	return end
}

// start runs a job on a goroutine of its own; what it is given is taken from the machine now.
func (l *local) start(ctx context.Context, j pipeline.Job) {
	all := ctx
	ctx, stop := context.WithCancel(all)
	l.stops[j] = stop
	inputs, err := l.run.Run.Inputs(j)
	request := l.run.JobRequest(j, inputs)
	places := l.places[l.run.Run.Binding(j).Backend]
	l.jobs.Go(func() {
		defer stop()
		out := pipeline.Outcome{Status: schemas.StatusFailed}
		if err != nil {
			out.Error = &schemas.Error{Category: schemas.CategoryInvalidRequest, Message: err.Error()}
		} else {
			out = l.do(ctx, j, request, places)
		}
		select {
		case l.ended <- pipeline.Ended{Job: j, Outcome: out}:
		case <-all.Done(): // the run has ended
		}
	})
}

func (l *local) do(ctx context.Context, j pipeline.Job, request schemas.Request, places chan struct{}) pipeline.Outcome {
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
	case <-ctx.Done():
		return pipeline.Outcome{Status: statusOf(ctx.Err())}
	}
	id := pipeline.ChildID(cmp.Or(l.req.ID, "local"), l.run.Plan.Digest[:8], j)
	plan, err := l.e.snapshot.Plan(request, prompts.Origin{ID: id, Library: true})
	if err != nil {
		return pipeline.Outcome{Status: schemas.StatusFailed, Error: &schemas.Error{Category: schemas.CategoryInvalidRequest, Message: err.Error()}}
	}
	l.e.applyRetries(plan, nil)
	x := Execution{Plan: plan, State: plan.Start()}
	if l.req.Observer != nil {
		x.Observer = event.Func(l.observe)
	}
	res, err := l.e.Execute(ctx, x)
	if err != nil {
		return pipeline.Outcome{Status: schemas.StatusFailed, Error: &schemas.Error{Category: schemas.CategoryInternal, Message: "the job could not be executed"}}
	}
	r := WireResult(plan, res)
	return pipeline.OutcomeOf(&r)
}

func (l *local) tell(p pipeline.Tell) {
	l.observing.Lock()
	defer l.observing.Unlock()
	if l.req.Progress != nil {
		l.req.Progress(p)
	}
}

func (l *local) observe(ctx context.Context, e event.Event) {
	l.observing.Lock()
	defer l.observing.Unlock()
	l.req.Observer.Observe(ctx, e)
}

// WirePipeline is the form of a pipeline's result that is stored and sent. Its usage is the sum of its jobs'.
func WirePipeline(shell *run.Plan, end pipeline.Result) schemas.Result {
	r := schemas.Result{ID: shell.ID, Queue: shell.Queue, Status: end.Status, Output: end.Output, Error: end.Error, Counts: end.Counts, Warnings: end.Warnings,
		Pipeline: end.Report, Source: schemas.Source{Catalog: shell.Catalog}, Metadata: shell.Metadata, Attempts: []schemas.Attempt{}}
	r.Counts.Executions, r.Cost = 1, end.Cost.Cost()
	if end.Error == nil {
		if end.Usage.Calls > 0 {
			r.Usage = end.Usage.Usage()
		}
		if end.ValidatorUsage.Calls > 0 {
			r.ValidatorUsage = end.ValidatorUsage.Usage()
		}
	}
	v := end.Verdict
	if v == nil || v.Err != nil {
		return r
	}
	r.Validation = &schemas.Validation{Mode: schemas.ModeJSONSchema, Valid: v.Valid(), Class: string(v.Class), Complete: v.Omitted == 0 && v.Rules.Skipped == 0,
		Rules: rules(v.Rules), Findings: []schemas.Finding{}, Validators: []schemas.Validator{}}
	for _, f := range v.Findings {
		r.Validation.Findings = append(r.Validation.Findings, schemas.Finding{Pointer: f.Pointer, Keyword: f.Keyword, Message: f.Message, Expected: f.Expected})
	}
	return r
}
