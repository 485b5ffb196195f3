package consumer

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"emend/capacity"
	"emend/engine/run"
	"emend/prompts"
	"emend/schemas"
)

// Facts of the tests' one run: message 7 of content "mine", published an hour before now, under a plan of prompt "p".
var (
	now       = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	testPlan  = &run.Plan{ID: "r", Queue: "q", PromptSHA256: "p", TransientRetries: 2}
	testLimit = Limits{MaxStarts: 3, CatalogGrace: 30 * time.Second, QueueTTL: 24 * time.Hour}
)

func delivered(change ...func(*Delivery)) Delivery {
	d := Delivery{Seq: 7, Fingerprint: "mine", Published: now.Add(-time.Hour), Plan: testPlan}
	for _, f := range change {
		f(&d)
	}
	return d
}

func starts(n int) func(*Delivery) {
	return func(d *Delivery) { d.Starts, d.Plan = n, nil }
}

func refusal(err error, age time.Duration) func(*Delivery) {
	return func(d *Delivery) {
		d.Plan, d.Refusal, d.Published = nil, fmt.Errorf("%w: words", err), now.Add(-age)
	}
}

func deadline(at time.Time) func(*Delivery) {
	return func(d *Delivery) {
		p := *testPlan
		p.Deadline = at
		d.Plan = &p
	}
}

func published(age time.Duration) func(*Delivery) {
	return func(d *Delivery) { d.Published = now.Add(-age) }
}

// stored is a result of message seq at sequence 40 of the results.
func stored(status, fingerprint string, seq uint64) Whereabouts {
	return Whereabouts{ResultSeq: 40, Result: &schemas.Result{Status: status, Request: schemas.RequestRef{SHA256: fingerprint, Seq: seq}}}
}

func kept(s run.State) Whereabouts { return Whereabouts{State: &s} }

func (w Whereabouts) with(s run.State) Whereabouts {
	w.State = &s
	return w
}

func fits() run.State {
	return run.State{V: run.StateVersion, Phase: run.Calling, PromptSHA256: "p", Generation: 2}
}

func fitsNot() run.State {
	s := fits()
	s.PromptSHA256 = "another rendering"
	return s
}

// open and closed are gates; a closed one opens in 9 s.
var (
	open   = capacity.GateState{}
	closed = capacity.GateState{Phase: capacity.Closed, Cause: "429 slow_down", Until: now.Add(9 * time.Second)}
	own    = capacity.GateState{Phase: capacity.Closed, Cause: "no_credential", Until: now.Add(9 * time.Second)}
)

// settledStatus lists every status, and whether a new publish of the same content runs again.
var settledStatus = map[string]bool{
	schemas.StatusSucceeded: false, schemas.StatusUnverified: false, schemas.StatusInvalid: false, schemas.StatusRejected: false,
	schemas.StatusFailed: true, schemas.StatusExpired: true, schemas.StatusCancelled: true,
}

type decision struct {
	name string
	d    Delivery
	w    Whereabouts
	gate capacity.GateState
	want Disposition
}

func checkDecisions(t *testing.T, rows []decision) {
	t.Helper()
	for _, c := range rows {
		t.Run(c.name, func(t *testing.T) {
			got := Decide(c.d, c.w, c.gate, testLimit, now)
			if dead, ok := got.(Dead); ok {
				if dead.Message == "" {
					t.Error("a dead letter says nothing")
				}
				dead.Message = ""
				got = dead
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %#v\nwant %#v", got, c.want)
			}
		})
	}
}

