package engine

import (
	"fmt"
	"strings"

	"emend/engine/contract"
	"emend/engine/repair"
	"emend/engine/run"
	"emend/schemas"
)

// Bounds of what an event carries of a verdict.
const (
	eventFindings = 20
	eventExpected = 256
	eventValue    = 1024
)

// shown are a verdict's findings as events carry them: pointers masked, and the offending values only under audit: full.
// What a preservation finding expects is content: the value that stood there.
func shown(v contract.Verdict, audit bool) []schemas.EventFinding {
	var out []schemas.EventFinding
	for _, f := range v.Findings[:min(len(v.Findings), eventFindings)] {
		e := schemas.EventFinding{Pointer: f.Masked, Keyword: f.Keyword}
		if len(f.Expected) <= eventExpected && (audit || f.Keyword != contract.KeywordPreserve) {
			e.Expected = f.Expected
		}
		if audit && len(f.Value) <= eventValue {
			e.Value = f.Value
		}
		out = append(out, e)
	}
	return out
}

func maskedChanges(changes []contract.Change) []string {
	var out []string
	for _, c := range changes[:min(len(changes), eventFindings)] {
		out = append(out, c.Masked)
	}
	return out
}

// words are a contract's words about corrections; the zero value has the defaults.
func words(p *run.Plan) schemas.Repair {
	if p.Output.Repair == nil {
		return schemas.Repair{}
	}
	return *p.Output.Repair
}

func options(p *run.Plan) repair.Options {
	w := words(p)
	return repair.Options{Style: w.Style, OnShape: w.OnShape, MissingPath: w.MissingPath, MaxTargets: w.MaxTargets}
}

// correction is the style of a corrective message about the latest candidate.
func correction(p *run.Plan, s run.State, style string) repair.Style {
	w := words(p)
	return repair.Style{Mode: p.Output.Mode, Style: style, Cut: s.Cut(), Received: w.Candidate == candidateReceived, MaxTargets: w.MaxTargets,
		Arguments: s.Candidate.Arguments}
}

// Words of schemas.Repair that the engine itself acts on.
const (
	candidateReceived = "received_block"
	preserveEnforce   = "enforce"
	preserveNone      = "none"
)

// preserved compares a targeted correction with the value that it was about. Under enforce, what else it changed is a
// finding like any other; under report it is only told.
func preserved(p *run.Plan, s run.State, v contract.Verdict) (run.Voted, []contract.Change) {
	how := words(p).Preserve
	if v.Err != nil || v.Value == nil || s.Base == "" || how == preserveNone {
		return run.Voted{Verdict: v}, nil
	}
	changes := p.Contract.Changed([]byte(s.Base), v.Value, s.Targets)
	out := run.Voted{Verdict: v}
	for _, c := range changes {
		out.Changed = append(out.Changed, c.Pointer)
	}
	if how == preserveEnforce && len(changes) > 0 {
		out.Verdict = notPreserved(v, changes, s.Targets)
	}
	return out, changes
}

// maxRestored bounds a value that a correction is asked to put back.
const maxRestored = 8 << 10

func notPreserved(v contract.Verdict, changes []contract.Change, targets []string) contract.Verdict {
	if v.Valid() {
		v.Class = contract.NotPreserved
	}
	allowed := make([]string, len(targets))
	for i, t := range targets {
		allowed[i] = contract.DisplayPath(t)
	}
	findings := append([]contract.Finding(nil), v.Findings...)
	for _, c := range changes {
		f := contract.Finding{Pointer: c.Pointer, Masked: c.Masked, Keyword: contract.KeywordPreserve}
		switch {
		case c.Before == nil:
			f.Message = fmt.Sprintf("%s was added, but only %s may change; take it out again", contract.DisplayPath(c.Pointer), strings.Join(allowed, ", "))
		default:
			f.Message = fmt.Sprintf("%s was changed, but only %s may change; put back what stood there", contract.DisplayPath(c.Pointer), strings.Join(allowed, ", "))
			if len(c.Before) <= maxRestored {
				f.Expected = c.Before
			}
		}
		findings = append(findings, f)
	}
	v.Findings = findings
	return v
}
