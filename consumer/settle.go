package consumer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"emend/engine"
	"emend/engine/run"
	"emend/schemas"
	"emend/subjects"
)

// settleBackoff bounds the pause between two tries to store a result.
const (
	settleBackoffMin = 100 * time.Millisecond
	settleBackoffMax = 5 * time.Second
)

// settle stores the result of a run that reached s, retrying until it is stored, another's is, or the process must stop;
// then reply, finished event and ack, in this order. Once work is done (the drain's time is over) a result that cannot
// be stored is kept as a state. It reports whether the message is done with.
func (h *handler) settle(work context.Context, r schemas.Result, replace uint64, s run.State) bool {
	h.stamp(&r)
	buf := scratch.Get().(*[]byte)
	defer putBack(buf)
	body, err := r.AppendJSON((*buf)[:0])
	*buf = body
	if err == nil && int64(len(body))+headerRoom > h.w.nc.MaxPayload() {
		r, body, err = h.smaller(work, r, len(body))
	}
	if err != nil {
		h.log().Error().Err(err).Msg("the result has no JSON form")
		return false
	}
	if r.Status == schemas.StatusFailed && !h.deadLetter(r.Error.Category, r.Error.Message) {
		return false
	}
	return h.store(work, r, body, replace, s)
}

// smaller makes a result fit into a message: it leaves out the next correction, which can be made again from the answer, and
// stores the texts of attempts apart, in the queue's object bucket; then it leaves out a pipeline's jobs, stores the output apart if
// that is enough, and leaves out what votes say beside their codes. What is large all the same, or belongs to a queue without a
// bucket to be had, is a clear failure in place of a loop.
func (h *handler) smaller(work context.Context, r schemas.Result, size int) (schemas.Result, []byte, error) {
	out := r
	for _, less := range []func(context.Context, schemas.Result) schemas.Result{uncorrected, h.untold, h.unlisted, h.unfilledEnough, h.unguided, h.unfilled} {
		out = less(work, out)
		if body, err := schemas.Marshal(out); err != nil || int64(len(body))+headerRoom <= h.w.nc.MaxPayload() {
			return out, body, err
		}
	}
	out = tooLarge(r, size, h.w.nc.MaxPayload())
	body, err := schemas.Marshal(out)
	return out, body, err
}

func uncorrected(_ context.Context, r schemas.Result) schemas.Result {
	if r.Validation != nil {
		shorter := *r.Validation
		shorter.NextCorrection = ""
		r.Validation = &shorter
	}
	return r
}

// untold is a result without the texts of its attempts.
func (h *handler) untold(work context.Context, r schemas.Result) schemas.Result {
	if lean, blob, had := h.leaner(work, r.Attempts, blobTries); had {
		r.Attempts, r.AttemptsBlob = lean, blob
	}
	return r
}

// unfilled is a result without its output.
func (h *handler) unfilled(work context.Context, r schemas.Result) schemas.Result {
	if len(r.Output) == 0 && r.OutputText == nil {
		return r
	}
	out, err := h.w.blobs.apart(work, r)
	for tries := 1; err != nil && tries < blobTries && sleep(work, settleBackoffMax/4); tries++ {
		out, err = h.w.blobs.apart(work, r)
	}
	if err != nil {
		h.log().Warn().Err(err).Msg("the output of the run could not be stored apart")
	}
	return out
}

// blobTries bounds how often an output or a state is tried to be stored apart.
const blobTries = 5

// headerRoom is kept for the headers of a result.
const headerRoom = 4096

func (h *handler) store(work context.Context, r schemas.Result, body []byte, replace uint64, s run.State) bool {
	pause := settleBackoffMin
	for said := false; ; {
		m := h.resultMsg(r, body)
		outcome, _, err := h.w.ledger.Settle(h.w.base, h.key, &m.Msg, h.mine, replace)
		m.forgotten()
		switch outcome {
		case Stored:
			h.finish(r, body, s)
			return true
		case Another:
			return h.overtaken(h.w.base, s)
		}
		h.w.closeGates(pause)
		if !said {
			h.log().Warn().Err(err).Str("outcome", outcome.String()).Msg("the result is not stored yet; trying until it is")
			said = true
			defer h.w.stuck()()
		}
		if !sleep(work, pause) && (h.keep(s) || !sleep(h.w.base, pause)) {
			return false
		}
		pause = min(2*pause, settleBackoffMax)
	}
}

