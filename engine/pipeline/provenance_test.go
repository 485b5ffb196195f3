package pipeline

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"emend/schemas"
)

// corrected is an output that was rejected twice on its way, by two judges and then by one, and cost something.
func corrected(calls int) Outcome {
	in, out := int64(10), int64(3)
	return costing(Outcome{Status: schemas.StatusSucceeded, Output: json.RawMessage("[1]"), Run: "r",
		Counts: schemas.Counts{Calls: calls, Retries: 1, Repairs: 2, Corrections: 2, ValidatorCalls: 5},
		Stages: []schemas.Stage{{Kind: schemas.StageInitial, RejectedBy: []string{"j@1", "k@1"}}, {Kind: schemas.StageCorrection, RejectedBy: []string{"j@1"}}, {Kind: schemas.StageCorrection}},
		Usage:  &schemas.Usage{Tokens: schemas.Tokens{Input: &in}, Calls: calls}, ValidatorUsage: &schemas.Usage{Tokens: schemas.Tokens{Output: &out}, Calls: 5}}, 4)
}

// The provenance of a stage counts attempts by kind, rejections of all of them, and those that a correction brought through; the
// run sums what its jobs counted. A reused output adds nothing to either.
func TestProvenanceOfCorrectionsAndOfReuse(t *testing.T) {
	r := newRun(t, twoLanes(), 2)
	res, _, _ := play(t, r, func(j Job) Outcome {
		o := corrected(3)
		o.Reused = j.Lane == 1
		return o
	}, first)
	a, b := res.Report.Stages[1], res.Report.Stages[3]
	if !reflect.DeepEqual(a.Attempts, map[string]int{"initial": 2, "correction": 4}) || a.Corrected != 2 || !reflect.DeepEqual(a.RejectedBy, map[string]int{"j@1": 4, "k@1": 2}) ||
		a.Usage == nil || *a.Usage.Input != 20 || *a.ValidatorUsage.Output != 6 {
		t.Errorf("%+v", a)
	}
	if b.Attempts != nil || b.RejectedBy != nil || b.Usage != nil || b.ValidatorUsage != nil || b.Jobs != (schemas.JobCounts{Total: 2, Done: 2, Reused: 2}) {
		t.Errorf("of what was reused: %+v", b)
	}
	if want := (schemas.Counts{Calls: 6, Retries: 2, Repairs: 4, Corrections: 4, ValidatorCalls: 10}); res.Counts != want {
		t.Errorf("%+v, want %+v", res.Counts, want)
	}
	if c := res.Cost.Cost(); c == nil || c.State != schemas.CostKnown || *c.USD != 8 {
		t.Errorf("%+v", c)
	}
	if in := res.Usage.Usage(); *in.Input != 20 || *res.ValidatorUsage.Usage().Output != 6 {
		t.Errorf("%+v", in)
	}
}

// An attempt that was corrected and did not need to be any more is none that a correction brought through.
func TestOnlyTheLastAttemptWasCorrected(t *testing.T) {
	res, _, _ := play(t, newRun(t, twoLanes(), 1), func(j Job) Outcome {
		o := corrected(3)
		o.Stages[2].Kind = schemas.StageStructural
		return o
	}, first)
	if a := res.Report.Stages[1]; a.Corrected != 0 || !reflect.DeepEqual(a.Attempts, map[string]int{"initial": 1, "correction": 1, "structural": 1}) {
		t.Errorf("%+v", a)
	}
}

// A sum that one job's cost is not wholly known of is partial.
func TestAPartialCostMakesThePipelinesPartial(t *testing.T) {
	res, _, _ := play(t, newRun(t, twoLanes(), 1), func(j Job) Outcome {
		o := corrected(3)
		if j.Lane == 1 {
			o.Cost.State = schemas.CostPartial
		}
		return o
	}, first)
	if c := res.Cost.Cost(); c == nil || c.State != schemas.CostPartial || *c.USD != 8 {
		t.Errorf("%+v", c)
	}
}

// The status tells the worst that became of an output: one that was left out goes before one that nobody decided about, in
// whatever order of stages they stand.
func TestARejectedOutputGoesBeforeAnUndecidedOne(t *testing.T) {
	for _, lane := range []int{0, 1} {
		p := twoLanes()
		p.Lanes[0].Extract.Policy, p.Lanes[1].Extract.Policy = lenient, lenient
		res, _, _ := play(t, newRun(t, p, 2), func(j Job) Outcome {
			o := byChunk(j)
			switch {
			case j.Chunk == 1 && j.Lane == lane:
				o.Status = schemas.StatusRejected
			case j.Chunk == 1:
				o.Status = schemas.StatusUnverified
			}
			return o
		}, first)
		if res.Status != schemas.StatusRejected {
			t.Errorf("rejected in lane %d: %s", lane, res.Status)
		}
	}
}

