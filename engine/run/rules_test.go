package run

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"emend/engine/contract"
	"emend/schemas"
)

// ruled is a stage whose first validator is the rule n < 5, the second a judge, the third the rule n != 8.
func ruled(t *testing.T, retries, repairs int) *Plan {
	t.Helper()
	p := staged(t, retries, repairs)
	c, err := contract.Compile(contract.Spec{Mode: schemas.ModeJSON, Rules: []contract.Rule{
		{Field: "n", Bounds: contract.Bounds{ExclusiveMax: "5"}, Message: "n is below 5"}, {CEL: "output.n != 8.0"}}})
	if err != nil {
		t.Fatal(err)
	}
	p.Contract = c
	p.Validators = []Validator{{Name: "small", Rule: 1}, {Name: "one@1", MaxCalls: 2}, {Name: "rule_2", Rule: 2}}
	return p
}

func outcomes(votes []schemas.Validator) string {
	var out []string
	for _, v := range votes {
		out = append(out, v.Name+" "+v.Outcome)
	}
	return strings.Join(out, ", ")
}

// Rules and judges judge one candidate, in configured order, and one correction tells all that they reject (seed 004).
func TestRulesAndJudgesRejectOneCandidateTogether(t *testing.T) {
	p := ruled(t, 1, 2)
	res, x := driveStages(t, p, []Event{answer(`{"n":8}`), answer(`{"n":1}`)}, rejects(schemas.Reason{Code: "ugly", Guidance: "be nice"}), vote("one@1", schemas.VoteApproved))
	s := res.State
	if res.Status != schemas.StatusSucceeded || s.Counts.Calls != 2 || s.Counts.Repairs != 0 || s.Counts.Corrections != 1 {
		t.Fatalf("%s %+v", res.Status, s.Counts)
	}
	if got := outcomes(s.Votes); got != "small approved, one@1 approved, rule_2 approved" {
		t.Errorf("final votes: %s", got)
	}
	if got := s.Stages[0].RejectedBy; !slices.Equal(got, []string{"small", "one@1", "rule_2"}) {
		t.Errorf("rejected by %v", got)
	}
	second := x.base[1]
	if len(second) != 3 || second[1].Content != `{"n":8}` {
		t.Fatalf("%+v", second)
	}
	message := second[2].Content
	at := []int{strings.Index(message, "- small: n is below 5 (n)"), strings.Index(message, "- ugly: be nice"), strings.Index(message, `- rule_2: the rule does not hold: "output.n != 8.0" (n)`)}
	if at[0] < 0 || at[1] < at[0] || at[2] < at[1] {
		t.Errorf("%v in %s", at, message)
	}
}

// A rule's rejection is one whatever a judge says; the policy decides when nothing is left.
func TestARuleRejectsUnderThePolicy(t *testing.T) {
	for policy, want := range map[string]string{PolicyFailRun: schemas.StatusFailed, PolicyRejectOutput: schemas.StatusRejected, "": schemas.StatusFailed} {
		for _, second := range []string{schemas.VoteApproved, schemas.VoteFailed} {
			p := ruled(t, 0, 0)
			p.Policy.SemanticRejection = policy
			res, _ := driveStages(t, p, []Event{answer(`{"n":6}`)}, vote("one@1", second))
			if res.Status != want || res.State.Counts.ValidatorCalls != 1 || res.State.Judged.Valid() {
				t.Errorf("%s, judge %s: %s %+v", policy, second, res.Status, res.State.Counts)
			}
			if f := res.Failure; (f != nil) != (want == schemas.StatusFailed) || f != nil && (f.Category != schemas.CategoryRejected || !strings.Contains(f.Message, "small")) {
				t.Errorf("%s: %+v", policy, f)
			}
		}
	}
}

