package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"emend/engine/event"
	"emend/engine/provider"
	"emend/engine/repair"
	"emend/engine/run"
	"emend/schemas"
)

// Backoff between attempts: exponential from backoffBase, at most backoffMax, with the upper half random, so that runs
// that failed together do not come back together.
const (
	backoffBase = 500 * time.Millisecond
	backoffMax  = 20 * time.Second
)

// effects perform the actions of one execution.
type effects struct {
	client   LLMClient
	injected bool
	plan     *run.Plan
	// permit is asked for before each call of the plan.
	permit   func(context.Context) (release func(), err error)
	judges   judges
	obs      observer
	patience time.Duration
	// meter, if any, is asked before each call; queue is whose run it is.
	meter Meter
	queue string
	// propagate, if any, tells the trace context of a call.
	propagate func() string
	// before is what the run that asks a judge had spent.
	before schemas.CostSum
	// allow is asked before every call; denied keeps its error.
	allow  func() error
	denied error
}

// Call makes one provider call while it holds a permit.
func (x *effects) Call(ctx context.Context, s run.State, c run.Call) run.Event {
	pos := x.position(c)
	if c.Stage > 1 && c.Generation == 1 && c.Attempt == 1 {
		x.obs.send(ctx, event.Stage{Position: pos, Cause: c.StageKind})
	}
	if c.N > 0 && c.Attempt == 1 {
		x.obs.send(ctx, event.Repair{Position: pos, Style: c.Style, N: c.N, M: c.M})
	}
	req := x.request(s, c)
	metered := x.metered(req)
	if f := x.unaffordable(s, metered); f != nil {
		return run.Failed{NotStarted: true, Failure: *f}
	}
	asked := time.Now()
	release, err := x.permit(ctx)
	times := run.CallTimes{Wait: time.Since(asked), Appended: x.appended(req)}
	if err != nil {
		return x.refused(ctx, err, times)
	}
	defer release()
	end, none := x.begin(ctx, metered, times)
	if none != nil {
		return none
	}
	times.Wait = time.Since(asked)
	if x.allow != nil {
		if x.denied = x.allow(); x.denied != nil {
			end(Spent{Known: true})
			return run.Failed{NotStarted: true, Call: times, Failure: run.Failure{Category: schemas.CategoryInternal,
				Message: "the caller no longer allows calls", Cause: x.denied}}
		}
		if ctx.Err() != nil { // a run that was stopped while it was asked begins no call
			end(Spent{Known: true})
			return stop(ctx, false, times)
		}
	}
	x.obs.send(ctx, event.AttemptStarted{Position: pos, CapacityWait: times.Wait})
	began := time.Now()
	resp, err := x.client.Generate(x.traced(ctx), req)
	times.Duration = time.Since(began)
	release()
	e := x.ended(ctx, resp, err, times)
	end(x.spent(resp, e))
	x.observe(ctx, pos, e, times)
	return e
}

// traced carries the trace context of the call that begins.
func (x *effects) traced(ctx context.Context) context.Context {
	if x.propagate == nil {
		return ctx
	}
	return provider.WithTraceparent(ctx, x.propagate())
}

func (x *effects) refused(ctx context.Context, err error, times run.CallTimes) run.Event {
	if ctx.Err() != nil {
		return stop(ctx, false, times)
	}
	return run.Failed{NotStarted: true, Failure: gateFailure(x.plan.Backend, err), Call: times}
}

// ended classifies the end of a call.
func (x *effects) ended(ctx context.Context, resp *GenerateResponse, err error, times run.CallTimes) run.Event {
	switch {
	case err == nil && resp != nil:
		return run.Answered{Call: times, Tokens: resp.Tokens,
			Candidate: run.Candidate{Text: resp.Text, Finish: resp.Finish, ProviderFinish: word(resp.ProviderFinish), Model: resp.Model, Arguments: resp.Arguments}}
	case err == nil:
		return run.Failed{Call: times, Failure: run.Failure{Category: schemas.CategoryProviderResponse, Billed: true,
			Message: fmt.Sprintf("backend %q: the client returned neither a response nor an error", x.plan.Backend)}}
	case ctx.Err() != nil:
		return stop(ctx, true, times)
	case errors.Is(err, context.Canceled):
		return run.Cancelled{Status: schemas.StatusCancelled, Cause: err, Open: true, Call: times}
	case errors.Is(err, context.DeadlineExceeded) && x.injected:
		return run.Failed{Call: times, Failure: run.Failure{Category: schemas.CategoryTimeout, Billed: true, Cause: err,
			Message: fmt.Sprintf("backend %q: the injected client timed out", x.plan.Backend)}}
	}
	e := run.Failed{Call: times, Failure: failure(x.plan.Backend, x.injected, err)}
	if pe, ok := provider.AsError(err); ok {
		e.Tokens = pe.Tokens
	}
	e.NotStarted = e.Failure.Category == schemas.CategoryInvalidRequest
	return e
}

// word keeps a provider's word if it is one: its text is nobody's but the provider's.
func word(s string) string {
	if len(s) > 64 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		return ""
	}
	return s
}

