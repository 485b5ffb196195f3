package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"emend/capacity"
	"emend/consumer"
	"emend/schemas"
)

// explain tells all that is known of a run.
func (a *app) explain() *cobra.Command {
	f := &queueFlags{}
	return f.add(&cobra.Command{Use: "explain ID", Short: "Tell a run's whole way, from its request to its ack, and why it waits", Args: runID,
		Long: "Shows every wait, call, finding and decision of a run with its reason, also of one that has not started: why its backend's\n" +
			"gate is closed, when it probes, and how many runs are before it. Events are kept for keep.events (6 h).",
		RunE: func(c *cobra.Command, args []string) error {
			return f.with(c.Context(), "explain", askWithin, func(ctx context.Context, client *consumer.Client) error {
				e, err := client.Explain(ctx, consumer.Key{Queue: f.queue, ID: args[0]})
				if err != nil {
					return failed(err)
				}
				return a.printExplanation(e)
			})
		}})
}

func (a *app) printExplanation(e *consumer.Explanation) error {
	switch {
	case a.json:
		if err := a.printJSON(e); err != nil {
			return err
		}
	case e.State == schemas.StateNotFound && len(e.Events) == 0:
		return failed(fmt.Errorf("no run %s in queue %s: no request, result, dead letter or event is stored", e.ID, e.Queue))
	default:
		a.explained(e)
	}
	if e.State == schemas.StateNotFound {
		return &exitError{code: exitFailed}
	}
	return nil
}

func (a *app) explained(e *consumer.Explanation) {
	from := "backend " + dash(e.Backend)
	if e.Pipeline != "" {
		from = "pipeline " + e.Pipeline
	}
	fmt.Fprintf(a.out, "%s (queue %s, %s): %s\n", a.colour(bold, e.ID), e.Queue, from, a.colour(stateColour(e), e.State))
	a.steps(e)
	if len(e.Events) == 0 && (e.Request == nil || e.Request.Delivered) {
		fmt.Fprintln(a.out, a.colour(dim, "no events are stored: they are older than keep.events, or were lost"))
	}
	if e.Result != nil && e.Request == nil {
		a.at(e.Result.At, "acked: the request is gone from the queue")
	}
	a.jobs(e.Jobs)
	if s := a.situation(e); s != "" {
		fmt.Fprintln(a.out, a.colour(yellow, "now: ")+s)
	}
}

// stateColour is yellow for a run that has not ended.
func stateColour(e *consumer.Explanation) string {
	if e.Result == nil || e.State != e.Result.Status {
		return yellow
	}
	return statusColour(e.State)
}

func (a *app) at(t time.Time, text string) {
	fmt.Fprintf(a.out, "%s %s\n", a.colour(dim, t.Local().Format("15:04:05.000")), text)
}

// waited is the wait for a permit before a call, if there was one.
func (a *app) waited(e schemas.Event) string {
	if e.Kind != schemas.EventAttemptStarted || e.WaitMS == nil || *e.WaitMS == 0 {
		return ""
	}
	return a.colour(yellow, " after "+millis(e.WaitMS)+" for a permit")
}

