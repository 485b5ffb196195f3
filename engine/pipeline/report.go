package pipeline

import (
	"maps"
	"slices"

	"emend/engine/contract"
	"emend/schemas"
)

// tally is what is known of one stage in one lane.
type tally struct {
	plan  *Plan
	stage string
	lane  int
	// jobs count; told is how many were done when it was last told, word what it was told to be.
	jobs                      schemas.JobCounts
	told                      int
	word                      string
	decision                  string
	attempts                  map[string]int
	corrected                 int
	rejected, failed, skipped map[string]int
	fallback                  bool
	usage, validators         schemas.UsageSum
}

func (r *Run) prepareTallies() {
	add := func(stage string, lane int) {
		r.tallies = append(r.tallies, &tally{plan: r.plan, stage: stage, lane: lane, decision: schemas.StageStopped})
	}
	add(schemas.StageChunk, -1)
	for i, l := range r.plan.Lanes {
		add(schemas.StageExtract, i)
		add(schemas.StageMerge, i)
		if !l.Normalize.empty() {
			add(schemas.StageNormalize, i)
		}
	}
}

func (r *Run) tally(stage string, lane int) *tally {
	i := slices.IndexFunc(r.tallies, func(t *tally) bool { return t.stage == stage && t.lane == lane })
	return r.tallies[i]
}

// binding is the stage's binding.
func (t *tally) binding() Step {
	switch t.stage {
	case schemas.StageChunk:
		return t.plan.Chunk
	case schemas.StageExtract:
		return t.plan.Lanes[t.lane].Extract
	case schemas.StageMerge:
		return t.plan.Lanes[t.lane].Merge
	}
	return t.plan.Lanes[t.lane].Normalize
}

func (t *tally) laneName() string {
	if t.lane < 0 {
		return ""
	}
	return t.plan.Lanes[t.lane].Name
}

func (t *tally) where() string {
	if t.lane < 0 {
		return t.stage
	}
	return t.laneName() + " " + t.stage
}

func (t *tally) tell(outcome string) Action {
	t.told, t.word = t.jobs.Done, outcome
	return Tell{Stage: t.stage, Lane: t.laneName(), Outcome: outcome, Jobs: t.jobs}
}

// steps of a stage are told at most this often besides its begin and end.
const steps = 50

// step reports whether progress is worth telling.
func (t *tally) step() bool {
	return t.jobs.Done < t.jobs.Total && t.jobs.Done*steps/t.jobs.Total != t.told*steps/t.jobs.Total
}

// note counts what a job that ended has done, whatever became of its output.
func (t *tally) note(j Job, o Outcome) {
	t.jobs.Done++
	if o.Reused {
		return
	}
	for _, kind := range kinds(j, o) {
		count(&t.attempts, kind)
	}
	for _, s := range o.Stages[:max(len(o.Stages)-1, 0)] {
		for _, name := range s.RejectedBy {
			count(&t.rejected, name)
		}
	}
	for _, v := range o.Validators {
		switch v.Outcome {
		case schemas.VoteRejected:
			count(&t.rejected, v.Name)
		case schemas.VoteFailed:
			count(&t.failed, v.Name)
		case schemas.VoteSkipped:
			count(&t.skipped, v.Name)
		}
	}
	t.usage.Join(schemas.SumOf(o.Usage))
	t.validators.Join(schemas.SumOf(o.ValidatorUsage))
}

// KindRetry is why a stage attempt begins that a normalize step asked for.
const KindRetry = "retry"

// kinds are why the stage attempts of a job began; none did of one that was refused, or ended before its turn.
func kinds(j Job, o Outcome) []string {
	if o.Counts.Calls == 0 && len(o.Stages) == 0 {
		return nil
	}
	first := schemas.StageInitial
	if j.Attempt > 1 {
		first = KindRetry
	}
	out := []string{first}
	for _, s := range o.Stages[min(1, len(o.Stages)):] {
		out = append(out, s.Kind)
	}
	return out
}

// accept counts an output that goes on.
func (t *tally) accept(o Outcome) {
	if o.Reused {
		t.jobs.Reused++
	}
	if o.Status == schemas.StatusUnverified {
		t.jobs.Incomplete++
	}
	if n := len(o.Stages); n > 0 && o.Stages[n-1].Kind == schemas.StageCorrection {
		t.corrected++
	}
}

func count(m *map[string]int, name string) {
	if *m == nil {
		*m = map[string]int{}
	}
	(*m)[name]++
}

func names(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }

// usage sums over all stages.
func (r *Run) usage() (all, validators schemas.UsageSum) {
	for _, t := range r.tallies {
		all.Join(t.usage)
		validators.Join(t.validators)
	}
	return all, validators
}

// sums add up over all jobs.
type sums struct {
	counts schemas.Counts
	cost   schemas.CostSum
}

// costOf is a cost as a part of a sum: how many calls it stands for does not matter, only whether all of them have a price.
func costOf(c *schemas.Cost) (out schemas.CostSum) {
	if c == nil {
		return out
	}
	if c.USD != nil {
		out.Add(*c.USD, true)
	}
	if c.State != schemas.CostKnown {
		out.Add(0, false)
	}
	return out
}

