package pipeline

import (
	"fmt"

	"emend/schemas"
)

// budget holds a run to what its jobs may cost together: while a job is under way, all that it may cost is set aside.
type budget struct{ limit, spent, aside schemas.USD }

// take sets aside what a job may cost; false if that much is not left.
func (b *budget) take(most schemas.USD) bool {
	if b.limit > 0 && b.limit-b.spent-b.aside < most {
		return false
	}
	b.aside += most
	return true
}

// settle puts what a job has cost in place of what was set aside. A cost that is not known counts as all of it.
func (b *budget) settle(most schemas.USD, o Outcome) {
	b.aside -= most
	switch c := o.Cost; {
	case o.Reused || c == nil && o.Counts.Calls+o.Counts.ValidatorCalls == 0:
	case c != nil && c.State == schemas.CostKnown && c.USD != nil:
		b.spent += *c.USD
	default:
		b.spent += most
	}
}

// publish begins a job, or holds it until others have ended that cost less than they might have.
func (r *Run) publish(p Publish) []Action {
	if len(r.held) > 0 || !r.budget.take(r.Binding(p.Job).MaxCost) {
		r.held = append(r.held, p)
		return nil
	}
	r.out[p.Job] = true
	return []Action{p}
}

// release begins held jobs, in order.
func (r *Run) release() (acts []Action) {
	held := r.held
	r.held = nil
	for i, p := range held {
		if acts = append(acts, r.publish(p)...); r.held != nil {
			r.held = held[i:]
			break
		}
	}
	return acts
}

// stuck fails a run that waits for nothing and has jobs that its budget does not cover.
func (r *Run) stuck() []Action {
	if r.done || r.failure != nil || len(r.out) > 0 || len(r.held) == 0 {
		return nil
	}
	job := r.held[0].Job
	r.fail(r.order(job), r.tally(job.Stage, job.Lane), schemas.Error{Category: schemas.CategoryBudget, Message: fmt.Sprintf(
		"%s may cost up to %s USD, and of max_cost %s are %s left: give the run more, or the prompt a lower max_cost",
		r.describe(job), r.Binding(job).MaxCost, r.budget.limit, max(r.budget.limit-r.budget.spent, 0))})
	return r.failing()
}
