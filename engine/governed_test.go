package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"emend/engine"
	"emend/engine/event"
	"emend/engine/provider"
	"emend/prompts"
	"emend/schemas"
)

// models answers by model, from lists; "!" as an answer is a transport failure. It keeps what it was sent.
type models struct {
	mu      sync.Mutex
	answers map[string][]string
	sent    map[string][]*engine.GenerateRequest
}

func (m *models) Generate(_ context.Context, r *engine.GenerateRequest) (*engine.GenerateResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sent == nil {
		m.sent = map[string][]*engine.GenerateRequest{}
	}
	m.sent[r.Model] = append(m.sent[r.Model], r)
	list := m.answers[r.Model]
	if len(list) == 0 {
		return nil, errors.New("no answer is left for " + r.Model)
	}
	m.answers[r.Model] = list[1:]
	if list[0] == "!" {
		return nil, errors.New("connection lost")
	}
	in := int64(10)
	return &engine.GenerateResponse{Text: list[0], Finish: provider.FinishStop, Tokens: &schemas.Tokens{Input: &in, Output: &in}}, nil
}

const governedConfig = `backends:
  main: {dialect: openai, url: 'http://main.invalid/v1', permits: 1, admitted: 1}
  other: {dialect: openai, url: 'http://other.invalid/v1', permits: 1, admitted: 1}
profiles:
  work: {backend: main, model: worker}
  judge: {backend: other, model: judge}
  same: {backend: main, model: judge}
`

const judgePrompt = "inputs: {candidate: {}, messages: {default: []}}\nmessages: [{user: 'Judge {{ .candidate }} of {{ .messages }}'}]\nprofile: "

func governed(t *testing.T, m *models, config, prompt string, options ...engine.Option) *engine.Engine {
	t.Helper()
	files := fstest.MapFS{"emend.yaml": {Data: []byte(governedConfig + config)}, "prompts/x@1.yaml": {Data: []byte("profile: work\nmessages: [{user: 'Total?'}]\n" + prompt)},
		"prompts/j@1.yaml": {Data: []byte(judgePrompt + "judge")}, "prompts/k@1.yaml": {Data: []byte(judgePrompt + "same")}}
	s, err := prompts.LoadFS(files)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(s, append([]engine.Option{engine.WithLLMClient(m)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

const (
	approve  = `{"reasons":[],"decision":"approve"}`
	reject   = `{"reasons":[{"code":"Wrong Sum!","guidance":"add up"}],"decision":"reject"}`
	nonsense = `perhaps`
)

func TestJudgesDecideUponAValidCandidate(t *testing.T) {
	for _, c := range []struct {
		name, checks string
		votes        []string
		status       string
		err          error
		outcomes     string
		calls        int
	}{
		{"approved", "{judge: j@1}, {judge: k@1}", []string{approve, approve}, schemas.StatusSucceeded, nil, "approved approved", 2},
		{"rejected", "{judge: j@1}", []string{reject}, "", engine.ErrRejected, "rejected", 1},
		{"nonsense is no approval", "{judge: j@1}", []string{nonsense}, schemas.StatusUnverified, nil, "failed", 1},
		{"a rejection without a reason is one", "{judge: j@1, retries: 1}", []string{`{"reasons":[],"decision":"reject"}`}, "", engine.ErrRejected, "rejected", 1},
		{"a rejection with a code beyond the bounds is one", "{judge: j@1, retries: 1}", []string{`{"reasons":[{"code":"` + strings.Repeat("c", 65) + `","guidance":""}],"decision":"reject"}`},
			"", engine.ErrRejected, "rejected", 1},
		{"tried again", "{judge: j@1, retries: 2}", []string{"!", nonsense, approve}, schemas.StatusSucceeded, nil, "approved", 3},
		{"a rejection wins over a failure", "{judge: j@1}, {judge: k@1}", []string{"!", reject}, "", engine.ErrRejected, "failed rejected", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &models{answers: map[string][]string{"worker": {`{"a":1}`}, "judge": c.votes}}
			e := governed(t, m, "", "output: {mode: json}\nchecks: ["+c.checks+"]")
			seen := &collected{}
			r, err := e.Run(t.Context(), engine.RunRequest{ID: "1", Prompt: "x", Observer: seen})
			if !errors.Is(err, c.err) || (err == nil) != (r != nil) {
				t.Fatalf("%v, %+v", err, r)
			}
			if r != nil && (r.Status != c.status || r.Counts.Calls != 1 || r.Counts.ValidatorCalls != c.calls || r.Usage.Calls != 1) {
				t.Errorf("%s, %+v", r.Status, r.Counts)
			}
			if r != nil && (r.Status == schemas.StatusUnverified) != slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "came to no decision") }) {
				t.Errorf("warnings %v", r.Warnings)
			}
			var outcomes []string
			for _, e := range seen.events {
				if v, ok := e.(event.Validator); ok {
					outcomes = append(outcomes, v.Outcome)
				}
			}
			if strings.Join(outcomes, " ") != c.outcomes {
				t.Errorf("votes %v", outcomes)
			}
			last := seen.events[len(seen.events)-1].(event.Finished)
			if last.Totals.Counts.ValidatorCalls != c.calls || last.Totals.ValidatorUsage == nil {
				t.Errorf("totals %+v", last.Totals)
			}
			for _, backend := range []string{"main", "other"} {
				if s := e.Gate(backend).Stats(); s.PermitsInUse != 0 || s.AdmittedInUse != 0 || s.Waiting != 0 {
					t.Errorf("%s: left over %+v", backend, s)
				}
			}
		})
	}
}

