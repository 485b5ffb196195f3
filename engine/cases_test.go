package engine_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"emend/engine"
	"emend/schemas"
)

// reportCase is one line of testdata/reports.jsonl: an input that broke another system.
type reportCase struct {
	ID    string
	Right string
	Input struct {
		Mode       string
		Schema     json.RawMessage
		Messages   []engine.Message
		Candidates []json.RawMessage
		Repairs    *int `json:"repair_attempts"`
		HTTP       *struct {
			Status  int
			Headers map[string]string
			Body    json.RawMessage
			Raw     string
		}
		Text *string
		Expr string `json:"text_expr"`
	}
}

// outcome is what a case must come to: an error of Kind, or a result with Status after Calls calls.
type outcome struct {
	kind, status string
	calls        int
	check        func(*testing.T, *engine.RunResult, *wire, error)
}

var reportOutcomes = map[string]outcome{
	"R01": {kind: schemas.CategoryRefused, calls: 1},
	"R03": {status: schemas.StatusInvalid, calls: 3, check: saysEmpty},
	"R05": {kind: schemas.CategoryProviderResponse, calls: 1}, "R06": {kind: schemas.CategoryProviderResponse, calls: 1},
	"R08": {kind: schemas.CategoryProviderResponse, calls: 1},
	"R10": {kind: schemas.CategoryProviderResponse, calls: 1, check: names("reasoning_content")},
	"R11": {kind: schemas.CategoryProviderResponse, calls: 1, check: names("content is null")},
	"R15": {status: schemas.StatusInvalid, calls: 1},
	"T01": {status: schemas.StatusInvalid, calls: 2, check: cutAndNotShown}, "T03": {status: schemas.StatusInvalid, calls: 1, check: cutAndNotShown},
	"T05": {kind: schemas.CategoryProviderResponse, calls: 1, check: names("tool_calls")},
	"J04": {status: schemas.StatusInvalid, calls: 2}, "J07": {status: schemas.StatusInvalid, calls: 1},
	"J11": {status: schemas.StatusInvalid, calls: 1, check: cutAndNotShown},
	"S15": {status: schemas.StatusInvalid, calls: 4, check: sameLength}, "L01": {status: schemas.StatusSucceeded, calls: 2},
	"L05": {status: schemas.StatusSucceeded, calls: 2}, "L06": {status: schemas.StatusInvalid, calls: 2, check: keepsValues},
	"L08": {status: schemas.StatusInvalid, calls: 1, check: carriesCorrection}, "L10": {status: schemas.StatusInvalid, calls: 2, check: keepsParts},
	"U01": {status: schemas.StatusSucceeded, calls: 2, check: sums(30, 11)}, "U03": {status: schemas.StatusSucceeded, calls: 2, check: sums(30, 11)},
	"U05": {status: schemas.StatusSucceeded, calls: 2, check: sums(15, 5)},
	"H02": {kind: schemas.CategoryProviderStatus, calls: 1, check: waits("1.5s")}, "H04": {kind: schemas.CategoryProviderStatus, calls: 1},
	"H05": {kind: schemas.CategoryProviderResponse, calls: 1, check: names("event-stream")},
}

// reportsElsewhere are shown by other tests, or belong to what this version does not have.
var reportsElsewhere = map[string]string{
	"R13": "gemini: TestReports", "T06": "gemini: TestReports",
	"S01": "openai.Carry: the schema goes out whole with strict: false, nothing is rewritten",
	"U06": "schemas: attempts and totals are fields of their own (Attempt.Usage, Finished.Totals)",
	"H07": "cmd: the two texts are judged by TestValidateGivesEveryRecordedTextItsClass",
	"W04": "cmd: the two texts are judged by TestValidateGivesEveryRecordedTextItsClass",
}

func TestReportedCases(t *testing.T) {
	f, err := os.Open("testdata/reports.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		var c reportCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil && reportsElsewhere[c.ID] == "" {
			t.Fatalf("%s: %v", c.ID, err)
		}
		t.Run(c.ID, func(t *testing.T) { report(t, c) })
	}
	if n != 53 {
		t.Errorf("%d cases", n)
	}
}

func report(t *testing.T, c reportCase) {
	want, known := reportOutcomes[c.ID]
	switch {
	case known:
	case c.Input.Text != nil:
		want = judged(t, c)
	case reportsElsewhere[c.ID] != "":
		return
	default:
		t.Fatalf("the case has no expected outcome: %s", c.Right)
	}
	w := &wire{replies: c.replies(t)}
	req := c.request()
	before, _ := json.Marshal(req.Messages)
	zero := 0
	req.TransientRetries = &zero
	r, err := newEngine(t, w).Run(t.Context(), req)
	if after, _ := json.Marshal(req.Messages); string(before) != string(after) {
		t.Error("the caller's messages were changed")
	}
	if w.calls() != want.calls {
		t.Errorf("%d calls, expected %d", w.calls(), want.calls)
	}
	g, _ := errors.AsType[*engine.GenerationError](err)
	switch {
	case want.kind != "" && (g == nil || g.Kind != want.kind || r != nil):
		t.Errorf("%v with result %v, expected %s", err, r, want.kind)
	case want.status != "" && (err != nil || r.Status != want.status || (r.Status == schemas.StatusSucceeded) != r.Validation.Valid):
		t.Fatalf("%v, %+v, expected %s", err, r, want.status)
	}
	if want.check != nil {
		want.check(t, r, w, err)
	}
}

