package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"emend/engine"
	"emend/engine/event"
	"emend/engine/provider"
	"emend/engine/run"
	"emend/prompts"
	"emend/schemas"
)

// told is a run whose attempts are told.
type told struct {
	name, prompt string
	replies      []reply
	status       string
	// full is what the attempts tell under full: a line a call, made by line. secrets are texts of candidates.
	full    []string
	secrets []string
	stages  string
}

// cut is a completion that stopped at its token limit.
func cut(text string) reply {
	r := says(text)
	r.body = strings.Replace(r.body, `"stop"`, `"length"`, 1)
	return r
}

var mended = "output: {mode: json, repair_attempts: 1}"

func toldRuns() []told {
	judged := "output: {mode: json, repair_attempts: 1}\nretries: 1\nchecks: [{judge: j@1, retries: 1}]"
	return []told{
		{"plain success", mended, []reply{says(`{"a":1}`, 7, 3)}, schemas.StatusSucceeded,
			[]string{`initial 1.1 completed answer={"a":1} in=7 ok`}, []string{`{"a":1}`}, "initial succeeded 0"},
		{"repair", mended, []reply{says(`not yet`), says(`{"a":1}`)}, schemas.StatusSucceeded,
			[]string{"initial 1.1 completed answer=not yet not_json(1)", `repair 2.1 completed sent=assistant,user answer={"a":1} ok`}, []string{"not yet", `{"a":1}`}, "initial succeeded 1"},
		{"retry then success", mended, []reply{fails(503), says(`{"a":1}`)}, schemas.StatusSucceeded,
			[]string{"initial 1.1 provider_status", `initial 1.2 completed answer={"a":1} ok`}, []string{`{"a":1}`}, "initial succeeded 0"},
		{"a repair that is retried is sent the same", mended, []reply{says("not yet"), fails(503), says(`{"a":1}`)}, schemas.StatusSucceeded,
			[]string{"initial 1.1 completed answer=not yet not_json(1)", "repair 2.1 provider_status sent=assistant,user", `repair 2.2 completed answer={"a":1} ok`},
			[]string{"not yet"}, "initial succeeded 1"},
		{"cut and regenerated", mended, []reply{cut(`{"a":`), says(`{"a":1}`)}, schemas.StatusSucceeded,
			[]string{`initial 1.1 completed answer={"a": not_json(1)`, `repair 2.1 completed sent=user answer={"a":1} ok`}, []string{`{"a":1}`}, "initial succeeded 1"},
		{"rejected and corrected", judged, []reply{says(`{"a":1}`), says(reject), says(`{"a":2}`), says(nonsense), says(approve)}, schemas.StatusSucceeded,
			[]string{`initial 1.1 completed answer={"a":1} ok votes=rejected wrong_sum add up`, `initial 1.1 completed sent=assistant,user answer={"a":2} ok votes=approved x2`},
			[]string{`{"a":1}`, `{"a":2}`}, "initial rejected 0 wrong_sum, correction succeeded 0"},
		{"a repair of a correction", judged, []reply{says(`{"a":1}`), says(reject), says(`again`), says(`{"a":2}`), says(approve)}, schemas.StatusSucceeded,
			[]string{`initial 1.1 completed answer={"a":1} ok votes=rejected wrong_sum add up`, `initial 1.1 completed sent=assistant,user answer=again not_json(1)`,
				`repair 2.1 completed sent=assistant,user,assistant,user answer={"a":2} ok votes=approved`}, []string{`{"a":1}`, "again"}, "initial rejected 0 wrong_sum, correction succeeded 1"},
		{"rejected in the end", judged, []reply{says(`{"a":1}`), says(reject), says(`{"a":3}`), says(reject)}, schemas.StatusFailed,
			[]string{`initial 1.1 completed answer={"a":1} ok votes=rejected wrong_sum add up`, `initial 1.1 completed sent=assistant,user answer={"a":3} ok votes=rejected wrong_sum add up`},
			[]string{`{"a":1}`, `{"a":3}`}, "initial rejected 0 wrong_sum, correction failed 0 wrong_sum"},
		{"failed, with an answer on the way", mended, []reply{says("not yet"), fails(400)}, schemas.StatusFailed,
			[]string{"initial 1.1 completed answer=not yet not_json(1)", "repair 2.1 provider_status sent=assistant,user"}, []string{"not yet"}, "initial failed 1"},
		{"cancelled, with an answer on the way", mended, []reply{says("not yet"), {do: stops}}, schemas.StatusCancelled,
			[]string{"initial 1.1 completed answer=not yet not_json(1)", "repair 2.1 cancelled sent=assistant,user"}, []string{"not yet"}, "initial cancelled 1"},
	}
}