func (s *sums) add(o Outcome) {
	if o.Reused {
		return
	}
	s.counts.Calls += o.Counts.Calls
	s.counts.Retries += o.Counts.Retries
	s.counts.Repairs += o.Counts.Repairs
	s.counts.Corrections += o.Counts.Corrections
	s.counts.ValidatorCalls += o.Counts.ValidatorCalls
	s.cost.Join(costOf(o.Cost))
}

// report keeps what is told of single jobs.
type report struct {
	full       bool
	jobs       []schemas.JobReport
	rejections []schemas.Rejection
	omitted    int
}

// maxRejections bounds the rejections that a result lists.
const maxRejections = 100

func (p *report) job(lane string, j Job, o Outcome) {
	if p.full {
		p.jobs = append(p.jobs, schemas.JobReport{Stage: j.Stage, Lane: lane, Chunk: j.Chunk, Run: o.Run, Status: o.Status, Reused: o.Reused, Stages: o.Stages,
			Output: o.Output, Validators: o.Validators})
	}
}

// failed is told of a job that failed. One that did so by its policy, for its output was rejected or stayed invalid, is a rejection.
func (p *report) failed(lane string, j Job, o Outcome) {
	switch {
	case o.Error != nil && o.Error.Category == schemas.CategoryRejected:
		p.rejection(lane, j, o, schemas.StatusRejected)
	case o.Error != nil && o.Error.Category == schemas.CategoryOutputInvalid:
		p.rejection(lane, j, o, schemas.StatusInvalid)
	}
	p.job(lane, j, o)
}

func (p *report) reject(lane string, j Job, o Outcome) {
	p.job(lane, j, o)
	p.rejection(lane, j, o, o.Status)
}

// rejection lists a rejected or invalid output, with the votes against it.
func (p *report) rejection(lane string, j Job, o Outcome, status string) {
	if len(p.rejections) == maxRejections {
		p.omitted++
		return
	}
	r := schemas.Rejection{Stage: j.Stage, Lane: lane, Chunk: j.Chunk, Run: o.Run, Status: status}
	for _, v := range o.Validators {
		if v.Outcome != schemas.VoteRejected {
			continue
		}
		r.By = append(r.By, v.Name)
		for _, reason := range v.Reasons {
			if !slices.Contains(r.Codes, reason.Code) {
				r.Codes = append(r.Codes, reason.Code)
			}
		}
	}
	p.rejections = append(p.rejections, r)
}

// rulesName stands for the rules of a deterministic stage that could not be evaluated.
const rulesName = "rules"

// rulesVote are the rejections of a deterministic stage's rules; codes are their names, by number.
func rulesVote(codes []string, v contract.Verdict) []schemas.Validator {
	out := make([]schemas.Validator, 0, len(v.Failed))
	for _, number := range v.Failed {
		vote := schemas.Validator{Name: codes[number-1], Outcome: schemas.VoteRejected}
		vote.Reasons, vote.Cause = contract.RuleReason(vote.Name, number, v.Findings)
		out = append(out, vote)
	}
	return out
}

// reported is the provenance of the run; jobs stand in order.
func (r *Run) reported() *schemas.PipelineReport {
	out := &schemas.PipelineReport{Pipeline: r.plan.Ref(), Digest: r.plan.Digest, Chunks: len(r.spans), Jobs: r.report.jobs,
		Rejections: r.report.rejections, RejectionsOmitted: r.report.omitted}
	stageAt := func(name string) int { return slices.Index(schemas.PipelineStages, name) }
	laneAt := func(name string) int {
		return slices.IndexFunc(r.plan.Lanes, func(l Lane) bool { return l.Name == name })
	}
	order := func(stage, lane string, chunk int) int {
		if stage == schemas.StageChunk {
			return -1
		}
		if stage == schemas.StageExtract {
			return chunk*len(r.plan.Lanes) + laneAt(lane)
		}
		return (len(r.spans)+1)*len(r.plan.Lanes)*stageAt(stage) + laneAt(lane)
	}
	slices.SortStableFunc(out.Jobs, func(a, b schemas.JobReport) int {
		return order(a.Stage, a.Lane, a.Chunk) - order(b.Stage, b.Lane, b.Chunk)
	})
	slices.SortStableFunc(out.Rejections, func(a, b schemas.Rejection) int {
		return order(a.Stage, a.Lane, a.Chunk) - order(b.Stage, b.Lane, b.Chunk)
	})
	for _, t := range r.tallies {
		out.Stages = append(out.Stages, t.reported())
	}
	return out
}

func (t *tally) reported() schemas.StageReport {
	step := t.binding()
	s := schemas.StageReport{Stage: t.stage, Lane: t.laneName(), Prompt: step.Prompt, Decision: t.decision, Policy: step.Policy, Jobs: t.jobs, Attempts: t.attempts,
		Corrected: t.corrected, RejectedBy: t.rejected, FailedValidators: t.failed, SkippedValidators: t.skipped, Fallback: t.fallback}
	if t.usage.Calls > 0 {
		s.Usage = t.usage.Usage()
	}
	if t.validators.Calls > 0 {
		s.ValidatorUsage = t.validators.Usage()
	}
	return s
}
