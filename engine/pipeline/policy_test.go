package pipeline

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"emend/engine/contract"
	"emend/schemas"
)

const warnContinue = "warn_continue"

// endsOf is the result of a run whose job of a stage ends with status, under a policy of that stage alone. Its other outputs are
// accepted.
func endsOf(t *testing.T, stage, status string, policy schemas.StagePolicy) Result {
	t.Helper()
	if stage == schemas.StageExtract {
		p := twoLanes()
		p.Lanes[0].Extract.Policy = policy
		res, _, _ := play(t, newRun(t, p, 2), func(j Job) Outcome {
			if j.Lane == 0 && j.Chunk == 1 {
				return Outcome{Status: status, Output: json.RawMessage("[]")}
			}
			return byChunk(j)
		}, first)
		return res
	}
	p := staged()
	*map[string]*Step{schemas.StageChunk: &p.Chunk, schemas.StageMerge: &p.Lanes[0].Merge, schemas.StageNormalize: &p.Lanes[0].Normalize}[stage] = Step{
		Prompt: "x@1", Backend: "m", Inputs: model("x@1").Inputs, Digest: "x", Policy: policy}
	acts := upTo(t, p, stage).Step(Ended{Job: jobOf(stage), Outcome: Outcome{Status: status, Output: json.RawMessage("[]")}})
	return acts[len(acts)-1].(Finish).Result
}

// An answer that stays invalid and one that is rejected each have a word of the policy: neither is the other's.
func TestStructuralFailureAndRejectionHaveTheirOwnPolicies(t *testing.T) {
	structural := schemas.StagePolicy{ProducerStructuralFailure: rejectOutput, SemanticRejection: failRun, ValidatorFailure: warnContinue}
	semantic := schemas.StagePolicy{ProducerStructuralFailure: failRun, SemanticRejection: rejectOutput, ValidatorFailure: warnContinue}
	for _, stage := range schemas.PipelineStages {
		for _, c := range []struct {
			status   string
			policy   schemas.StagePolicy
			category string
		}{
			{schemas.StatusInvalid, structural, ""},
			{schemas.StatusRejected, structural, schemas.CategoryRejected},
			{schemas.StatusInvalid, semantic, schemas.CategoryOutputInvalid},
			{schemas.StatusRejected, semantic, ""},
		} {
			res := endsOf(t, stage, c.status, c.policy)
			category := ""
			if res.Error != nil {
				category = res.Error.Category
			}
			if category != c.category || (res.Status == schemas.StatusRejected) != (c.category == "") {
				t.Errorf("%s %s under %+v: %s, %+v", stage, c.status, c.policy, res.Status, res.Error)
			}
		}
	}
}

