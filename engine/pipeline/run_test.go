package pipeline

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"emend/engine/contract"
	"emend/schemas"
)

var strict = schemas.StagePolicy{ProducerStructuralFailure: failRun, SemanticRejection: failRun, ValidatorFailure: "warn_continue"}

var lenient = schemas.StagePolicy{ProducerStructuralFailure: rejectOutput, SemanticRejection: rejectOutput, ValidatorFailure: "warn_continue"}

func model(prompt string) Step {
	return Step{Prompt: prompt, Backend: "m", Inputs: map[string]int{InputChunk: 1000, InputItems: 1000, InputMerged: 1000, InputIndex: 10, InputLane: 64, InputNumbered: 1000},
		Policy: strict, Digest: prompt}
}

// twoLanes is a pipeline over JSON lines with two lanes.
func twoLanes() *Plan {
	return &Plan{Name: "p", Version: 1, Digest: "d", Window: 4, Chunker: Chunker{By: ByJSONLines, Per: 1}, Lanes: []Lane{
		{Name: "a", Extract: model("a@1"), Merge: Step{Combine: Combine{By: ByConcatenate}, Policy: strict}},
		{Name: "b", Extract: model("b@1"), Merge: Step{Combine: Combine{By: ByConcatenate}, Policy: strict}},
	}}
}

func document(chunks int) json.RawMessage {
	raw, _ := json.Marshal(strings.Repeat("1\n", chunks))
	return raw
}