func (x *effects) observe(ctx context.Context, pos event.Position, e run.Event, times run.CallTimes) {
	out := event.Attempt{Position: pos, CapacityWait: times.Wait, Duration: times.Duration}
	out.At = time.Now()
	switch e := e.(type) {
	case run.Answered:
		out.Outcome, out.Usage = schemas.OutcomeCompleted, e.Tokens
	case run.Failed:
		out.Outcome, out.Status, out.Usage = e.Failure.Category, e.Failure.Status, e.Tokens
	case run.Cancelled:
		out.Outcome = e.Status
	}
	if usd, known := x.plan.Price.Of(out.Usage); known {
		out.Cost = &usd
	}
	x.obs.send(ctx, out)
}

// request is the model request of one call: the same messages, target, settings, session and native schema every time,
// extended by the correction of a repair.
func (x *effects) request(s run.State, c run.Call) *GenerateRequest {
	p := x.plan
	req := &GenerateRequest{Model: p.Model, Messages: p.Base(s), Settings: p.Settings, Session: p.Session, Fallback: s.Fallback}
	if p.NativeSchema != nil {
		req.Schema = &provider.Schema{Name: p.NativeName, Bytes: p.NativeSchema}
	}
	if c.N > 0 {
		style := correction(p, s, c.Style)
		style.N, style.M = c.N, c.M
		req.Messages = repair.Correct(req.Messages, []byte(s.Candidate.Text), s.Judged.Verdict(), style)
	}
	return req
}

// appended is what a request has behind the ordinary prompt, where the result tells of it.
func (x *effects) appended(req *GenerateRequest) []schemas.Message {
	if x.plan.Attempts != schemas.AttemptsFull {
		return nil
	}
	return req.Messages[len(x.plan.Messages):]
}

// Judge gives the verdict; the permit is free meanwhile.
func (x *effects) Judge(ctx context.Context, s run.State, _ run.Judge) run.Event {
	began := time.Now()
	v := x.plan.Contract.JudgeText(s.Candidate.Text)
	voted, changes := preserved(x.plan, s, v)
	v = voted.Verdict
	pos := x.position(run.Call{Stage: s.Stage, Generation: s.Generation, Attempt: s.Attempt, Kind: kind(s.Generation)})
	out := event.Validation{Position: pos, Class: string(v.Class), Valid: v.Valid(), Duration: time.Since(began), Findings: shown(v, x.plan.Audit),
		Mended: v.Mended, Changed: maskedChanges(changes)}
	if v.Err != nil {
		out.Class = ""
		x.obs.send(ctx, out)
		return run.Failed{Failure: run.Failure{Category: schemas.CategoryValidation, Message: v.Err.Error(), Cause: v.Err, Billed: true}}
	}
	x.obs.send(ctx, out)
	if !v.Valid() && s.Left.Repair > 0 {
		choice := repair.Choose([]byte(s.Candidate.Text), v, options(x.plan))
		voted.Style, voted.Targets = choice.Style, choice.Targets
	}
	return voted
}

// Wait pauses before another attempt, without a permit. A wait that would pass the deadline ends the run now; one that
// is longer than the execution's patience is left to whoever owns the queue.
func (x *effects) Wait(ctx context.Context, s run.State, w run.Wait) run.Event {
	delay := max(backoff(w.N), w.AtLeast)
	if d, ok := ctx.Deadline(); ok && time.Until(d) <= delay {
		return run.Cancelled{Status: schemas.StatusExpired, Cause: context.DeadlineExceeded}
	}
	if x.patience > 0 && delay > x.patience {
		return run.Failed{Failure: *s.Failure}
	}
	pos := x.position(run.Call{Stage: s.Stage, Generation: s.Generation, Attempt: s.Attempt, Kind: kind(s.Generation)})
	x.obs.send(ctx, event.Retry{Position: pos, Cause: s.Failure.Category, Status: s.Failure.Status, Delay: delay})
	began := time.Now()
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return run.Waited{D: time.Since(began)}
	case <-ctx.Done():
		return stop(ctx, false, run.CallTimes{})
	}
}

func backoff(n int) time.Duration {
	d := backoffMax
	if n < 7 {
		d = min(backoffBase<<(n-1), backoffMax)
	}
	return d/2 + rand.N(d/2+1)
}

func stop(ctx context.Context, open bool, times run.CallTimes) run.Event {
	status := schemas.StatusCancelled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		status = schemas.StatusExpired
	}
	return run.Cancelled{Status: status, Cause: ctx.Err(), Open: open, Call: times}
}

func kind(generation int) string {
	if generation > 1 {
		return schemas.GenerationRepair
	}
	return schemas.GenerationInitial
}

func (x *effects) position(c run.Call) event.Position {
	pos := x.obs.position
	pos.At = time.Now()
	if pos.Validator == "" {
		pos.StageAttempt = c.Stage
	}
	pos.Generation, pos.GenerationKind, pos.Attempt = c.Generation, c.Kind, c.Attempt
	return pos
}

// observer sends the events of one execution; the zero value drops them.
type observer struct {
	to       event.Observer
	position event.Position
}

func (o observer) send(ctx context.Context, e event.Event) {
	if o.to != nil {
		o.to.Observe(ctx, e)
	}
}