// short is a contract that cannot judge what has more than 4 bytes.
func short(t *testing.T) *contract.Contract {
	t.Helper()
	c, err := contract.Compile(contract.Spec{Mode: schemas.ModeJSON, MaxBytes: 4})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What the rules of a deterministic stage cannot judge goes on as incomplete, or fails the run, by the policy of that stage.
func TestRulesThatComeToNoDecision(t *testing.T) {
	for _, stage := range []string{schemas.StageMerge, schemas.StageNormalize} {
		for _, word := range []string{warnContinue, failRun} {
			p := twoLanes()
			lane := &p.Lanes[0]
			lane.Normalize = Step{Combine: Combine{By: BySort}, Policy: strict}
			judged := map[string]*Step{schemas.StageMerge: &lane.Merge, schemas.StageNormalize: &lane.Normalize}[stage]
			judged.Contract, judged.Policy.ValidatorFailure = short(t), word
			res, _, _ := play(t, newRun(t, p, 3), byChunk, first)
			incomplete := 0
			for _, s := range res.Report.Stages {
				if s.Stage == stage && s.Lane == "a" {
					incomplete = s.Jobs.Incomplete
				}
			}
			switch word {
			case failRun:
				if res.Status != schemas.StatusFailed || res.Error.Category != schemas.CategoryValidator || !strings.Contains(res.Error.Message, stage+" of lane a") || incomplete != 0 {
					t.Errorf("%s: %s, %+v, %d incomplete", stage, res.Status, res.Error, incomplete)
				}
			default:
				warned := slices.ContainsFunc(res.Warnings, func(w string) bool { return strings.HasPrefix(w, "a "+stage+": rules came to no decision") })
				if res.Status != schemas.StatusUnverified || string(res.Output) != `{"a":[1,2,3],"b":[11,12,13]}` || incomplete != 1 || !warned {
					t.Errorf("%s: %s %s, %d incomplete, %q", stage, res.Status, res.Output, incomplete, res.Warnings)
				}
			}
		}
	}
}

// A whole that breaks the output contract is invalid whatever became of its parts.
func TestAnInvalidWholeIsInvalidAlsoWithoutWhatWasLeftOut(t *testing.T) {
	for _, status := range []string{schemas.StatusSucceeded, schemas.StatusUnverified, schemas.StatusRejected} {
		for schema, valid := range map[string]bool{`{"required":["a"]}`: true, `{"required":["c"]}`: false} {
			p := twoLanes()
			p.Lanes[0].Extract.Policy = lenient
			var err error
			if p.Output, err = contract.Compile(contract.Spec{Mode: schemas.ModeJSONSchema, Schema: json.RawMessage(schema)}); err != nil {
				t.Fatal(err)
			}
			res, _, _ := play(t, newRun(t, p, 2), func(j Job) Outcome {
				o := byChunk(j)
				if j.Lane == 0 && j.Chunk == 1 {
					o.Status = status
				}
				return o
			}, first)
			want := schemas.StatusInvalid
			if valid {
				want = status
			}
			if left := len(res.Report.Rejections) == 1; res.Status != want || res.Verdict.Valid() != valid || res.Output == nil || left != (status == schemas.StatusRejected) {
				t.Errorf("%s under %s: %s %s, %+v", status, schema, res.Status, res.Output, res.Report.Rejections)
			}
		}
	}
}

// All that shaped an output is in its key; the order of its inputs is not.
func TestReuseKey(t *testing.T) {
	in := func(kv ...string) map[string]json.RawMessage {
		out := map[string]json.RawMessage{}
		for i := 0; i < len(kv); i += 2 {
			out[kv[i]] = json.RawMessage(kv[i+1])
		}
		return out
	}
	seen := map[string]int{}
	step := Step{Digest: "d"}
	for i, key := range []string{ReuseKey(step, in("a", "1", "b", "2")), ReuseKey(step, in("a", "2", "b", "1")), ReuseKey(step, in("a", "1", "c", "2")), ReuseKey(step, in("a", "1")),
		ReuseKey(Step{Digest: "e"}, in("a", "1", "b", "2"))} {
		if other, twice := seen[key]; twice {
			t.Errorf("%d and %d have one key", other, i)
		}
		seen[key] = i
	}
	if ReuseKey(Step{Digest: "d", Retries: 2, Backend: "x"}, in("b", "2", "a", "1")) != ReuseKey(step, in("a", "1", "b", "2")) {
		t.Error("what shapes no output is in the key")
	}
}

// A kept chunk plan that makes a chunk larger than a lane takes today is asked for anew; a new one fails the run.
func TestAChunkPlanThatDoesNotFit(t *testing.T) {
	for reused, want := range map[bool]string{true: "publish chunk", false: schemas.StatusFailed} {
		p := staged()
		p.Lanes[0].Extract.Inputs[InputChunk] = 5
		acts := upTo(t, p, schemas.StageChunk).Step(Ended{Job: jobOf(schemas.StageChunk), Outcome: Outcome{Status: schemas.StatusSucceeded, Output: json.RawMessage(`{"starts":[1]}`), Reused: reused}})
		if got := words(acts); got != want {
			t.Errorf("reused %v: %q, want %q", reused, got, want)
		}
		for _, a := range acts {
			if again, ok := a.(Publish); ok && !again.Fresh {
				t.Error("the kept plan would be taken again")
			}
		}
	}
}