// stops is the reply of a call whose run is cancelled under way.
func stops(r *http.Request) error {
	r.Context().Value(stopKey{}).(context.CancelFunc)()
	<-r.Context().Done()
	return r.Context().Err()
}

type stopKey struct{}

// line is an attempt in a line.
func line(t schemas.Attempt) string {
	words := []string{fmt.Sprintf("%s %d.%d %s", t.GenerationKind, t.Generation, t.Attempt, t.Outcome)}
	c := t.Content
	if c == nil {
		return words[0]
	}
	var roles []string
	for _, m := range c.Appended {
		roles = append(roles, m.Role)
	}
	if roles != nil {
		words = append(words, "sent="+strings.Join(roles, ","))
	}
	if c.Answer != nil {
		words = append(words, "answer="+*c.Answer)
	}
	if c.Usage != nil && c.Usage.Input != nil {
		words = append(words, fmt.Sprint("in=", *c.Usage.Input))
	}
	if v := c.Verdict; v != nil && len(v.Findings) > 0 {
		words = append(words, fmt.Sprintf("%s(%d)", v.Class, len(v.Findings)))
	} else if v != nil {
		words = append(words, v.Class)
	}
	for _, v := range c.Votes {
		words = append(words, voteText(v))
	}
	return strings.Join(words, " ")
}

func voteText(v schemas.Validator) string {
	words := []string{"votes=" + v.Outcome}
	for _, r := range v.Reasons {
		words = append(words, r.Code, r.Guidance)
	}
	if v.Tries > 0 {
		words = append(words, fmt.Sprint("x", v.Tries))
	}
	return strings.Join(words, " ")
}

func stagesText(all []schemas.Stage) string {
	var out []string
	for _, s := range all {
		out = append(out, strings.Join(append([]string{s.Kind, s.Outcome, fmt.Sprint(s.Repairs)}, s.Codes...), " "))
	}
	return strings.Join(out, ", ")
}

// tells runs c under a word and returns its result, as it goes out, and what the worker's model was sent.
func (c told) tells(t *testing.T, word string) (schemas.Result, []sent) {
	t.Helper()
	w := &wire{replies: slices.Clone(c.replies)}
	files := fstest.MapFS{"emend.yaml": {Data: []byte(governedConfig)}, "prompts/x@1.yaml": {Data: []byte("profile: work\nmessages: [{user: 'Total?'}]\n" + c.prompt)},
		"prompts/j@1.yaml": {Data: []byte(judgePrompt + "judge")}}
	s, err := prompts.LoadFS(files)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(s, engine.WithTransport(w))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	p, err := e.Prepare(t.Context(), engine.RunRequest{ID: "1", Prompt: "x", Attempts: word})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := &collected{}
	res, err := e.Execute(context.WithValue(ctx, stopKey{}, cancel), engine.Execution{Plan: p.Plan(), State: p.Plan().Start(), Observer: seen})
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range seen.events {
		silent(t, c, ev)
	}
	var calls []sent
	for i := range w.bodies {
		if call := w.sent(t, i); call.Model == "worker" {
			calls = append(calls, call)
		}
	}
	return engine.WireResult(p.Plan(), res), calls
}

// silent fails the test if an event holds a candidate's text.
func silent(t *testing.T, c told, e event.Event) {
	t.Helper()
	raw, err := json.Marshal(event.Wire(e))
	for _, s := range c.secrets {
		quoted, _ := json.Marshal(s)
		if err != nil || strings.Contains(string(raw), s) || strings.Contains(string(raw), string(quoted)) {
			t.Errorf("an event holds %q: %s", s, raw)
		}
	}
}

