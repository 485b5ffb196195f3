package run

import (
	"encoding/json"
	"strings"
	"testing"

	"emend/engine/contract"
	"emend/schemas"
)

// Seed 004: every stage attempt has a full repair budget, and its first call full transient retries.
func TestEachStageAttemptHasFullBudgets(t *testing.T) {
	p := staged(t, 1, 1)
	p.TransientRetries = 1
	calls := []Event{status(503), answer("bad"), status(503), answer("bad"), status(503), answer("bad"), status(503), answer("{}")}
	res, x := driveStages(t, p, calls, vote("one@1", schemas.VoteApproved))
	c := res.State.Counts
	if res.Status != schemas.StatusSucceeded || len(x.seen) != p.MaxCalls() || c.Repairs != 2 || c.Retries != 4 {
		t.Errorf("%s after %d of %d calls, %+v", res.Status, len(x.seen), p.MaxCalls(), c)
	}
	if left := res.State.Left; left != (Budgets{}) {
		t.Errorf("left %+v", left)
	}
}

// ADR 0005: no stage attempt regenerates a cut answer once more.
func TestACutAnswerIsRegeneratedOnceInAllStageAttempts(t *testing.T) {
	cut := Answered{Candidate: Candidate{Text: `{"n":`, Finish: "length"}}
	why := rejects(schemas.Reason{Code: "low"})
	for _, c := range []struct {
		name      string
		retries   int
		exhausted string
		calls     []Event
		votes     []Validated
		status    string
		stages    string
	}{
		{"it ends the run", 1, "", []Event{cut, answer("{}"), cut}, []Validated{why}, schemas.StatusInvalid, "initial correction"},
		{"or another stage attempt follows", 2, "", []Event{cut, answer("{}"), cut, answer("{}")}, []Validated{why, vote("one@1", schemas.VoteApproved)}, schemas.StatusSucceeded, "initial correction structural"},
		{"a structural attempt does not, either", 1, "fail", []Event{cut, cut, cut}, nil, schemas.StatusFailed, "initial structural"},
		{"what is no cut is repaired still", 1, "", []Event{cut, answer("{}"), answer("bad"), answer("{}")}, []Validated{why, vote("one@1", schemas.VoteApproved)}, schemas.StatusSucceeded, "initial correction"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := staged(t, c.retries, 2)
			p.Output.OnExhausted = c.exhausted
			res, x := driveStages(t, p, c.calls, c.votes...)
			var kinds []string
			for _, s := range p.AllStages(res.State) {
				kinds = append(kinds, s.Kind)
			}
			regenerated := 0
			for _, call := range x.seen {
				if call.Style == StyleRegenerate {
					regenerated++
				}
			}
			if res.Status != c.status || strings.Join(kinds, " ") != c.stages || regenerated != 1 || len(x.calls) != 0 {
				t.Errorf("%s, stages %v, %d regenerations, %d calls left", res.Status, kinds, regenerated, len(x.calls))
			}
		})
	}
}

// What may pass is tried again in another stage attempt; what waiting cannot help, and a refusal, is not.
func TestFailuresThatAnotherStageAttemptFollows(t *testing.T) {
	for _, c := range []struct {
		failure Failure
		again   bool
	}{
		{Failure{Category: schemas.CategoryProviderResponse}, true},
		{Failure{Category: schemas.CategoryTransport}, true},
		{Failure{Category: schemas.CategoryTimeout}, true},
		{Failure{Category: schemas.CategoryProviderStatus, Status: 503}, true},
		{Failure{Category: schemas.CategoryProviderStatus, Status: 529}, true},
		{Failure{Category: schemas.CategoryProviderStatus, Status: 400}, false},
		{Failure{Category: schemas.CategoryRefused}, false},
		{Failure{Category: schemas.CategoryInternal}, false},
		{Failure{Category: schemas.CategoryTransport, Permanent: true}, false},
		{Failure{Category: schemas.CategoryProviderResponse, Permanent: true}, false},
		{Failure{Category: schemas.CategoryProviderStatus, Status: 503, Permanent: true}, false},
		{Failure{Category: schemas.CategoryProviderStatus, Status: 429, Account: true}, false},
	} {
		p := staged(t, 1, 0)
		p.ExtraStatuses = []int{529}
		res, x := driveStages(t, p, []Event{Failed{Failure: c.failure}, answer("{}")}, vote("one@1", schemas.VoteApproved))
		if again := len(x.seen) == 2; again != c.again || (res.Status == schemas.StatusSucceeded) != c.again {
			t.Errorf("%+v: %d calls, %s", c.failure, len(x.seen), res.Status)
		}
	}
}

