package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"emend/internal/batch"
	"emend/schemas"
)

// How often a batch shows itself: on a terminal, and elsewhere.
const (
	barEvery  = 200 * time.Millisecond
	lineEvery = 10 * time.Second
)

// showBatch shows a batch while it runs: a bar that is drawn over on a terminal, a line now and then elsewhere, nothing for
// machines. enough ends it.
func (a *app) showBatch(r *batch.Runner) (enough func()) {
	if a.json {
		return func() {}
	}
	every := lineEvery
	if a.tty {
		every = barEvery
	}
	p := pace{began: time.Now()}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case now := <-tick.C:
				a.drawBatch(p.text(r.Now(), now, a.tty))
			case <-stop:
				return
			}
		}
	}()
	return func() {
		close(stop)
		<-done
		if a.tty {
			fmt.Fprint(a.out, "\r\x1b[K")
		}
	}
}

func (a *app) drawBatch(text string) {
	if a.tty {
		fmt.Fprint(a.out, "\r\x1b[K"+text)
		return
	}
	fmt.Fprintln(a.out, text)
}

// pace reckons how fast a batch is, from its beginning.
type pace struct{ began time.Time }

// barWidth is that of the bar in characters.
const barWidth = 24

// text is one line: done of all, rate, failures, time left.
func (p pace) text(t batch.Tally, now time.Time, bar bool) string {
	var b strings.Builder
	if bar {
		full := barWidth
		if t.Lines > 0 {
			full = barWidth * t.Done / t.Lines
		}
		b.WriteString("[" + strings.Repeat("#", full) + strings.Repeat(".", barWidth-full) + "] ")
	}
	rate := float64(t.Done-t.Before) / now.Sub(p.began).Seconds()
	fmt.Fprintf(&b, "%d of %d, %.1f/s, %d failed, %s", t.Done, t.Lines, rate, t.Failures(), costText(t))
	if t.InReview > 0 {
		fmt.Fprintf(&b, ", %d in review", t.InReview)
	}
	if left := t.Lines - t.Done - t.InReview; rate > 0 && left > 0 {
		fmt.Fprintf(&b, ", %s left", time.Duration(float64(left)/rate*float64(time.Second)).Round(time.Second))
	}
	return b.String()
}

// costText is what a batch has cost so far.
func costText(t batch.Tally) string {
	if text := spent(t.Cost, t.CostState); text != schemas.CostUnknown {
		return text
	}
	return "cost unknown"
}

// spent is an amount with what is known of it.
func spent(u schemas.USD, state string) string {
	switch state {
	case schemas.CostUnknown:
		return schemas.CostUnknown
	case schemas.CostPartial:
		return "at least " + dollars(u)
	}
	return dollars(u)
}

// printFailures names the first runs without an output, and says where to look.
func (a *app) printFailures(t batch.Tally) {
	if len(t.Failed) == 0 {
		return
	}
	var names []string
	for _, f := range t.Failed {
		names = append(names, fmt.Sprintf("%s (%s)", f.ID, f.Reason))
	}
	more := ""
	if n := t.Failures() - len(names); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	fmt.Fprintf(a.out, "without an output: %s%s\n", strings.Join(names, ", "), more)
	fmt.Fprintf(a.out, "why: error.message of their lines in the output, or %s; once the cause is gone, --retry-failed runs them again\n",
		a.again("explain", t.Failed[0].ID))
}

// dollars is an amount for people: to the cent, or where it is less than a dollar to a hundredth of one.
func dollars(u schemas.USD) string {
	f := float64(u) / float64(schemas.Dollar)
	if f != 0 && f < 1 {
		return fmt.Sprintf("$%.4f", f)
	}
	return fmt.Sprintf("$%.2f", f)
}

// printTally is the summary; states are those of runs that have not ended, where they were asked for.
func (a *app) printTally(t batch.Tally, states map[string]int) error {
	if a.json {
		return a.printJSON(struct {
			batch.Tally
			States map[string]int `json:"states,omitempty"`
		}{t, states})
	}
	fmt.Fprintf(a.out, "%d of %d lines have a result\n", t.Done, t.Lines)
	for _, status := range slices.Sorted(maps.Keys(t.Statuses)) {
		fmt.Fprintf(a.out, "%8d %s\n", t.Statuses[status], a.colour(statusColour(status), status))
	}
	if t.Done > 0 {
		fmt.Fprintln(a.out, "cost:", strings.TrimPrefix(costText(t), "cost "))
	}
	a.printFailures(t)
	if t.InReview > 0 {
		fmt.Fprintf(a.out, "%8d in_review: their results come when the batch is run again after the decision\n", t.InReview)
	}
	for _, state := range slices.Sorted(maps.Keys(states)) {
		name := state
		if name == "" {
			name = "ended, to be fetched"
		}
		fmt.Fprintf(a.out, "%8d %s\n", states[state], name)
	}
	return nil
}
