package pipeline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"emend/schemas"
)

// Run is one pipeline run under way. It is a step machine: Step is told what happened and says what to do. It belongs to one
// goroutine. Nothing of it has to be stored: told again how its jobs ended, in whatever order, it comes to the same end.
type Run struct {
	plan *Plan
	req  Request
	doc  Document
	// spans are the chunks; nil until the chunk stage has ended.
	spans []Span
	lanes []lane
	// out are the jobs that were published and have not ended. held are those of a budget that does not cover them yet.
	out    map[Job]bool
	held   []Publish
	budget budget
	// cursor is the next extraction, chunk first, lane second.
	cursor int
	// failure is the first failed job in order so far.
	failure *failure
	done    bool
	// ending is the status of a run whose time is over: jobs that are out only count when they end, and the last ends the run.
	ending  string
	sums    sums
	tallies []*tally
	report  report
	// keeps are the outputs that a step accepted.
	keeps []Action
}

// lane is the way of one lane.
type lane struct {
	// outputs are the accepted ones by chunk; left counts the extractions that have not ended.
	outputs []json.RawMessage
	left    int
	// merged is set when the merge has ended, value at the lane's end. dropped says that the lane comes to no value.
	merged, value json.RawMessage
	dropped       bool
	ended         bool
}

// failure is why a run fails.
type failure struct {
	order int
	err   schemas.Error
}

// New prepares a run. Everything that can be known of it before a job is paid for is checked here: the error says what is
// wrong with the document.
func New(plan *Plan, req Request) (*Run, error) {
	by := plan.Chunker.By
	if plan.Chunk.Model() {
		by = ""
	}
	doc, err := ReadDocument(req.Document, by)
	if err != nil {
		return nil, err
	}
	r := &Run{plan: plan, req: req, doc: doc, out: map[Job]bool{}, lanes: make([]lane, len(plan.Lanes))}
	r.report.full, r.budget.limit = req.Full, req.MaxCost
	r.prepareTallies()
	if plan.Chunk.Model() {
		if doc.size() == 0 {
			return nil, errNoText
		}
		return r, plan.lines(doc.Text)
	}
	spans, err := plan.Chunker.Cut(doc)
	if err != nil {
		return nil, err
	}
	if err := r.fit(spans); err != nil {
		return nil, err
	}
	r.spans = spans
	r.req.Document = nil // a large one is held once
	return r, nil
}

// fit checks that every lane's prompt takes every chunk.
func (r *Run) fit(spans []Span) error {
	for _, l := range r.plan.Lanes {
		limit, bounded := l.Extract.Inputs[InputChunk]
		for i, s := range spans {
			if n := r.doc.bytesOf(s); bounded && n > limit {
				return fmt.Errorf("chunk %d has %d bytes, but input chunk of %s takes %d: cut smaller, or raise its max", i+1, n, l.Extract.Prompt, limit)
			}
		}
	}
	return nil
}

// Chunks is the number of chunks, 0 before they are known.
func (r *Run) Chunks() int { return len(r.spans) }

// Out lists the jobs that are published and have not ended, in order.
func (r *Run) Out() []Job {
	jobs := make([]Job, 0, len(r.out))
	for j := range r.out {
		jobs = append(jobs, j)
	}
	slices.SortFunc(jobs, func(a, b Job) int { return r.order(a) - r.order(b) })
	return jobs
}

// order is chunk first, lane second; a lane's merge and normalize come behind all extractions.
func (r *Run) order(j Job) int {
	n := len(r.plan.Lanes)
	switch j.Stage {
	case schemas.StageChunk:
		return 0
	case schemas.StageExtract:
		return 1 + (j.Chunk-1)*n + j.Lane
	}
	return 1 + len(r.spans)*n + j.Lane
}