// At most a hundred rejections are listed, and the others are counted.
func TestRejectionsAreListedUpToABound(t *testing.T) {
	p := twoLanes()
	p.Lanes[0].Extract.Policy = lenient
	res, _, _ := play(t, newRun(t, p, maxRejections+4), func(j Job) Outcome {
		o := byChunk(j)
		if j.Lane == 0 && j.Chunk > 1 {
			o.Status = schemas.StatusRejected
		}
		return o
	}, first)
	if n := len(res.Report.Rejections); n != maxRejections || res.Report.RejectionsOmitted != 3 || res.Report.Rejections[0].Chunk != 2 {
		t.Errorf("%d are listed, %d omitted", n, res.Report.RejectionsOmitted)
	}
}

// A kept chunk plan that today's rules reject is asked for anew, and the stage has one job all the same; a new one is not judged
// twice.
func TestAKeptChunkPlanIsJudgedByTodaysRules(t *testing.T) {
	for reused, want := range map[bool]string{true: "publish chunk", false: "publish extract"} {
		p := staged()
		p.Chunk.Contract = short(t) // refuses any plan
		r := upTo(t, p, schemas.StageChunk)
		plan := Outcome{Status: schemas.StatusSucceeded, Output: json.RawMessage(`{"starts":[1]}`), Reused: reused}
		acts := r.Step(Ended{Job: jobOf(schemas.StageChunk), Outcome: plan})
		if got := words(acts); got != want {
			t.Fatalf("reused %v: %q, want %q", reused, got, want)
		}
		if !reused {
			continue
		}
		kept := slices.ContainsFunc(acts, func(a Action) bool { _, keep := a.(Keep); return keep })
		plan.Reused = false
		r.Step(Ended{Job: jobOf(schemas.StageChunk), Outcome: plan})
		acts = r.Step(Stopped{Status: schemas.StatusCancelled})
		if jobs := acts[len(acts)-1].(Finish).Result.Report.Stages[0].Jobs; kept || jobs != (schemas.JobCounts{Total: 1, Done: 1}) {
			t.Errorf("kept %v, %+v", kept, jobs)
		}
	}
}

// What was taken from an earlier run is not kept anew: it would never age.
func TestWhatIsReusedIsNotKeptAgain(t *testing.T) {
	for reused, want := range map[bool]int{true: 0, false: 1} {
		r := newRun(t, twoLanes(), 2)
		r.Step(Begun{})
		o := byChunk(Job{Chunk: 1})
		o.Reused = reused
		n := 0
		for _, a := range r.Step(Ended{Job: jobOf(schemas.StageExtract), Outcome: o}) {
			if _, keep := a.(Keep); keep {
				n++
			}
		}
		if n != want {
			t.Errorf("reused %v: kept %d times", reused, n)
		}
	}
}

// What jobs had done when the run's time was over, and was accepted, is kept: the next run need not pay for it.
func TestWhatIsAcceptedLateIsKept(t *testing.T) {
	r := newRun(t, twoLanes(), 9)
	r.Step(Begun{})
	r.Step(TimeUp{Status: schemas.StatusCancelled})
	acts := r.Step(Ended{Job: jobOf(schemas.StageExtract), Outcome: ok("[1]")})
	if len(acts) != 1 || acts[0].(Keep).Job != jobOf(schemas.StageExtract) {
		t.Errorf("%v", acts)
	}
}

// A lane's inputs to the byte: what a prompt takes, it is given; and an input of the pipeline goes to every stage that declares it.
func TestInputsUpToTheirBounds(t *testing.T) {
	p := staged()
	p.Lanes[0].Extract.Inputs[InputChunk] = len("one\ntwo\n")
	p.Lanes[0].Merge.Inputs = map[string]int{InputItems: len(`["x"]`) + 2, "currency": 3}
	r, err := New(p, Request{Document: json.RawMessage(`"one\ntwo\n"`), Inputs: map[string]json.RawMessage{"currency": json.RawMessage(`"EUR"`)}})
	if err != nil {
		t.Fatal(err)
	}
	r.Step(Begun{})
	r.Step(Ended{Job: jobOf(schemas.StageChunk), Outcome: ok(`{"starts":[1]}`)})
	if in, err := r.Inputs(jobOf(schemas.StageExtract)); err != nil || string(in[InputChunk]) != `"one\ntwo\n"` {
		t.Errorf("%s, %v", in, err)
	}
	r.Step(Ended{Job: jobOf(schemas.StageExtract), Outcome: ok(`["x"]`)})
	if in, err := r.Inputs(jobOf(schemas.StageMerge)); err != nil || string(in[InputItems]) != `[["x"]]` || string(in["currency"]) != `"EUR"` {
		t.Errorf("%s, %v", in, err)
	}
	p.Lanes[0].Merge.Inputs[InputItems]--
	if _, err := r.Inputs(jobOf(schemas.StageMerge)); err == nil || !strings.Contains(err.Error(), "has 7 bytes, but m@1 takes 6") {
		t.Errorf("%v", err)
	}
	q := twoLanes()
	for i, limit := range []int{2, 1} {
		q.Lanes[0].Extract.Inputs[InputChunk] = limit
		if _, err := New(q, Request{Document: document(3)}); (err == nil) != (i == 0) {
			t.Errorf("a chunk of 2 bytes for %d: %v", limit, err)
		}
	}
}

