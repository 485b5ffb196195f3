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