// outcome is what is stored under the id.
func (a *app) outcome(e *consumer.Explanation) {
	if l := e.Letter; l != nil {
		a.at(l.At, fmt.Sprintf("dead letter %d: %s: %s; %s", l.Seq, l.Reason, l.Error, a.again("dead show", e.ID)))
	}
	r := e.Result
	if r == nil {
		return
	}
	if v := r.Review; v != nil {
		a.at(v.At, fmt.Sprintf("%s decided: %s %s", v.By, v.Decision, a.colour(dim, v.Note)))
	}
	text := fmt.Sprintf("stored: result message %d: %s", r.Seq, a.colour(statusColour(r.Status), r.Status))
	if r.Error != nil {
		text += fmt.Sprintf(" (%s: %s)", r.Error.Category, r.Error.Message)
	} else if r.Class != "" && r.Class != "ok" {
		text += " (" + r.Class + ")"
	}
	t := r.TimingMS
	text += fmt.Sprintf("; queued %s, waited %s, in calls %s, in all %s", millis(&t.Queued), millis(&t.Waiting), millis(&t.Model), millis(&t.Total))
	a.at(r.At, text)
	for _, w := range r.Warnings {
		a.at(r.At, a.colour(yellow, "warning: ")+w)
	}
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// situation is why a run that has not ended has not.
func (a *app) situation(e *consumer.Explanation) string {
	switch e.State {
	case schemas.StateInReview:
		return fmt.Sprintf("waits for a person since %s: %s, %s; %s", clock(e.Review.Since), e.Review.Class, counted(e.Review.Findings, "finding"), a.again("review show", e.ID))
	case schemas.StateQueued:
		return strings.Join(append(obstacles(e), thousands(e.Request.Ahead)+" ahead"), "; ")
	case schemas.StateWaiting:
		return strings.Join(append([]string{handedBack(e)}, obstacles(e)...), "; ")
	case schemas.StateRunning:
		if n := len(e.Events); n > 0 {
			return "with worker " + dash(e.Events[n-1].Worker) + " for " + age(e.At.Sub(e.Events[n-1].At)) + " since its last event"
		}
		return "with a worker, or about to be delivered again"
	}
	return ""
}

// handedBack is why a run was put down, and when it comes again.
func handedBack(e *consumer.Explanation) string {
	n := len(e.Events)
	if n == 0 || e.Events[n-1].Kind != schemas.EventWaiting {
		return "handed back: " + dash(e.Saved.Cause)
	}
	x := e.Events[n-1]
	s := "handed back: " + x.WaitCause() + unknownName(e.Request, x.Cause)
	if x.WaitMS != nil {
		if left := x.At.Add(time.Duration(*x.WaitMS) * time.Millisecond).Sub(e.At); left > 0 {
			s += "; delivered again in " + left.Round(time.Second).String()
		}
	}
	return s
}

// unknownName is the name in the request that no worker knows.
func unknownName(r *consumer.ExplainedRequest, why string) string {
	switch {
	case r == nil:
		return ""
	case why == "unknown_prompt" && r.Prompt != "":
		return fmt.Sprintf(" %.80q", r.Prompt)
	case why == "unknown_profile" && r.Profile != "":
		return fmt.Sprintf(" %.80q", r.Profile)
	}
	return ""
}

// obstacles are what no run of the backend gets past.
func obstacles(e *consumer.Explanation) []string {
	var out []string
	g := e.Shut()
	switch {
	case e.Workers == 0:
		out = append(out, "no worker answers")
	case len(e.Gates) == 0:
		out = append(out, "no worker serves backend "+dash(e.Backend))
	case g != nil:
		s := fmt.Sprintf("gate closed since %s: %s", clock(g.Since), g.Cause)
		if left := g.Until.Sub(e.At).Round(time.Second); left > 0 {
			s += "; probe in " + strings.Replace(left.String(), "s", " s", 1)
		}
		out = append(out, s)
	case anyGate(e, capacity.Probing):
		out = append(out, "the gate probes with one run")
	case anyGate(e, capacity.Slow):
		out = append(out, "the gate is slow: "+causeOf(e, capacity.Slow))
	}
	return out
}

func anyGate(e *consumer.Explanation, p capacity.Phase) bool { return causeOf(e, p) != "" }

func causeOf(e *consumer.Explanation, p capacity.Phase) string {
	for _, worker := range sortedKeys(e.Gates) {
		if g := e.Gates[worker]; g.Phase == p {
			return dash(g.Cause)
		}
	}
	return ""
}

func clock(t time.Time) string { return t.Local().Format("15:04:05") }

// thousands writes a number in groups of three digits.
func thousands(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = string(slices.Insert([]byte(s), i, ','))
	}
	return s
}