// TestDecideAbandoned: too many unclean starts end a run before it is decoded, and never at the cost of what is stored.
func TestDecideAbandoned(t *testing.T) {
	abandoned := func(replace uint64) Dead {
		return Dead{Category: schemas.CategoryAbandoned, Settle: true, Replace: replace}
	}
	same, earlier := stored(schemas.StatusSucceeded, "mine", 7), stored(schemas.StatusSucceeded, "mine", 3)
	other, failed := stored(schemas.StatusSucceeded, "theirs", 3), stored(schemas.StatusFailed, "mine", 3)
	ended := stored(schemas.StatusFailed, "mine", 7)
	checkDecisions(t, []decision{
		{"one start short runs", Delivery{Seq: 7, Fingerprint: "mine", Published: now, Starts: 2, Plan: testPlan}, Whereabouts{}, open, Execute{}},
		{"nothing stored", delivered(starts(3)), Whereabouts{}, open, abandoned(0)},
		{"more than enough", delivered(starts(9)), Whereabouts{}, open, abandoned(0)},
		{"a saved state changes nothing", delivered(starts(3)), kept(fits()), open, abandoned(0)},
		{"nor does a closed gate", delivered(starts(3)), Whereabouts{}, closed, abandoned(0)},
		{"died after the settle", delivered(starts(3)), same, open, Resend{same.Result}},
		{"died after it was abandoned", delivered(starts(3)), ended, open, Resend{ended.Result}},
		{"an answer to an earlier publish stays", delivered(starts(3)), earlier, open, Resend{earlier.Result}},
		{"an earlier failure is replaced", delivered(starts(3)), failed, open, abandoned(40)},
		{"other content keeps its result", delivered(starts(3)), other, open, Dead{Category: schemas.CategoryIDConflict}},
	})
	if got := Decide(delivered(starts(3), func(d *Delivery) { d.Plan = testPlan }), Whereabouts{}, open, Limits{}, now); got != (Execute{}) {
		t.Errorf("max_starts 0 is no limit: %#v", got)
	}
}

// TestDecideRefused: malformed and forbidden are final, unknown only after the grace; none of them is settled.
func TestDecideRefused(t *testing.T) {
	dead := Dead{Category: schemas.CategoryInvalidRequest}
	done, failed := stored(schemas.StatusSucceeded, "mine", 7), stored(schemas.StatusFailed, "mine", 3)
	earlier := stored(schemas.StatusSucceeded, "mine", 3)
	wait := HandBack{Delay: unknownRetry, Cause: "unknown_prompt"}
	checkDecisions(t, []decision{
		{"malformed", delivered(refusal(prompts.ErrMalformed, 0)), Whereabouts{}, open, dead},
		{"forbidden", delivered(refusal(prompts.ErrForbidden, 0)), Whereabouts{}, open, dead},
		{"a closed gate does not keep it", delivered(refusal(prompts.ErrMalformed, 0)), Whereabouts{}, closed, dead},
		{"unknown, just published", delivered(refusal(prompts.ErrUnknown, 0)), Whereabouts{}, open, wait},
		{"a blob that is not stored, just published", delivered(refusal(fmt.Errorf("%w: %w", prompts.ErrUnknown, ErrNoBlob), 0)), Whereabouts{}, open, HandBack{Delay: unknownRetry, Cause: "unknown_blob"}},
		{"unknown, at the end of the grace", delivered(refusal(prompts.ErrUnknown, 30*time.Second-1)), Whereabouts{}, open, wait},
		{"unknown, grace over", delivered(refusal(prompts.ErrUnknown, 30*time.Second)), Whereabouts{}, open, dead},
		{"settled, then its prompt went away", delivered(refusal(prompts.ErrUnknown, time.Hour)), done, open, Resend{done.Result}},
		{"settled, within the grace", delivered(refusal(prompts.ErrUnknown, 0)), done, open, Resend{done.Result}},
		{"answered under an earlier publish", delivered(refusal(prompts.ErrForbidden, 0)), earlier, open, Resend{earlier.Result}},
		{"an old failure does not hide it", delivered(refusal(prompts.ErrMalformed, 0)), failed, open, dead},
		{"other content under the id is not shown", delivered(refusal(prompts.ErrMalformed, 0)), stored(schemas.StatusSucceeded, "theirs", 3), open, dead},
	})
}

// TestDecideSettled: every status, from this message and from an earlier one.
func TestDecideSettled(t *testing.T) {
	var rows []decision
	for status, again := range settledStatus {
		same, earlier := stored(status, "mine", 7), stored(status, "mine", 3)
		var want Disposition = Resend{earlier.Result}
		if again {
			want = Execute{Replace: 40}
		}
		rows = append(rows,
			decision{status + ", same message", delivered(), same, open, Resend{same.Result}},
			decision{status + ", published anew", delivered(), earlier, open, want},
			decision{status + ", other content", delivered(), stored(status, "theirs", 3), open, Dead{Category: schemas.CategoryIDConflict}},
			decision{status + ", the closed gate does not keep its answer", delivered(), same, closed, Resend{same.Result}},
			decision{status + ", its deadline does not either", delivered(deadline(now.Add(-time.Second))), same, open, Resend{same.Result}})
	}
	checkDecisions(t, rows)
}