// Where no stage attempt is left, a rule is mended within the attempt, and votes when that did not help either.
func TestARuleIsRepairedWhereNoStageAttemptIsLeft(t *testing.T) {
	res, x := driveStages(t, ruled(t, 0, 1), []Event{answer(`{"n":6}`), answer(`{"n":1}`)}, vote("one@1", schemas.VoteApproved))
	if res.Status != schemas.StatusSucceeded || res.State.Counts.Repairs != 1 || len(x.turn) != 0 {
		t.Errorf("%s %+v", res.Status, res.State.Counts)
	}
	res, x = driveStages(t, ruled(t, 1, 1), []Event{answer(`{"n":6}`), answer(`{"n":7}`), answer(`{"n":8}`)},
		vote("one@1", schemas.VoteApproved), vote("one@1", schemas.VoteApproved))
	if c := res.State.Counts; res.Status != schemas.StatusFailed || c.Calls != 3 || c.Repairs != 1 || c.Corrections != 1 || c.ValidatorCalls != 2 || len(x.turn) != 0 {
		t.Errorf("%s %+v", res.Status, c)
	}
	if got := outcomes(res.State.Votes); got != "small rejected, one@1 approved, rule_2 rejected" {
		t.Errorf("%s", got)
	}
}

// A run with rules alone has no stage: rules are findings, and what stays is invalid (seed 000).
func TestRulesAloneDoNotVote(t *testing.T) {
	p := ruled(t, 0, 0)
	p.Validators, p.Output.OnExhausted = nil, "return"
	res, _ := driveStages(t, p, []Event{answer(`{"n":6}`)})
	if res.Status != schemas.StatusInvalid || res.State.Votes != nil {
		t.Errorf("%s %+v", res.Status, res.State.Votes)
	}
}

// An exhausted run that is escalated is shown to its judges as advice, then to people, also where rules vote.
func TestWhatRulesRefuseIsEscalated(t *testing.T) {
	p := ruled(t, 0, 0)
	p.Output.OnExhausted, p.Sink = "escalate", SinkReview
	res, x := driveStages(t, p, []Event{answer(`{"n":6}`)}, vote("one@1", schemas.VoteApproved))
	if res.State.Phase != Reviewing || strings.Join(x.sinks, " ") != "judge review" {
		t.Errorf("%s %v", res.State.Phase, x.sinks)
	}
	p.Retries = 1
	res, x = driveStages(t, p, []Event{answer(`{"n":6}`)}, Validated{Vote: schemas.Validator{Name: "one@1", Outcome: schemas.VoteRejected, Cause: schemas.CauseCorrectionImpossible, Calls: 1}})
	if res.State.Phase != Reviewing || strings.Join(x.sinks, " ") != "review" || res.State.Impossible == "" {
		t.Errorf("%s %v %q", res.State.Phase, x.sinks, res.State.Impossible)
	}
}

// A run that is put down while its judge is asked about what a rule has rejected asks the judge alone.
func TestPutDownBesideARuleThatRejects(t *testing.T) {
	p := ruled(t, 1, 0)
	s, _ := p.Step(p.Start(), Started{})
	s, _ = p.Step(s, answer(`{"n":6}`))
	s, a := p.Step(s, Voted{Verdict: p.Contract.JudgeText(`{"n":6}`)})
	if v, ok := a.(Validate); !ok || v.Index != 1 || outcomes(s.Votes) != "small rejected" || p.MaxNow(s) != 1 {
		t.Fatalf("%+v, at most %d calls: %+v", a, p.MaxNow(s), s)
	}
	stopped, _ := p.Step(s, Cancelled{Status: schemas.StatusCancelled})
	raw, err := json.Marshal(p.PutDown(stopped))
	if err != nil {
		t.Fatal(err)
	}
	var again State
	if err := json.Unmarshal(raw, &again); err != nil {
		t.Fatal(err)
	}
	if v, ok := p.Pending(p.Revive(again)).(Validate); !ok || v.Index != 1 {
		t.Fatalf("%+v", p.Pending(again))
	}
	s, a = p.Step(p.Revive(again), vote("one@1", schemas.VoteApproved))
	if c, ok := a.(Call); !ok || c.Stage != 2 || c.StageKind != schemas.StageCorrection || s.Correction == nil || s.Chain {
		t.Errorf("%+v %+v", a, s)
	}
}

