package pipeline

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"emend/schemas"
)

// ends draws how jobs end, and keeps account of it as one would by hand.
type ends struct {
	rt   *rapid.T
	run  *Run
	out  []Job
	end  *Result
	seen map[[2]string]*account
	// told is the last word on each stage.
	told map[[2]string]string
	// calls and rejections are those of all jobs that ended.
	calls, rejections int
}

// account is what came of the jobs of a stage in a lane.
type account struct{ began, ended, reused, incomplete, rejected, failed, attempts int }

func (e *ends) of(j Job) *account {
	key := [2]string{j.Stage, e.run.LaneOf(j)}
	if e.seen[key] == nil {
		e.seen[key] = &account{}
	}
	return e.seen[key]
}

func randomStep(rt *rapid.T, name string) Step {
	s := model(name)
	s.Policy = rapid.SampledFrom([]schemas.StagePolicy{strict, lenient, {ProducerStructuralFailure: failRun, SemanticRejection: rejectOutput}, {ProducerStructuralFailure: rejectOutput, SemanticRejection: failRun}}).Draw(rt, "policy of "+name)
	return s
}

// randomPlan is a pipeline of up to three lanes, any stage of which may have a prompt.
func randomPlan(rt *rapid.T) *Plan {
	p := &Plan{Name: "p", Version: 1, Digest: "d", Window: rapid.IntRange(1, 5).Draw(rt, "window"), Chunker: Chunker{By: ByJSONLines, Per: 1}}
	if rapid.Bool().Draw(rt, "chunk prompt") {
		p.Chunk = randomStep(rt, "split@1")
	}
	for i := range rapid.IntRange(1, 3).Draw(rt, "lanes") {
		name := string(rune('a' + i))
		l := Lane{Name: name, Extract: randomStep(rt, name+"@1"), Merge: Step{Combine: Combine{By: ByConcatenate}, Policy: strict}}
		if rapid.Bool().Draw(rt, "merge prompt") {
			l.Merge = randomStep(rt, "m@1")
		}
		switch rapid.IntRange(0, 2).Draw(rt, "normalize") {
		case 1:
			l.Normalize = Step{Combine: Combine{By: BySort}, Policy: strict}
		case 2:
			l.Normalize = randomStep(rt, "n@1")
			l.Normalize.Retries = rapid.IntRange(0, 2).Draw(rt, "retries")
			l.Normalize.Again = &Again{When: tooLong, Fallback: rapid.SampledFrom(Fallbacks).Draw(rt, "fallback")}
		}
		p.Lanes = append(p.Lanes, l)
	}
	return p
}

// outcome draws how a job ends.
func (e *ends) outcome(j Job) Outcome {
	o := Outcome{Output: json.RawMessage(`["x"]`), Run: "r"}
	if j.Stage == schemas.StageChunk {
		o.Output = json.RawMessage(rapid.SampledFrom([]string{`{"starts":[1]}`, `{"starts":[1,2,4]}`}).Draw(e.rt, "plan"))
	} else if rapid.Bool().Draw(e.rt, "long") {
		o.Output = json.RawMessage(`["x","y"]`)
	}
	o.Status = rapid.SampledFrom([]string{schemas.StatusSucceeded, schemas.StatusSucceeded, schemas.StatusSucceeded, schemas.StatusSucceeded, schemas.StatusUnverified, schemas.StatusUnverified, schemas.StatusRejected,
		schemas.StatusInvalid, schemas.StatusFailed, schemas.StatusCancelled, schemas.StatusExpired}).Draw(e.rt, "status")
	if o.Reused = o.Status == schemas.StatusSucceeded && rapid.Bool().Draw(e.rt, "reused"); o.Reused {
		return o
	}
	for n := rapid.IntRange(0, 3).Draw(e.rt, "attempts"); len(o.Stages) < n; {
		o.Stages = append(o.Stages, schemas.Stage{Attempt: len(o.Stages) + 1, Kind: schemas.StageCorrection})
	}
	o.Counts.Calls = max(len(o.Stages), rapid.IntRange(0, 2).Draw(e.rt, "calls"))
	if o.Status == schemas.StatusFailed {
		o.Output = nil
		o.Error = &schemas.Error{Category: rapid.SampledFrom([]string{schemas.CategoryTimeout, schemas.CategoryRejected, schemas.CategoryOutputInvalid}).Draw(e.rt, "category")}
	}
	return o
}

