package run

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"emend/engine/contract"
	"emend/schemas"
)

// vote is one validator's outcome that took a call of 3 tokens.
func vote(name, outcome string) Validated {
	in := int64(3)
	v := Validated{Vote: schemas.Validator{Name: name, Outcome: outcome, Calls: 1}, Waited: time.Second}
	v.Usage.Add(&schemas.Tokens{Input: &in})
	return v
}

func judgedPlan(t *testing.T, judges ...string) *Plan {
	p := plan(t, schemas.ModeJSON, 0, 0)
	for _, name := range judges {
		p.Validators = append(p.Validators, Validator{Name: name, MaxCalls: 2, Retries: 1})
	}
	return p
}

func driveVotes(t *testing.T, p *Plan, text string, votes ...Validated) (Result, *script) {
	t.Helper()
	x := &script{plan: p, calls: []Event{answer(text)}, votes: votes}
	res, err := Drive(t.Context(), p, p.Start(), x, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res, x
}

// Seed 004's precedence and terminal policies.
func TestVotesDecideByPrecedenceAndPolicy(t *testing.T) {
	a, r, f, k := schemas.VoteApproved, schemas.VoteRejected, schemas.VoteFailed, schemas.VoteSkipped
	for _, c := range []struct {
		votes              []string
		policy             Policy
		status, categories string
	}{
		{[]string{a, a}, Policy{}, schemas.StatusSucceeded, ""},
		{[]string{a, r}, Policy{}, schemas.StatusFailed, schemas.CategoryRejected},
		{[]string{f, r}, Policy{ValidatorFailure: PolicyWarnContinue}, schemas.StatusFailed, schemas.CategoryRejected},
		{[]string{r, k}, Policy{SemanticRejection: PolicyRejectOutput}, schemas.StatusRejected, ""},
		{[]string{f, a}, Policy{ValidatorFailure: PolicyWarnContinue}, schemas.StatusUnverified, ""},
		{[]string{a, k}, Policy{}, schemas.StatusUnverified, ""},
		{[]string{a, f}, Policy{ValidatorFailure: PolicyFailRun}, schemas.StatusFailed, schemas.CategoryValidator},
	} {
		p := judgedPlan(t, "one@1", "two@1")
		p.Policy = c.policy
		res, _ := driveVotes(t, p, "{}", vote("one@1", c.votes[0]), vote("two@1", c.votes[1]))
		category := ""
		if res.Failure != nil {
			category = res.Failure.Category
		}
		if res.Status != c.status || category != c.categories || len(res.State.Votes) != 2 {
			t.Errorf("%v under %+v: %s %s, %d votes", c.votes, c.policy, res.Status, category, len(res.State.Votes))
		}
	}
}

func TestValidatorsAreCountedApart(t *testing.T) {
	p := judgedPlan(t, "one@1", "two@1")
	res, _ := driveVotes(t, p, "{}", vote("one@1", schemas.VoteApproved), vote("two@1", schemas.VoteApproved))
	s := res.State
	if s.Counts.Calls != 1 || s.Usage.Calls != 1 || s.Counts.ValidatorCalls != 2 || s.ValidatorUsage.Calls != 2 || *s.ValidatorUsage.Usage().Input != 6 || s.Waited != 2*time.Second {
		t.Errorf("%+v %+v", s.Counts, s.ValidatorUsage)
	}
	if p.MaxCalls() != 1 || p.MaxValidatorCalls() != 8 {
		t.Errorf("at most %d and %d", p.MaxCalls(), p.MaxValidatorCalls())
	}
}

// An exhausted run goes to its judges, then to people; no approval changes invalid.
func TestEscalationGoesToJudgesThenToPeople(t *testing.T) {
	for _, c := range []struct {
		name, sink string
		judges     []string
		sinks      string
		phase      Phase
	}{
		{"judges and people", SinkReview, []string{"one@1"}, "judge review", Reviewing},
		{"people", SinkReview, nil, "review", Reviewing},
		{"judges", SinkNone, []string{"one@1"}, "judge", Done},
		{"nobody", SinkNone, nil, "none", Done},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := judgedPlan(t, c.judges...)
			p.Output.OnExhausted, p.Sink = "escalate", c.sink
			res, x := driveVotes(t, p, "no json", vote("one@1", schemas.VoteApproved))
			if strings.Join(x.sinks, " ") != c.sinks || res.State.Phase != c.phase || (c.phase == Done && res.Status != schemas.StatusInvalid) {
				t.Errorf("sinks %v, phase %s, status %q", x.sinks, res.State.Phase, res.Status)
			}
			if c.phase == Reviewing && res.Status != "" {
				t.Errorf("a run in review has status %q", res.Status)
			}
		})
	}
}

