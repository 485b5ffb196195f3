package engine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"emend/engine/contract"
	"emend/engine/repair"
	"emend/engine/run"
	"emend/schemas"
)

// runResult is the library form of a run that completed.
func runResult(p *run.Plan, res run.Result, d time.Duration) *RunResult {
	s := res.State
	return &RunResult{ID: p.ID, Status: res.Status, RawOutput: s.Candidate.Text, Output: s.Judged.Value, Validation: *verdict(p, s),
		Usage: s.Usage.Usage(), ValidatorUsage: validatorUsage(s), Cost: s.Cost.Cost(), Counts: counts(s), Source: Source(p, s), Attempts: s.Attempts, Stages: p.Stages(s), Duration: d, Warnings: warnings(p, s)}
}

// WireResult is the form of a result that is stored and sent. Timing, request reference and worker are the caller's.
func WireResult(p *run.Plan, res run.Result) schemas.Result {
	s := res.State
	out := schemas.Result{ID: p.ID, Queue: p.Queue, Status: res.Status, Counts: counts(s), Source: Source(p, s), Cost: s.Cost.Cost(),
		Attempts: s.Attempts, Warnings: warnings(p, s), Metadata: p.Metadata}
	if out.Attempts == nil {
		out.Attempts = []schemas.Attempt{}
	}
	out.Stages = p.Stages(s)
	out.TimingMS = schemas.Timing{Waiting: s.Waited.Milliseconds(), Model: s.Model.Milliseconds()}
	if f := res.Failure; f != nil {
		if out.Error = WireError(res); out.Error == nil {
			out.Warnings = append(out.Warnings, f.Message)
		}
		if answered(f) && s.Judged != nil {
			out.Validation = verdict(p, s)
		}
		return out
	}
	out.Usage, out.ValidatorUsage, out.Review = s.Usage.Usage(), validatorUsage(s), s.Review
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
	e.Retryable = IsTrouble(f) || errors.Is(f.Cause, ErrBudget) || f.Category == schemas.CategoryCapacity || f.Category == schemas.CategoryTransport || f.Category == schemas.CategoryTimeout
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

// validatorUsage is nil for a run that asked no validator.
func validatorUsage(s run.State) *schemas.Usage {
	if s.ValidatorUsage.Calls == 0 {
		return nil
	}
	return s.ValidatorUsage.Usage()
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
	j := s.Judged
	v := &schemas.Validation{Mode: p.Output.Mode, Valid: j.Valid(), Class: string(j.Class), RepairAttempts: s.Counts.Repairs,
		Complete: j.Omitted == 0 && j.Rules.Skipped == 0, Findings: []schemas.Finding{}, Mended: j.Mended, Rules: rules(j.Rules),
		Changed: s.Changed, Validators: s.Votes, Truncated: s.Candidate.Finish == "length" || (j.CutOff && !j.Valid())}
	for _, f := range j.Findings {
		v.Findings = append(v.Findings, schemas.Finding{Pointer: f.Pointer, Keyword: f.Keyword, Message: f.Message, Expected: f.Expected})
	}
	if v.Validators == nil {
		v.Validators = []schemas.Validator{}
	}
	if len(p.Validators) > 0 {
		v.Policy = policy(p)
	}
	if !v.Valid {
		v.NextCorrection = nextCorrection(p, s)
	}
	return v
}

// policy is what decides about a run with validators; what becomes of an answer that stays invalid the contract says.
func policy(p *run.Plan) *schemas.StagePolicy {
	words := map[string]string{"fail": run.PolicyFailRun, "return": run.PolicyRejectOutput}
	return &schemas.StagePolicy{ProducerStructuralFailure: words[p.Output.OnExhausted],
		SemanticRejection: cmp.Or(p.Policy.SemanticRejection, run.PolicyFailRun), ValidatorFailure: cmp.Or(p.Policy.ValidatorFailure, run.PolicyWarnContinue)}
}

// rules says in one word what became of the rules: "" without any that could run or be skipped.
func rules(c contract.RuleCounts) string {
	switch {
	case c.Failed > 0:
		return schemas.RulesFailed
	case c.Skipped > 0:
		return schemas.RulesSkipped
	case c.Held > 0:
		return schemas.RulesPassed
	}
	return ""
}

// nextCorrection is the message that one more corrective call would have carried.
func nextCorrection(p *run.Plan, s run.State) string {
	style := repair.StyleRegenerate
	if !s.Cut() {
		style = repair.Choose([]byte(s.Candidate.Text), s.Judged.Verdict(), options(p)).Style
	}
	return repair.Message([]byte(s.Candidate.Text), s.Judged.Verdict(), correction(p, s, style))
}

func warnings(p *run.Plan, s run.State) []string {
	out := append([]string(nil), p.Warnings...)
	if s.Candidate != nil && s.Candidate.Finish == "length" && s.Judged.Valid() {
		out = append(out, fmt.Sprintf("the provider stopped at its token limit; the answer satisfies mode %s all the same", p.Output.Mode))
	}
	for _, v := range s.Votes {
		if v.Outcome == schemas.VoteFailed || v.Outcome == schemas.VoteSkipped {
			out = append(out, fmt.Sprintf("validator %s came to no decision: %s", v.Name, v.Cause))
		}
		for _, w := range v.Warnings {
			out = append(out, fmt.Sprintf("validator %s warns: %s", v.Name, w.Code))
		}
	}
	if s.Impossible != "" {
		out = append(out, "the rejected answer could not be corrected: "+s.Impossible)
	}
	if s.Sink == run.SinkNone {
		out = append(out, "the answer stayed invalid and was not escalated: that takes a worker, and escalation.sink in its emend.yaml")
	}
	return out
}