// keep saves an answer whose result cannot be stored before the process stops, and hands the run back: the next worker
// judges it again and pays for nothing.
func (h *handler) keep(s run.State) bool {
	if h.plan == nil || h.saved == nil {
		return false
	}
	switch {
	case s.Phase == run.Reviewing: // it waits for nothing but the store
	case s.Candidate != nil && s.Judged != nil && (s.Failure == nil || engine.AnsweredWell(s.Failure)):
		s.Phase, s.Status, s.Failure = run.Judging, "", nil
	default:
		s = h.plan.PutDown(s)
	}
	if err := h.save(h.w.base, s); err != nil {
		return false
	}
	h.handBack(h.w.base, HandBack{Cause: causeStore})
	return true
}

// mine tells this handler's result from another's. A durable that is made anew counts its deliveries anew, so that one worker can have
// two executions of one delivery: only the times tell them apart.
func (h *handler) mine(r *schemas.Result) bool { return h.delivered(r) && r.TimingMS == h.stamped }

// delivered: same request, same worker, same delivery.
func (h *handler) delivered(r *schemas.Result) bool {
	return r.Request.Seq == h.d.seq && r.Request.Delivery == h.d.count && r.Source.Worker == h.w.id
}

// overtaken ends a delivery whose run somebody else settled: what was spent here is told, and the stored result is what
// the requester gets, if it is of the same content.
func (h *handler) overtaken(ctx context.Context, s run.State) bool {
	r, _, err := h.w.ledger.Result(ctx, h.key)
	h.superseded(s, r)
	if err != nil || r == nil {
		return false
	}
	if r.Request.SHA256 != h.fingerprint {
		// An id is one subject per backend, so another request can have run under it at the same time: nothing of it is told.
		h.dead(ctx, Dead{Category: schemas.CategoryIDConflict, Message: conflict}, Whereabouts{})
		return true
	}
	h.resend(r)
	return true
}

// superseded publishes what an execution spent that nobody else tells: its result is not the stored one, which has what was
// saved on the way in its own totals. r is the stored result, nil where there is none yet.
func (h *handler) superseded(s run.State, r *schemas.Result) {
	totals := engine.Totals(run.Result{State: spent(s, billed(h.known(r), r))})
	if totals.Counts.Calls+totals.Counts.ValidatorCalls == 0 {
		return
	}
	h.events.send(schemas.Event{Kind: schemas.EventSuperseded, Totals: &totals, Backend: h.backend})
}

// known are the checkpoints that whoever stored a result can have gone on from: an earlier delivery of the same request began
// before this one saved anything, and knows no more than what this one found.
func (h *handler) known(r *schemas.Result) []run.State {
	if r != nil && r.Request.Seq == h.d.seq && 0 < r.Request.Delivery && r.Request.Delivery < h.d.count {
		return h.checkpoints[:h.found]
	}
	return h.checkpoints
}

// billed is the checkpoint whose calls are in the totals of a stored result. One that was settled without an execution, such as
// a cancel, has exactly those of the state that it saw, which may be an older one than the last; one that was executed went
// on from the last.
func billed(checkpoints []run.State, r *schemas.Result) *run.State {
	if r != nil && (r.Status == schemas.StatusCancelled || r.Status == schemas.StatusExpired || r.Status == schemas.StatusFailed) {
		for i := range checkpoints {
			if c := checkpoints[i].Counts; c.Calls == r.Counts.Calls && c.ValidatorCalls == r.Counts.ValidatorCalls {
				return &checkpoints[i]
			}
		}
		if r.Counts.Calls+r.Counts.ValidatorCalls == 0 {
			return nil
		}
	}
	if len(checkpoints) == 0 {
		return nil
	}
	return &checkpoints[len(checkpoints)-1]
}

// finish: the reply of what is stored, the finished event, the ack.
func (h *handler) finish(r schemas.Result, body []byte, s run.State) {
	h.events.trace.Stored()
	h.reply(r, body)
	totals := schemas.Totals{Counts: r.Counts, Usage: r.Usage, ValidatorUsage: r.ValidatorUsage, Cost: r.Cost}
	if h.pipe == nil && r.Status != schemas.StatusSucceeded { // a result has no usage of a run that failed
		totals = engine.Totals(run.Result{State: s})
	}
	totals.TimingMS = r.TimingMS
	e := schemas.Event{Kind: schemas.EventFinished, Outcome: r.Status, Totals: &totals, Prompt: r.Source.Prompt, Profile: r.Source.Profile,
		Backend: h.backend, Model: r.Source.Model, Pipeline: h.pipe.ref()}
	if r.Error != nil {
		e.Category = r.Error.Category
	}
	h.events.send(e)
	h.ackNow()
	if r.Error == nil && r.Counts.Calls > 0 {
		h.sayAnswers(s.Votes)
	}
	if h.w.log.GetLevel() <= zerolog.InfoLevel { // a logger with the run's fields is not made for nothing
		h.log().Info().Str("status", r.Status).Int("calls", r.Counts.Calls).Int64("total_ms", r.TimingMS.Total).Msg("run finished")
	}
}