// TestDecideReplayed: a grant lets other content replace an end that was no answer, and nothing else.
func TestDecideReplayed(t *testing.T) {
	granted := func(status string, seq uint64) Whereabouts {
		w := stored(status, "theirs", seq)
		w.Granted = true
		return w
	}
	conflict := Dead{Category: schemas.CategoryIDConflict}
	rows := []decision{
		{"died too often", delivered(starts(3)), granted(schemas.StatusFailed, 3), open, Dead{Category: schemas.CategoryAbandoned, Settle: true, Replace: 40}},
		{"gate closed", delivered(), granted(schemas.StatusFailed, 3), closed, HandBack{Delay: 9 * time.Second, Cause: "429 slow_down"}},
		{"deadline passed", delivered(deadline(now)), granted(schemas.StatusFailed, 3), open, Expire{Reason: "deadline", Replace: 40}},
		{"state kept", delivered(), granted(schemas.StatusFailed, 3).with(fits()), open, Resume{State: fits(), Replace: 40}},
		{"its prompt went away", delivered(refusal(prompts.ErrUnknown, time.Hour)), granted(schemas.StatusFailed, 3), open, Dead{Category: schemas.CategoryInvalidRequest}},
	}
	for status, again := range settledStatus {
		var want Disposition = conflict
		if again {
			want = Execute{Replace: 40}
		}
		rows = append(rows, decision{status, delivered(), granted(status, 3), open, want})
	}
	checkDecisions(t, rows)
}

// TestDecideInReview: a run that waits for a person is executed by nobody, whatever else is true of it.
func TestDecideInReview(t *testing.T) {
	entry := func(fingerprint string, seq uint64, w Whereabouts) Whereabouts {
		w.Review = &review{Fingerprint: fingerprint, RequestSeq: seq}
		return w
	}
	same, failed := stored(schemas.StatusSucceeded, "mine", 7), stored(schemas.StatusFailed, "mine", 3)
	checkDecisions(t, []decision{
		{"the ack was lost", delivered(), entry("mine", 7, Whereabouts{}), open, InReview{}},
		{"published anew", delivered(), entry("mine", 3, Whereabouts{}), open, InReview{}},
		{"the closed gate does not keep it", delivered(), entry("mine", 3, Whereabouts{}), closed, InReview{}},
		{"its deadline stands still", delivered(deadline(now.Add(-time.Hour))), entry("mine", 3, Whereabouts{}), open, InReview{}},
		{"a saved state is not taken up", delivered(), entry("mine", 7, kept(fits())), open, InReview{}},
		{"it died too often", delivered(starts(3)), entry("mine", 7, Whereabouts{}), open, InReview{}},
		{"its prompt went away", delivered(refusal(prompts.ErrUnknown, time.Hour)), entry("mine", 3, Whereabouts{}), open, InReview{}},
		{"the outcome that it replaces changes nothing", delivered(), entry("mine", 5, failed), open, InReview{}},
		{"other content", delivered(), entry("theirs", 3, Whereabouts{}), open, Dead{Category: schemas.CategoryIDConflict}},
		{"other content that cannot be run", delivered(refusal(prompts.ErrMalformed, 0)), entry("theirs", 3, Whereabouts{}), open, Dead{Category: schemas.CategoryInvalidRequest}},
		{"decided, the entry left behind", delivered(), entry("mine", 7, same), open, Resend{same.Result}},
		{"an older run's entry left behind", delivered(), entry("mine", 3, failed), open, Execute{Replace: 40}},
	})
}

// TestDecideConflictRevealsNothing: what is stored under another's content shows in no word of the answer.
func TestDecideConflictRevealsNothing(t *testing.T) {
	a := Decide(delivered(), stored(schemas.StatusSucceeded, "theirs", 3), open, testLimit, now)
	b := Decide(delivered(), stored(schemas.StatusFailed, "others", 5), open, testLimit, now)
	c := Decide(delivered(), Whereabouts{Review: &review{Fingerprint: "theirs", RequestSeq: 3}}, open, testLimit, now)
	if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(a, c) {
		t.Errorf("%#v, %#v and %#v tell apart", a, b, c)
	}
}

