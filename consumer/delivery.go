package consumer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"emend/engine"
	"emend/engine/run"
	"emend/prompts"
	"emend/schemas"
	"emend/subjects"
)

// handler carries one delivery from its arrival to its ack, hand-back or end. It belongs to one goroutine.
type handler struct {
	w           *Worker
	d           *delivery
	lease       *lease
	events      *publisher
	key         Key
	backend     string
	replyTo     string
	fingerprint string
	taken       time.Time
	saved       *saved
	engine      *engine.Engine
	plan        *run.Plan
	// early is what was read of the request while the ledger was asked; nil while it was not.
	early *reading
	// checkpoints are the states that were stored for the run, the found one first: whoever takes it up next goes on from the
	// last and bills it; whoever ends it without a call bills the one that it saw.
	checkpoints []run.State
	// found is how many of the checkpoints were there when the delivery came: 0 or 1.
	found int
	// pipe coordinates a pipeline run; nil for a run of a model.
	pipe *coordination
	// stamped is the timing of the result that this handler stores.
	stamped schemas.Timing
	// asked is the prompt that the request names, in its own words.
	asked string
	// answersBefore is how many runs each backend of the plan had answered here when this one started.
	answersBefore answerCounts
}

// handle does one delivery. Whatever happens, it ends in exactly one of: ack after a stored result, term after a dead
// letter, nak, or silence when the run is another's.
func (w *Worker) handle(ctx context.Context, d *delivery) {
	h := &handler{w: w, d: d, taken: time.Now(), engine: w.engine.Load()}
	h.lease = w.leases.add(d, h.taken)
	defer w.leases.remove(h.lease)
	r := w.runOf(d)
	h.backend, h.key = r.backend, r.key
	h.fingerprint = schemas.Fingerprint(h.backend, d.msg.Data)
	h.events = &publisher{nc: w.nc, names: w.names, worker: w.id, metrics: w.opts.Metrics, key: h.key, delivery: d.count, verdicts: &w.verdicts}
	h.events.trace = h.traced()
	defer h.events.trace.End()
	if r.err != nil {
		h.unaddressable(ctx, r.err)
		return
	}
	h.decide(ctx)
}

// decide finds out where the run stands and does what Decide says.
func (h *handler) decide(ctx context.Context) {
	where, entry, err := h.find(ctx)
	if err != nil {
		h.log().Warn().Err(err).Msg("the ledger does not answer; the run is handed back")
		h.handBack(ctx, HandBack{Delay: ledgerRetry, Cause: "ledger"})
		return
	}
	h.saved = entry
	if where.State, err = h.w.blobs.whole(ctx, h.key.Queue, entry); err != nil {
		h.log().Warn().Err(err).Msg("what was saved of the run cannot be read; it is handed back")
		h.handBack(ctx, HandBack{Delay: ledgerRetry, Cause: "blob"})
		return
	}
	if where.State != nil {
		h.checkpoints, h.found = []run.State{*where.State}, 1
	}
	h.saved.By = h.w.id + "/" + strconv.FormatUint(h.d.count, 10) + "/" + strconv.FormatInt(h.taken.UnixNano(), 36)
	facts := Delivery{Seq: h.d.seq, Fingerprint: h.fingerprint, Published: h.d.published, Starts: entry.Starts}
	if !TooManyStarts(entry.Starts, h.w.limits()) {
		facts.Plan, facts.Refusal = h.read(ctx)
		if facts.Refusal != nil && !ofRequest(facts.Refusal) {
			h.log().Warn().Err(facts.Refusal).Msg("an input stored apart cannot be read; the run is handed back")
			h.handBack(ctx, HandBack{Delay: ledgerRetry, Cause: "blob"})
			return
		}
	}
	h.plan = facts.Plan
	if h.w.stopping() {
		h.handBack(ctx, HandBack{Cause: "draining"})
		return
	}
	if h.d.turnedAway {
		h.handBack(ctx, HandBack{Cause: schemas.CategoryCapacity})
		return
	}
	h.dispose(ctx, Decide(facts, where, h.gateState(), h.w.limits(), time.Now()), where)
}

const ledgerRetry = 2 * time.Second

// read returns the planned request.
func (h *handler) read(ctx context.Context) (*run.Plan, error) {
	if h.early != nil {
		return h.early.plan, h.early.refusal
	}
	return h.decode(ctx)
}

