package pipeline

import (
	"encoding/json"
	"errors"

	"emend/schemas"
)

// errStale says that a reused chunk plan is one that today's validators reject.
var errStale = errors.New("the reused chunk plan is rejected")

// merge makes one value of a lane's accepted outputs, or publishes the job that does.
func (r *Run) merge(i int, accepted []json.RawMessage) []Action {
	step := r.plan.Lanes[i].Merge
	t := r.tally(schemas.StageMerge, i)
	t.jobs.Total = 1
	if step.Model() {
		return append([]Action{t.tell(Running)}, r.publish(Publish{Job: Job{Stage: schemas.StageMerge, Lane: i, Attempt: 1}})...)
	}
	value, err := step.Combine.Merge(accepted)
	return r.made(Job{Stage: schemas.StageMerge, Lane: i, Attempt: 1}, value, err, r.mergedTo)
}

// made takes in what a deterministic stage made. It is not repeated: the same input gives the same output.
func (r *Run) made(j Job, value json.RawMessage, err error, then func(int, json.RawMessage) []Action) []Action {
	t := r.tally(j.Stage, j.Lane)
	t.jobs.Done++
	if err != nil {
		r.failed(j, t, schemas.Error{Category: schemas.CategoryOutputInvalid, Message: r.describe(j) + ": " + err.Error()})
		return nil
	}
	c := t.binding().Contract
	if c == nil {
		return then(j.Lane, value)
	}
	switch v := c.Judge(value); {
	case v.Err != nil:
		return r.undecided(j, value, then)
	case !v.Valid():
		return r.rejected(j, Outcome{Status: schemas.StatusRejected, Output: value, Validators: rulesVote(t.binding().Rules, v)}, t)
	}
	return then(j.Lane, value)
}

// undecided applies the policy for rules that could not be evaluated.
func (r *Run) undecided(j Job, value json.RawMessage, then func(int, json.RawMessage) []Action) []Action {
	t := r.tally(j.Stage, j.Lane)
	count(&t.failed, rulesName)
	if t.binding().Policy.ValidatorFailure == failRun {
		r.failed(j, t, schemas.Error{Category: schemas.CategoryValidator, Message: r.describe(j) + ": its rules could not be evaluated"})
		return nil
	}
	t.jobs.Incomplete++
	return then(j.Lane, value)
}

const failRun = "fail_run"

// mergedTo goes on to normalize.
func (r *Run) mergedTo(i int, value json.RawMessage) []Action {
	r.lanes[i].merged, r.lanes[i].outputs = value, nil
	t := r.tally(schemas.StageMerge, i)
	t.decision = schemas.StageAdvanced
	acts := []Action{t.tell(t.decision)}
	step := r.plan.Lanes[i].Normalize
	if step.empty() {
		return append(acts, r.laneEnds(i, value)...)
	}
	n := r.tally(schemas.StageNormalize, i)
	n.jobs.Total = 1
	if step.Model() {
		return append(append(acts, n.tell(Running)), r.publish(Publish{Job: Job{Stage: schemas.StageNormalize, Lane: i, Attempt: 1}})...)
	}
	value, err := step.Combine.Apply(value)
	return append(acts, r.made(Job{Stage: schemas.StageNormalize, Lane: i, Attempt: 1}, value, err, r.normalized)...)
}

func (r *Run) normalized(i int, value json.RawMessage) []Action {
	t := r.tally(schemas.StageNormalize, i)
	t.decision = schemas.StageAdvanced
	return append([]Action{t.tell(t.decision)}, r.laneEnds(i, value)...)
}

// normalizedTo takes a normalize prompt's accepted answer, or has it asked for again from what its budget still has.
func (r *Run) normalizedTo(j Job, o Outcome, t *tally) []Action {
	step := t.binding()
	again, err := step.Again.wanted(o.Output, r.lanes[j.Lane].merged)
	used := j.Attempt - 1 + spent(o)
	switch {
	case err != nil:
		r.report.job(r.name(j), j, o)
		r.failed(j, t, schemas.Error{Category: schemas.CategoryOutputInvalid, Message: r.describe(j) + ": retry_when: " + err.Error()})
		return nil
	case again && used <= step.Retries:
		t.jobs.Done--
		r.report.job(r.name(j), j, o)
		return r.publish(Publish{Job: Job{Stage: j.Stage, Lane: j.Lane, Attempt: used + 1}})
	case again && step.Again.Fallback == FallbackFail:
		r.report.job(r.name(j), j, o)
		r.failed(j, t, schemas.Error{Category: schemas.CategoryOutputInvalid,
			Message: r.describe(j) + " is still to be asked for again after its last attempt"})
		return nil
	case again && step.Again.Fallback == FallbackMerged:
		t.fallback = true
		r.report.job(r.name(j), j, o)
		return r.normalized(j.Lane, r.lanes[j.Lane].merged)
	}
	t.fallback = again
	r.accept(j, o, t)
	return r.normalized(j.Lane, o.Output)
}

// laneEnds keeps a lane's value.
func (r *Run) laneEnds(i int, value json.RawMessage) []Action {
	r.lanes[i].value, r.lanes[i].ended = value, true
	return nil
}