// The judge sees the candidate and the conversation as data, and every call of it is an event of its own.
func TestAJudgesCallsAreTold(t *testing.T) {
	m := &models{answers: map[string][]string{"worker": {`{"a":"{{ .x }}"}`}, "judge": {reject}}}
	e := governed(t, m, "audit: full\n", "output: {mode: json}\nchecks: [{judge: j}]\nvalidation_policy: {semantic_rejection: reject_output}")
	seen := &collected{}
	r, err := e.Run(t.Context(), engine.RunRequest{ID: "1", Prompt: "x", Observer: seen})
	if err != nil || r.Status != schemas.StatusRejected || !r.Validation.Valid || string(r.Output) != `{"a":"{{ .x }}"}` {
		t.Fatalf("%v, %+v", err, r)
	}
	v := r.Validation.Validators
	if len(v) != 1 || v[0].Name != "j@1" || len(v[0].Reasons) != 1 || v[0].Reasons[0] != (schemas.Reason{Code: "wrong_sum", Guidance: "add up"}) {
		t.Errorf("%+v", v)
	}
	asked := m.sent["judge"][0].Messages
	if got := asked[0].Content; !strings.HasPrefix(got, `Judge {"a":"{{ .x }}"} of [{"role":"user","content":"Total?"}]`) || len(asked) != 2 {
		t.Errorf("the judge was asked %q", got)
	}
	attempts := 0
	for _, e := range seen.events {
		p := e.Where()
		if a, ok := e.(event.Attempt); ok && p.Validator == "j@1" && p.Backend == "other" && p.Model == "judge" && p.RunID == "1" && a.Usage != nil {
			attempts++
		}
		if v, ok := e.(event.Validator); ok && !slices.Equal(v.Codes, []string{"wrong_sum"}) {
			t.Errorf("codes %v", v.Codes)
		}
	}
	if attempts != 1 {
		t.Errorf("%d attempts of the judge were told", attempts)
	}
}

