package engine_test

import (
	"slices"
	"strings"
	"testing"

	"emend/engine"
	"emend/engine/event"
	"emend/schemas"
)

// skill is seed 002's, in its own words.
const skill = `outputs:
  verdict:
    type: enum
    values: [pass, fail]
  confidence:
    type: number
    range: [0, 1]
  reasoning:
    type: string
validation_rules:
  - if: { verdict: "fail" }
    then: { confidence: { max: 0.5 } }
    message: "Failed verdict should have confidence <= 0.5"
  - field: reasoning
    min_length: 20
    message: "Reasoning must be at least 20 characters"
`

const (
	skillBad  = `{"verdict": "pass", "confidence": 1.5, "reasoning": "ok"}`
	skillGood = `{"verdict": "pass", "confidence": 0.85, "reasoning": "The code follows all quality standards and has good test coverage."}`
	skillFail = `{"verdict": "fail", "confidence": 0.8, "reasoning": "The code follows no standard at all."}`
)

// The seed's worked example: both tiers in one correction, which names exactly the two fields.
func TestSeed002_BothTiersInOneCorrection(t *testing.T) {
	m := &models{answers: map[string][]string{"worker": {skillBad, skillGood}}}
	seen := &collected{}
	r, err := governed(t, m, "", skill).Run(t.Context(), engine.RunRequest{Prompt: "x", Observer: seen})
	if err != nil || r.Status != schemas.StatusSucceeded || r.Counts.Repairs != 1 || r.Validation.Rules != schemas.RulesPassed || len(r.Validation.Changed) != 0 {
		t.Fatalf("%v, %+v", err, r)
	}
	sent := m.sent["worker"][1].Messages
	text := sent[len(sent)-1].Content
	for _, part := range []string{"- confidence: ", "is 1.5", "- reasoning: Reasoning must be at least 20 characters", "at most 1", "Correct only these places: change confidence; change reasoning."} {
		if !strings.Contains(text, part) {
			t.Errorf("the message lacks %q:\n%s", part, text)
		}
	}
	if strings.Contains(text, "verdict") {
		t.Errorf("the message names a field that is right:\n%s", text)
	}
	i := slices.IndexFunc(seen.events, func(e event.Event) bool { v, ok := e.(event.Validation); return ok && !v.Valid })
	if f := seen.events[i].(event.Validation).Findings; len(f) != 2 || f[0].Pointer != "/confidence" || f[0].Keyword != "maximum" || f[1].Pointer != "/reasoning" || f[1].Keyword != "rule" {
		t.Errorf("the audit shows %+v", f)
	}
}

// The seed's test plan.
func TestSeed002_TestPlan(t *testing.T) {
	for _, c := range []struct {
		name, answer, pointer, says string
	}{
		{"a type error", `{"verdict": "pass", "confidence": 0.5, "reasoning": 7}`, "/reasoning", "type string"},
		{"an enum off its values", `{"verdict": "maybe", "confidence": 0.5, "reasoning": "long enough to be a reason"}`, "/verdict", `["pass","fail"]`},
		{"out of range", `{"verdict": "pass", "confidence": -1, "reasoning": "long enough to be a reason"}`, "/confidence", "minimum 0"},
		{"a missing field", `{"verdict": "pass", "confidence": 0.5}`, "", `"reasoning"`},
		{"a cross-field rule", skillFail, "/confidence", "Failed verdict should have confidence <= 0.5"},
	} {
		m := &models{answers: map[string][]string{"worker": {c.answer}}}
		r, err := governed(t, m, "", skill+"output_governance: {max_retries: 0}\n").Run(t.Context(), engine.RunRequest{Prompt: "x"})
		if err != nil || r.Status != schemas.StatusInvalid || len(r.Validation.Findings) != 1 {
			t.Errorf("%s: %v, %+v", c.name, err, r)
			continue
		}
		if f := r.Validation.Findings[0]; f.Pointer != c.pointer || !strings.Contains(f.Message, c.says) {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

// Exhaustion: the escalation is recorded, the last answer comes back with its findings.
func TestSeed002_Exhaustion(t *testing.T) {
	m := &models{answers: map[string][]string{"worker": {skillFail, skillFail, skillFail}}}
	seen := &collected{}
	r, err := governed(t, m, "", skill).Run(t.Context(), engine.RunRequest{Prompt: "x", Observer: seen})
	if err != nil || r.Status != schemas.StatusInvalid || r.RawOutput != skillFail || r.Counts.Calls != 3 || r.Validation.Class != "rule_failed" || r.Validation.Rules != schemas.RulesFailed {
		t.Fatalf("%v, %+v", err, r)
	}
	if !slices.Contains(seen.kinds(), schemas.EventEscalated) {
		t.Errorf("events %v", seen.kinds())
	}
}