// tooLong is true of an answer of a normalize prompt that is to be asked for again.
var tooLong = func() *Expression {
	e, err := CompileExpression(`size(normalized) > 1`, true, "normalized", "merged")
	if err != nil {
		panic(err)
	}
	return e
}()

// again keeps account of an accepted answer that is asked for again; false for any other.
func (e *ends) again(j Job, o Outcome, a *account) bool {
	step := e.run.Binding(j)
	if j.Stage != schemas.StageNormalize || !o.accepted() || len(o.Output) < 6 || e.run.failure != nil || e.run.ending != "" {
		return false
	}
	switch {
	case j.Attempt-1+max(len(o.Stages), 1) <= step.Retries:
		a.ended, a.began = a.ended-1, a.began-1 // it is the same job
	case step.Again.Fallback == FallbackFail:
		a.failed++
	case step.Again.Fallback == FallbackLast:
		return false
	}
	return true
}

// note keeps account of how a job ended. A reused chunk plan that does not hold is no end of its job: none is drawn here.
func (e *ends) note(j Job, o Outcome) {
	a := e.of(j)
	a.ended++
	if n := max(len(o.Stages), min(o.Counts.Calls, 1)); n > 0 {
		a.attempts += n
	}
	e.calls += o.Counts.Calls
	if e.again(j, o, a) {
		return
	}
	if o.Reused {
		a.reused++
	}
	step := e.run.Binding(j)
	switch o.Status {
	case schemas.StatusSucceeded:
	case schemas.StatusUnverified:
		a.incomplete++
	case schemas.StatusRejected, schemas.StatusInvalid:
		e.rejections++
		if policy := map[string]string{schemas.StatusRejected: step.Policy.SemanticRejection, schemas.StatusInvalid: step.Policy.ProducerStructuralFailure}[o.Status]; policy == rejectOutput {
			a.rejected++
		} else {
			a.failed++
		}
	default:
		a.failed++
		if o.Error != nil && o.Error.Category != schemas.CategoryTimeout {
			e.rejections++
		}
	}
}

// do carries out what the run says, and checks the sums that it tells.
func (e *ends) do(acts []Action) {
	for _, a := range acts {
		switch a := a.(type) {
		case Publish:
			e.of(a.Job).began++
			e.out = append(e.out, a.Job)
		case Abandon:
			e.out = slices.DeleteFunc(e.out, func(j Job) bool { return j == a.Job })
		case Tell:
			summed(e.rt, a.Stage+" "+a.Lane, a.Jobs)
			e.told[[2]string{a.Stage, a.Lane}] = a.Outcome
		case Finish:
			e.end = &a.Result
		}
	}
}

func summed(rt *rapid.T, where string, c schemas.JobCounts) {
	for _, n := range []int{c.Reused, c.Incomplete, c.Rejected, c.Failed, c.Done - c.Reused - c.Incomplete - c.Rejected - c.Failed, c.Total - c.Done} {
		if n < 0 {
			rt.Errorf("%s: %+v", where, c)
		}
	}
}