// Step tells the run what happened, and returns what to do, in order. A run that has finished does nothing more.
func (r *Run) Step(e Event) []Action {
	if r.done {
		return nil
	}
	switch e := e.(type) {
	case Begun:
		acts := r.begin()
		return append(acts, r.stuck()...)
	case Ended:
		if !r.out[e.Job] {
			return nil // another's word on a job that nobody waits for
		}
		delete(r.out, e.Job)
		r.budget.settle(r.Binding(e.Job).MaxCost, e.Outcome)
		r.keeps = nil
		acts := r.ended(e.Job, e.Outcome)
		return append(append(r.keeps, acts...), r.stuck()...)
	case TimeUp:
		return r.over(cmp.Or(e.Status, schemas.StatusExpired))
	case Stopped:
		return r.stop(e.Status)
	}
	return nil
}

func (r *Run) begin() []Action {
	if r.plan.Chunk.Model() {
		t := r.tally(schemas.StageChunk, -1)
		t.jobs.Total = 1
		return append([]Action{t.tell(Running)}, r.publish(Publish{Job: Job{Stage: schemas.StageChunk, Lane: -1, Attempt: 1}})...)
	}
	return r.chunked(r.spans)
}

// chunked begins the lanes.
func (r *Run) chunked(spans []Span) []Action {
	r.spans = spans
	t := r.tally(schemas.StageChunk, -1)
	t.jobs.Total, t.jobs.Done, t.decision = 1, 1, schemas.StageAdvanced
	acts := []Action{t.tell(t.decision)}
	for i := range r.lanes {
		r.lanes[i].outputs, r.lanes[i].left = make([]json.RawMessage, len(spans)), len(spans)
		t := r.tally(schemas.StageExtract, i)
		t.jobs.Total = len(spans)
		acts = append(acts, t.tell(Running))
	}
	return append(acts, r.fill()...)
}

// fill publishes what was held, and extractions until the window is full.
func (r *Run) fill() (acts []Action) {
	acts = r.release()
	n := len(r.lanes)
	for ; r.failure == nil && len(r.held) == 0 && len(r.out) < r.plan.Window && r.cursor < n*len(r.spans); r.cursor++ {
		acts = append(acts, r.publish(Publish{Job: Job{Stage: schemas.StageExtract, Lane: r.cursor % n, Chunk: r.cursor/n + 1, Attempt: 1}})...)
	}
	return acts
}

// ended takes in how a job ended.
func (r *Run) ended(j Job, o Outcome) (acts []Action) {
	t := r.tally(j.Stage, j.Lane)
	r.sums.add(o)
	t.note(j, o)
	switch {
	case o.Status == schemas.StatusExpired || r.ending != "":
		r.late(j, o, t)
		return r.over(cmp.Or(r.ending, schemas.StatusExpired))
	case o.accepted():
		acts = r.accepted(j, o, t)
	case o.rejected():
		acts = r.rejected(j, o, t)
	default:
		r.report.failed(r.name(j), j, o)
		r.failed(j, t, r.errorOf(j, o))
	}
	if r.failure != nil {
		return append(acts, r.failing()...)
	}
	acts = append(acts, r.fill()...)
	if t.step() {
		acts = append(acts, t.tell(Running))
	}
	return append(acts, r.finished()...)
}

// accepted lets an output go on.
func (r *Run) accepted(j Job, o Outcome, t *tally) []Action {
	if r.failure != nil { // what still stands before the failure only counts
		r.accept(j, o, t)
		return nil
	}
	switch j.Stage {
	case schemas.StageChunk:
		return r.planned(j, o, t)
	case schemas.StageExtract:
		r.lanes[j.Lane].outputs[j.Chunk-1] = o.Output
		r.accept(j, o, t)
		return r.extracted(j.Lane)
	case schemas.StageMerge:
		r.accept(j, o, t)
		return r.mergedTo(j.Lane, o.Output)
	}
	return r.normalizedTo(j, o, t)
}

