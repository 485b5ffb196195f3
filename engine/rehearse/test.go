package rehearse

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"emend/engine"
	"emend/engine/contract"
	"emend/engine/run"
	"emend/prompts"
	"emend/schemas"
)

// Outcome is how one test of a prompt went. Fault says what is not as expected, in one line; it is "" if OK. A test
// without answers is only rendered.
type Outcome struct {
	Prompt  string `json:"prompt"`
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Fault   string `json:"fault,omitempty"`
	Status  string `json:"status,omitempty"`
	Calls   int    `json:"calls"`
	Repairs int    `json:"repairs"`
}

// Tests plays the tests of prompts: of those that are named ("id", which is every version of it, or "id@version"), or of
// all. A name that no prompt has is an error.
func Tests(ctx context.Context, snap *prompts.Snapshot, names ...string) ([]Outcome, error) {
	out := []Outcome{}
	unknown := slices.Clone(names)
	for _, p := range snap.Prompts() {
		named := func(name string) bool { return name == p.ID || name == ref(p) }
		unknown = slices.DeleteFunc(unknown, named)
		if len(names) > 0 && !slices.ContainsFunc(names, named) {
			continue
		}
		for _, t := range p.Tests {
			out = append(out, Test(ctx, snap, p, t))
		}
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("there is no prompt %s", strings.Join(unknown, ", "))
	}
	return out, nil
}

func ref(p prompts.Prompt) string { return fmt.Sprintf("%s@%d", p.ID, p.Version) }

// Request is a test's request.
func Request(p prompts.Prompt, t prompts.Test) schemas.Request {
	return schemas.Request{Prompt: ref(p), Inputs: t.Inputs}
}

// Test plays one test: its answers, in order, stand for the model's and its judges'.
func Test(ctx context.Context, snap *prompts.Snapshot, p prompts.Prompt, t prompts.Test) Outcome {
	o := Outcome{Prompt: ref(p), Name: t.Name}
	if len(t.Answers) == 0 {
		_, err := snap.Plan(Request(p, t), origin)
		o.OK, o.Fault = err == nil, fault(err)
		return o
	}
	client := &script{}
	for _, text := range t.Answers {
		client.answers = append(client.answers, Answer{Text: text})
	}
	r, err := play(ctx, snap, Request(p, t), client, nil)
	if err != nil {
		o.Fault = fault(err)
		return o
	}
	o.Status, o.Calls, o.Repairs = status(r.res), len(client.asked), r.res.State.Counts.Repairs
	o.Fault = strings.Join(differences(t.Expect, o, r, client), "; ")
	o.OK = o.Fault == ""
	return o
}

func fault(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// status is the result's; a run that waits for a person has none yet.
func status(r run.Result) string {
	if r.Status == "" {
		return string(r.State.Phase)
	}
	return r.Status
}

// differences lists what did not come out as expected.
func differences(e prompts.Expect, o Outcome, r *played, c *script) []string {
	if c.starved() {
		return []string{fmt.Sprintf("call %d was made, and the test lists %d answers", len(c.asked), len(c.answers))}
	}
	var out []string
	differ := func(is bool, what string, got, want any) {
		if is {
			out = append(out, fmt.Sprintf("%s is %v, expected %v", what, got, want))
		}
	}
	differ(e.Status != "" && e.Status != o.Status, "status", o.Status, e.Status)
	differ(e.Calls != 0 && e.Calls != o.Calls, "the number of calls", o.Calls, e.Calls)
	if want := e.Repairs; want != nil {
		differ(*want != o.Repairs, "the number of corrective calls", o.Repairs, *want)
	}
	differ(e.Style != "" && e.Style != r.style(), "the style of the last correction", orNone(r.style()), e.Style)
	got := located(r.last)
	want := expected(e.Findings)
	differ(e.Findings != nil && !slices.Equal(got, want), "what was found", list(got), list(want))
	value := output(r)
	differ(e.Output != nil && !same(value, e.Output), "output", string(value), string(e.Output))
	return out
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// style is that of the last correction, "" if there was none.
func (p *played) style() string {
	if p.res.State.Counts.Repairs == 0 {
		return ""
	}
	return p.res.State.Style
}

// located lists the findings of a State's candidate as a test names them, sorted.
func located(s run.State) []string {
	out := []string{}
	if s.Judged == nil {
		return out
	}
	for _, f := range s.Judged.Findings {
		out = append(out, Path(f)+" "+f.Keyword)
	}
	slices.Sort(out)
	return out
}

// Path shows where a finding is: its own place, or the fields of its rule.
func Path(f contract.Finding) string {
	if len(f.Fields) == 0 {
		return contract.DisplayPath(f.Path())
	}
	paths := make([]string, len(f.Fields))
	for i, p := range f.Fields {
		paths[i] = contract.DisplayPath(p)
	}
	return strings.Join(paths, ", ")
}

func expected(findings []prompts.ExpectFinding) []string {
	out := []string{}
	for _, f := range findings {
		out = append(out, f.Path+" "+f.Keyword)
	}
	slices.Sort(out)
	return out
}

func list(findings []string) string {
	if len(findings) == 0 {
		return "nothing"
	}
	return strings.Join(findings, ", ")
}

// output is the result's value, or its text as a JSON string.
func output(r *played) json.RawMessage {
	w := engine.WireResult(r.plan, r.res)
	if w.OutputText != nil {
		b, err := json.Marshal(*w.OutputText)
		if err != nil {
			return nil
		}
		return b
	}
	return w.Output
}