// TestDecideTime: deadline and queue_ttl end a run without a call, whatever the gate says; boundaries included.
func TestDecideTime(t *testing.T) {
	failed := stored(schemas.StatusFailed, "mine", 3)
	checkDecisions(t, []decision{
		{"deadline ahead", delivered(deadline(now.Add(1))), Whereabouts{}, open, Execute{}},
		{"deadline now", delivered(deadline(now)), Whereabouts{}, open, Expire{Reason: "deadline"}},
		{"deadline passed, gate closed", delivered(deadline(now.Add(-1))), Whereabouts{}, closed, Expire{Reason: "deadline"}},
		{"deadline passed, state kept", delivered(deadline(now.Add(-1))), kept(fits()), open, Expire{Reason: "deadline"}},
		{"deadline passed, failure replaced", delivered(deadline(now)), failed, open, Expire{Reason: "deadline", Replace: 40}},
		{"queue_ttl not over", delivered(published(24*time.Hour - 1)), Whereabouts{}, open, Execute{}},
		{"queue_ttl over", delivered(published(24 * time.Hour)), Whereabouts{}, open, Expire{Reason: "queue_ttl"}},
		{"both over", delivered(deadline(now), published(25*time.Hour), deadline(now)), Whereabouts{}, open, Expire{Reason: "deadline"}},
	})
	if got := Decide(delivered(published(1e6*time.Hour)), Whereabouts{}, open, Limits{}, now); got != (Execute{}) {
		t.Errorf("queue_ttl 0 is no limit: %#v", got)
	}
}

// TestDecideRuns: what runs, from where, and what waits at the gate.
func TestDecideRuns(t *testing.T) {
	failed := stored(schemas.StatusFailed, "mine", 3)
	late := closed
	late.Until = now.Add(-time.Minute)
	badPhase, oldVersion := fits(), fits()
	badPhase.Phase, oldVersion.V = "elsewhere", run.StateVersion-1
	checkDecisions(t, []decision{
		{"nothing is known", delivered(), Whereabouts{}, open, Execute{}},
		{"gate closed", delivered(), Whereabouts{}, closed, HandBack{Delay: 9 * time.Second, Cause: "429 slow_down"}},
		{"gate closed by this worker's own trouble", delivered(), Whereabouts{}, own, HandBack{Delay: troubleDelay, Cause: "no_credential"}},
		{"gate closed, state kept", delivered(), kept(fits()), closed, HandBack{Delay: 9 * time.Second, Cause: "429 slow_down"}},
		{"gate about to probe", delivered(), Whereabouts{}, late, HandBack{Delay: time.Second, Cause: "429 slow_down"}},
		{"gate slow", delivered(), Whereabouts{}, capacity.GateState{Phase: capacity.Slow, Limit: 1}, Execute{}},
		{"gate probing", delivered(), Whereabouts{}, capacity.GateState{Phase: capacity.Probing, Limit: 1}, Execute{}},
		{"state fits", delivered(), kept(fits()), open, Resume{State: fits()}},
		{"state of another rendering", delivered(), kept(fitsNot()), open, Execute{}},
		{"state of an older version", delivered(), kept(oldVersion), open, Execute{}},
		{"state of an unknown phase", delivered(), kept(badPhase), open, Execute{}},
		{"state fits, failure replaced", delivered(), failed.with(fits()), open, Resume{State: fits(), Replace: 40}},
		{"state does not fit, failure replaced", delivered(), failed.with(fitsNot()), open, Execute{Replace: 40}},
	})
}

// TestDecideRefusalKeepsItsWords: the requester is told what is wrong.
func TestDecideRefusalKeepsItsWords(t *testing.T) {
	d := delivered(refusal(prompts.ErrMalformed, 0))
	if got := Decide(d, Whereabouts{}, open, testLimit, now).(Dead); got.Message != d.Refusal.Error() || !errors.Is(d.Refusal, prompts.ErrMalformed) {
		t.Errorf("%#v", got)
	}
}
