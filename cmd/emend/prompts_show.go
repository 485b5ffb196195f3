package main

import (
	"fmt"
	"slices"
	"strings"

	"emend/engine/contract"
	"emend/engine/rehearse"
	"emend/schemas"
)

func (a *app) showRendering(r *rehearse.Rendering) {
	fmt.Fprintf(a.out, "target    profile %s, backend %s (%s), model %s\n", r.Profile, r.Backend, r.Dialect, r.Model)
	fmt.Fprintf(a.out, "settings  %s\n", marshalled(r.Settings))
	fmt.Fprintf(a.out, "contract  %s, %d corrective calls\n", r.Output.Mode, r.Output.RepairAttempts)
	fmt.Fprintf(a.out, "calls     %d at most", r.MaxCalls)
	if len(r.Validators) > 0 {
		fmt.Fprintf(a.out, ", and %d of %s", r.MaxValidatorCalls, strings.Join(r.Validators, ", "))
	}
	fmt.Fprintln(a.out)
	if n := r.Native; n != nil {
		a.showNative(n)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(a.out, "%s %s\n", a.colour(yellow, "warning:"), w)
	}
	a.showMessages(r.Messages)
}

func (a *app) showNative(n *rehearse.Native) {
	word := "not sent"
	if n.Sent {
		word = n.Form + map[bool]string{true: ", whole", false: ", weakened"}[n.Whole]
	}
	fmt.Fprintf(a.out, "native    %s\n", word)
	for _, why := range n.Weakened {
		fmt.Fprintf(a.out, "          - %s\n", why)
	}
}

// showMessages prints a conversation, each turn under its role.
func (a *app) showMessages(messages []schemas.Message) {
	for _, m := range messages {
		role := m.Role
		if m.Cache != "" {
			role += " (cache " + m.Cache + ")"
		}
		text := m.Content
		if m.Parts != nil {
			text = string(m.Parts)
		}
		fmt.Fprintf(a.out, "\n%s\n%s\n", a.colour(bold, "--- "+role), strings.TrimSuffix(text, "\n"))
	}
}

func (a *app) printCorrection(c *rehearse.Correction) error {
	if a.json {
		if err := a.printJSON(c); err != nil {
			return err
		}
	} else {
		a.showCorrection(c)
	}
	if !c.Valid {
		return &exitError{code: exitInvalid}
	}
	return nil
}

func (a *app) showCorrection(c *rehearse.Correction) {
	if c.Valid {
		fmt.Fprintln(a.out, a.colour(green, "valid")+howMended(c.Mended))
		return
	}
	fmt.Fprintln(a.out, a.colour(yellow, c.Class)+howMended(c.Mended))
	for _, f := range c.Findings {
		fmt.Fprintf(a.out, "- %s: %s: %s\n", contract.DisplayPath(f.Pointer), f.Keyword, f.Message)
	}
	fmt.Fprintf(a.out, "style     %s\n", c.Style)
	if len(c.Targets) > 0 {
		fmt.Fprintf(a.out, "targets   %s\n", strings.Join(c.Targets, ", "))
	}
	if c.M == 0 {
		fmt.Fprintln(a.out, "budget    none; this would be sent with repair_attempts: 1")
	} else {
		fmt.Fprintf(a.out, "budget    correction %d of %d\n", c.N, c.M)
	}
	a.showMessages(c.Messages)
}

func howMended(how string) string {
	if how == "" {
		return ""
	}
	return " (mended without a call: " + how + ")"
}

// printTests shows how tests went: those that failed, and all of them if asked to.
func (a *app) printTests(played []rehearse.Outcome, all bool) error {
	bad := 0
	for _, o := range played {
		if !o.OK {
			bad++
		}
		if !a.json {
			a.showTest(o, all)
		}
	}
	if a.json {
		if err := a.printJSON(map[string]any{"ok": bad == 0, "tests": played}); err != nil {
			return err
		}
	}
	switch {
	case bad > 0 && a.json:
		return &exitError{code: exitUsage}
	case bad > 0:
		return &exitError{code: exitUsage, err: fmt.Errorf("%d of %d rehearsals failed", bad, len(played))}
	case !a.json:
		fmt.Fprintf(a.out, "%s %d rehearsals played\n", a.colour(green, "ok"), len(played))
	}
	return nil
}

func (a *app) showTest(o rehearse.Outcome, all bool) {
	switch {
	case !o.OK:
		fmt.Fprintf(a.out, "%s %s %q: %s\n", a.colour(red, "FAIL"), o.Prompt, o.Name, o.Fault)
	case all && o.Status == "":
		fmt.Fprintf(a.out, "%s %s %q: rendered\n", a.colour(green, "ok"), o.Prompt, o.Name)
	case all:
		fmt.Fprintf(a.out, "%s %s %q: %s, %s, %d of them corrective\n", a.colour(green, "ok"), o.Prompt, o.Name, o.Status, counted(o.Calls, "call"), o.Repairs)
	}
}

// marshalled is compact JSON for people.
func marshalled(v any) string {
	b, err := schemas.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(b)
}

// failedTests reports whether a rehearsal did not go as expected.
func failedTests(played []rehearse.Outcome) bool {
	return slices.ContainsFunc(played, func(o rehearse.Outcome) bool { return !o.OK })
}

// showGrade is one line per corrupted answer.
func (a *app) showGrade(g rehearse.Grade) {
	colours := map[string]string{rehearse.Repaired: green, rehearse.Broken: red, rehearse.Failed: red, rehearse.AskedAnew: dim}
	where, kept := g.Path, ""
	if where == "" {
		where = "(whole)"
	}
	if g.Outcome == rehearse.Repaired && !g.Preserved {
		kept = ", not preserved"
	}
	line := fmt.Sprintf("%-10s %-27s %-20s %s, %s, %s%s", g.Outcome, g.Name, where, g.Class, g.Style, counted(g.Calls, "call"), kept)
	if g.Fault != "" {
		line += ": " + g.Fault
	}
	fmt.Fprintln(a.out, a.colour(colours[g.Outcome], line))
}

func (a *app) showReport(r *rehearse.Report) {
	fmt.Fprintf(a.out, "answer %s: %s\n", r.From, marshalled(r.Answer))
	fmt.Fprintf(a.out, "%d corrupted: %d repaired, %d of them preserved; %d broken; %d asked anew", len(r.Grades), r.Repaired, r.Preserved, r.Broken, r.AskedAnew)
	if r.AskedAnew > 0 && !r.Live {
		fmt.Fprint(a.out, " (only a model can tell: --live)")
	}
	if r.Failed > 0 {
		fmt.Fprintf(a.out, "; %d failed at the backend", r.Failed)
	}
	fmt.Fprintf(a.out, "\nrate %.2f, %d corrective calls\n", r.Rate, r.Calls)
}