// judged: a text is a run of one call whose verdict the contract's own cases fix; here it must only never be called
// valid when its class is not ok.
func judged(t *testing.T, c reportCase) outcome {
	t.Helper()
	ok := map[string]bool{"S03": true, "S13": true}
	if ok[c.ID] {
		return outcome{status: schemas.StatusSucceeded, calls: 1}
	}
	return outcome{status: schemas.StatusInvalid, calls: 1}
}

func (c reportCase) request() engine.RunRequest {
	out := &engine.OutputContract{Mode: c.Input.Mode, Schema: c.Input.Schema}
	if out.Mode == "" {
		out.Mode = schemas.ModeJSON
		if len(out.Schema) > 0 {
			out.Mode = schemas.ModeJSONSchema
		}
	}
	if out.Mode != schemas.ModeJSONSchema {
		out.Schema = nil
	}
	if c.Input.Repairs != nil {
		out.RepairAttempts = *c.Input.Repairs
	}
	messages := c.Input.Messages
	if messages == nil {
		messages = []engine.Message{{Role: schemas.RoleUser, Content: "q"}}
	}
	return engine.RunRequest{Profile: "p", Messages: messages, Output: out}
}

func (c reportCase) replies(t *testing.T) []reply {
	t.Helper()
	switch {
	case c.Input.HTTP != nil:
		h := c.Input.HTTP
		body := h.Raw
		if len(h.Body) > 0 {
			body = string(h.Body)
		}
		return []reply{{status: h.Status, body: body, header: h.Headers}}
	case c.Input.Text != nil:
		return []reply{says(*c.Input.Text)}
	case c.Input.Expr != "":
		return []reply{says(`{"key":"value"}` + strings.Repeat("a", 2972))}
	}
	var out []reply
	for _, raw := range c.Input.Candidates {
		out = append(out, candidate(t, raw))
	}
	return append(out, out[len(out)-1])
}

// candidate is a text, or {"text", "finish_reason", "usage": [in, out]}.
func candidate(t *testing.T, raw json.RawMessage) reply {
	t.Helper()
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return says(text)
	}
	var v struct {
		Text   string
		Finish string `json:"finish_reason"`
		Usage  []int
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	r := says(v.Text, v.Usage...)
	if v.Finish != "" {
		r.body = strings.Replace(r.body, `"finish_reason":"stop"`, fmt.Sprintf(`"finish_reason":%q`, v.Finish), 1)
	}
	return r
}

func names(what string) func(*testing.T, *engine.RunResult, *wire, error) {
	return func(t *testing.T, _ *engine.RunResult, _ *wire, err error) {
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("the error does not name %q: %v", what, err)
		}
	}
}

func waits(d string) func(*testing.T, *engine.RunResult, *wire, error) {
	return func(t *testing.T, _ *engine.RunResult, _ *wire, err error) {
		if g, ok := errors.AsType[*engine.GenerationError](err); !ok || g.RetryAfter.String() != d {
			t.Errorf("retry after %v", err)
		}
	}
}

func sums(in, out int64) func(*testing.T, *engine.RunResult, *wire, error) {
	return func(t *testing.T, r *engine.RunResult, _ *wire, _ error) {
		if *r.Usage.Input != in || *r.Usage.Output != out {
			t.Errorf("usage %+v", r.Usage)
		}
	}
}

func saysEmpty(t *testing.T, _ *engine.RunResult, w *wire, _ error) {
	for i := 1; i < w.calls(); i++ {
		if m := w.sent(t, i).Messages; len(m) != 2 || !strings.Contains(m[1].Content, "empty") {
			t.Errorf("call %d: %+v", i, m)
		}
	}
}

func cutAndNotShown(t *testing.T, r *engine.RunResult, w *wire, _ error) {
	if !r.Validation.Truncated {
		t.Error("the result does not say that the answer was cut")
	}
	for i := 1; i < w.calls(); i++ {
		if m := w.sent(t, i).Messages; len(m) != 2 || strings.Contains(m[1].Content, r.RawOutput) {
			t.Errorf("call %d shows the cut text: %+v", i, m)
		}
	}
}

func sameLength(t *testing.T, _ *engine.RunResult, w *wire, _ error) {
	for i := 2; i < w.calls(); i++ {
		if len(w.sent(t, i).Messages) != len(w.sent(t, 1).Messages) {
			t.Errorf("call %d has %d messages", i, len(w.sent(t, i).Messages))
		}
	}
}

func keepsValues(t *testing.T, r *engine.RunResult, _ *wire, _ error) {
	if string(r.Output) != `{"name":"A","movie":"Z"}` || len(r.Validation.Findings) != 1 || r.Validation.Findings[0].Pointer != "/movie" {
		t.Errorf("output %s, findings %+v", r.Output, r.Validation.Findings)
	}
}

func carriesCorrection(t *testing.T, r *engine.RunResult, _ *wire, _ error) {
	if !strings.Contains(r.Validation.NextCorrection, "required") {
		t.Errorf("next correction %q", r.Validation.NextCorrection)
	}
}

func keepsParts(t *testing.T, _ *engine.RunResult, w *wire, _ error) {
	m := w.sent(t, 1).Messages
	if len(m) != 3 || string(m[0].Parts) != `[{"type": "text", "text": "q"}]` || m[2].Parts != nil {
		t.Errorf("messages %+v", m)
	}
}
