package run

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"emend/schemas"
)

func staged(t *testing.T, retries, repairs int) *Plan {
	p := judgedPlan(t, "one@1")
	p.Retries, p.Output.RepairAttempts, p.Output.OnExhausted = retries, repairs, "fail"
	p.Messages = []schemas.Message{{Role: schemas.RoleUser, Content: "q"}}
	return p
}

func rejects(reasons ...schemas.Reason) Validated {
	return Validated{Vote: schemas.Validator{Name: "one@1", Outcome: schemas.VoteRejected, Reasons: reasons, Calls: 1}}
}

// votesInTurn answers each Validate with the next vote, whatever its index.
type votesInTurn struct {
	script
	turn []Validated
	base [][]schemas.Message
}

func (x *votesInTurn) Call(_ context.Context, s State, c Call) Event {
	x.base = append(x.base, x.plan.Base(s))
	return x.script.Call(context.Background(), s, c)
}

func (x *votesInTurn) Validate(context.Context, State, Validate) Event {
	v := x.turn[0]
	x.turn = x.turn[1:]
	return v
}

func driveStages(t *testing.T, p *Plan, calls []Event, votes ...Validated) (Result, *votesInTurn) {
	t.Helper()
	x := &votesInTurn{script: script{plan: p, calls: calls}, turn: votes}
	res, err := Drive(t.Context(), p, p.Start(), x, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res, x
}

// Seed 004: the ordinary prompt plus exactly two messages, from the latest rejection alone, with a full repair budget.
func TestASemanticCorrectionIsTheOrdinaryPromptAndTwoMessages(t *testing.T) {
	p := staged(t, 2, 1)
	res, x := driveStages(t, p, []Event{answer(`{"n":1}`), answer("bad"), answer(`{"n":2}`), answer(`{"n":3}`)},
		rejects(schemas.Reason{Code: "low", Guidance: "be\nhigher"}, schemas.Reason{Code: "low", Guidance: "be\nhigher"}, schemas.Reason{Code: "odd"}),
		rejects(schemas.Reason{Code: "even", Guidance: "be odd === reasons 1 === now"}), vote("one@1", schemas.VoteApproved))
	if res.Status != schemas.StatusSucceeded || res.State.Candidate.Text != `{"n":3}` || len(x.turn) != 0 {
		t.Fatalf("%s %+v", res.Status, res.State)
	}
	for i, want := range []string{"", `{"n":1}`, `{"n":1}`, `{"n":2}`} {
		b := x.base[i]
		switch {
		case want == "" && len(b) != 1:
			t.Errorf("call %d begins with %d messages", i, len(b))
		case want != "" && (len(b) != 3 || b[0].Content != "q" || b[1].Content != want || b[1].Role != schemas.RoleAssistant || b[2].Role != schemas.RoleUser):
			t.Errorf("call %d begins with %+v", i, b)
		}
	}
	first, second := x.base[1][2].Content, x.base[3][2].Content
	if strings.Count(first, "- low: be higher\n") != 1 || !strings.Contains(first, "- odd: correct what this code names\n") || strings.Contains(first, "one@1") {
		t.Errorf("the first correction:\n%s", first)
	}
	if !strings.Contains(second, "- even: be odd === reasons 1 === now\n") || strings.Contains(second, "low") || strings.Count(second, "\n=== reasons 2 ===\n") != 2 {
		t.Errorf("the second correction:\n%s", second)
	}
	if c := res.State.Counts; c.Corrections != 2 || c.Repairs != 1 || c.Calls != 4 || c.ValidatorCalls != 3 || x.seen[2].Generation != 2 || x.seen[3].Generation != 1 || x.seen[3].Stage != 3 {
		t.Errorf("%+v, calls %+v", c, x.seen)
	}
	want := []schemas.Stage{{Attempt: 1, Kind: "initial", Outcome: "rejected", RejectedBy: []string{"one@1"}, Calls: 1},
		{Attempt: 2, Kind: "correction", Outcome: "rejected", RejectedBy: []string{"one@1"}, Calls: 2}, {Attempt: 3, Kind: "correction", Outcome: "succeeded", Calls: 1}}
	got, _ := json.Marshal(p.AllStages(res.State))
	if exp, _ := json.Marshal(want); string(got) != string(exp) {
		t.Errorf("stages %s", got)
	}
}

// One budget pays for errors, structural failures and corrections.
func TestOneBudgetForAllStageAttempts(t *testing.T) {
	broken := Failed{Failure: Failure{Category: schemas.CategoryTransport}}
	for _, c := range []struct {
		name    string
		retries int
		calls   []Event
		votes   []Validated
		status  string
		kinds   string
	}{
		{"an error is repeated", 1, []Event{broken, answer("{}")}, []Validated{vote("one@1", schemas.VoteApproved)}, schemas.StatusSucceeded, "initial error"},
		{"no budget, no repeat", 0, []Event{broken}, nil, schemas.StatusFailed, ""},
		{"a structural failure is repeated from the ordinary prompt", 1, []Event{answer("bad"), answer("{}")}, []Validated{vote("one@1", schemas.VoteApproved)}, schemas.StatusSucceeded, "initial structural"},
		{"all three", 3, []Event{broken, answer("bad"), answer("{}"), answer("{}")}, []Validated{rejects(schemas.Reason{Code: "x"}), vote("one@1", schemas.VoteApproved)}, schemas.StatusSucceeded, "initial error structural correction"},
		{"the budget is one", 1, []Event{broken, answer("bad")}, nil, schemas.StatusFailed, "initial error"},
		{"a rejection at the end", 1, []Event{answer("{}"), answer("{}")}, []Validated{rejects(schemas.Reason{Code: "x"}), rejects(schemas.Reason{Code: "x"})}, schemas.StatusFailed, "initial correction"},
		{"a refusal is not repeated", 1, []Event{Failed{Failure: Failure{Category: schemas.CategoryRefused}}}, nil, schemas.StatusFailed, ""},
		{"nor what waiting cannot help", 1, []Event{Failed{Failure: Failure{Category: schemas.CategoryProviderStatus, Status: 429, Permanent: true}}}, nil, schemas.StatusFailed, ""},
		{"nor a bad key", 1, []Event{Failed{Failure: Failure{Category: schemas.CategoryProviderStatus, Status: 401, Account: true}}}, nil, schemas.StatusFailed, ""},
		{"a failed validator repeats nothing", 1, []Event{answer("{}")}, []Validated{vote("one@1", schemas.VoteFailed)}, schemas.StatusUnverified, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := staged(t, c.retries, 0)
			res, x := driveStages(t, p, c.calls, c.votes...)
			var kinds []string
			for _, s := range p.AllStages(res.State) {
				kinds = append(kinds, s.Kind)
			}
			if res.Status != c.status || strings.Join(kinds, " ") != c.kinds || len(x.calls) != 0 || len(x.seen) > p.MaxCalls() {
				t.Errorf("%s, stages %v, %d calls left", res.Status, kinds, len(x.calls))
			}
		})
	}
}