// accept notes an output that goes on; one that a fallback lets go on is not kept.
func (r *Run) accept(j Job, o Outcome, t *tally) {
	t.accept(o)
	if o.reusable() && !t.fallback {
		r.keeps = append(r.keeps, Keep{Job: j, Output: o.Output})
	}
	r.report.job(r.name(j), j, o)
}

// planned takes the answer of a chunk prompt. One that was reused and does not hold today is not used: it is asked for anew,
// at attempt one.
func (r *Run) planned(j Job, o Outcome, t *tally) []Action {
	spans, err := fromStarts(r.doc, o.Output)
	if err == nil {
		err = r.fit(spans)
	}
	if c := r.plan.Chunk.Contract; err == nil && o.Reused && c != nil && !c.Judge(o.Output).Valid() {
		err = errStale
	}
	switch {
	case err != nil && o.Reused:
		t.jobs.Done--
		return r.publish(Publish{Job: j, Fresh: true})
	case err != nil:
		r.report.job("", j, o)
		r.failed(j, t, schemas.Error{Category: schemas.CategoryOutputInvalid, Message: "the chunk plan cannot be used: " + err.Error()})
		return nil
	}
	r.accept(j, o, t)
	done := *t
	acts := r.chunked(spans)
	t.jobs = done.jobs
	return acts
}

// rejected keeps an output from going on. Under fail_run its run has failed instead; one that says otherwise failed too.
func (r *Run) rejected(j Job, o Outcome, t *tally) []Action {
	r.report.reject(r.name(j), j, o)
	if left, category := t.leavesOut(o); !left {
		r.failed(j, t, schemas.Error{Category: category, Message: r.describe(j) + " ended as " + o.Status})
		return nil
	}
	t.jobs.Rejected++
	if j.Stage == schemas.StageExtract {
		return r.extracted(j.Lane)
	}
	t.decision = schemas.StageRejected
	if j.Stage == schemas.StageChunk {
		for i := range r.lanes {
			r.drop(i)
		}
		return []Action{t.tell(t.decision)}
	}
	r.drop(j.Lane)
	return []Action{t.tell(t.decision)}
}

// leavesOut says whether the stage's policy leaves out a rejected or invalid output, and what the run fails with otherwise.
func (t *tally) leavesOut(o Outcome) (left bool, category string) {
	policy, category := t.binding().Policy.SemanticRejection, schemas.CategoryRejected
	if o.Status == schemas.StatusInvalid {
		policy, category = t.binding().Policy.ProducerStructuralFailure, schemas.CategoryOutputInvalid
	}
	return policy == rejectOutput, category
}

const rejectOutput = "reject_output"

func (r *Run) drop(i int) { r.lanes[i].dropped, r.lanes[i].ended = true, true }

// extracted counts an extraction that ended; the last one of its lane begins the merge.
func (r *Run) extracted(i int) []Action {
	l := &r.lanes[i]
	l.left--
	if l.left > 0 || r.failure != nil {
		return nil
	}
	var accepted []json.RawMessage
	for _, o := range l.outputs {
		if o != nil {
			accepted = append(accepted, o)
		}
	}
	t := r.tally(schemas.StageExtract, i)
	t.decision = schemas.StageAdvanced
	if len(accepted) > 0 {
		return append([]Action{t.tell(t.decision)}, r.merge(i, accepted)...)
	}
	t.decision = schemas.StageRejected
	merge := r.tally(schemas.StageMerge, i)
	merge.jobs.Total = 1
	r.fail(r.order(Job{Stage: schemas.StageMerge, Lane: i}), merge, schemas.Error{Category: schemas.CategoryRejected,
		Message: fmt.Sprintf("lane %s: there is nothing to merge: all %d extractions were rejected", r.plan.Lanes[i].Name, len(l.outputs))})
	return []Action{t.tell(t.decision)}
}

// finished ends the run when every lane has ended.
func (r *Run) finished() []Action {
	for i := range r.lanes {
		if !r.lanes[i].ended {
			return nil
		}
	}
	return []Action{r.finish()}
}