func TestAnEscalationIsToldEvenToNobody(t *testing.T) {
	m := &models{answers: map[string][]string{"worker": {"bad", "bad", "bad"}, "judge": {approve}}}
	for checks, want := range map[string]string{"": "none", "\nchecks: [{judge: j}]": "judge"} {
		m.answers["worker"] = []string{"bad", "bad", "bad"}
		e := governed(t, m, "", "output: {mode: json}\noutput_governance: {}"+checks)
		seen := &collected{}
		r, err := e.Run(t.Context(), engine.RunRequest{Prompt: "x", Observer: seen})
		if err != nil || r.Status != schemas.StatusInvalid || r.Counts.Repairs != 2 || r.Validation.Valid {
			t.Fatalf("%s: %v, %+v", want, err, r)
		}
		var sinks []string
		for _, e := range seen.events {
			if x, ok := e.(event.Escalated); ok {
				sinks = append(sinks, x.Sink)
			}
		}
		if strings.Join(sinks, " ") != want {
			t.Errorf("%s: escalated to %v", want, sinks)
		}
		if said := slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "was not escalated") }); said != (want == "none") {
			t.Errorf("%s: warnings %v", want, r.Warnings)
		}
	}
}

const prices = `output: {mode: json_schema, repair_attempts: 2, schema: {type: object, properties: {price: {type: number}, total: {type: number}}}, repair: {preserve: `

// Seed 001: a targeted correction may change what it names, and nothing else.
func TestPreservation(t *testing.T) {
	const bad, near, good = `{"price":"4 USD","total":5}`, `{"price":4,"total":4}`, `{"total":5,"price":4}`
	for _, c := range []struct {
		preserve string
		answers  []string
		status   string
		class    string
		changed  int
	}{
		{"report", []string{bad, good}, schemas.StatusSucceeded, "ok", 0},
		{"report", []string{bad, near}, schemas.StatusSucceeded, "ok", 1},
		{"none", []string{bad, near}, schemas.StatusSucceeded, "ok", 0},
		{"enforce", []string{bad, near, good}, schemas.StatusSucceeded, "ok", 1},
		{"enforce", []string{bad, near, near}, schemas.StatusInvalid, "not_preserved", 1},
	} {
		m := &models{answers: map[string][]string{"worker": c.answers}}
		e := governed(t, m, "", prices+c.preserve+"}}")
		r, err := e.Run(t.Context(), engine.RunRequest{Prompt: "x"})
		if err != nil || r.Status != c.status || r.Validation.Class != c.class || len(r.Validation.Changed) != c.changed || len(m.answers["worker"]) != 0 {
			t.Errorf("%s %v: %v, %+v", c.preserve, c.answers, err, r)
		}
		if c.changed > 0 && r.Validation.Changed[0] != "/total" {
			t.Errorf("changed %v", r.Validation.Changed)
		}
	}
}

func TestEventsShowValuesOnlyUnderAuditFull(t *testing.T) {
	for config, want := range map[string]string{"": "", "audit: full\n": `"4 USD"`} {
		m := &models{answers: map[string][]string{"worker": {`{"price":"4 USD"}`, `{"price":4}`}}}
		seen := &collected{}
		if _, err := governed(t, m, config, prices+"report}}").Run(t.Context(), engine.RunRequest{Prompt: "x", Observer: seen}); err != nil {
			t.Fatal(err)
		}
		for _, e := range seen.events {
			if v, ok := e.(event.Validation); ok && !v.Valid && (len(v.Findings) != 1 || string(v.Findings[0].Value) != want || v.Findings[0].Pointer != "/price") {
				t.Errorf("%q: %+v", config, v.Findings)
			}
		}
	}
}

