package main

import (
	"fmt"
	"strings"
	"time"

	"emend/engine/contract"
	"emend/schemas"
)

// printEvent shows one event as a line; --json shows it as it is.
func (a *app) printEvent(e schemas.Event) {
	if a.json {
		_ = a.printJSON(e)
		return
	}
	fmt.Fprintf(a.out, "%s %-24s %s\n", a.colour(dim, e.At.Local().Format("15:04:05.000")), e.RunID, a.eventText(e))
}

// eventText says what an event tells, in a line.
func (a *app) eventText(e schemas.Event) string {
	switch e.Kind {
	case schemas.EventStarted:
		if e.Pipeline != "" {
			return "started " + a.colour(dim, e.Pipeline)
		}
		return fmt.Sprintf("started on %s %s", e.Backend, a.colour(dim, strings.TrimSpace(e.Prompt+" "+e.Model)))
	case schemas.EventAttemptStarted:
		return fmt.Sprintf("%s %d.%d %s", callee(e), e.Generation, e.Attempt, a.colour(dim, e.GenerationKind))
	case schemas.EventAttempt:
		return a.attemptText(e)
	case schemas.EventRetry:
		return a.colour(yellow, fmt.Sprintf("retry in %s after %s", millis(e.WaitMS), cause(e)))
	case schemas.EventValidation:
		return a.verdictText(e)
	case schemas.EventRepair:
		return a.colour(yellow, "repair: "+e.Outcome)
	case schemas.EventStage:
		if e.Jobs != nil {
			return a.stageText(e)
		}
		return a.colour(yellow, fmt.Sprintf("stage attempt %d: %s", e.StageAttempt, e.Outcome))
	case schemas.EventValidator:
		return a.voteText(e.Validator, e.Outcome, e.Cause)
	case schemas.EventEscalated:
		return a.colour(yellow, map[string]string{"none": "stayed invalid; nobody is set up to look at it", "judge": "stayed invalid: the judges are asked",
			"review": "stayed invalid: waits for a person"}[e.Outcome])
	case schemas.EventWaiting:
		return a.colour(yellow, fmt.Sprintf("handed back for %s: %s", millis(e.WaitMS), e.WaitCause()))
	case schemas.EventSuperseded:
		return a.colour(yellow, "superseded: another result stands; these calls are on the bill")
	case schemas.EventFinished:
		return a.finishedText(e)
	}
	return e.Kind
}

// callee is "call", or which judge's call it is.
func callee(e schemas.Event) string {
	if e.Validator == "" {
		return "call"
	}
	return "judge " + e.Validator + " call"
}

// voter says who votes: a judge, which is a prompt of some version, or another entry of checks.
func voter(name string) string {
	if strings.Contains(name, "@") {
		return "judge " + name
	}
	return "check " + name
}

func (a *app) voteText(name, outcome, why string) string {
	s := voter(name) + ": " + outcome
	if why != "" {
		s += " (" + why + ")"
	}
	if outcome == schemas.VoteApproved {
		return a.colour(green, s)
	}
	return a.colour(yellow, s)
}

func (a *app) attemptText(e schemas.Event) string {
	s := fmt.Sprintf("answered in %s", millis(e.DurationMS))
	if e.Outcome != schemas.OutcomeCompleted {
		return a.colour(red, fmt.Sprintf("%s after %s", cause(e), millis(e.DurationMS)))
	}
	if u := e.Usage; u != nil && u.Input != nil && u.Output != nil {
		s += a.colour(dim, fmt.Sprintf(" (%d tokens in, %d out)", *u.Input, *u.Output))
	}
	return s
}

func (a *app) verdictText(e schemas.Event) string {
	if e.Outcome == string(contract.OK) {
		return a.colour(green, strings.TrimSpace("valid "+mended(e.Mended))) + a.changedText(e.Changed)
	}
	var s strings.Builder
	s.WriteString(a.colour(yellow, "invalid: "+e.Outcome))
	for _, f := range e.Findings {
		s.WriteString(fmt.Sprintf("\n%*s- %s: %s %s", 40, "", contract.DisplayPath(f.Pointer), f.Keyword, a.colour(dim, string(f.Expected))))
	}
	return s.String()
}

