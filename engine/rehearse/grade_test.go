package rehearse_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"emend/engine/corrupt"
	"emend/engine/rehearse"
	"emend/schemas"
)

func grades(t *testing.T, r *rehearse.Report) map[string]rehearse.Grade {
	t.Helper()
	out := map[string]rehearse.Grade{}
	for _, g := range r.Grades {
		if _, done := out[g.Name]; !done {
			out[g.Name] = g
		}
	}
	return out
}

// What a correction names is mended by its words alone; what needs a model is not claimed.
func TestGrade(t *testing.T) {
	snap := load(t, map[string]string{"invoice@1.yaml": invoice + "tests: [{name: t, inputs: {document: x}, answers: ['" + bad + "', '" + good + "']}]\n"})
	r, err := rehearse.GradeContract(t.Context(), snap, request("invoice"), rehearse.GradeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if r.From != "test" || string(r.Answer) != good || r.Live {
		t.Errorf("%+v", r)
	}
	got := grades(t, r)
	for name, want := range map[string]rehearse.Grade{
		"number with a currency":      {Path: "items[0].price", Class: "schema_invalid", Style: "targeted", Outcome: rehearse.Repaired, Preserved: true, Calls: 1},
		"number with a decimal comma": {Path: "items[0].price", Class: "schema_invalid", Style: "targeted", Outcome: rehearse.Repaired, Preserved: true, Calls: 1},
		"null":                        {Path: "(root)", Class: "schema_invalid", Style: "conversation", Outcome: rehearse.Broken, Calls: 2},
		"extra key":                   {Path: "additional_notes", Class: "schema_invalid", Style: "targeted", Outcome: rehearse.Repaired, Preserved: true, Calls: 1},
		"container as text":           {Path: "(root)", Class: "schema_invalid", Style: "conversation", Outcome: rehearse.Repaired, Preserved: true, Calls: 1},
		"fence":                       {Class: "not_json", Style: "conversation", Outcome: rehearse.Repaired, Preserved: true, Calls: 1},
		"prose around":                {Class: "not_json", Style: "conversation", Outcome: rehearse.Repaired, Preserved: true, Calls: 1},
		"single quotes":               {Class: "not_json", Style: "conversation", Outcome: rehearse.Repaired, Preserved: true, Calls: 1},
		"trailing comma":              {Class: "not_json", Style: "conversation", Outcome: rehearse.Repaired, Preserved: true, Calls: 1},
		"two values":                  {Class: "multiple_json", Style: "conversation", Outcome: rehearse.Repaired, Preserved: true, Calls: 1},
		"duplicate key":               {Path: "items", Class: "duplicate_key", Style: "conversation", Outcome: rehearse.Repaired, Preserved: true, Calls: 1},
		"wrapped in a key":            {Class: "schema_invalid", Style: "conversation", Outcome: rehearse.Repaired, Preserved: true, Calls: 1},
		"cut":                         {Class: "not_json", Style: "regenerate", Outcome: rehearse.AskedAnew, Calls: 2},
		"schema echoed":               {Class: "schema_invalid", Style: "conversation", Outcome: rehearse.Broken, Calls: 2},
	} {
		g := got[name]
		if want.Name = name; want.Path == "(root)" {
			want.Path = ""
		}
		if g != want {
			t.Errorf("%+v, expected\n%+v", g, want)
		}
	}
	sum := 0
	for _, g := range r.Grades {
		sum += g.Calls
	}
	if r.Repaired+r.Broken+r.AskedAnew != len(r.Grades) || r.Calls != sum || r.Rate != float64(r.Repaired)/float64(r.Repaired+r.Broken) || r.AskedAnew != 1 {
		t.Errorf("totals %+v", r)
	}
}

// The answer to be corrupted comes from whoever gives it, from a test, or from the schema.
func TestGradeFindsAGoodAnswer(t *testing.T) {
	snap := load(t, map[string]string{"invoice@1.yaml": invoice})
	r, err := rehearse.GradeContract(t.Context(), snap, request("invoice"), rehearse.GradeOptions{})
	if err != nil || r.From != "schema" || string(r.Answer) != `{"items":[{"price":4.25}]}` {
		t.Errorf("%+v, %v", r, err)
	}
	seen := 0
	r, err = rehearse.GradeContract(t.Context(), snap, request("invoice"), rehearse.GradeOptions{Answer: []byte(good), Each: func(rehearse.Grade) { seen++ }})
	if err != nil || r.From != "given" || seen != len(r.Grades) {
		t.Errorf("%+v, %v, %d", r, err, seen)
	}
	if _, err := rehearse.GradeContract(t.Context(), snap, request("invoice"), rehearse.GradeOptions{Answer: []byte(bad)}); !errors.Is(err, corrupt.ErrNotGood) {
		t.Errorf("a bad answer: %v", err)
	}
	odd := strings.Replace(invoice, "type: object\n    required: [items]", "not: {}", 1)
	snap = load(t, map[string]string{"odd@1.yaml": odd})
	if _, err := rehearse.GradeContract(t.Context(), snap, request("odd"), rehearse.GradeOptions{}); !errors.Is(err, corrupt.ErrNotGood) || !strings.Contains(err.Error(), "give a good answer") {
		t.Errorf("no good answer: %v", err)
	}
}

func TestGradeRefusesWhatCannotBeGraded(t *testing.T) {
	snap := load(t, map[string]string{"none@1.yaml": strings.Replace(invoice, "repair_attempts: 2", "repair_attempts: 0", 1), "text@1.yaml": "profile: fast\nmessages: [{user: hi}]\noutput: {mode: basic, repair_attempts: 1}\n"})
	if _, err := rehearse.GradeContract(t.Context(), snap, request("none"), rehearse.GradeOptions{}); !errors.Is(err, rehearse.ErrNothingToGrade) {
		t.Errorf("no budget: %v", err)
	}
	if _, err := rehearse.GradeContract(t.Context(), snap, schemas.Request{Prompt: "text"}, rehearse.GradeOptions{Answer: []byte("x")}); !errors.Is(err, corrupt.ErrNotGood) {
		t.Errorf("a text contract: %v", err)
	}
	if _, err := rehearse.GradeContract(t.Context(), snap, schemas.Request{Prompt: "other"}, rehearse.GradeOptions{}); !refused(err) {
		t.Errorf("an unknown prompt: %v", err)
	}
}

// roundTrip is a transport of one function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Live corrections go to the prompt's backend, with its key, and the first answer does not.
func TestGradeLive(t *testing.T) {
	t.Setenv("EMEND_TEST_NO_SUCH_KEY", "k")
	snap := load(t, map[string]string{"invoice@1.yaml": invoice})
	var asked []string
	reply := func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		asked = append(asked, string(body))
		answer, _ := json.Marshal(good)
		text := `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":` + string(answer) + `}}]}`
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, err
	}
	r, err := rehearse.GradeContract(t.Context(), snap, request("invoice"), rehearse.GradeOptions{Answer: []byte(good), Live: true, Transport: roundTrip(reply)})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Live || r.Rate != 1 || r.Preserved != len(r.Grades) || r.Calls != len(asked) || r.Calls != len(r.Grades) || r.AskedAnew != 0 {
		t.Errorf("%+v, %d calls", r, len(asked))
	}
	if slices.ContainsFunc(asked, func(body string) bool { return !strings.Contains(body, "Correction 1 of 2") }) {
		t.Error("a call is no correction")
	}
}