// A rejected answer is corrected by the same prompt, byte for byte, and two messages; events and result tell the attempts.
func TestASemanticCorrection(t *testing.T) {
	m := &models{answers: map[string][]string{"worker": {`{"a":1}`, "bad", `{"a":2}`}, "judge": {reject, approve}}}
	e := governed(t, m, "", "output: {mode: json, repair_attempts: 1}\nchecks: [{judge: j}]\nretries: 1")
	seen := &collected{}
	r, err := e.Run(t.Context(), engine.RunRequest{Prompt: "x", Observer: seen})
	if err != nil || r.Status != schemas.StatusSucceeded || r.RawOutput != `{"a":2}` || r.Counts.Corrections != 1 || r.Counts.Repairs != 1 || r.Counts.ValidatorCalls != 2 {
		t.Fatalf("%v, %+v", err, r)
	}
	if len(r.Stages) != 2 || r.Stages[0].Outcome != schemas.StatusRejected || r.Stages[1].Kind != schemas.StageCorrection || r.Attempts[2].StageAttempt != 2 {
		t.Errorf("stages %+v, attempts %+v", r.Stages, r.Attempts)
	}
	first, second, repaired := m.sent["worker"][0].Messages, m.sent["worker"][1].Messages, m.sent["worker"][2].Messages
	if len(second) != len(first)+2 || second[0].Content != first[0].Content || second[1].Content != `{"a":1}` || !strings.Contains(second[2].Content, "wrong_sum: add up") {
		t.Errorf("the correction is %+v", second)
	}
	if len(repaired) != len(second)+2 || repaired[3].Content != "bad" {
		t.Errorf("its repair is %+v", repaired)
	}
	if got := strings.Join(seen.kinds(), " "); got != "started attempt_started attempt validation attempt_started attempt validation validator stage attempt_started attempt validation "+
		"repair attempt_started attempt validation attempt_started attempt validation validator finished" {
		t.Errorf("events %s", got)
	}
	for _, e := range seen.events {
		if v, ok := e.(event.Validator); ok && v.Outcome == schemas.VoteApproved && v.StageAttempt != 2 {
			t.Errorf("the second vote stands at stage attempt %d", v.StageAttempt)
		}
	}
}

// What a correction must leave as it was stays so, however much it changed, and even if the next one is no value at all.
func TestEnforceCannotBeTalkedPast(t *testing.T) {
	var props, before, after []string
	for i := range 12 {
		props = append(props, fmt.Sprintf("k%d: {type: integer}", i))
		before, after = append(before, fmt.Sprintf(`"k%d":1`, i)), append(after, fmt.Sprintf(`"k%d":2`, i))
	}
	contract := "output: {mode: json_schema, repair_attempts: 3, repair: {preserve: enforce}, schema: {type: object, properties: {price: {type: number}, " + strings.Join(props, ", ") + "}}}"
	bad := `{"price":"x",` + strings.Join(before, ",") + "}"
	foreign := `{"price":1,` + strings.Join(after, ",") + "}"
	for name, answers := range map[string][]string{"too many places": {bad, foreign, foreign, foreign}, "no value between": {bad, " ", foreign, foreign}, "no JSON between": {bad, foreign, "no json", foreign}} {
		m := &models{answers: map[string][]string{"worker": answers}}
		r, err := governed(t, m, "", contract).Run(t.Context(), engine.RunRequest{Prompt: "x"})
		if err != nil || r.Status != schemas.StatusInvalid || r.Validation.Class != "not_preserved" {
			t.Errorf("%s: %v, %s, %s", name, err, r.Status, r.Validation.Class)
		}
	}
}

// A judge that must wait longer than the run may take has come to no decision; the answer is not lost.
func TestAJudgeThatWaitsPastTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := reply{status: 429, header: map[string]string{"Retry-After": "3600"}, body: `{"error":{"message":"slow down"}}`}
		w := &wire{replies: []reply{says(`{"a":1}`), slow}}
		s, err := prompts.LoadFS(fstest.MapFS{"emend.yaml": {Data: []byte(governedConfig)}, "prompts/j@1.yaml": {Data: []byte(judgePrompt + "judge")},
			"prompts/x@1.yaml": {Data: []byte("profile: work\nmessages: [{user: hi}]\noutput: {mode: json}\nchecks: [{judge: j}]")}})
		if err != nil {
			t.Fatal(err)
		}
		e, err := engine.New(s, engine.WithTransport(w))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		r, err := e.Run(ctx, engine.RunRequest{Prompt: "x"})
		if err != nil || r.Status != schemas.StatusUnverified || r.Validation.Validators[0].Cause != schemas.CategoryTimeout {
			t.Errorf("%v, %+v", err, r)
		}
	})
}