func mended(how string) string {
	if how == "" {
		return ""
	}
	return "(mended locally: " + how + ")"
}

func (a *app) changedText(changed []string) string {
	if len(changed) == 0 {
		return ""
	}
	shown := make([]string, len(changed))
	for i, c := range changed {
		shown[i] = contract.DisplayPath(c)
	}
	return a.colour(yellow, " corrections changed more than they were asked to: "+strings.Join(shown, ", "))
}

func (a *app) finishedText(e schemas.Event) string {
	s := a.colour(statusColour(e.Outcome), e.Outcome)
	if e.Category != "" {
		s += " (" + e.Category + ")"
	}
	if e.Totals != nil {
		c, took := e.Totals.Counts, millis(&e.Totals.TimingMS.Total)
		if e.DurationMS != nil {
			took = millis(e.DurationMS)
		}
		s += a.colour(dim, fmt.Sprintf("  %s, %s, %s, %s", counted(c.Calls, "call"), retries(c.Retries), counted(c.Repairs, "repair"), took))
	}
	return s
}

func cause(e schemas.Event) string {
	s := e.Outcome
	if s == "" {
		s = e.Cause
	}
	if e.Status != 0 {
		s += fmt.Sprintf(" %d", e.Status)
	}
	return s
}

func millis(n *int64) string {
	if n == nil {
		return "?"
	}
	return (time.Duration(*n) * time.Millisecond).String()
}

// printResult shows a result for people, or as it is with --json.
func (a *app) printResult(r *schemas.Result) error {
	if a.json {
		if err := a.printJSON(r); err != nil {
			return err
		}
		return exitOf(r)
	}
	fmt.Fprintf(a.out, "%s %s\n", a.colour(bold, r.ID), a.colour(statusColour(r.Status), r.Status))
	switch {
	case r.Error != nil:
		fmt.Fprintf(a.out, "%s: %s\n", r.Error.Category, r.Error.Message)
	case r.OutputText != nil:
		fmt.Fprintln(a.out, *r.OutputText)
	case len(r.Output) > 0:
		a.pretty(r.Output)
	}
	if r.Validation != nil && !r.Validation.Valid {
		for _, f := range r.Validation.Findings {
			fmt.Fprintf(a.out, "- %s: %s\n", contract.DisplayPath(f.Pointer), f.Message)
		}
	}
	a.printGoverned(r)
	if c := r.Cost; c != nil && c.USD != nil {
		fmt.Fprintln(a.out, a.colour(dim, "cost "+map[string]string{schemas.CostKnown: "", schemas.CostPartial: "at least "}[c.State]+dollars(*c.USD)))
	}
	for _, w := range r.Warnings {
		fmt.Fprintln(a.out, a.colour(yellow, "warning: ")+w)
	}
	a.printAttempts(r)
	return exitOf(r)
}

// printGoverned shows what judges and people said.
func (a *app) printGoverned(r *schemas.Result) {
	a.printPipeline(r.Pipeline)
	if v := r.Validation; v != nil {
		if len(v.Changed) > 0 {
			fmt.Fprintln(a.out, a.changedText(v.Changed))
		}
		for _, vote := range v.Validators {
			fmt.Fprintln(a.out, a.voteText(vote.Name, vote.Outcome, vote.Cause))
			for _, reason := range vote.Reasons {
				fmt.Fprintf(a.out, "  %s: %s\n", reason.Code, reason.Guidance)
			}
			for _, remark := range vote.Warnings {
				fmt.Fprintf(a.out, "  warns %s: %s\n", remark.Code, remark.Guidance)
			}
		}
	}
	if d := r.Review; d != nil {
		fmt.Fprintf(a.out, "%s by %s at %s\n", d.Decision, d.By, d.At.Local().Format(time.DateTime))
	}
}

func retries(n int) string {
	if n == 1 {
		return "1 retry"
	}
	return fmt.Sprintf("%d retries", n)
}