func TestGradeLiveNeedsItsSecrets(t *testing.T) {
	snap := load(t, map[string]string{"invoice@1.yaml": invoice})
	if _, err := rehearse.GradeContract(t.Context(), snap, request("invoice"), rehearse.GradeOptions{Live: true}); err == nil || !strings.Contains(err.Error(), "EMEND_TEST_NO_SUCH_KEY") {
		t.Errorf("%v", err)
	}
}

// A backend that is in trouble says nothing of a contract; one that stays so ends the grading.
func TestGradeLiveOfABackendInTrouble(t *testing.T) {
	t.Setenv("EMEND_TEST_NO_SUCH_KEY", "k")
	snap := load(t, map[string]string{"invoice@1.yaml": invoice})
	refuse := func(n int) roundTrip {
		return func(r *http.Request) (*http.Response, error) {
			text, status := `{"error":{"message":"no"}}`, 400
			if n--; n < 0 {
				status, text = 200, `{"choices":[{"message":{"content":"{\"items\":[{\"price\":1},{\"price\":4.25}]}"}}]}`
			}
			return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
		}
	}
	r, err := rehearse.GradeContract(t.Context(), snap, request("invoice"), rehearse.GradeOptions{Answer: []byte(good), Live: true, Transport: refuse(2)})
	if err != nil || r.Failed != 2 || r.Rate != 1 || !strings.Contains(r.Grades[0].Fault, "400") {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := rehearse.GradeContract(t.Context(), snap, request("invoice"), rehearse.GradeOptions{Answer: []byte(good), Live: true, Transport: refuse(99)}); err == nil ||
		!strings.Contains(err.Error(), "3 times in a row") {
		t.Errorf("%v", err)
	}
}

func TestGradeStopsWithItsContext(t *testing.T) {
	snap := load(t, map[string]string{"invoice@1.yaml": invoice})
	ctx, stop := context.WithCancel(t.Context())
	n := 0
	_, err := rehearse.GradeContract(ctx, snap, request("invoice"), rehearse.GradeOptions{Each: func(rehearse.Grade) { n++; stop() }})
	if !errors.Is(err, context.Canceled) || n != 1 {
		t.Errorf("%v after %d", err, n)
	}
}