// The counts of every stage add up, and are those of the jobs that ended, whatever becomes of them and whenever the run is stopped.
func TestCountsAddUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r, err := New(randomPlan(rt), Request{Document: json.RawMessage(`"1\n2\n3\n4\n"`), Full: true})
		if err != nil {
			rt.Fatal(err)
		}
		e := &ends{rt: rt, run: r, seen: map[[2]string]*account{}, told: map[[2]string]string{}}
		stopAt := rapid.IntRange(0, 40).Draw(rt, "stop at")
		e.do(r.Step(Begun{}))
		for n := 0; e.end == nil; n++ {
			if n == stopAt {
				e.do(r.Step(rapid.SampledFrom([]Event{TimeUp{}, TimeUp{schemas.StatusCancelled}, Stopped{schemas.StatusCancelled}, Stopped{schemas.StatusExpired}}).Draw(rt, "stop")))
				continue
			}
			if len(e.out) == 0 {
				rt.Fatal("nothing is out, and the run has not ended")
			}
			at := rapid.IntRange(0, len(e.out)-1).Draw(rt, "which")
			j := e.out[at]
			e.out = slices.Delete(e.out, at, at+1)
			o := e.outcome(j)
			e.note(j, o)
			e.do(r.Step(Ended{Job: j, Outcome: o}))
		}
		e.check()
	})
}

// check compares the report with the account.
func (e *ends) check() {
	e.rt.Helper()
	rep := e.end.Report
	if len(e.out) > 0 || e.end.Counts.Calls != e.calls || len(rep.Rejections)+rep.RejectionsOmitted != e.rejections {
		e.rt.Errorf("%d are out, %d calls of %d, %d rejections of %d", len(e.out), e.end.Counts.Calls, e.calls, len(rep.Rejections), e.rejections)
	}
	for _, s := range rep.Stages {
		summed(e.rt, s.Stage+" "+s.Lane, s.Jobs)
		if told := e.told[[2]string{s.Stage, s.Lane}]; told != s.Decision && (told != "" || s.Jobs.Total > 0) {
			e.rt.Errorf("%s %s is told to be %q, and was %s", s.Stage, s.Lane, told, s.Decision)
		}
		if s.Prompt == "" {
			continue
		}
		a := e.seen[[2]string{s.Stage, s.Lane}]
		if a == nil {
			a = &account{}
		}
		attempts := 0
		for _, n := range s.Attempts {
			attempts += n
		}
		got := account{s.Jobs.Total, s.Jobs.Done, s.Jobs.Reused, s.Jobs.Incomplete, s.Jobs.Rejected, s.Jobs.Failed, attempts}
		want := *a
		want.began = got.began // those that never began are among the total
		if got != want || a.began > s.Jobs.Total {
			e.rt.Errorf("%s %s: %+v, want %+v", s.Stage, s.Lane, got, *a)
		}
	}
	if e.end.Status == schemas.StatusSucceeded || e.end.Status == schemas.StatusUnverified {
		e.whole(rep)
	}
}

// whole checks a run in which everything went on.
func (e *ends) whole(rep *schemas.PipelineReport) {
	for _, s := range rep.Stages {
		if s.Jobs.Done != s.Jobs.Total || s.Jobs.Rejected+s.Jobs.Failed > 0 || s.Decision != schemas.StageAdvanced {
			e.rt.Errorf("%s: %+v", e.end.Status, s)
		}
	}
	if want := fmt.Sprint(e.end.Status == schemas.StatusUnverified); fmt.Sprint(slices.ContainsFunc(rep.Stages, func(s schemas.StageReport) bool { return s.Jobs.Incomplete > 0 })) != want {
		e.rt.Errorf("%s: %+v", e.end.Status, rep.Stages)
	}
}

