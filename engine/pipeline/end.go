package pipeline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"emend/schemas"
)

// failed counts a job that ended without an output that goes on or is left out, and fails the run.
func (r *Run) failed(j Job, t *tally, err schemas.Error) {
	t.jobs.Failed++
	r.fail(r.order(j), t, err)
}

// fail notes a failure; the first in order is the one that is told, whichever came first.
func (r *Run) fail(order int, t *tally, err schemas.Error) {
	t.decision = schemas.StageFailed
	if r.failure == nil || order < r.failure.order {
		r.failure = &failure{order: order, err: err}
	}
}

// errorOf says why a job failed, in the words of its run.
func (r *Run) errorOf(j Job, o Outcome) schemas.Error {
	if o.Error == nil {
		return schemas.Error{Category: schemas.CategoryAbandoned, Message: fmt.Sprintf("%s: its run was %s", r.describe(j), cmp.Or(o.Status, "lost"))}
	}
	e := *o.Error
	e.Message = r.describe(j) + ": " + e.Message
	return e
}

// describe names a job for people.
func (r *Run) describe(j Job) string {
	switch {
	case j.Lane < 0:
		return j.Stage
	case j.Chunk > 0:
		return fmt.Sprintf("%s of chunk %d in lane %s", j.Stage, j.Chunk, r.name(j))
	}
	return fmt.Sprintf("%s of lane %s", j.Stage, r.name(j))
}

// LaneOf is the name of a job's lane, "" for the chunk stage.
func (r *Run) LaneOf(j Job) string { return r.name(j) }

func (r *Run) name(j Job) string {
	if j.Lane < 0 {
		return ""
	}
	return r.plan.Lanes[j.Lane].Name
}

// failing abandons what stands behind the failure, and ends the run when nothing stands before it: which failure is told does
// not hang on which came first.
func (r *Run) failing() (acts []Action) {
	waits := false
	for _, j := range slices.Backward(r.Out()) { // the last are queued yet: the place of one that runs would be theirs
		if r.order(j) < r.failure.order {
			waits = true
			continue
		}
		delete(r.out, j)
		acts = append(acts, Abandon{Job: j})
	}
	if waits {
		return acts
	}
	return append(append(acts, r.last()...), r.finish())
}

// last tells how the stages ended that were begun and not told to have ended.
func (r *Run) last() (acts []Action) {
	for _, t := range r.tallies {
		if t.jobs.Total > 0 && t.word != t.decision {
			acts = append(acts, t.tell(t.decision))
		}
	}
	return acts
}

// over lets the jobs that are out end by themselves, as their time is over, too: what they have done counts. The last one ends the
// run.
func (r *Run) over(status string) []Action {
	r.ending, r.held = status, nil
	if len(r.out) > 0 {
		return nil
	}
	return r.stop(status)
}

// late counts a job of a run whose time is over.
func (r *Run) late(j Job, o Outcome, t *tally) {
	left, _ := t.leavesOut(o)
	switch {
	case o.accepted():
		r.accept(j, o, t)
		return
	case o.rejected():
		r.report.reject(r.name(j), j, o)
	default:
		r.report.failed(r.name(j), j, o)
	}
	if o.rejected() && left {
		t.jobs.Rejected++
	} else {
		t.jobs.Failed++
	}
}

// stop ends the run from outside.
func (r *Run) stop(status string) (acts []Action) {
	for _, j := range slices.Backward(r.Out()) { // the last are queued yet: the place of one that runs would be theirs
		delete(r.out, j)
		acts = append(acts, Abandon{Job: j})
	}
	r.failure = nil
	return append(append(acts, r.last()...), Finish{Result: r.end(status)})
}

func (r *Run) finish() Action {
	if r.failure != nil {
		out := r.end(schemas.StatusFailed)
		e := r.failure.err
		e.MayHaveBeenBilled = e.MayHaveBeenBilled || r.sums.counts.Calls > 0
		out.Error = &e
		return Finish{Result: out}
	}
	return Finish{Result: r.whole()}
}

// end is a result without an output.
func (r *Run) end(status string) Result {
	r.done = true
	out := Result{Status: status, Counts: r.sums.counts, Cost: r.sums.cost}
	out.Usage, out.ValidatorUsage = r.usage()
	if !r.req.None {
		out.Report = r.reported()
	}
	return out
}

// whole is the result of a run whose lanes have all ended.
func (r *Run) whole() Result {
	status := schemas.StatusSucceeded
	for _, t := range r.tallies {
		switch {
		case t.jobs.Rejected > 0:
			status = schemas.StatusRejected
		case t.jobs.Incomplete > 0 && status == schemas.StatusSucceeded:
			status = schemas.StatusUnverified
		}
	}
	output := r.assemble()
	out := r.end(status)
	out.Output, out.Warnings = output, r.warnings()
	if output == nil || r.plan.Output == nil {
		return out
	}
	v := r.plan.Output.Judge(output)
	out.Verdict = &v
	switch {
	case v.Err != nil:
		out.Status, out.Output = schemas.StatusFailed, nil
		out.Error = &schemas.Error{Category: schemas.CategoryValidation, Message: "the output could not be judged"}
	case !v.Valid():
		out.Status = schemas.StatusInvalid
	}
	return out
}

// assemble makes the output of the lanes that have a value, in the order of the definition.
func (r *Run) assemble() json.RawMessage {
	size := 2
	for i, l := range r.lanes {
		size += len(r.plan.Lanes[i].Name) + len(l.value) + 4
	}
	out := append(make([]byte, 0, size), '{')
	for i, l := range r.lanes {
		if l.dropped || l.value == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(schemas.AppendString(out, r.plan.Lanes[i].Name), ':')
		out = append(out, l.value...)
	}
	if len(out) == 1 {
		return nil
	}
	return append(out, '}')
}

// warnings are one for each validator that came to no decision in a stage, and what the output lacks.
func (r *Run) warnings() (out []string) {
	for _, t := range r.tallies {
		where := t.where()
		for _, name := range names(t.failed) {
			out = append(out, fmt.Sprintf("%s: %s came to no decision on %d outputs", where, name, t.failed[name]))
		}
		for _, name := range names(t.skipped) {
			out = append(out, fmt.Sprintf("%s: %s could not be asked about %d outputs", where, name, t.skipped[name]))
		}
		if t.jobs.Rejected > 0 {
			out = append(out, fmt.Sprintf("%s: %d of %d outputs were rejected and are not in the result", where, t.jobs.Rejected, t.jobs.Total))
		}
		if t.fallback {
			out = append(out, where+": its retries are used up, its fallback went on")
		}
	}
	return out
}
