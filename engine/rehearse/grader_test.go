package rehearse

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"emend/engine"
	"emend/engine/contract"
	"emend/engine/corrupt"
	"emend/engine/run"
	"emend/schemas"
)

func TestOpeningGivesTheFirstAnswerAlone(t *testing.T) {
	then := &script{answers: []Answer{{Text: "second"}}}
	c := &opening{first: Answer{Text: "first", Finish: "length"}, then: then}
	for n, want := range []string{"first", "second"} {
		r, err := c.Generate(t.Context(), &engine.GenerateRequest{})
		if err != nil || r.Text != want || (r.Finish == "length") != (n == 0) {
			t.Errorf("call %d: %+v, %v", n, r, err)
		}
	}
	if _, err := c.Generate(t.Context(), &engine.GenerateRequest{}); !errors.Is(err, ErrNoAnswer) || c.calls != 3 {
		t.Errorf("%v after %d", err, c.calls)
	}
}

// Outcomes of what a run came to.
func TestGraded(t *testing.T) {
	c, err := contract.Compile(contract.Spec{Mode: schemas.ModeJSON})
	if err != nil {
		t.Fatal(err)
	}
	g := &grader{plan: &run.Plan{Contract: c}, good: []byte(`{"a":1,"b":2.50}`)}
	done := func(status, value string, f *run.Failure) *played {
		return &played{first: run.State{Style: "targeted", Judged: &run.Judged{Class: contract.SchemaInvalid}},
			res: run.Result{Status: status, Failure: f, State: run.State{Judged: &run.Judged{Value: json.RawMessage(value)}}}}
	}
	for _, x := range []struct {
		name  string
		p     *played
		at    string
		anew  bool
		want  string
		kept  bool
		fault string
	}{
		{"the good one again", done("succeeded", `{"a":1,"b":2.50}`, nil), "/a", false, Repaired, true, ""},
		{"another value at the place", done("succeeded", `{"b":2.50,"a":7}`, nil), "/a", false, Repaired, true, ""},
		{"another value beside it", done("succeeded", `{"a":1,"b":2.5}`, nil), "/a", false, Repaired, false, ""},
		{"another value anywhere", done("succeeded", `{"a":2,"b":2.50}`, nil), "", false, Repaired, false, ""},
		{"still invalid", done("invalid", `{}`, nil), "/a", false, Broken, false, ""},
		{"asked anew", done("invalid", `{}`, nil), "/a", true, AskedAnew, false, ""},
		{"the budget ends the run", done("failed", `{}`, &run.Failure{Category: schemas.CategoryOutputInvalid, Message: "m"}), "/a", false, Broken, false, ""},
		{"the backend fails", done("failed", `{}`, &run.Failure{Category: schemas.CategoryProviderStatus, Message: "m"}), "/a", false, Failed, false, "m"},
	} {
		got := g.graded(corrupt.Corruption{Name: x.name, Pointer: x.at}, x.p, 2, x.anew)
		want := Grade{Name: x.name, Path: strings.TrimPrefix(x.at, "/"), Class: "schema_invalid", Style: "targeted", Outcome: x.want, Preserved: x.kept, Calls: 2, Fault: x.fault}
		if got != want {
			t.Errorf("%+v, expected\n%+v", got, want)
		}
	}
}

func TestReportCountsWhatCounts(t *testing.T) {
	var r Report
	for _, g := range []Grade{{Outcome: AskedAnew, Calls: 1}, {Outcome: Failed}} {
		r.add(g)
	}
	if r.Rate != 1 {
		t.Errorf("nothing counts: %v", r.Rate)
	}
	for _, g := range []Grade{{Outcome: Repaired, Preserved: true, Calls: 1}, {Outcome: Broken, Calls: 2}, {Outcome: Repaired, Calls: 1}, {Outcome: Broken}} {
		r.add(g)
	}
	if r.Rate != 0.5 || r.Repaired != 2 || r.Broken != 2 || r.AskedAnew != 1 || r.Failed != 1 || r.Preserved != 1 || r.Calls != 5 || len(r.Grades) != 6 {
		t.Errorf("%+v", r)
	}
}

func TestHopelessIsThreeInARow(t *testing.T) {
	for outcomes, want := range map[string]bool{"": false, "ff": false, "fff": true, "rfff": true, "ffrff": false, "fffr": false} {
		var r Report
		for _, o := range outcomes {
			r.add(Grade{Outcome: map[rune]string{'f': Failed, 'r': Repaired}[o], Fault: "status 500"})
		}
		if err := r.hopeless(); (err != nil) != want || want && !strings.Contains(err.Error(), "status 500") {
			t.Errorf("%q: %v", outcomes, err)
		}
	}
}

// A script answers in words what a correction in words is about.
func TestTalkMendsWhatTheWordsNameAlone(t *testing.T) {
	m, err := newMender()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text, message, want string }{
		{"fence", "```json\n{\"a\": 1.50}\n```", "", `{"a":1.50}`},
		{"think block with a draft", "<think>{\"x\":1}</think>\n{\"a\":1}", "", `{"a":1}`},
		{"prose", "Here: {\"a\":1}. Done.", "", `{"a":1}`},
		{"trailing comma in prose", "Here: {\"a\":1,} Done.", "", `{"a":1}`},
		{"several values", "{\"a\":1}\n{\"a\":2}", "", `{"a":1}`},
		{"envelope", `{"Answer":{"a":1}}`, `HINT` + "\n" + `What is asked for stands inside the key "Answer"; return that alone.`, `{"a":1}`},
		{"envelope that is not there", `{"b":1}`, `What is asked for stands inside the key "Answer"; x`, `{"b":1}`},
		{"as text", `"{\"a\":1}"`, "At (root) the object is given as text; write it.", `{"a":1}`},
		{"no hint", `{"Answer":{"a":1}}`, "", `{"Answer":{"a":1}}`},
		{"no JSON at all", "I cannot.", "", "I cannot."},
		{"not a number", `{"a":NaN}`, "", `{"a":NaN}`},
	} {
		if got := m.talk(c.text, c.message); got != c.want {
			t.Errorf("%s: %s, expected %s", c.name, got, c.want)
		}
	}
}

// A new answer is nothing that a script can give.
func TestMenderGivesNoNewAnswer(t *testing.T) {
	m, err := newMender()
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Generate(t.Context(), &engine.GenerateRequest{Messages: []schemas.Message{{Role: schemas.RoleUser, Content: "Answer again from the beginning."}}})
	if err != nil || r.Text != "" || m.anew != 1 {
		t.Errorf("%+v, %v, %d", r, err, m.anew)
	}
}

func TestPathOfAFinding(t *testing.T) {
	for want, f := range map[string]contract.Finding{
		"(root)":              {Keyword: "type"},
		"items[2].price":      {Pointer: "/items/2/price"},
		`o["a.b"]`:            {Pointer: "/o", Key: "a.b"},
		"verdict, confidence": {Pointer: "/verdict", Fields: []string{"/verdict", "/confidence"}},
	} {
		if got := Path(f); got != want {
			t.Errorf("%+v: %s, expected %s", f, got, want)
		}
	}
}