// Text that no message can echo leaves the producer without a correction (seed 004).
func TestAnAnswerThatCannotBeEchoedIsNotCorrected(t *testing.T) {
	for text, want := range map[string]string{"": "the rejected answer is empty", " \n\t": "the rejected answer is empty", "a\xff": "the rejected answer is no valid UTF-8"} {
		p := staged(t, 1, 0)
		p.Contract, p.Output.Mode = plan(t, schemas.ModeNone, 0, 0).Contract, schemas.ModeNone
		p.Policy.SemanticRejection = PolicyRejectOutput
		res, x := driveStages(t, p, []Event{answer(text)}, rejects(schemas.Reason{Code: "x"}))
		if res.Status != schemas.StatusRejected || len(x.seen) != 1 || res.State.Impossible != schemas.CauseCorrectionImpossible+": "+want {
			t.Errorf("%q: %s after %d calls, %q", text, res.Status, len(x.seen), res.State.Impossible)
		}
	}
}

// Only rejections are told: neither what an approval remarks, nor what a validator without a decision says.
func TestOnlyRejectionsAreTold(t *testing.T) {
	said := func(name, outcome, code string) schemas.Validator {
		return schemas.Validator{Name: name, Outcome: outcome, Reasons: []schemas.Reason{{Code: code}}, Warnings: []schemas.Reason{{Code: "warned_" + code}}}
	}
	s := State{Candidate: &Candidate{Text: "{}"}, Judged: judged(contract.Verdict{Class: contract.OK, Value: json.RawMessage("{}")}), Votes: []schemas.Validator{
		said("one@1", schemas.VoteFailed, "undecided"), said("two@1", schemas.VoteRejected, "low"), said("three@1", schemas.VoteApproved, "fine")}}
	c, err := feedback(s)
	if err != nil || strings.Count(c.Message, "\n- ") != 1 || !strings.Contains(c.Message, "\n- low: correct what this code names\n") {
		t.Errorf("%v, %+v", err, c)
	}
}

// Nothing of one stage attempt is in the next but what it was told: no target of a correction, no vote, no answer.
func TestAStageAttemptBeginsAnew(t *testing.T) {
	p := staged(t, 1, 2)
	s := p.Start()
	s.Phase, s.Generation, s.Attempt, s.Style = Judging, 2, 1, StyleTargeted
	s.Candidate, s.Judged, s.Chain = &Candidate{Text: "{}"}, judged(contract.Verdict{Class: contract.SchemaInvalid}), true
	s.Votes, s.Failure = []schemas.Validator{{Name: "one@1"}}, &Failure{Category: schemas.CategoryTransport}
	s.Targets, s.Base, s.Changed = []string{"/a"}, `{"a":1}`, []string{"/b"}
	next, ok := p.again(s, schemas.StageStructural, "schema_invalid", nil)
	if !ok || next.Phase != Calling || next.Stage != 2 || next.Generation != 1 || next.Attempt != 0 || next.Style != "" {
		t.Errorf("%+v", next)
	}
	if next.Candidate != nil || next.Judged != nil || next.Chain || next.Votes != nil || next.Failure != nil || next.Targets != nil || next.Base != "" || next.Changed != nil {
		t.Errorf("left over: %+v", next)
	}
}