// resend answers with the stored result and acks: no call is made.
func (h *handler) resend(r *schemas.Result) {
	if body, err := schemas.Marshal(r); err == nil {
		h.reply(*r, body)
	}
	h.ackNow()
}

// reply sends a core copy to the requester's reply subject, if it gave one.
func (h *handler) reply(r schemas.Result, body []byte) {
	if h.replyTo == "" {
		return
	}
	m := h.resultMsg(r, body)
	m.Subject = h.replyTo
	_ = h.w.nc.PublishMsg(&m.Msg)
	m.forgotten()
}

// resultMessage is a result's message with the values of its headers. It is used again: a publish copies.
type resultMessage struct {
	nats.Msg
	values [6]string
}

var messages = sync.Pool{New: func() any { return &resultMessage{Msg: nats.Msg{Header: make(nats.Header, 6)}} }}

// forgotten takes a message back, without what it said.
func (m *resultMessage) forgotten() {
	clear(m.Header)
	m.Data, m.Reply, m.values = nil, "", [6]string{}
	messages.Put(m)
}

// resultMsg is the message of a result; it is forgotten when it was sent.
func (h *handler) resultMsg(r schemas.Result, body []byte) *resultMessage {
	m := messages.Get().(*resultMessage)
	m.Subject, m.Data = h.w.names.Result(h.key.Queue, h.key.ID), body
	m.values = [6]string{r.Status, h.key.ID, r.Source.Prompt, r.Source.Backend, h.d.msg.Header.Get(subjects.HeaderTraceparent), h.pipe.ref()}
	if len(m.values[4]) > 128 {
		m.values[4] = ""
	}
	for i, name := range [...]string{subjects.HeaderStatus, subjects.HeaderRun, subjects.HeaderPrompt, subjects.HeaderBackend, subjects.HeaderTraceparent, subjects.HeaderPipeline} {
		if i < 2 || m.values[i] != "" {
			m.Header[name] = m.values[i : i+1 : i+1]
		}
	}
	return m
}

// stamp fills in what only the delivery knows.
func (h *handler) stamp(r *schemas.Result) {
	r.ID, r.Queue = h.key.ID, h.key.Queue
	r.Source.Worker, r.Source.Backend = h.w.id, h.backend
	r.Request = schemas.RequestRef{SHA256: h.fingerprint, Seq: h.d.seq, Delivery: h.d.count}
	now := time.Now()
	r.TimingMS.Total = max(now.Sub(h.d.published).Milliseconds(), 0)
	r.TimingMS.Queued = max(h.taken.Sub(h.d.published).Milliseconds(), 0)
	h.stamped = r.TimingMS
	if r.Attempts == nil {
		r.Attempts = []schemas.Attempt{}
	}
}

// tooLarge replaces a result that the server cannot take: a clear failure in place of a loop.
func tooLarge(r schemas.Result, size int, limit int64) schemas.Result {
	return schemas.Result{ID: r.ID, Queue: r.Queue, Status: schemas.StatusFailed, Counts: r.Counts, Source: r.Source, Attempts: []schemas.Attempt{},
		Usage: r.Usage, ValidatorUsage: r.ValidatorUsage, Cost: r.Cost, Review: r.Review,
		TimingMS: r.TimingMS, Request: r.Request, Metadata: r.Metadata,
		Error: &schemas.Error{Category: schemas.CategoryInternal, MayHaveBeenBilled: true,
			Message: fmt.Sprintf("the result has %d bytes, the server's max_payload is %d; ask for less, or raise max_payload", size, limit)}}
}

// plain is a result without an execution.
func plain(status string, source schemas.Source, metadata map[string]string) schemas.Result {
	return schemas.Result{Status: status, Source: source, Metadata: metadata, Attempts: []schemas.Attempt{}}
}

// ofState carries what earlier executions of a run did into a result that ends it without another.
func ofState(r schemas.Result, s *run.State) (schemas.Result, run.State) {
	if s == nil {
		return r, run.State{}
	}
	r.Counts, r.Attempts, r.Cost = s.Counts, s.Attempts, s.Cost.Cost()
	r.TimingMS.Waiting, r.TimingMS.Model = s.Waited.Milliseconds(), s.Model.Milliseconds()
	if slices.ContainsFunc(s.Attempts, func(t schemas.Attempt) bool { return t.Content != nil }) {
		ended := *s
		ended.Status = r.Status
		r.Stages = (&run.Plan{Attempts: schemas.AttemptsFull}).Stages(ended)
	}
	return r, *s
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