// A run that has failed by its first failure in order says what may have been billed, also if that job was not.
func TestAFailureTellsWhatMayHaveBeenBilled(t *testing.T) {
	for calls, want := range map[int]bool{0: false, 2: true} {
		res, _, _ := play(t, newRun(t, twoLanes(), 2), func(j Job) Outcome {
			if j.Lane == 1 && j.Chunk == 1 {
				return Outcome{Status: schemas.StatusFailed, Error: &schemas.Error{Category: schemas.CategoryInvalidRequest}}
			}
			return Outcome{Status: schemas.StatusSucceeded, Output: json.RawMessage("[]"), Counts: schemas.Counts{Calls: calls}}
		}, first)
		if res.Status != schemas.StatusFailed || res.Error.MayHaveBeenBilled != want {
			t.Errorf("%d calls: %+v", calls, res.Error)
		}
	}
}

// Of two merges that are out and fail, that of the first lane is told, whichever failed first.
func TestTheFirstMergeInOrderIsTold(t *testing.T) {
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		p := twoLanes()
		p.Lanes[0].Merge, p.Lanes[1].Merge = model("m@1"), model("n@1")
		r := newRun(t, p, 1)
		r.Step(Begun{})
		for lane := range 2 {
			r.Step(Ended{Job: Job{Stage: schemas.StageExtract, Lane: lane, Chunk: 1, Attempt: 1}, Outcome: ok("[1]")})
		}
		var acts []Action
		for _, lane := range order {
			acts = append(acts, r.Step(Ended{Job: Job{Stage: schemas.StageMerge, Lane: lane, Attempt: 1}, Outcome: Outcome{Status: schemas.StatusFailed}})...)
		}
		if end, ok := acts[len(acts)-1].(Finish); !ok || !strings.HasPrefix(end.Result.Error.Message, "merge of lane a") {
			t.Errorf("%v: %+v", order, acts)
		}
	}
}

// Ids of a definition's jobs are not those of another's, and the jobs of one parent are not taken for those of another whose tag
// begins alike.
func TestTagsTellDefinitionsAndParentsApart(t *testing.T) {
	if ContentTag("f", "d") == ContentTag("f", "e") || ContentTag("f", "d") == ContentTag("g", "d") {
		t.Error("contents are not told apart")
	}
	if IsChildOf("p-12", "p-123-x-merge-0") || IsChildOf("p-12", "p-12") || !IsChildOf("p-12", "p-12-x-merge-0") {
		t.Error("parents are not told apart")
	}
}

// While jobs wait for what others leave of the budget, none that stands behind them is begun, however little it may cost.
func TestNoJobOvertakesOneThatTheBudgetHolds(t *testing.T) {
	p := twoLanes()
	p.Lanes[0].Extract.MaxCost, p.Lanes[1].Extract.MaxCost = 10, 1
	r, err := New(p, Request{Document: document(3), MaxCost: 15})
	if err != nil {
		t.Fatal(err)
	}
	if got := words(r.Step(Begun{})); got != "publish extract, publish extract" || r.Out()[1] != (Job{Stage: schemas.StageExtract, Lane: 1, Chunk: 1, Attempt: 1}) {
		t.Errorf("%s: out are %v", got, r.Out())
	}
	b := budget{limit: 10, aside: 10}
	if b.settle(10, Outcome{Status: schemas.StatusFailed, Counts: schemas.Counts{ValidatorCalls: 1}}); b.spent != 10 {
		t.Errorf("calls of judges whose cost is not known count as %d", b.spent)
	}
}

// The fallback that lets the merged value go on is told.
func TestAFallbackIsTold(t *testing.T) {
	for _, fallback := range []string{FallbackMerged, FallbackLast} {
		p := staged()
		p.Lanes[0].Normalize.Retries, p.Lanes[0].Normalize.Again = 0, &Again{When: tooLong, Fallback: fallback}
		acts := upTo(t, p, schemas.StageNormalize).Step(Ended{Job: jobOf(schemas.StageNormalize), Outcome: ok(`["x","y"]`)})
		res := acts[len(acts)-1].(Finish).Result
		if at := res.Report.Stages[3]; !at.Fallback || len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "a normalize: its retries are used up") {
			t.Errorf("%s: %+v, %q", fallback, at, res.Warnings)
		}
	}
}

// The last jobs in order are abandoned first: they are queued yet, and the place of one that runs would be theirs.
func TestTheLastJobsAreAbandonedFirst(t *testing.T) {
	r := newRun(t, twoLanes(), 9)
	r.Step(Begun{})
	var chunks []int
	for _, a := range r.Step(Stopped{Status: schemas.StatusCancelled}) {
		if gone, ok := a.(Abandon); ok {
			chunks = append(chunks, 10*gone.Job.Chunk+gone.Job.Lane)
		}
	}
	if !slices.Equal(chunks, []int{21, 20, 11, 10}) {
		t.Errorf("%v", chunks)
	}
}