// decode decodes and plans the request; the reply subject is checked first, for it is where a refusal goes.
func (h *handler) decode(ctx context.Context) (*run.Plan, error) {
	if to := h.d.msg.Header.Get(subjects.HeaderReplyTo); to != "" {
		if err := h.w.names.CheckReplyTo(to, h.inboxes()); err != nil {
			return nil, fmt.Errorf("%w: header %s: %w", prompts.ErrMalformed, subjects.HeaderReplyTo, err)
		}
		h.replyTo = to
	}
	return h.planned(ctx)
}

// ofRequest reports an error that says something of the request, and not of where it is stored.
func ofRequest(err error) bool {
	return errors.Is(err, prompts.ErrMalformed) || errors.Is(err, prompts.ErrUnknown) || errors.Is(err, prompts.ErrForbidden)
}

// planned decodes the request, brings in the inputs that are stored apart, and plans it.
func (h *handler) planned(ctx context.Context) (*run.Plan, error) {
	if h.pipe != nil {
		return h.pipe.planned(ctx)
	}
	req, err := schemas.DecodeRequest(h.d.msg.Data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", prompts.ErrMalformed, err)
	}
	h.asked = req.Prompt
	if err := h.w.blobs.Resolve(ctx, h.key.Queue, &req); err != nil {
		return nil, err
	}
	return h.engine.Snapshot().Plan(req, prompts.Origin{ID: h.key.ID, Queue: h.key.Queue, Backend: h.backend, Published: h.d.published})
}

func (h *handler) inboxes() []string { return h.engine.Snapshot().Config().InboxesOf(h.key.Queue) }

func (h *handler) gateState() gateState { return h.gateStateOf(h.backend) }

func (h *handler) gateStateOf(backend string) (s gateState) {
	if g := h.engine.Gate(backend); g != nil {
		return g.State()
	}
	return s
}

func (h *handler) dispose(ctx context.Context, what Disposition, where Whereabouts) {
	switch v := what.(type) {
	case Execute:
		h.execute(ctx, h.anew(where.State), v.Replace)
	case Resume:
		h.execute(ctx, v.State, v.Replace)
	case Resend:
		h.resend(v.Result)
	case InReview:
		h.interim()
		h.ackNow()
	case HandBack:
		h.handBack(ctx, v)
	case Expire:
		r := plain(schemas.StatusExpired, engine.Source(h.plan, h.plan.Start()), h.plan.Metadata)
		r.Warnings = []string{"the run's " + v.Reason + " passed before it was executed"}
		r, s := ofState(r, where.State)
		h.settle(ctx, r, v.Replace, s)
	case Dead:
		h.dead(ctx, v, where)
	}
}

// anew is the start of a run whose saved state, if there is one, does not fit any more: what was spent stays counted.
func (h *handler) anew(old *run.State) run.State {
	s := h.plan.Start()
	if old != nil && old.V == run.StateVersion {
		s.Counts, s.Usage, s.Attempts, s.Model, s.Waited, s.PutDowns = old.Counts, old.Usage, old.Attempts, old.Model, old.Waited, old.PutDowns
		s.ValidatorUsage, s.Cost = old.ValidatorUsage, old.Cost
	}
	return s
}

// dead ends a request that cannot be run. An abandoned one gets a stored result; a refused one does not, so that its id
// stays free.
func (h *handler) dead(ctx context.Context, v Dead, where Whereabouts) {
	r := plain(schemas.StatusFailed, schemas.Source{}, nil)
	r.Error = &schemas.Error{Category: v.Category, Message: v.Message}
	if v.Settle {
		h.readReplyTo()
		r, s := ofState(r, where.State)
		r.Error.MayHaveBeenBilled = true
		h.settle(ctx, r, v.Replace, s)
		return
	}
	if !h.deadLetter(v.Category, v.Message) {
		return
	}
	h.stamp(&r)
	if body, err := schemas.Marshal(r); err == nil {
		h.reply(r, body)
	}
	e := schemas.Event{Kind: schemas.EventFinished, Outcome: schemas.StatusFailed, Category: v.Category, Backend: h.backend}
	e.Prompt, e.Pipeline = h.asks()
	h.events.send(e)
	if h.lease.held(time.Now()) {
		_ = h.d.term(v.Category)
	}
	h.log().Warn().Str("category", v.Category).Msg("request refused; it is in the dead letters")
}

// asks is what a request that is refused asked for, where definitions have it: what else it says is anybody's text.
func (h *handler) asks() (prompt, pipeline string) {
	if h.pipe != nil {
		if p, ok := h.engine.Snapshot().PipelinePlan(h.pipe.name); ok {
			return "", p.Ref()
		}
		return "", ""
	}
	if p, ok := h.engine.Snapshot().Prompt(h.asked); ok {
		return fmt.Sprintf("%s@%d", p.ID, p.Version), ""
	}
	return "", ""
}

