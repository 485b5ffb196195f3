// Package pipeline is the inside of a pipeline run (seed 004, design section 7): a document is cut into chunks, each lane
// extracts from every chunk, merges and normalizes what was accepted, and the lanes together are the output.
//
// The package is pure: no clock, no I/O. A Run is a step machine that is told what happened to jobs and says what to do
// next; deterministic stages it does itself. Whoever drives it publishes jobs as runs, or calls the engine.
package pipeline

import (
	"encoding/json"
	"fmt"

	"emend/engine/contract"
	"emend/schemas"
)

// Protocol is part of every digest: a change of what is asked of jobs, or of how outputs are combined, changes it.
const Protocol = 1

// MaxChunks bounds the chunks of a document.
const MaxChunks = 100_000

// Plan is a pipeline as one version of its definition says, compiled. It never changes and is safe to share.
type Plan struct {
	Name    string
	Version int
	// Digest covers everything that shapes a run: stages, prompts, schemas, profiles, validators, budgets, policies.
	Digest string
	// Chunk is the chunk stage; Chunker cuts where it has no prompt.
	Chunk   Step
	Chunker Chunker
	Lanes   []Lane
	// Window is how many jobs may be published and not ended.
	Window int
	// Output is the contract of the whole; nil accepts any.
	Output *contract.Contract
}

// Ref is name@version.
func (p *Plan) Ref() string { return fmt.Sprintf("%s@%d", p.Name, p.Version) }

// Steps lists the stages of all lanes, those that were not configured too.
func (p *Plan) Steps() []Step {
	steps := []Step{p.Chunk}
	for _, l := range p.Lanes {
		steps = append(steps, l.Extract, l.Merge, l.Normalize)
	}
	return steps
}

// Lane is one way through the chunks.
type Lane struct {
	Name                      string
	Extract, Merge, Normalize Step
}

// Step is one stage's binding: a prompt, or an operation that needs none.
type Step struct {
	// Prompt is id@version, "" for a deterministic stage; Backend is where its jobs go.
	Prompt, Backend string
	// Retries are the further stage attempts of a job.
	Retries int
	// MaxCost is the most that a job may cost; 0 is no bound.
	MaxCost schemas.USD
	// Inputs are what the prompt declares, with the most bytes that each may have.
	Inputs map[string]int
	// Combine is the operation of a deterministic merge or normalize.
	Combine Combine
	// Contract judges what a deterministic stage makes, and what is reused of a chunk stage; nil judges nothing.
	Contract *contract.Contract
	// Rules are the names of a deterministic stage's rules, in their order.
	Rules []string
	// Again lets a normalize step ask for another attempt; nil for none.
	Again  *Again
	Policy schemas.StagePolicy
	// Digest covers what shapes the stage's outputs besides its inputs.
	Digest string
}

// Model reports whether the stage has a prompt.
func (s Step) Model() bool { return s.Prompt != "" }

// empty is a normalize step that was not configured.
func (s Step) empty() bool { return !s.Model() && s.Combine.By == "" }

// Job is one unit of work: a stage's work on a chunk, or on a lane. It is comparable.
type Job struct {
	Stage string
	// Lane is the lane's number, -1 for the chunk stage. Chunk counts from 1, 0 outside of extract.
	Lane, Chunk int
	// Attempt is the stage attempt that the job begins with, from 1.
	Attempt int
}

// Outcome is how a job ended.
type Outcome struct {
	// Status is that of its run: one of the schemas.Status words.
	Status string
	// Output is its JSON value, or a JSON string with its text.
	Output json.RawMessage
	// Run is the id of its run, "" for a reused output. Reused says that the output was there already.
	Run    string
	Reused bool
	// Error is why it failed.
	Error      *schemas.Error
	Stages     []schemas.Stage
	Validators []schemas.Validator
	Counts     schemas.Counts
	// Usage and ValidatorUsage are what it cost here; a reused output costs nothing.
	Usage, ValidatorUsage *schemas.Usage
	Cost                  *schemas.Cost
}

// OutcomeOf reads the result of a job's run.
func OutcomeOf(r *schemas.Result) Outcome {
	o := Outcome{Status: r.Status, Output: r.Output, Run: r.ID, Error: r.Error, Stages: r.Stages, Counts: r.Counts, Usage: r.Usage, ValidatorUsage: r.ValidatorUsage, Cost: r.Cost}
	if r.Validation != nil {
		o.Validators = r.Validation.Validators
	}
	return o
}

// reusable reports whether the output may be kept for other runs: accepted, with every validator's decision, and new.
func (o Outcome) reusable() bool {
	return o.Status == schemas.StatusSucceeded && !o.Reused && len(o.Output) > 0
}

// accepted and rejected tell what may become of the output; neither is true of a job that has none.
func (o Outcome) accepted() bool {
	return o.Status == schemas.StatusSucceeded || o.Status == schemas.StatusUnverified
}

func (o Outcome) rejected() bool {
	return o.Status == schemas.StatusRejected || o.Status == schemas.StatusInvalid
}

// Request is what one run is given.
type Request struct {
	// Document is the JSON of the document: a string, or an array for records.
	Document json.RawMessage
	// Inputs are those of the pipeline besides.
	Inputs map[string]json.RawMessage
	// MaxCost bounds what all jobs together may cost; 0 does not. Every stage with a prompt has a MaxCost then.
	MaxCost schemas.USD
	// Full keeps every job with its content for the report, None keeps no report.
	Full, None bool
}

// Event is what happened: one of Begun, Ended, TimeUp, Stopped.
type Event interface{ event() }

// Begun starts a run.
type Begun struct{}

// Ended tells how a job ended.
type Ended struct {
	Job     Job
	Outcome Outcome
}

// TimeUp says that the run's time is over, and that of its jobs with it: they are waited for, and what they have done counts. Stopped
// ends the wait. Status is expired, as "", or cancelled.
type TimeUp struct{ Status string }

// Stopped ends the run from outside: Status is cancelled or expired.
type Stopped struct{ Status string }

func (Begun) event()   {}
func (Ended) event()   {}
func (TimeUp) event()  {}
func (Stopped) event() {}

// Action is what to do: one of Publish, Abandon, Tell, Keep, Finish. The last action of a run is its Finish.
type Action interface{ action() }

// Publish starts a job. Fresh says that no reused output may stand in for it.
type Publish struct {
	Job   Job
	Fresh bool
}

// Abandon ends a job whose outcome nobody needs any more.
type Abandon struct{ Job Job }

// Tell is progress to be shown: a stage of a lane, with its jobs so far.
type Tell struct {
	Stage, Lane string
	// Outcome is running, or a schemas.Stage decision.
	Outcome string
	Jobs    schemas.JobCounts
}

// Keep says that a job's output was accepted and may be kept for other runs.
type Keep struct {
	Job    Job
	Output json.RawMessage
}

// Finish ends the run.
type Finish struct{ Result Result }

func (Publish) action() {}
func (Abandon) action() {}
func (Tell) action()    {}
func (Keep) action()    {}
func (Finish) action()  {}

// Running is the outcome of a stage that goes on.
const Running = "running"

// Result is how a run ended.
type Result struct {
	Status string
	// Output is an object with a member for each lane that came to an end; nil if none did.
	Output json.RawMessage
	// Verdict is that of the output's contract; nil without one.
	Verdict *contract.Verdict
	Error   *schemas.Error
	Report  *schemas.PipelineReport
	Counts  schemas.Counts
	// Usage and ValidatorUsage sum what the jobs cost.
	Usage, ValidatorUsage schemas.UsageSum
	Cost                  schemas.CostSum
	Warnings              []string
}
