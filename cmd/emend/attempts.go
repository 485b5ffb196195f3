package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"emend/engine/contract"
	"emend/schemas"
)

// printAttempts shows what a run was sent and answered, where its request asked for it (attempts: full).
func (a *app) printAttempts(r *schemas.Result) {
	for i, t := range r.Attempts {
		if t.Content == nil {
			continue
		}
		fmt.Fprintln(a.out, a.colour(bold, fmt.Sprintf("call %d", i+1))+": "+callText(t))
		a.printContent(t.Content)
	}
	if b := r.AttemptsBlob; b != nil {
		fmt.Fprintln(a.out, a.colour(yellow, "warning: ")+"the texts of the attempts are no longer stored: object sha256:"+b.SHA256)
	}
}

// callText says which call an attempt was, and how it ended.
func callText(t schemas.Attempt) string {
	words := []string{fmt.Sprintf("%s generation %d", t.GenerationKind, t.Generation)}
	if t.StageAttempt > 1 {
		words = slices.Insert(words, 0, fmt.Sprintf("stage attempt %d", t.StageAttempt))
	}
	if t.Attempt > 1 {
		words = append(words, fmt.Sprintf("attempt %d", t.Attempt))
	}
	end := t.Outcome
	if detail := cmp.Or(t.Finish, fmt.Sprint(t.Status)); detail != "0" {
		end += " (" + detail + ")"
	}
	return strings.Join(append(words, end), ", ")
}

func (a *app) printContent(c *schemas.AttemptContent) {
	for _, m := range c.Appended {
		a.printText("sent as "+m.Role, m.Content)
	}
	if c.Answer != nil {
		a.printText("answered", *c.Answer)
	}
	if v := c.Verdict; v != nil {
		fmt.Fprintf(a.out, "  %s %s\n", a.colour(dim, "verdict"), v.Class)
		for _, f := range v.Findings {
			fmt.Fprintf(a.out, "    - %s: %s\n", contract.DisplayPath(f.Pointer), f.Message)
		}
	}
	for _, vote := range c.Votes {
		fmt.Fprintln(a.out, "  "+a.voteText(vote.Name, vote.Outcome, vote.Cause))
		for _, reason := range vote.Reasons {
			fmt.Fprintf(a.out, "    %s: %s\n", reason.Code, reason.Guidance)
		}
		for _, warning := range vote.Warnings {
			fmt.Fprintf(a.out, "    warning %s: %s\n", warning.Code, warning.Guidance)
		}
	}
	for _, part := range []string{schemas.PartAppended, schemas.PartAnswer, schemas.PartFindings, schemas.PartVotes} {
		if n := c.Omitted[part]; n > 0 {
			fmt.Fprintf(a.out, "  %s\n", a.colour(dim, fmt.Sprintf("%s: %d bytes left out", part, n)))
		}
	}
}

// printText sets a text off from what is said of it.
func (a *app) printText(what, text string) {
	fmt.Fprintf(a.out, "  %s\n", a.colour(dim, what))
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		fmt.Fprintln(a.out, "    "+line)
	}
}