// readReplyTo takes the reply subject of a request that is not decoded.
func (h *handler) readReplyTo() {
	to := h.d.msg.Header.Get(subjects.HeaderReplyTo)
	if to != "" && h.w.names.CheckReplyTo(to, h.inboxes()) == nil {
		h.replyTo = to
	}
}

// unaddressable ends a message whose subject names no run: nothing can be stored under its id.
func (h *handler) unaddressable(ctx context.Context, err error) {
	h.readReplyTo()
	h.dead(ctx, Dead{Category: schemas.CategoryInvalidRequest, Message: err.Error()}, Whereabouts{})
}

// execute drives the run and settles it, or hands it back when its backend is in trouble or the worker drains.
func (h *handler) execute(work context.Context, s run.State, replace uint64) {
	if h.pipe != nil {
		h.pipe.execute(work, replace)
		return
	}
	ctx, under := h.w.inflight.add(work, h.key, h.d.seq, h.plan.Deadline)
	defer under.forget()
	defer h.turn(ctx)()
	switch err := h.begin(work); {
	case errors.Is(err, ErrOvertaken):
		h.lost(err, run.State{})
		return
	case err != nil:
		h.log().Warn().Err(err).Msg("the start could not be noted; the run is handed back")
		h.handBack(h.w.base, HandBack{Delay: ledgerRetry, Cause: "ledger"})
		return
	}
	s.Counts.Executions++
	h.answersBefore = h.answers()
	downs := s.PutDowns
	res, err := h.engine.Execute(ctx, engine.Execution{Plan: h.plan, State: s, Observer: h.events, Untold: true, Patience: patience, Meter: h.w.meter.engines(), Propagate: h.events.trace.Propagator(),
		Allow: func() error { return h.mayCall(under) }, Waits: func(backend string, f *run.Failure) bool { return h.waitsForJudge(backend, f, downs) }, Save: func(s run.State) error { return h.save(h.w.base, s) }})
	trouble, judges := errors.AsType[*engine.JudgeTrouble](err)
	switch {
	case judges:
		h.wait(h.w.base, res.State, &trouble.Failure, HandBack{Judge: trouble.Validator, Backend: trouble.Backend})
	case errors.Is(err, ErrOvertaken) || errors.Is(err, errLeaseLost):
		h.lost(err, res.State)
	case errors.Is(err, errPutDown):
		h.putDown(h.w.base, res.State, HandBack{Cause: "draining"})
	case err != nil:
		h.putDown(h.w.base, res.State, HandBack{Delay: ledgerRetry, Cause: "ledger"})
	case wasPutDown(under, res):
		h.putDown(h.w.base, res.State, HandBack{Cause: "draining"})
	case res.State.Phase == run.Reviewing:
		h.escalate(work, res.State, replace)
	case h.waits(res):
		h.wait(h.w.base, res.State, res.Failure, HandBack{})
	default:
		h.settle(work, engine.WireResult(h.plan, res), replace, res.State)
	}
}

// patience bounds a wait inside a run; a longer one belongs to the queue.
const patience = 10 * time.Second

var errLeaseLost = errors.New("the lease of the run was lost")

// allowed: a lease that is over starts no call.
func (h *handler) allowed() error {
	if !h.lease.held(time.Now()) {
		return errLeaseLost
	}
	return nil
}

// mayCall is asked before every call.
func (h *handler) mayCall(u *underway) error {
	if err := h.allowed(); err != nil {
		return err
	}
	return u.mayCall()
}

// turn lets the runs that have one start left run one at a time, each after the other. Runs that were in hand when their
// worker died twice are suspect all together: the one that kills must not take the others' last start with it.
func (h *handler) turn(ctx context.Context) (done func()) {
	if left := h.w.limits().MaxStarts - h.saved.Starts; left != 1 || h.saved.Starts == 0 {
		return func() {}
	}
	select {
	case h.w.lastStart <- struct{}{}:
		return func() { <-h.w.lastStart }
	case <-ctx.Done(): // put down, or cancelled: nothing will be called
		return func() {}
	}
}

// begin notes a start: a worker that dies over and over must be found out. That of a first delivery is written only with
// a state; without an entry it is known by the redelivery.
func (h *handler) begin(ctx context.Context) error {
	h.saved.Starts++
	h.saved.begun = true
	if h.d.count < 2 && h.saved.rev == 0 {
		return nil
	}
	return h.write(ctx, 1)
}