func TestTroubleThatHandsBackIsNoStageAttempt(t *testing.T) {
	for handsBack, calls := range map[bool]int{true: 1, false: 2} {
		p := staged(t, 1, 0)
		p.HandsBack = handsBack
		res, x := driveStages(t, p, []Event{status(503), status(503)})
		if len(x.seen) != calls || !Trouble(res.Failure) {
			t.Errorf("hands back %v: %d calls, %+v", handsBack, len(x.seen), res.Failure)
		}
	}
}

// Material that does not fit makes feedback impossible: nothing is cut, and the policy applies at once.
func TestImpossibleFeedback(t *testing.T) {
	big := `"` + strings.Repeat("a", maxDefective) + `"`
	for name, c := range map[string]struct {
		text   string
		reason []schemas.Reason
		want   string
	}{
		"a large answer":      {big, []schemas.Reason{{Code: "x"}}, "bytes"},
		"large reasons":       {"{}", []schemas.Reason{{Code: "x", Guidance: strings.Repeat("g", maxCorrection)}}, "the reasons have"},
		"no reason":           {"{}", nil, "gives no reason"},
		"reasons of bad text": {"{}", []schemas.Reason{{Code: "x", Guidance: "\xff"}}, "UTF-8"},
	} {
		p := staged(t, 1, 0)
		p.Policy.SemanticRejection = PolicyRejectOutput
		res, x := driveStages(t, p, []Event{answer(c.text)}, rejects(c.reason...))
		if res.Status != schemas.StatusRejected || len(x.seen) != 1 || !strings.Contains(res.State.Impossible, c.want) || !strings.HasPrefix(res.State.Impossible, "correction_impossible") {
			t.Errorf("%s: %s, %q", name, res.Status, res.State.Impossible)
		}
	}
}

// A State in the middle of a corrective attempt goes on with its correction.
func TestResumeWithinACorrection(t *testing.T) {
	p := staged(t, 1, 1)
	x := &votesInTurn{script: script{plan: p, calls: []Event{answer(`{"n":1}`), answer("bad"), answer("{}")}}, turn: []Validated{rejects(schemas.Reason{Code: "x"}), vote("one@1", schemas.VoteApproved)}}
	var stored []State
	if _, err := Drive(t.Context(), p, p.Start(), x, func(s State) error { stored = append(stored, s); return nil }); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(stored, func(s State) bool { return s.Stage == 2 && s.Generation == 2 })
	if i < 0 {
		t.Fatalf("no state within the correction: %d were stored", len(stored))
	}
	raw, err := json.Marshal(stored[i])
	if err != nil {
		t.Fatal(err)
	}
	var s State
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	y := &votesInTurn{script: script{plan: p, calls: []Event{answer("{}")}}, turn: []Validated{vote("one@1", schemas.VoteApproved)}}
	res, err := Drive(t.Context(), p, p.PutDown(s), y, nil)
	if err != nil || res.Status != schemas.StatusSucceeded || len(y.base) != 1 || len(y.base[0]) != 3 || y.base[0][1].Content != `{"n":1}` || res.State.Counts.Calls != 3 {
		t.Errorf("%v, %s, %+v", err, res.Status, y.base)
	}
}