func TestAttemptsTellAsMuchAsIsAskedFor(t *testing.T) {
	for _, c := range toldRuns() {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				full, calls := c.tells(t, schemas.AttemptsFull)
				c.isFull(t, full, calls)
				summary, _ := c.tells(t, "")
				again, _ := c.tells(t, schemas.AttemptsSummary)
				none, _ := c.tells(t, schemas.AttemptsNone)
				if full.Status != c.status || summary.Status != c.status || none.Status != c.status {
					t.Errorf("ended as %s, %s, %s", full.Status, summary.Status, none.Status)
				}
				if !reflect.DeepEqual(full.Counts, summary.Counts) || !reflect.DeepEqual(none.Counts, summary.Counts) || full.Source.PromptSHA256 != none.Source.PromptSHA256 {
					t.Errorf("counts %+v, %+v, %+v", full.Counts, summary.Counts, none.Counts)
				}
				if !reflect.DeepEqual(full.Validation, summary.Validation) || !reflect.DeepEqual(none.Validation, summary.Validation) {
					t.Errorf("validation %+v, %+v, %+v", full.Validation, summary.Validation, none.Validation)
				}
				if len(summary.Attempts) != len(c.full) || len(again.Attempts) != len(c.full) || (summary.Stages == nil) == strings.Contains(c.stages, ",") {
					t.Errorf("a summary has %+v, %+v", summary.Attempts, summary.Stages)
				}
				if len(none.Attempts) != 0 || none.Attempts == nil || none.Stages != nil {
					t.Errorf("none has %+v, %+v", none.Attempts, none.Stages)
				}
				for _, r := range []schemas.Result{summary, again, none} {
					c.hidden(t, r)
				}
			})
		})
	}
}

// isFull: each call's text, verdict and votes, and exactly what was sent behind the ordinary prompt.
func (c told) isFull(t *testing.T, r schemas.Result, calls []sent) {
	t.Helper()
	var lines []string
	for i, a := range r.Attempts {
		lines = append(lines, line(a))
		var was []schemas.Turn
		for _, m := range calls[i].Messages[1:] {
			was = append(was, schemas.Turn{Role: m.Role, Content: m.Content})
		}
		if a.Attempt == 1 && !slices.Equal(was, a.Content.Appended) {
			t.Errorf("call %d was sent %+v, told is %+v", i+1, was, a.Content.Appended)
		}
	}
	if !slices.Equal(lines, c.full) {
		t.Errorf("full tells\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(c.full, "\n"))
	}
	if got := stagesText(r.Stages); got != c.stages {
		t.Errorf("stages %q, want %q", got, c.stages)
	}
}

// hidden: no text of any candidate is in what a result tells of its attempts.
func (c told) hidden(t *testing.T, r schemas.Result) {
	t.Helper()
	raw, err := schemas.Marshal([]any{r.Attempts, r.Stages})
	for _, s := range c.secrets {
		quoted, _ := json.Marshal(s)
		if err != nil || strings.Contains(string(raw), s) || strings.Contains(string(raw), string(quoted[1:len(quoted)-1])) {
			t.Errorf("%q is in %s", s, raw)
		}
	}
}

func TestARequestForOtherAttemptsIsRefusedInWords(t *testing.T) {
	e := newEngine(t, &wire{})
	r := ask(schemas.ModeJSON)
	r.Attempts = "ful"
	if _, err := e.Run(t.Context(), r); !errors.Is(err, engine.ErrInvalidRequest) || !strings.Contains(err.Error(), `attempts: must be one of summary, none, full; did you mean full?`) {
		t.Error(err)
	}
}

// A library's result has them, too, and a client of its own is told of in the same way.
func TestALibrarysResultTellsItsAttempts(t *testing.T) {
	answers := []string{"no", `{"a":1}`}
	e, err := engine.New(snapshotOf(t), engine.WithLLMClient(client(func(context.Context, *engine.GenerateRequest) (*engine.GenerateResponse, error) {
		answers = append(answers[1:], answers[0])
		return &engine.GenerateResponse{Text: answers[len(answers)-1], Finish: provider.FinishStop}, nil
	})))
	if err != nil {
		t.Fatal(err)
	}
	r := ask(schemas.ModeJSON)
	r.Attempts = schemas.AttemptsFull
	got, err := e.Run(t.Context(), r)
	if err != nil || len(got.Attempts) != 2 || *got.Attempts[0].Content.Answer != "no" || len(got.Stages) != 1 {
		t.Fatalf("%v %+v", err, got)
	}
	if got.Attempts[1].Content.Bytes() > run.MaxContent {
		t.Error("more than its bound")
	}
}

func snapshotOf(t *testing.T) *prompts.Snapshot {
	t.Helper()
	snap, err := prompts.NewSnapshot(definitions(2, 4))
	if err != nil {
		t.Fatal(err)
	}
	return snap
}