func (h *handler) save(ctx context.Context, s run.State) error {
	h.hold(s)
	err := h.write(ctx, 1)
	switch {
	case err == nil:
		h.checkpoints = append(h.checkpoints, s)
	case errors.Is(err, nats.ErrMaxPayload):
		h.log().Warn().Msg("the state of the run could not be stored; it goes on without a checkpoint")
		return nil
	}
	return err
}

// slim is a state without its answer, for an entry or a store that cannot take it: the run starts anew, its bill stays.
func (h *handler) slim(s *run.State) *run.State {
	if s == nil || h.plan == nil {
		return nil
	}
	out := h.plan.Start()
	out.Counts, out.Usage, out.Attempts = s.Counts, s.Usage, s.Attempts
	out.Model, out.Waited, out.PutDowns = s.Model, s.Waited, s.PutDowns
	out.ValidatorUsage, out.Cost = s.ValidatorUsage, s.Cost
	return &out
}

// lost ends a delivery that is no longer ours: no nak, no term, no ack; what was spent is told.
func (h *handler) lost(err error, s run.State) {
	r, _, _ := h.w.ledger.Result(h.w.base, h.key) // without an answer the last checkpoint is taken to be billed
	h.superseded(s, r)
	h.log().Warn().Err(err).Msg("the run is left to another worker")
}

func wasPutDown(u *underway, res run.Result) bool {
	return res.Status == schemas.StatusCancelled && errors.Is(u.why(), errPutDown)
}

// putDown saves what a run has and hands it back.
func (h *handler) putDown(ctx context.Context, s run.State, back HandBack) {
	h.hold(h.plan.PutDown(s))
	h.handBack(ctx, back)
}

// handBack gives the message back. A hand-back is clean: the start that begin noted is taken off again, and a first
// delivery leaves word that it ended well.
func (h *handler) handBack(ctx context.Context, back HandBack) {
	if h.saved != nil {
		if h.saved.begun {
			h.saved.Starts--
			h.saved.begun = false
		}
		h.saved.Cause = back.Cause
		err := h.write(ctx, blobTries)
		if errors.Is(err, nats.ErrMaxPayload) {
			h.saved.State = h.slim(h.saved.State)
			err = h.write(ctx, 1)
		}
		if errors.Is(err, ErrOvertaken) {
			h.lost(err, h.reached())
			return
		}
		if err != nil {
			h.log().Warn().Err(err).Msg("the state of the run could not be saved; it starts anew")
		}
	}
	back.Delay = h.bounded(back.Delay)
	delay := back.Delay.Milliseconds()
	h.events.send(schemas.Event{Kind: schemas.EventWaiting, Cause: back.Cause, WaitMS: &delay, Backend: cmp.Or(back.Backend, h.backend), Validator: back.Judge})
	if h.lease.held(time.Now()) {
		_ = h.d.nak(back.Delay)
	}
}

// longestHandBack bounds what a provider's Retry-After can do to a run: it comes back to be looked at, for its deadline
// and for a gate that has opened meanwhile.
const longestHandBack = time.Minute

func (h *handler) bounded(delay time.Duration) time.Duration {
	delay = min(delay, longestHandBack)
	if h.plan != nil && !h.plan.Deadline.IsZero() {
		delay = min(delay, max(time.Until(h.plan.Deadline), 0))
	}
	return delay
}

// reached is the state that this delivery came to, stored or not.
func (h *handler) reached() run.State {
	if h.saved.State == nil {
		return run.State{}
	}
	return *h.saved.State
}

// ackNow ends a delivery whose result is stored: nobody needs its saved state any more.
func (h *handler) ackNow() {
	if err := h.d.ack(); err != nil {
		h.log().Warn().Err(err).Msg("the ack did not leave; the redelivery will find the result")
	}
	if h.saved != nil && h.saved.rev != 0 {
		h.w.erase(context.WithoutCancel(h.w.base), h.key, h.saved)
	}
}

func (h *handler) log() *zerolog.Logger {
	place, name := "backend", h.backend
	if h.pipe != nil {
		place, name = "pipeline", h.pipe.name
	}
	l := h.w.log.With().Str("run", h.key.ID).Str("queue", h.key.Queue).Str(place, name).Uint64("delivery", h.d.count).Logger()
	if id := h.traceID(); id != "" {
		l = l.With().Str("trace", id).Logger()
	}
	return &l
}
