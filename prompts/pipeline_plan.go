package prompts

import (
	"cmp"
	"encoding/json"
	"maps"
	"strings"

	"emend/engine/pipeline"
	"emend/engine/run"
	"emend/schemas"
)

// PipelineRun is a request for a pipeline run that was found sound, before anything of it is paid for.
type PipelineRun struct {
	Plan *pipeline.Plan
	// Run is the machine, about to begin.
	Run *pipeline.Run
	// Shell has what a carrier needs of any run: id, queue, deadline, metadata.
	Shell *run.Plan
	// Reuse is auto, refresh or none.
	Reuse string
	// SessionID goes along with every job, as Attempts does: full, or nothing.
	SessionID, Attempts string
}

// PlanPipeline checks a request for a run of the named pipeline: the definition, the inputs, and what can be known of the
// chunks. Its error is a *RequestError that lists every fault, without an input's text.
func (s *Snapshot) PlanPipeline(name string, req schemas.PipelineRequest, from Origin) (*PipelineRun, error) {
	plain := &schemas.Request{TimeoutS: req.TimeoutS, Deadline: req.Deadline, SessionID: req.SessionID, Metadata: req.Metadata}
	p := &pipelinePlanner{planner: planner{s: s, req: plain, from: from, report: newReport("")}, name: name, given: req}
	if _, ok := s.config.Queues[from.Queue]; !ok && !from.Library {
		p.missing("", "there is no queue %s", quoted(from.Queue))
	}
	p.find()
	p.words()
	p.cost()
	p.limits()
	p.inputs()
	out := p.prepared()
	if err := p.refusal(); err != nil {
		return nil, err
	}
	return out, nil
}

// pipelinePlanner gathers what a PipelineRun needs.
type pipelinePlanner struct {
	planner
	name   string
	given  schemas.PipelineRequest
	found  *compiledPipeline
	values map[string]json.RawMessage
}

// find: the body may name a version of the pipeline in the subject, and no other pipeline.
func (p *pipelinePlanner) find() {
	ref := cmp.Or(p.given.Pipeline, p.name)
	if id, _, _ := strings.Cut(ref, "@"); id != p.name {
		p.fault("pipeline", "is %s, but the subject is that of %s; publish it there", quoted(ref), quoted(p.name))
		return
	}
	if strings.Contains(ref, "@") && !validRef(ref) {
		p.fault("pipeline", "must be name or name@version, the version a whole number from 1")
		return
	}
	found, problem := p.s.findPipeline(ref)
	if problem != nil {
		p.unknown = append(p.unknown, *problem)
		return
	}
	p.found = found
}

func (p *pipelinePlanner) words() {
	p.word("reuse", p.given.Reuse, []string{schemas.ReuseAuto, schemas.ReuseRefresh, schemas.ReuseNone})
	p.word("attempts", p.given.Attempts, schemas.AttemptsWords)
}

// cost: a bound on the whole needs one on each job.
func (p *pipelinePlanner) cost() {
	if p.given.MaxCost == nil {
		return
	}
	if *p.given.MaxCost <= 0 {
		p.fault("max_cost", "must be above 0, in US dollars")
	}
	if p.found == nil {
		return
	}
	for _, step := range p.found.plan.Steps() {
		if step.Model() && step.MaxCost == 0 {
			p.once("max_cost", "needs a max_cost in every prompt of the pipeline, and %s has none: what a job may cost is set aside while it runs", step.Prompt)
		}
	}
}

// inputs checks what is given against what is declared, and completes it with defaults.
func (p *pipelinePlanner) inputs() {
	if p.found == nil {
		return
	}
	def := p.found.def
	declared := maps.Clone(def.Inputs)
	if declared == nil {
		declared = map[string]Input{}
	}
	declared[pipeline.InputDocument] = Input{Max: def.Document.Max, Required: new(true)}
	asked := &compiled{def: Prompt{ID: def.Name, Version: def.Version, Inputs: declared}}
	_, faults := asked.values(p.given.Inputs)
	for _, f := range faults {
		p.fault(f.at, "%s", strings.ReplaceAll(strings.ReplaceAll(f.message, "input of prompt", "input of pipeline"), "the prompt needs it", "the pipeline needs it"))
	}
	p.values = map[string]json.RawMessage{}
	for name, in := range def.Inputs {
		if raw, ok := p.given.Inputs[name]; ok {
			p.values[name] = raw
		} else if in.Default != nil {
			p.values[name] = in.Default
		}
	}
}

// prepared makes the machine, which cuts the document where no model is asked.
func (p *pipelinePlanner) prepared() *PipelineRun {
	if p.found == nil || len(p.problems) > 0 {
		return nil
	}
	plan := p.found.plan
	r, err := pipeline.New(plan, pipeline.Request{Document: p.given.Inputs[pipeline.InputDocument], Inputs: p.values,
		MaxCost: p.most(), Full: p.given.Attempts == schemas.AttemptsFull, None: p.given.Attempts == schemas.AttemptsNone})
	if err != nil {
		p.fault("inputs.document", "%v", err)
		return nil
	}
	p.fits(r)
	shell := &run.Plan{ID: p.from.ID, Queue: p.from.Queue, Catalog: p.s.config.Catalog, Metadata: maps.Clone(p.given.Metadata), Deadline: p.deadline(),
		PromptSHA256: plan.Digest}
	return &PipelineRun{Plan: plan, Run: r, Shell: shell, Reuse: cmp.Or(p.given.Reuse, p.found.def.Reuse), SessionID: p.given.SessionID, Attempts: p.attempts()}
}

// most is the bound on the cost of all jobs; 0 is none.
func (p *pipelinePlanner) most() schemas.USD {
	if p.given.MaxCost == nil {
		return 0
	}
	return *p.given.MaxCost
}

// fits checks the pipeline's inputs against the bounds of the prompts that get them.
func (p *pipelinePlanner) fits(r *pipeline.Run) {
	plan := p.found.plan
	steps := plan.Steps()
	for _, name := range sortedKeys(p.values) {
		for _, step := range steps {
			if limit, ok := step.Inputs[name]; ok && int(sizeOf(p.values[name])) > limit {
				p.once(join("inputs", name), "has %d bytes, but prompt %s takes %d", sizeOf(p.values[name]), step.Prompt, limit)
			}
		}
	}
	if !plan.Chunk.Model() {
		return
	}
	if _, err := r.Inputs(pipeline.Job{Stage: schemas.StageChunk, Lane: -1, Attempt: 1}); err != nil {
		p.once("inputs.document", "%v", err)
	}
}

// attempts of the jobs' own results: with their content where the pipeline's result has that of its jobs, jobs have stored
// results, and the queue allows it. A pipeline's report is made of what else they tell, so none is not handed on.
func (p *pipelinePlanner) attempts() string {
	if q := p.s.config.Queues[p.from.Queue]; p.given.Attempts == schemas.AttemptsFull && !p.from.Library && q.Allows(AllowAttempts) {
		return schemas.AttemptsFull
	}
	return ""
}

// JobRequest is the request of a job's run.
func (r *PipelineRun) JobRequest(j pipeline.Job, inputs map[string]json.RawMessage) schemas.Request {
	step := r.Run.Binding(j)
	out := schemas.Request{Prompt: step.Prompt, Inputs: inputs, Stage: r.Run.StageRef(j), SessionID: r.SessionID, Attempts: r.Attempts}
	if !r.Shell.Deadline.IsZero() {
		at := r.Shell.Deadline.UTC()
		out.Deadline = &at
	}
	return out
}