func newRun(t *testing.T, p *Plan, chunks int) *Run {
	t.Helper()
	r, err := New(p, Request{Document: document(chunks)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func ok(output string) Outcome {
	return Outcome{Status: schemas.StatusSucceeded, Output: json.RawMessage(output), Counts: schemas.Counts{Calls: 1}}
}

// play answers every published job with what answer says, in an order that pick chooses, and returns the result with the
// largest number of jobs that were out at once.
func play(t *testing.T, r *Run, answer func(Job) Outcome, pick func(int) int) (res Result, most int, abandoned []Job) {
	t.Helper()
	var out []Job
	acts := r.Step(Begun{})
	for n := 0; ; n++ {
		for _, a := range acts {
			switch a := a.(type) {
			case Publish:
				out = append(out, a.Job)
			case Abandon:
				abandoned = append(abandoned, a.Job)
				out = slices.DeleteFunc(out, func(j Job) bool { return j == a.Job })
			case Finish:
				if got := r.Step(Begun{}); got != nil {
					t.Errorf("a run that has finished does %v", got)
				}
				return a.Result, most, abandoned
			}
		}
		most = max(most, len(out))
		if len(out) == 0 || n > 100_000 {
			t.Fatalf("nothing is out, and the run has not ended: %+v", r.lanes)
		}
		i := pick(len(out))
		j := out[i]
		out = slices.Delete(out, i, i+1)
		acts = r.Step(Ended{Job: j, Outcome: answer(j)})
	}
}

func first(int) int { return 0 }

func byChunk(j Job) Outcome { return ok(fmt.Sprintf("[%d]", 10*j.Lane+j.Chunk)) }

func TestOrderIsChunkFirstLaneSecondWhateverEndsFirst(t *testing.T) {
	want := `{"a":[1,2,3,4,5,6,7,8,9],"b":[11,12,13,14,15,16,17,18,19]}`
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		r := newRun(t, twoLanes(), 9)
		res, most, _ := play(t, r, byChunk, rnd.IntN)
		if string(res.Output) != want || res.Status != schemas.StatusSucceeded {
			t.Fatalf("seed %d: %s %s", seed, res.Status, res.Output)
		}
		if most > 4 {
			t.Fatalf("%d jobs are out, the window is 4", most)
		}
		if res.Counts.Calls != 18 {
			t.Errorf("%d calls", res.Counts.Calls)
		}
	}
}

func TestJobsArePublishedInOrder(t *testing.T) {
	r := newRun(t, twoLanes(), 2)
	var got []string
	for _, a := range r.Step(Begun{}) {
		if p, ok := a.(Publish); ok {
			got = append(got, fmt.Sprint(p.Job.Lane, p.Job.Chunk))
		}
	}
	if want := []string{"0 1", "1 1", "0 2", "1 2"}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// The failure that is told is the first in order, whichever came first; what stands behind it is abandoned, what stands
// before it is waited for.
func TestTheFirstFailureInOrderIsTold(t *testing.T) {
	told := map[string]bool{}
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		r := newRun(t, twoLanes(), 4)
		res, _, _ := play(t, r, func(j Job) Outcome {
			if j.Chunk == 2 || j.Chunk == 1 && j.Lane == 1 {
				return Outcome{Status: schemas.StatusFailed, Error: &schemas.Error{Category: schemas.CategoryProviderStatus, Message: fmt.Sprintf("of %d", j.Chunk)}}
			}
			return byChunk(j)
		}, rnd.IntN)
		if res.Status != schemas.StatusFailed || res.Output != nil {
			t.Fatalf("%+v", res)
		}
		told[res.Error.Message] = true
	}
	if len(told) != 1 || !told["extract of chunk 1 in lane b: of 1"] {
		t.Errorf("what is told hangs on the order: %v", told)
	}
}

func TestARejectionEndsTheRunUnlessThePolicySaysOtherwise(t *testing.T) {
	answer := func(j Job) Outcome {
		if j.Lane == 0 && j.Chunk == 2 {
			return Outcome{Status: schemas.StatusRejected, Output: json.RawMessage(`["bad"]`), Run: "x",
				Validators: []schemas.Validator{{Name: "judge@1", Outcome: schemas.VoteRejected, Reasons: []schemas.Reason{{Code: "invented"}}}}}
		}
		return byChunk(j)
	}
	res, _, abandoned := play(t, newRun(t, twoLanes(), 3), answer, first)
	if res.Status != schemas.StatusFailed || res.Error.Category != schemas.CategoryRejected || len(abandoned) == 0 {
		t.Errorf("fail_run: %+v, abandoned %v", res.Error, abandoned)
	}
	p := twoLanes()
	p.Lanes[0].Extract.Policy = lenient
	res, _, _ = play(t, newRun(t, p, 3), answer, first)
	if res.Status != schemas.StatusRejected || string(res.Output) != `{"a":[1,3],"b":[11,12,13]}` {
		t.Errorf("reject_output: %s %s", res.Status, res.Output)
	}
	want := []schemas.Rejection{{Stage: schemas.StageExtract, Lane: "a", Chunk: 2, Run: "x", Status: schemas.StatusRejected, By: []string{"judge@1"}, Codes: []string{"invented"}}}
	if !reflect.DeepEqual(res.Report.Rejections, want) {
		t.Errorf("%+v", res.Report.Rejections)
	}
}

func TestAMergeOfNothingFails(t *testing.T) {
	p := twoLanes()
	p.Lanes[0].Extract.Policy = lenient
	res, _, _ := play(t, newRun(t, p, 2), func(j Job) Outcome {
		if j.Lane == 0 {
			return Outcome{Status: schemas.StatusInvalid}
		}
		return byChunk(j)
	}, first)
	if res.Status != schemas.StatusFailed || !strings.Contains(res.Error.Message, "lane a: there is nothing to merge: all 2 extractions were rejected") {
		t.Errorf("%+v", res.Error)
	}
}

func TestIncompleteValidationGoesOnAsUnverified(t *testing.T) {
	res, _, _ := play(t, newRun(t, twoLanes(), 2), func(j Job) Outcome {
		o := byChunk(j)
		if j.Lane == 1 {
			o.Status = schemas.StatusUnverified
			o.Validators = []schemas.Validator{{Name: "judge@1", Outcome: schemas.VoteFailed}}
		}
		return o
	}, first)
	if res.Status != schemas.StatusUnverified || res.Report.Stages[3].Jobs.Incomplete != 2 || res.Report.Stages[3].FailedValidators["judge@1"] != 2 {
		t.Errorf("%s %+v", res.Status, res.Report.Stages)
	}
	if len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "b extract: judge@1 came to no decision on 2 outputs") {
		t.Errorf("one warning a validator and stage: %q", res.Warnings)
	}
}

// Nothing that is incomplete, rejected, reused or a fallback is kept; what is accepted is.
func TestWhatIsKept(t *testing.T) {
	for status, kept := range map[string]bool{schemas.StatusSucceeded: true, schemas.StatusUnverified: false, schemas.StatusRejected: false, schemas.StatusInvalid: false} {
		p := twoLanes()
		p.Lanes[0].Extract.Policy = lenient
		r := newRun(t, p, 2)
		r.Step(Begun{})
		got := false
		for _, a := range r.Step(Ended{Job: Job{Stage: schemas.StageExtract, Chunk: 1, Attempt: 1}, Outcome: Outcome{Status: status, Output: json.RawMessage("[1]")}}) {
			_, keep := a.(Keep)
			got = got || keep
		}
		if got != kept {
			t.Errorf("%s: kept %v", status, got)
		}
	}
}

func TestStoppedAbandonsEverything(t *testing.T) {
	r := newRun(t, twoLanes(), 9)
	r.Step(Begun{})
	acts := r.Step(Stopped{Status: schemas.StatusCancelled})
	if len(acts) != 7 || acts[4].(Tell).Outcome != schemas.StageStopped || acts[5].(Tell).Lane != "b" {
		t.Fatalf("%v", acts)
	}
	end := acts[6].(Finish).Result
	if end.Status != schemas.StatusCancelled || end.Output != nil || end.Report.Stages[1].Decision != schemas.StageStopped {
		t.Errorf("%+v", end)
	}
	if late := r.Step(Ended{Job: Job{Stage: schemas.StageExtract, Chunk: 1, Attempt: 1}, Outcome: ok("[]")}); late != nil {
		t.Errorf("a late word is heard: %v", late)
	}
}

func TestAnExpiredJobExpiresTheRun(t *testing.T) {
	res, _, _ := play(t, newRun(t, twoLanes(), 3), func(Job) Outcome { return Outcome{Status: schemas.StatusExpired} }, first)
	if res.Status != schemas.StatusExpired {
		t.Errorf("%+v", res)
	}
}

func TestOutputContractJudgesTheWhole(t *testing.T) {
	p := twoLanes()
	var err error
	p.Output, err = contract.Compile(contract.Spec{Mode: schemas.ModeJSONSchema, Schema: json.RawMessage(`{"properties":{"a":{"maxItems":1}}}`)})
	if err != nil {
		t.Fatal(err)
	}
	res, _, _ := play(t, newRun(t, p, 2), byChunk, first)
	if res.Status != schemas.StatusInvalid || len(res.Verdict.Findings) != 1 || res.Output == nil {
		t.Errorf("%s %+v", res.Status, res.Verdict)
	}
	if res, _, _ := play(t, newRun(t, p, 1), byChunk, first); res.Status != schemas.StatusSucceeded {
		t.Errorf("%s %+v", res.Status, res.Verdict)
	}
}
