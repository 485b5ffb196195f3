package main

import (
	"fmt"
	"strings"

	"emend/consumer"
	"emend/schemas"
)

// steps tells the events in their order, and what is stored where it was stored: before the event that says so.
func (a *app) steps(e *consumer.Explanation) {
	last, told, begins := len(e.Events)-1, false, begins(e)
	for i := 0; i <= last; i++ {
		x := e.Events[i]
		if i == begins {
			a.published(e.Request)
		}
		if n := alike(e.Events[i:]); n > 1 {
			a.handedBackOften(e.Events[i : i+n])
			i += n - 1
			continue
		}
		s := delivered(e.Events, i)
		if i == begins {
			s = place(x)
		}
		if s != "" {
			a.at(x.At, a.colour(dim, s))
		}
		if i == last && x.Kind == schemas.EventFinished {
			a.outcome(e)
			told = true
		}
		a.at(x.At, a.eventText(x)+a.waited(x))
	}
	if begins > last {
		a.published(e.Request)
	}
	if !told {
		a.outcome(e)
	}
}

// begins is the first step of the request that is stored: what ended before it was published is another's. -1 without a request.
func begins(e *consumer.Explanation) int {
	if e.Request == nil {
		return -1
	}
	for i := len(e.Events) - 1; i >= 0; i-- {
		if x := e.Events[i]; x.Kind == schemas.EventFinished && x.At.Before(e.Request.Published) {
			for i++; i < len(e.Events) && !opens(e.Events[i]); i++ {
			}
			return i
		}
	}
	return 0
}

// opens reports whether a published run begins with a step of this kind: what else comes behind an end belongs to what was ended,
// such as the call that a cancel aborted.
func opens(x schemas.Event) bool {
	return x.Kind == schemas.EventStarted || x.Kind == schemas.EventWaiting
}

func (a *app) published(r *consumer.ExplainedRequest) {
	a.at(r.Published, fmt.Sprintf("published: message %d, %d bytes", r.Seq, r.Bytes))
}

// delivered says where a step happens, if that is elsewhere than the one before it, and why there.
func delivered(events []schemas.Event, i int) string {
	x := events[i]
	if i == 0 {
		return place(x)
	}
	before := events[i-1]
	switch {
	case x.Delivery == 0:
		return place(x)
	case before.Kind == schemas.EventFinished && opens(x):
		return "published again: " + place(x)
	case x.Delivery == before.Delivery && x.Worker == before.Worker:
		return ""
	case x.Delivery == before.Delivery+1 && cutOff(before):
		return fmt.Sprintf("%s: worker %s did not answer within ack_wait", place(x), dash(before.Worker))
	}
	return place(x)
}

// place is the delivery and the worker of a step; a step of no delivery is a command's, such as a cancel or a decision.
func place(x schemas.Event) string {
	if x.Delivery == 0 {
		return "worker " + dash(x.Worker) + ", by request"
	}
	return fmt.Sprintf("delivery %d, worker %s", x.Delivery, dash(x.Worker))
}

// cutOff reports whether a step is none that a delivery ends with.
func cutOff(x schemas.Event) bool {
	return x.Delivery > 0 && x.Kind != schemas.EventWaiting && x.Kind != schemas.EventFinished && x.Kind != schemas.EventSuperseded && x.Kind != schemas.EventEscalated
}

// alike is how many deliveries from here on did nothing but hand the run back for one and the same cause.
func alike(events []schemas.Event) int {
	n := 0
	for n < len(events) {
		x := events[n]
		sole := n+1 == len(events) || events[n+1].Delivery != x.Delivery || events[n+1].Worker != x.Worker
		if x.Kind != schemas.EventWaiting || x.Seq > 1 || !sole || x.Cause != events[0].Cause {
			break
		}
		n++
	}
	return n
}

func (a *app) handedBackOften(events []schemas.Event) {
	first, last := events[0], events[len(events)-1]
	a.at(first.At, a.colour(yellow, fmt.Sprintf("deliveries %d to %d: handed back %d times, each for %s: %s; the last at %s",
		first.Delivery, last.Delivery, len(events), millis(last.WaitMS), last.Cause, clock(last.At))))
}

// jobs names runs of a pipeline's jobs.
func (a *app) jobs(j *consumer.ExplainedJobs) {
	if j == nil {
		return
	}
	fmt.Fprintln(a.out, "jobs, each a run of its own: "+a.again("explain", "ID")+"\n  "+strings.Join(j.IDs, "\n  "))
	if j.More > 0 {
		fmt.Fprintf(a.out, "  and %d more\n", j.More)
	}
}
