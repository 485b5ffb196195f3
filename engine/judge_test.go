package engine_test

import (
	"strings"
	"testing"

	"emend/engine"
	"emend/schemas"
)

// A judge's structural repair is its own: bounded, whole in each try, counted as its calls, and told nothing of the run's answer
// but what it was asked. Every call is in the run's session (seed 004).
func TestJudgeRepairsItsOwnAnswerInTheSameSession(t *testing.T) {
	for _, c := range []struct {
		name, checks string
		votes        []string
		status       string
		calls        int
	}{
		{"mended", "{judge: j@1, repair_attempts: 1}", []string{nonsense, approve}, schemas.StatusSucceeded, 2},
		{"used up", "{judge: j@1, repair_attempts: 1}", []string{nonsense, nonsense}, schemas.StatusUnverified, 2},
		{"whole in each try", "{judge: j@1, retries: 1, repair_attempts: 1}", []string{nonsense, nonsense, nonsense, approve}, schemas.StatusSucceeded, 4},
		{"none by default", "{judge: j@1}", []string{nonsense, approve}, schemas.StatusUnverified, 1},
	} {
		m := &models{answers: map[string][]string{"worker": {"no json", `{"a":1}`}, "judge": c.votes}}
		e := governed(t, m, "", "output: {mode: json, repair_attempts: 1}\nchecks: ["+c.checks+"]")
		r, err := e.Run(t.Context(), engine.RunRequest{ID: "1", Prompt: "x", SessionID: "s-1"})
		if err != nil || r.Status != c.status || r.Counts.ValidatorCalls != c.calls || r.Validation.Validators[0].Calls != c.calls || r.Counts.Calls != 2 || r.Counts.Repairs != 1 {
			t.Errorf("%s: %+v %v", c.name, r, err)
			continue
		}
		for _, of := range []string{"worker", "judge"} {
			for i, sent := range m.sent[of] {
				if sent.Session != "s-1" {
					t.Errorf("%s: call %d of %s has session %q", c.name, i, of, sent.Session)
				}
			}
		}
		first := m.sent["judge"][0].Messages
		for i, sent := range m.sent["judge"] {
			if i%2 == 0 && len(sent.Messages) != len(first) {
				t.Errorf("%s: try %d is not the ordinary prompt: %+v", c.name, i, sent.Messages)
			}
			if n := len(first); i%2 == 1 && (len(sent.Messages) != n+2 || sent.Messages[n].Content != nonsense || !strings.Contains(sent.Messages[n+1].Content, "Correction 1 of 1")) {
				t.Errorf("%s: correction %+v", c.name, sent.Messages)
			}
		}
	}
}