// A rule that cannot tell, since the schema refuses the candidate, neither approves nor rejects it.
func TestRulesOfACandidateThatItsSchemaRefuses(t *testing.T) {
	p := plan(t, schemas.ModeJSONSchema, 0, 0)
	p.Output.OnExhausted, p.Sink, p.Validators = "escalate", SinkReview, []Validator{{Name: "r", Rule: 1}, {Name: "one@1"}}
	res, _ := driveStages(t, p, []Event{answer(`{}`)}, vote("one@1", schemas.VoteApproved))
	if got := outcomes(res.State.Votes); got != "r skipped, one@1 approved" {
		t.Errorf("%s", got)
	}
}

// A run that is put down where it was escalated, before a judge was asked: the rules that come first have voted when it is taken up.
func TestPutDownWhereRulesComeFirst(t *testing.T) {
	p := ruled(t, 1, 0)
	p.Output.OnExhausted = "escalate"
	s, _ := p.Step(p.Start(), Started{})
	for _, e := range []Event{answer("no json"), invalid, answer("no json"), invalid} {
		s, _ = p.Step(s, e)
	}
	if s.Phase != Escalating || s.Sink != SinkJudge {
		t.Fatalf("%+v", s)
	}
	s = p.PutDown(s)
	if v, ok := p.Pending(s).(Validate); !ok || v.Index != 1 || outcomes(s.Votes) != "small skipped" {
		t.Errorf("%+v, %s", p.Pending(s), outcomes(s.Votes))
	}
}

// Wherever a run is put down, what it waits for next is something that can be done: a call, a verdict, a wait, or the vote of
// whoever is asked, never that of a rule.
func TestNobodyAsksARule(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := ruled(t, rapid.IntRange(0, 1).Draw(rt, "retries"), rapid.IntRange(0, 1).Draw(rt, "repairs"))
		rapid.SampledFrom([]func(){func() {}, func() { slices.Reverse(p.Validators) }, func() { p.Validators[0], p.Validators[1] = p.Validators[1], p.Validators[0] }}).Draw(rt, "order")()
		p.Output.OnExhausted = rapid.SampledFrom([]string{"return", "fail", "escalate"}).Draw(rt, "exhausted")
		p.Sink = rapid.SampledFrom([]string{SinkNone, SinkReview}).Draw(rt, "sink")
		s := p.Start()
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			if rapid.Bool().Draw(rt, "down") {
				if rapid.IntRange(0, 3).Draw(rt, "stopped") == 0 && s.Phase != Done && s.Phase != Reviewing {
					s, _ = p.Step(s, Cancelled{Status: schemas.StatusCancelled})
				}
				s = p.PutDown(s)
			}
			var e Event
			switch a := p.Pending(s).(type) {
			case Call:
				if e = answer(rapid.SampledFrom([]string{"no json", "no json", "no json", `{"n":1}`, `{"n":8}`, `{"n":6}`}).Draw(rt, "answer")); s.Phase == New {
					e = Started{}
				}
			case Judge:
				e = Voted{Verdict: p.Contract.JudgeText(s.Candidate.Text)}
			case Validate:
				if a.Index >= len(p.Validators) || p.Validators[a.Index].Rule > 0 || a.Index != len(s.Votes) {
					rt.Fatalf("asks %d of %+v after %d votes", a.Index, p.Validators, len(s.Votes))
				}
				e = vote("one@1", rapid.SampledFrom([]string{schemas.VoteApproved, schemas.VoteRejected, schemas.VoteFailed}).Draw(rt, "vote"))
			case Escalate:
				e = Escalated{}
			default:
				return
			}
			if s, _ = p.Step(s, e); s.Failure != nil && s.Failure.Category == schemas.CategoryInternal {
				rt.Fatalf("%T: %+v", e, s.Failure)
			}
			if s.Status == schemas.StatusSucceeded && !s.Judged.Valid() {
				rt.Fatalf("an invalid answer succeeded: %+v", s)
			}
		}
	})
}