func TestAPersonsDecisionEndsAReview(t *testing.T) {
	p := judgedPlan(t)
	p.Output.OnExhausted, p.Sink = "escalate", SinkReview
	in, _ := driveVotes(t, p, "no json")
	raw, err := json.Marshal(in.State)
	if err != nil {
		t.Fatal(err)
	}
	for decision, want := range map[string]string{schemas.DecisionApprove: schemas.StatusSucceeded, schemas.DecisionReject: schemas.StatusInvalid, schemas.DecisionEdit: schemas.StatusSucceeded} {
		var s State
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		d := Decided{Review: schemas.Review{Decision: decision, By: "ada"}}
		if decision == schemas.DecisionEdit {
			d.Text, d.Verdict = "{}", contract.Verdict{Class: contract.OK, Value: json.RawMessage("{}")}
		}
		s, a := p.Step(s, d)
		if _, finish := a.(Finish); !finish || s.Status != want || s.Review.By != "ada" || s.Counts.Calls != 1 {
			t.Errorf("%s: %s, %T", decision, s.Status, a)
		}
		if edited := decision == schemas.DecisionEdit; s.Judged.Valid() != edited || (s.Candidate.Text == "{}") != edited {
			t.Errorf("%s: valid %v, text %q", decision, s.Judged.Valid(), s.Candidate.Text)
		}
	}
}

// A run that was put down between two validators asks only the second.
func TestResumeBetweenValidators(t *testing.T) {
	p := judgedPlan(t, "one@1", "two@1")
	x := &script{plan: p, calls: []Event{answer("{}")}, votes: []Validated{vote("one@1", schemas.VoteApproved), vote("two@1", schemas.VoteApproved)}}
	var stored []State
	if _, err := Drive(t.Context(), p, p.Start(), x, func(s State) error { stored = append(stored, s); return nil }); err != nil {
		t.Fatal(err)
	}
	for i := range stored {
		raw, _ := json.Marshal(stored[i])
		stored[i] = State{}
		if err := json.Unmarshal(raw, &stored[i]); err != nil {
			t.Fatal(err)
		}
	}
	if len(stored) != 2 || len(stored[1].Votes) != 1 {
		t.Fatalf("%d states were saved", len(stored))
	}
	stopped, _ := p.Step(stored[1], Cancelled{Status: schemas.StatusCancelled})
	s := p.Revive(p.PutDown(stopped))
	if string(s.Judged.Value) != "{}" {
		t.Errorf("the value was not revived: %s", s.Judged.Value)
	}
	y := &script{plan: p, votes: x.votes}
	res, err := Drive(context.Background(), p, s, y, nil)
	if err != nil || res.Status != schemas.StatusSucceeded || len(y.seen) != 0 || res.State.Counts.ValidatorCalls != 2 {
		t.Errorf("%v, %s, %d calls, %+v", err, res.Status, len(y.seen), res.State.Counts)
	}
}

