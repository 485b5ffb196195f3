package run

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"emend/engine/contract"
	"emend/schemas"
)

func plan(t *testing.T, mode string, transient, repairs int) *Plan {
	t.Helper()
	spec := contract.Spec{Mode: mode}
	if mode == schemas.ModeJSONSchema {
		spec.Schema = json.RawMessage(`{"type":"object","required":["a"]}`)
	}
	c, err := contract.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	return &Plan{Backend: "b", Contract: c, Output: schemas.Output{Mode: mode, RepairAttempts: repairs}, TransientRetries: transient, PromptSHA256: "h"}
}

func status(code int) Failed {
	return Failed{Failure: Failure{Category: schemas.CategoryProviderStatus, Status: code, Message: "status"}}
}

func answer(text string) Answered { return Answered{Candidate: Candidate{Text: text, Finish: "stop"}} }

var events = []Event{Started{}, answer("x"), status(500), Waited{D: time.Second}, invalid, approves, Escalated{},
	Decided{Review: schemas.Review{Decision: schemas.DecisionApprove}}, Cancelled{Status: schemas.StatusCancelled, Cause: context.Canceled}}

var (
	invalid  = Voted{Verdict: contract.Verdict{Class: contract.NotJSON}}
	approves = Validated{Vote: schemas.Validator{Name: "j@1", Outcome: schemas.VoteApproved, Calls: 1}}
)

// inPhase is a State that a run can really have in each phase.
func inPhase(p *Plan, ph Phase) State {
	s := p.Start()
	toJudge := []Event{Started{}, answer("x"), invalid}
	steps := map[Phase][]Event{Validating: append(toJudge, Escalated{}), Escalating: toJudge,
		Reviewing: append(toJudge, Escalated{}, approves, Escalated{}), New: nil, Calling: {Started{}}, Waiting: {Started{}, status(503)}, Judging: {Started{}, answer("x")},
		Done: {Started{}, status(404)}}
	for _, e := range steps[ph] {
		s, _ = p.Step(s, e)
	}
	return s
}

// Every (phase, event) cell: one in the table leads where the table says, any other ends the run as an internal fault.
func TestStepEveryCell(t *testing.T) {
	repairs, p := plan(t, schemas.ModeJSON, 2, 1), plan(t, schemas.ModeJSON, 2, 0)
	p.Output.OnExhausted, p.Sink, p.Validators = "escalate", SinkReview, []Validator{{Name: "j@1"}}
	for _, ph := range Phases {
		for _, e := range events {
			if ph == Judging {
				next, _ := repairs.Step(inPhase(repairs, ph), e)
				if c, known := table[ph][e.event()]; known && !slices.Contains(c.to, next.Phase) {
					t.Errorf("%s/%s with a budget led to %s", ph, e.event(), next.Phase)
				}
			}
			s := inPhase(p, ph)
			if s.Phase != ph {
				t.Fatalf("no way into phase %s", ph)
			}
			before, _ := json.Marshal(s)
			next, action := p.Step(s, e)
			after, _ := json.Marshal(s)
			if string(before) != string(after) {
				t.Errorf("%s/%s changed its argument", ph, e.event())
			}
			c, known := table[ph][e.event()]
			switch {
			case known && !slices.Contains(c.to, next.Phase):
				t.Errorf("%s/%s led to %s, the table says %v", ph, e.event(), next.Phase, c.to)
			case !known && (next.Status != schemas.StatusFailed || next.Failure.Category != schemas.CategoryInternal):
				t.Errorf("%s/%s: impossible event ended as %s", ph, e.event(), next.Status)
			}
			if _, finish := action.(Finish); finish != (next.Phase == Done || next.Phase == Reviewing) {
				t.Errorf("%s/%s: action %T in phase %s", ph, e.event(), action, next.Phase)
			}
		}
	}
}

func TestTransientStatusesOnly(t *testing.T) {
	for _, c := range []struct {
		name  string
		fail  Failed
		retry bool
	}{
		{"429", status(429), true}, {"500", status(500), true}, {"502", status(502), true}, {"503", status(503), true}, {"504", status(504), true},
		{"501", status(501), false}, {"529", status(529), false}, {"400", status(400), false}, {"408", status(408), false},
		{"transport", Failed{Failure: Failure{Category: schemas.CategoryTransport}}, false},
		{"malformed", Failed{Failure: Failure{Category: schemas.CategoryProviderResponse}}, false},
		{"timeout", Failed{Failure: Failure{Category: schemas.CategoryTimeout}}, false},
		{"refused", Failed{Failure: Failure{Category: schemas.CategoryRefused}}, false},
		{"quota", Failed{Failure: Failure{Category: schemas.CategoryProviderStatus, Status: 429, Permanent: true}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := plan(t, schemas.ModeNone, 1, 0)
			s, _ := p.Step(p.Start(), Started{})
			_, a := p.Step(s, c.fail)
			if _, waits := a.(Wait); waits != c.retry {
				t.Errorf("action %T, retry expected %v", a, c.retry)
			}
		})
	}
	t.Run("529 when the backend adds it", func(t *testing.T) {
		p := plan(t, schemas.ModeNone, 1, 0)
		p.ExtraStatuses = []int{529}
		s, _ := p.Step(p.Start(), Started{})
		if _, a := p.Step(s, status(529)); reflect.TypeOf(a) != reflect.TypeFor[Wait]() {
			t.Errorf("action %T", a)
		}
	})
}

