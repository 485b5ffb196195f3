package engine

import (
	"encoding/json"
	"fmt"
	"time"

	"emend/engine/repair"
	"emend/engine/run"
	"emend/schemas"
)

// runResult is the library form of a run that completed.
func runResult(p *run.Plan, res run.Result, d time.Duration) *RunResult {
	s := res.State
	return &RunResult{ID: p.ID, Status: res.Status, RawOutput: s.Candidate.Text, Output: s.Judged.Value, Validation: *verdict(p, s),
		Usage: s.Usage.Usage(), Counts: counts(s), Source: Source(p, s), Attempts: s.Attempts, Duration: d, Warnings: warnings(p, s)}
}

// WireResult is the form of a result that is stored and sent. Timing, request reference and worker are the caller's.
func WireResult(p *run.Plan, res run.Result) schemas.Result {
	s := res.State
	out := schemas.Result{ID: p.ID, Queue: p.Queue, Status: res.Status, Counts: counts(s), Source: Source(p, s),
		Attempts: s.Attempts, Warnings: warnings(p, s), Metadata: p.Metadata}
	if out.Attempts == nil {
		out.Attempts = []schemas.Attempt{}
	}
	out.TimingMS = schemas.Timing{Waiting: s.Waited.Milliseconds(), Model: s.Model.Milliseconds()}
	if f := res.Failure; f != nil {
		if out.Error = WireError(res); out.Error == nil {
			out.Warnings = append(out.Warnings, f.Message)
		}
		return out
	}
	out.Usage = s.Usage.Usage()
	out.Validation = verdict(p, s)
	out.Output, out.OutputText = output(p, s)
	return out
}

// WireError is a failure on the wire; nil for an end that is not an error.
func WireError(res run.Result) *schemas.Error {
	f := res.Failure
	if f == nil || res.Status != schemas.StatusFailed {
		return nil
	}
	e := &schemas.Error{Category: f.Category, Message: f.Message, Attempts: f.Attempts, Exhausted: f.Exhausted,
		MayHaveBeenBilled: f.Billed || res.State.Usage.Calls > 0}
	if f.Status != 0 || f.Code != "" {
		e.Provider = &schemas.ProviderError{Status: f.Status, Code: f.Code}
	}
	e.Retryable = IsTrouble(f) || f.Category == schemas.CategoryCapacity || f.Category == schemas.CategoryTransport || f.Category == schemas.CategoryTimeout
	return e
}

// output is the JSON value of a JSON contract, the text of a text contract, or the text of a JSON contract's candidate
// that did not parse.
func output(p *run.Plan, s run.State) (json.RawMessage, *string) {
	text := s.Candidate.Text
	switch p.Output.Mode {
	case schemas.ModeJSON, schemas.ModeJSONSchema:
		if s.Judged.Value != nil {
			return s.Judged.Value, nil
		}
		return nil, &text
	}
	b, err := schemas.Marshal(text)
	if err != nil {
		return nil, &text
	}
	return b, nil
}

func counts(s run.State) schemas.Counts {
	c := s.Counts
	c.Executions = max(c.Executions, 1)
	return c
}

// Source says what a run ran on.
func Source(p *run.Plan, s run.State) schemas.Source {
	out := schemas.Source{Prompt: p.Prompt, PromptSHA256: p.PromptSHA256, Catalog: p.Catalog, Profile: p.Profile, Backend: p.Backend, Model: p.Model}
	if s.Candidate != nil {
		out.ModelReported = s.Candidate.Model
	}
	return out
}

func verdict(p *run.Plan, s run.State) *schemas.Validation {
	v := &schemas.Validation{Mode: p.Output.Mode, Valid: s.Judged.Valid(), Class: string(s.Judged.Class), RepairAttempts: s.Counts.Repairs,
		Complete: s.Judged.Omitted == 0, Findings: []schemas.Finding{}, Truncated: s.Candidate.Finish == "length" || (s.Judged.CutOff && !s.Judged.Valid())}
	for _, f := range s.Judged.Findings {
		v.Findings = append(v.Findings, schemas.Finding{Pointer: f.Pointer, Keyword: f.Keyword, Message: f.Message, Expected: f.Expected})
	}
	if !v.Valid {
		style := repair.Style{Mode: p.Output.Mode, Cut: s.Cut()}
		if style.Cut {
			style.Style = repair.StyleRegenerate
		}
		v.NextCorrection = repair.Message([]byte(s.Candidate.Text), s.Judged.Verdict(), style)
	}
	return v
}

func warnings(p *run.Plan, s run.State) []string {
	out := append([]string(nil), p.Warnings...)
	if s.Candidate != nil && s.Candidate.Finish == "length" && s.Judged.Valid() {
		out = append(out, fmt.Sprintf("the provider stopped at its token limit; the answer satisfies mode %s all the same", p.Output.Mode))
	}
	return out
}