// A correction that must put back what the one before it changed is about the value before both.
func TestTargetsAndBaseOfCorrections(t *testing.T) {
	p := plan(t, schemas.ModeJSON, 0, 4)
	price := contract.Finding{Pointer: "/price", Keyword: "type"}
	total := contract.Finding{Pointer: "/total", Keyword: contract.KeywordPreserve}
	qty := contract.Finding{Pointer: "/qty", Keyword: "type"}
	s, _ := p.Step(p.Start(), Started{})
	for _, step := range []struct {
		text    string
		vote    Voted
		base    string
		targets []string
	}{
		{"A", Voted{Style: StyleTargeted, Targets: []string{"/price"}, Verdict: contract.Verdict{Class: contract.SchemaInvalid, Findings: []contract.Finding{price}}}, "A", []string{"/price"}},
		{"B", Voted{Style: StyleTargeted, Targets: []string{"/total", "/qty"}, Changed: []string{"/total"},
			Verdict: contract.Verdict{Class: contract.NotPreserved, Findings: []contract.Finding{total, qty}}}, "A", []string{"/price", "/qty"}},
		{"C", Voted{Style: StyleConversation, Verdict: contract.Verdict{Class: contract.NotJSON}}, "A", []string{"/price", "/qty"}},
		{"D", Voted{Style: StyleConversation, Verdict: contract.Verdict{Class: contract.SchemaInvalid, Value: json.RawMessage("1"), Findings: []contract.Finding{qty}}}, "", nil},
	} {
		s, _ = p.Step(s, answer(step.text))
		s, _ = p.Step(s, step.vote)
		if s.Base != step.base || !slices.Equal(s.Targets, step.targets) || s.Style != step.vote.Style {
			t.Errorf("after %s: base %q, targets %v, style %s", step.text, s.Base, s.Targets, s.Style)
		}
	}
	if !slices.Equal(s.Changed, []string{"/total"}) {
		t.Errorf("changed %v", s.Changed)
	}
}

// A run that is put down while it is escalated goes on there: its answer is not asked for again.
func TestPutDownWhileEscalating(t *testing.T) {
	p := judgedPlan(t, "one@1")
	p.Output.OnExhausted, p.Sink = "escalate", SinkReview
	s, _ := p.Step(p.Start(), Started{})
	var seen []Phase
	for _, e := range []Event{answer("no json"), invalid, Escalated{}, vote("one@1", schemas.VoteApproved)} {
		s, _ = p.Step(s, e)
		if s.Phase != Escalating && s.Phase != Validating {
			continue
		}
		stopped, _ := p.Step(s, Cancelled{Status: schemas.StatusCancelled})
		seen = append(seen, p.PutDown(stopped).Phase)
		if p.MaxNow(s) != 0 {
			t.Errorf("in %s %d calls are to come", s.Phase, p.MaxNow(s))
		}
	}
	if want := []Phase{Validating, Validating, Escalating}; !slices.Equal(seen, want) {
		t.Errorf("put down in %v, want %v", seen, want)
	}
}

// A run whose result could not be stored is judged again for nothing, and its votes are not asked for again.
func TestVotesAreKeptWithTheAnswer(t *testing.T) {
	p := judgedPlan(t, "one@1", "two@1")
	res, _ := driveVotes(t, p, "{}", vote("one@1", schemas.VoteApproved), vote("two@1", schemas.VoteFailed))
	s := res.State
	s.Phase, s.Status, s.Failure = Judging, "", nil
	again, err := Drive(t.Context(), p, s, &script{plan: p}, nil)
	if err != nil || again.Status != res.Status || again.Status != schemas.StatusUnverified || again.State.Counts.ValidatorCalls != 2 {
		t.Errorf("%v, %s, %+v", err, again.Status, again.State.Counts)
	}
}

func TestEscalatedAnswersAreSavedBeforeTheJudgesAreAsked(t *testing.T) {
	p := judgedPlan(t, "one@1")
	p.Output.OnExhausted = "escalate"
	var phases []Phase
	x := &script{plan: p, calls: []Event{answer("no json")}, votes: []Validated{vote("one@1", schemas.VoteApproved)}}
	if _, err := Drive(t.Context(), p, p.Start(), x, func(s State) error { phases = append(phases, s.Phase); return nil }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(phases, []Phase{Escalating}) {
		t.Errorf("saved in %v", phases)
	}
}

func TestMaxNowCountsTheCallThatAWaitIsFor(t *testing.T) {
	p := plan(t, schemas.ModeNone, 2, 0)
	s, _ := p.Step(p.Start(), Started{})
	s, _ = p.Step(s, status(503))
	if got := p.MaxNow(s); s.Phase != Waiting || got != 2 {
		t.Errorf("in %s: %d", s.Phase, got)
	}
}
