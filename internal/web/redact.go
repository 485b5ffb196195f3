package web

import "emend/schemas"

// withoutContent is a run as anyone may see it.
func (d *Detail) withoutContent() *Detail {
	out := &Detail{Progress: d.Progress, Events: make([]schemas.Event, len(d.Events))}
	if d.Result != nil {
		out.Result = withoutContent(d.Result)
	}
	for i, e := range d.Events {
		out.Events[i] = eventWithoutContent(e)
	}
	return out
}

// withoutContent copies what is known to be none: a field that is added to results is hidden until it is listed here.
func withoutContent(r *schemas.Result) *schemas.Result {
	out := &schemas.Result{ID: r.ID, Queue: r.Queue, Status: r.Status, Usage: r.Usage, ValidatorUsage: r.ValidatorUsage, Error: r.Error, Counts: r.Counts,
		Source: r.Source, Attempts: attemptsWithoutContent(r.Attempts), Stages: r.Stages, TimingMS: r.TimingMS, Request: r.Request, Warnings: r.Warnings, Cost: r.Cost}
	if v := r.Validation; v != nil {
		out.Validation = &schemas.Validation{Mode: v.Mode, Valid: v.Valid, Class: v.Class, RepairAttempts: v.RepairAttempts, Complete: v.Complete,
			Truncated: v.Truncated, Mended: v.Mended, Rules: v.Rules, Findings: []schemas.Finding{}, Validators: votesWithoutContent(v.Validators)}
	}
	if r.Review != nil {
		out.Review = &schemas.Review{Decision: r.Review.Decision, By: r.Review.By, At: r.Review.At}
	}
	if p := r.Pipeline; p != nil {
		out.Pipeline = &schemas.PipelineReport{Pipeline: p.Pipeline, Digest: p.Digest, Chunks: p.Chunks, Stages: p.Stages}
	}
	return out
}

func attemptsWithoutContent(all []schemas.Attempt) []schemas.Attempt {
	out := make([]schemas.Attempt, len(all))
	for i, t := range all {
		t.Content = nil
		out[i] = t
	}
	return out
}

func votesWithoutContent(votes []schemas.Validator) []schemas.Validator {
	out := make([]schemas.Validator, len(votes))
	for i, v := range votes {
		out[i] = schemas.Validator{Name: v.Name, Outcome: v.Outcome, Cause: v.Cause, Calls: v.Calls}
		for _, r := range v.Reasons {
			out[i].Reasons = append(out[i].Reasons, schemas.Reason{Code: r.Code})
		}
		for _, r := range v.Warnings {
			out[i].Warnings = append(out[i].Warnings, schemas.Reason{Code: r.Code})
		}
	}
	return out
}

// eventWithoutContent takes out what audit: full puts into events: the offending values.
func eventWithoutContent(e schemas.Event) schemas.Event {
	findings := make([]schemas.EventFinding, len(e.Findings))
	for i, f := range e.Findings {
		findings[i] = schemas.EventFinding{Pointer: f.Pointer, Keyword: f.Keyword, Expected: f.Expected}
	}
	e.Findings, e.Codes = findings, nil
	return e
}