// script answers calls from a list, so that Drive is tested without a provider.
type script struct {
	plan  *Plan
	votes []Validated
	sinks []string
	calls []Event
	seen  []Call
	waits []Wait
}

func (x *script) Call(_ context.Context, _ State, c Call) Event {
	x.seen = append(x.seen, c)
	e := x.calls[0]
	x.calls = x.calls[1:]
	return e
}

func (x *script) Judge(_ context.Context, s State, _ Judge) Event {
	v := x.plan.Contract.Judge([]byte(s.Candidate.Text))
	if v.Err != nil {
		return Failed{Failure: Failure{Category: schemas.CategoryValidation, Message: v.Err.Error()}}
	}
	return Voted{Verdict: v}
}

func (x *script) Validate(_ context.Context, _ State, v Validate) Event { return x.votes[v.Index] }

func (x *script) Escalate(_ context.Context, _ State, e Escalate) Event {
	x.sinks = append(x.sinks, e.Sink)
	return Escalated{}
}

func (x *script) Wait(_ context.Context, _ State, w Wait) Event {
	x.waits = append(x.waits, w)
	return Waited{D: w.AtLeast}
}

func drive(t *testing.T, p *Plan, calls ...Event) (Result, *script) {
	t.Helper()
	x := &script{plan: p, calls: calls}
	res, err := Drive(t.Context(), p, p.Start(), x, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res, x
}

func TestCallsAreAtMostTheProduct(t *testing.T) {
	p := plan(t, schemas.ModeJSON, 2, 3)
	var calls []Event
	for range 4 {
		calls = append(calls, status(503), status(429), answer("no json"))
	}
	res, x := drive(t, p, calls...)
	if len(x.seen) != p.MaxCalls() || p.MaxCalls() != 12 {
		t.Errorf("%d calls, the plan allows %d", len(x.seen), p.MaxCalls())
	}
	if res.Status != schemas.StatusInvalid || res.State.Counts.Repairs != 3 || res.State.Counts.Retries != 8 {
		t.Errorf("status %s, counts %+v", res.Status, res.State.Counts)
	}
}

func TestFirstValidCandidateEndsTheRun(t *testing.T) {
	res, x := drive(t, plan(t, schemas.ModeJSON, 0, 3), answer("bad"), answer(`{"a":1}`))
	if res.Status != schemas.StatusSucceeded || len(x.seen) != 2 || res.State.Candidate.Text != `{"a":1}` {
		t.Errorf("status %s after %d calls", res.Status, len(x.seen))
	}
	if x.seen[1].Kind != schemas.GenerationRepair || x.seen[1].Style != StyleConversation || x.seen[1].N != 1 || x.seen[1].M != 3 {
		t.Errorf("the corrective call is %+v", x.seen[1])
	}
}

func TestExhaustedRetriesKeepTheFinalCauseAndCount(t *testing.T) {
	last := status(429)
	last.Failure.RetryAfter = 7 * time.Second
	res, x := drive(t, plan(t, schemas.ModeNone, 2, 0), status(500), status(502), last)
	f := res.Failure
	if f == nil || !f.Exhausted || f.Attempts != 3 || f.Status != 429 || f.RetryAfter != 7*time.Second || len(x.waits) != 2 {
		t.Errorf("failure %+v after %d waits", f, len(x.waits))
	}
}

func TestZeroRetriesFailAtOnceAndAreNotExhaustion(t *testing.T) {
	res, x := drive(t, plan(t, schemas.ModeNone, 0, 0), status(503))
	if len(x.seen) != 1 || res.Failure.Exhausted {
		t.Errorf("%d calls, exhausted %v", len(x.seen), res.Failure.Exhausted)
	}
}

func TestRetryAfterIsTheMinimumWait(t *testing.T) {
	f := status(429)
	f.Failure.RetryAfter = 90 * time.Second
	_, x := drive(t, plan(t, schemas.ModeNone, 1, 0), f, answer("x"))
	if len(x.waits) != 1 || x.waits[0].AtLeast != 90*time.Second || x.waits[0].N != 1 {
		t.Errorf("waits %+v", x.waits)
	}
}

func TestEachGenerationHasItsOwnRetries(t *testing.T) {
	res, x := drive(t, plan(t, schemas.ModeJSON, 1, 1), status(503), answer("bad"), status(503), answer("1"))
	if res.Status != schemas.StatusSucceeded || len(x.seen) != 4 || x.waits[1].N != 1 {
		t.Errorf("status %s, %d calls, waits %+v", res.Status, len(x.seen), x.waits)
	}
}

// Reports T01, T05, J11: a cut answer is asked for again, once a run, and is never shown in a growing prompt.
func TestCutAnswerIsRegeneratedOnceARun(t *testing.T) {
	cut := Answered{Candidate: Candidate{Text: `{"items":["a"`, Finish: "length"}}
	res, x := drive(t, plan(t, schemas.ModeJSON, 0, 2), cut, cut)
	if len(x.seen) != 2 || x.seen[1].Style != StyleRegenerate || res.Status != schemas.StatusInvalid {
		t.Errorf("%d calls, style %q, status %s", len(x.seen), x.seen[len(x.seen)-1].Style, res.Status)
	}
	t.Run("whatever the stop reason says", func(t *testing.T) {
		_, x := drive(t, plan(t, schemas.ModeJSON, 0, 1), answer(`{"text":"abc`), answer("1"))
		if x.seen[1].Style != StyleRegenerate {
			t.Errorf("style %q", x.seen[1].Style)
		}
	})
	t.Run("never at budget 0", func(t *testing.T) {
		if _, x := drive(t, plan(t, schemas.ModeJSON, 0, 0), cut); len(x.seen) != 1 {
			t.Errorf("%d calls", len(x.seen))
		}
	})
	t.Run("cut but valid is valid", func(t *testing.T) {
		res, x := drive(t, plan(t, schemas.ModeJSON, 0, 1), Answered{Candidate: Candidate{Text: "{}", Finish: "length"}})
		if res.Status != schemas.StatusSucceeded || len(x.seen) != 1 {
			t.Errorf("status %s, %d calls", res.Status, len(x.seen))
		}
	})
}

// Reports U01, U03, U05: usage is cumulative, on success and on exhaustion.
func TestUsageIsCumulative(t *testing.T) {
	in, out, in2, out2 := int64(10), int64(5), int64(20), int64(6)
	first := Answered{Candidate: Candidate{Text: "bad"}, Tokens: &schemas.Tokens{Input: &in, Output: &out}}
	for _, text := range []string{`{"a":"x"}`, "bad again"} {
		second := Answered{Candidate: Candidate{Text: text}, Tokens: &schemas.Tokens{Input: &in2, Output: &out2}}
		res, _ := drive(t, plan(t, schemas.ModeJSON, 0, 1), first, second)
		u := res.State.Usage.Usage()
		if *u.Input != 30 || *u.Output != 11 || u.Calls != 2 || !u.Complete {
			t.Errorf("%s: usage %+v", res.Status, u)
		}
	}
}

func TestUsageTellsMissingFromZero(t *testing.T) {
	zero, in := int64(0), int64(4)
	res, _ := drive(t, plan(t, schemas.ModeJSON, 0, 1), Answered{Candidate: Candidate{Text: "bad"}, Tokens: &schemas.Tokens{Input: &in, Output: &zero}},
		Answered{Candidate: Candidate{Text: "1"}})
	u := res.State.Usage.Usage()
	if u.Output == nil || *u.Output != 0 || u.Cached != nil || u.Complete || u.CallsWithoutUsage != 1 || !slices.Equal(u.Partial, []string{"input_tokens", "output_tokens"}) {
		t.Errorf("usage %+v", u)
	}
}

func TestOnExhaustedFail(t *testing.T) {
	p := plan(t, schemas.ModeJSON, 0, 0)
	p.Output.OnExhausted = "fail"
	res, _ := drive(t, p, answer("bad"))
	if res.Status != schemas.StatusFailed || res.Failure.Category != schemas.CategoryOutputInvalid {
		t.Errorf("status %s, failure %+v", res.Status, res.Failure)
	}
}

// A State that was stored between generations leads to the same end as one that never was.
func TestResumeFromEveryState(t *testing.T) {
	p := plan(t, schemas.ModeJSON, 1, 2)
	calls := []Event{status(503), answer("bad"), answer("worse"), answer(`{"a":1}`)}
	x := &script{plan: p, calls: slices.Clone(calls)}
	var stored [][]byte
	want, err := Drive(t.Context(), p, p.Start(), x, func(s State) error {
		b, err := json.Marshal(s)
		stored = append(stored, b)
		return err
	})
	if err != nil || len(stored) != 2 {
		t.Fatalf("%d states were saved, %v", len(stored), err)
	}
	for i, b := range stored {
		var s State
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		if err := p.Fits(s); err != nil {
			t.Fatal(err)
		}
		got, err := Drive(t.Context(), p, s, &script{plan: p, calls: slices.Clone(calls[2+i:])}, nil)
		if err != nil || got.Status != want.Status || got.State.Counts != want.State.Counts || len(got.State.Attempts) != len(want.State.Attempts) {
			t.Errorf("resumed from state %d: %s %+v, %v", i, got.Status, got.State.Counts, err)
		}
	}
}

func TestSaveErrorKeepsWhatWasReached(t *testing.T) {
	p := plan(t, schemas.ModeJSON, 0, 1)
	full := errors.New("full")
	res, err := Drive(t.Context(), p, p.Start(), &script{plan: p, calls: []Event{answer("bad")}}, func(State) error { return full })
	if !errors.Is(err, full) || res.State.Counts.Calls != 1 || res.State.Candidate.Text != "bad" {
		t.Errorf("%v, state %+v", err, res.State)
	}
}

func TestPutDownStartsTheGenerationAnew(t *testing.T) {
	p := plan(t, schemas.ModeJSON, 1, 1)
	res, _ := drive(t, p, answer("bad"), status(503), status(503))
	s := p.PutDown(res.State)
	if s.Phase != Calling || s.Generation != 2 || s.Attempt != 0 || s.Left.Transient != 1 || s.Counts.Calls != 3 || s.Candidate.Text != "bad" {
		t.Errorf("state %+v", s)
	}
	again, err := Drive(t.Context(), p, s, &script{plan: p, calls: []Event{answer("1")}}, nil)
	if err != nil || again.Status != schemas.StatusSucceeded || again.State.Counts.Calls != 4 {
		t.Errorf("%v, %s %+v", err, again.Status, again.State.Counts)
	}
}

func TestFitsRefusesAnothersState(t *testing.T) {
	p := plan(t, schemas.ModeJSON, 0, 0)
	for name, change := range map[string]func(*State){
		"version": func(s *State) { s.V = 99 }, "prompt": func(s *State) { s.PromptSHA256 = "other" }, "phase": func(s *State) { s.Phase = "odd" },
	} {
		s := p.Start()
		change(&s)
		if p.Fits(s) == nil {
			t.Errorf("a state with another %s fits", name)
		}
	}
}

func TestCancelledKeepsTheOpenCallOnTheBill(t *testing.T) {
	res, _ := drive(t, plan(t, schemas.ModeNone, 0, 0), Cancelled{Status: schemas.StatusExpired, Cause: context.DeadlineExceeded, Open: true})
	if res.Status != schemas.StatusExpired || res.State.Counts.Calls != 1 || res.State.Usage.Without != 1 || !errors.Is(res.Failure.Cause, context.DeadlineExceeded) {
		t.Errorf("%s %+v %+v", res.Status, res.State.Counts, res.Failure)
	}
}

func TestDiagramNamesEveryPhaseAndCell(t *testing.T) {
	d := Diagram()
	for from, row := range table {
		for name, c := range row {
			for _, to := range c.to {
				if !strings.Contains(d, string(from)+" --> "+string(to)+": "+name) {
					t.Errorf("the diagram lacks %s --%s--> %s", from, name, to)
				}
			}
		}
	}
}

// A native form that the provider refuses is tried in the dialect's other form: an attempt like any other, once a run.
func TestNativeFallbackIsAnAttempt(t *testing.T) {
	refused := status(400)
	refused.Failure.Permanent, refused.Failure.Fallback = true, true
	for _, c := range []struct {
		transient, calls int
		ok               bool
	}{{0, 1, false}, {1, 2, true}, {2, 2, true}} {
		p := plan(t, schemas.ModeJSON, c.transient, 0)
		x := &fallback{script: script{plan: p, calls: []Event{refused, answer("{}")}}}
		res, err := Drive(t.Context(), p, p.Start(), x, nil)
		if err != nil || len(x.seen) != c.calls || (res.Status == schemas.StatusSucceeded) != c.ok || len(x.waits) != 0 || x.other[0] || (c.ok && !x.other[1]) {
			t.Errorf("%d retries: %v, %d calls, %s, forms %v", c.transient, err, len(x.seen), res.Status, x.other)
		}
	}
	p := plan(t, schemas.ModeJSON, 3, 0)
	if res, x := drive(t, p, refused, refused); len(x.seen) != 2 || res.Status != schemas.StatusFailed {
		t.Errorf("refused twice: %d calls, %s", len(x.seen), res.Status)
	}
}

type fallback struct {
	script
	other []bool
}

func (x *fallback) Call(ctx context.Context, s State, c Call) Event {
	x.other = append(x.other, s.Fallback)
	return x.script.Call(ctx, s, c)
}