// A rejected output is listed under either policy; a job that was refused before its first call made no attempt.
func TestWhatFailsTheRunIsListed(t *testing.T) {
	votes := []schemas.Validator{{Name: "j@1", Outcome: schemas.VoteRejected, Reasons: []schemas.Reason{{Code: "invented"}}}}
	for _, c := range []struct {
		outcome    Outcome
		want       string
		rejections int
	}{
		{Outcome{Status: schemas.StatusFailed, Error: &schemas.Error{Category: schemas.CategoryRejected}, Validators: votes, Counts: schemas.Counts{Calls: 2}}, "rejected [j@1] [invented] attempts 1", 1},
		{Outcome{Status: schemas.StatusFailed, Error: &schemas.Error{Category: schemas.CategoryOutputInvalid}, Counts: schemas.Counts{Calls: 2}}, "invalid [] [] attempts 1", 1},
		{Outcome{Status: schemas.StatusFailed, Error: &schemas.Error{Category: schemas.CategoryInvalidRequest}}, "attempts 0", 0},
	} {
		r := newRun(t, twoLanes(), 3)
		r.Step(Begun{})
		acts := r.Step(Ended{Job: Job{Stage: schemas.StageExtract, Chunk: 1, Attempt: 1}, Outcome: c.outcome})
		res := acts[len(acts)-1].(Finish).Result
		got := fmt.Sprintf("attempts %d", res.Report.Stages[1].Attempts[schemas.StageInitial])
		for _, x := range res.Report.Rejections {
			got = fmt.Sprint(x.Status, " ", x.By, " ", x.Codes, " ") + got
		}
		if got != c.want || len(res.Report.Rejections) != c.rejections || res.Report.Stages[1].Jobs != (schemas.JobCounts{Total: 3, Done: 1, Failed: 1}) {
			t.Errorf("%s, want %s; %+v", got, c.want, res.Report.Stages[1])
		}
	}
}

// Where nothing is left to merge the merge has failed before it began, and the extractions stay what they were.
func TestALaneOfRejectionsCounts(t *testing.T) {
	p := twoLanes()
	p.Lanes = p.Lanes[:1]
	p.Lanes[0].Extract.Policy = lenient
	res, _, _ := play(t, newRun(t, p, 13), func(Job) Outcome { return Outcome{Status: schemas.StatusRejected} }, first)
	extract, merge := res.Report.Stages[1], res.Report.Stages[2]
	if extract.Jobs != (schemas.JobCounts{Total: 13, Done: 13, Rejected: 13}) || extract.Decision != schemas.StageRejected || merge.Jobs != (schemas.JobCounts{Total: 1}) ||
		merge.Decision != schemas.StageFailed || res.Status != schemas.StatusFailed {
		t.Errorf("%s %+v %+v", res.Status, extract, merge)
	}
}

// When the time is over nothing begins any more, and what the jobs that are out have done is counted, until the last has ended or
// the wait is stopped.
func TestJobsThatExpireCount(t *testing.T) {
	job := func(lane, chunk int) Job {
		return Job{Stage: schemas.StageExtract, Lane: lane, Chunk: chunk, Attempt: 1}
	}
	expired := Outcome{Status: schemas.StatusExpired, Counts: schemas.Counts{Calls: 2}}
	r := newRun(t, twoLanes(), 9)
	r.Step(Begun{})
	if acts := r.Step(TimeUp{}); acts != nil {
		t.Fatalf("%v", acts)
	}
	for _, e := range []Ended{{job(0, 1), expired}, {job(1, 1), ok("[1]")}, {job(0, 2), Outcome{Status: schemas.StatusCancelled, Counts: schemas.Counts{Calls: 1}}}} {
		if got := words(r.Step(e)); got != "" {
			t.Errorf("%v: %s", e.Job, got)
		}
	}
	last := r.Step(Ended{Job: job(1, 2), Outcome: expired})
	if res := last[len(last)-1].(Finish).Result; words(last) != "expired" || res.Counts.Calls != 6 || res.Report.Stages[1].Jobs != (schemas.JobCounts{Total: 9, Done: 2, Failed: 2}) {
		t.Errorf("%s %+v %+v", words(last), res.Counts, res.Report.Stages[1])
	}
	r = newRun(t, twoLanes(), 9)
	r.Step(Begun{})
	if got := words(r.Step(Ended{Job: job(0, 1), Outcome: expired})); got != "" {
		t.Errorf("the others are not waited for: %s", got)
	}
	if got := words(r.Step(Stopped{Status: schemas.StatusExpired})); got != "abandon extract, abandon extract, abandon extract, expired" {
		t.Errorf("%s", got)
	}
}
