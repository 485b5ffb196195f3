package run

import (
	"strings"
	"testing"
	"time"

	"emend/schemas"
)

// A stage attempt is told of a rejection only if it follows one: what follows an answer that stayed invalid, or an error, begins with
// the ordinary prompt again, and is no correction.
func TestOnlyWhatFollowsARejectionIsACorrection(t *testing.T) {
	p := staged(t, 3, 0)
	broken := Failed{Failure: Failure{Category: schemas.CategoryTransport}}
	res, x := driveStages(t, p, []Event{answer(`{"n":1}`), answer("bad"), broken, answer(`{"n":2}`)}, rejects(schemas.Reason{Code: "low"}), vote("one@1", schemas.VoteApproved))
	var sent []int
	for _, b := range x.base {
		sent = append(sent, len(b))
	}
	var kinds []string
	for _, s := range p.AllStages(res.State) {
		kinds = append(kinds, s.Kind)
	}
	if got := strings.Join(kinds, " "); got != "initial correction structural error" || res.Status != schemas.StatusSucceeded {
		t.Fatalf("%s: %s", res.Status, got)
	}
	for i, want := range []int{1, 3, 1, 1} {
		if sent[i] != want {
			t.Errorf("attempt %d (%s) begins with %d messages, want %d", i+1, kinds[i], sent[i], want)
		}
	}
	if c := res.State.Counts; c.Corrections != 1 || c.Calls != 4 || c.Retries != 0 {
		t.Errorf("%+v", c)
	}
}

// What fits to the byte is told.
func TestACorrectionUpToItsBounds(t *testing.T) {
	overhead := len(mustFeedback(t, "{}", "g").Message) - 1
	for name, c := range map[string]struct {
		text, guidance string
		ok             bool
	}{
		"the largest answer":         {strings.Repeat("a", maxDefective), "g", true},
		"an answer of one byte more": {strings.Repeat("a", maxDefective+1), "g", false},
		"the largest message":        {"{}", strings.Repeat("g", maxCorrection-overhead), true},
		"a message of one byte more": {"{}", strings.Repeat("g", maxCorrection-overhead+1), false},
	} {
		got, err := feedback(rejectedState(c.text, c.guidance))
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && (got.Candidate != c.text || !strings.Contains(got.Message, c.guidance)) {
			t.Errorf("%s: something was cut", name)
		}
	}
}

func rejectedState(text, guidance string) State {
	return State{Candidate: &Candidate{Text: text}, Votes: []schemas.Validator{{Name: "one@1", Outcome: schemas.VoteRejected, Reasons: []schemas.Reason{{Code: "c", Guidance: guidance}}}}}
}

func mustFeedback(t *testing.T, text, guidance string) *Correction {
	t.Helper()
	c, err := feedback(rejectedState(text, guidance))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What a vote has cost that a stop interrupts is counted, apart from the run's own calls, and the vote is none.
func TestAnInterruptedVoteIsCounted(t *testing.T) {
	p := judgedPlan(t, "one@1", "two@1")
	s := p.Start()
	for _, e := range []Event{Started{}, answer("{}"), Voted{Verdict: p.Contract.JudgeText("{}")}, vote("one@1", schemas.VoteApproved)} {
		s, _ = p.Step(s, e)
	}
	open := vote("two@1", schemas.VoteFailed)
	open.Vote.Calls, open.Waited = 2, 3*time.Second
	open.Cost.Add(7, true)
	s, _ = p.Step(s, Cancelled{Status: schemas.StatusExpired, Vote: &open})
	if s.Status != schemas.StatusExpired || s.Counts.ValidatorCalls != 3 || s.Counts.Calls != 1 || *s.ValidatorUsage.Usage().Input != 6 || s.Waited != 4*time.Second || len(s.Votes) != 1 {
		t.Errorf("%s, %+v, %d waited, votes %+v", s.Status, s.Counts, s.Waited, s.Votes)
	}
	if c := s.Cost.Cost(); c == nil || c.USD == nil || *c.USD != 7 {
		t.Errorf("cost %+v", c)
	}
}

// Another form of the schema is tried at once, and only once, from the budget of transient retries.
func TestTheOtherNativeFormTakesATransientRetry(t *testing.T) {
	refused := Failed{Failure: Failure{Category: schemas.CategoryProviderStatus, Status: 400, Permanent: true, Fallback: true}}
	for retries, want := range map[int]Phase{0: Done, 1: Calling} {
		p := plan(t, schemas.ModeJSON, retries, 0)
		s, _ := p.Step(p.Start(), Started{})
		s, _ = p.Step(s, refused)
		if s.Phase != want || s.Left.Transient != 0 || s.Fallback != (want == Calling) || s.Counts.Calls != 1 {
			t.Fatalf("%d retries: %s, %d left, fallback %v", retries, s.Phase, s.Left.Transient, s.Fallback)
		}
		if want == Done {
			continue
		}
		if s, _ = p.Step(s, refused); s.Phase != Done || s.Counts.Calls != 2 || s.Counts.Calls > p.MaxCalls() {
			t.Errorf("%s after %d calls of %d", s.Phase, s.Counts.Calls, p.MaxCalls())
		}
	}
}