// An approval that gives reasons is neither: the judge mends it, told of both, is asked again, or came to no decision. What a
// provider is sent of the contract knows no condition.
func TestAnApprovalWithReasonsIsNoDecision(t *testing.T) {
	const both = `{"reasons":[{"code":"wrong_sum","guidance":"add up"}],"warnings":[],"decision":"approve"}`
	const remark = `{"reasons":[],"warnings":[{"code":"dull","guidance":"x"}],"decision":"approve"}`
	for _, c := range []struct {
		name, check string
		votes       []string
		status      string
		calls       int
		cause       string
	}{
		{"no decision", "{judge: j@1}", []string{both}, schemas.StatusUnverified, 1, schemas.CategoryOutputInvalid},
		{"withdrawn reasons", "{judge: j@1, repair_attempts: 1}", []string{both, approve}, schemas.StatusSucceeded, 2, ""},
		{"a withdrawn approval", "{judge: j@1, repair_attempts: 1}", []string{both, reject}, schemas.StatusRejected, 2, ""},
		{"repairs used up", "{judge: j@1, repair_attempts: 1}", []string{both, both}, schemas.StatusUnverified, 2, schemas.CategoryOutputInvalid},
		{"asked again", "{judge: j@1, retries: 1}", []string{both, approve}, schemas.StatusSucceeded, 2, ""},
		{"tries used up", "{judge: j@1, retries: 1}", []string{both, both}, schemas.StatusUnverified, 2, schemas.CategoryOutputInvalid},
		{"a remark", "{judge: j@1}", []string{remark}, schemas.StatusSucceeded, 1, ""},
	} {
		m := &models{answers: map[string][]string{"worker": {`{"a":1}`}, "judge": c.votes}}
		e := governed(t, m, "", "output: {mode: json}\nvalidation_policy: {semantic_rejection: reject_output}\nchecks: ["+c.check+"]")
		r, err := e.Run(t.Context(), engine.RunRequest{ID: "1", Prompt: "x"})
		if err != nil || r.Status != c.status || r.Counts.ValidatorCalls != c.calls || r.Validation.Validators[0].Cause != c.cause {
			t.Errorf("%s: %+v %v", c.name, r, err)
		}
		for _, sent := range m.sent["judge"] {
			if sent.Schema == nil || strings.Contains(string(sent.Schema.Bytes), `"if"`) {
				t.Errorf("%s: sent was %+v", c.name, sent.Schema)
			}
		}
		last := m.sent["judge"][c.calls-1].Messages
		if said := last[len(last)-1].Content; strings.Contains(c.check, "repair") && !strings.Contains(said, "change decision; change reasons") {
			t.Errorf("%s: the correction leans to one side: %q", c.name, said)
		}
	}
}

// A judge is asked about the text that was judged, and with the conversation as the request made it, also in a stage attempt that
// was told what to correct.
func TestAJudgeIsAskedAboutTheJudgedTextAndTheOrdinaryConversation(t *testing.T) {
	m := &models{answers: map[string][]string{"worker": {"```json\n{\"a\":1}\n```", "```json\n{\"a\":2}\n```"}, "judge": {reject, approve}}}
	e := governed(t, m, "", "output: {mode: json, repair: {local: unwrap}}\nchecks: [{judge: j@1}]\nretries: 1")
	r, err := e.Run(t.Context(), engine.RunRequest{ID: "1", Prompt: "x"})
	if err != nil || r.Status != schemas.StatusSucceeded || r.Counts.Corrections != 1 || len(m.sent["worker"][1].Messages) != 3 {
		t.Fatalf("%+v %v", r, err)
	}
	for i, candidate := range []string{`{"a":1}`, `{"a":2}`} {
		if got, want := m.sent["judge"][i].Messages[0].Content, `Judge `+candidate+` of [{"role":"user","content":"Total?"}]`; got != want {
			t.Errorf("asked was %q, want %q", got, want)
		}
	}
}

// A judge that cannot be asked has not decided: the vote is skipped, for nothing, and the run goes on as the policy says.
func TestAJudgeThatTheAnswerIsTooLargeForIsSkipped(t *testing.T) {
	large := `"` + strings.Repeat("a", 1<<20) + `"`
	for policy, status := range map[string]string{"warn_continue": schemas.StatusUnverified, "fail_run": ""} {
		m := &models{answers: map[string][]string{"worker": {large}, "judge": {approve}}}
		e := governed(t, m, "", "output: {mode: json}\nvalidation_policy: {validator_failure: "+policy+"}\nchecks: [{judge: j@1, retries: 2}]")
		r, err := e.Run(t.Context(), engine.RunRequest{ID: "1", Prompt: "x"})
		if len(m.sent["judge"]) != 0 || (err == nil) != (status != "") {
			t.Fatalf("%s: %v, %d calls of the judge", policy, err, len(m.sent["judge"]))
		}
		if err != nil {
			continue
		}
		if v := r.Validation.Validators[0]; r.Status != status || v.Outcome != schemas.VoteSkipped || v.Cause != schemas.CategoryInvalidRequest || v.Calls != 0 {
			t.Errorf("%s: %s, %+v", policy, r.Status, v)
		}
	}
}
