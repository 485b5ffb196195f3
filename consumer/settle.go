package consumer

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

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

// settle stores a result, retrying until it is stored, another's is, or the process must stop; then reply, finished
// event and ack, in this order. It reports whether the message is done with.
func (h *handler) settle(ctx context.Context, r schemas.Result, replace uint64, totals schemas.Totals) bool {
	h.stamp(&r)
	body, err := schemas.Marshal(r)
	if err == nil && int64(len(body))+headerRoom > h.w.nc.MaxPayload() {
		r = tooLarge(r, len(body), h.w.nc.MaxPayload())
		body, err = schemas.Marshal(r)
	}
	if err != nil {
		h.log().Error().Err(err).Msg("the result has no JSON form")
		return false
	}
	if r.Status == schemas.StatusFailed && !h.deadLetter(ctx, r.Error.Category, r.Error.Message) {
		return false
	}
	return h.store(ctx, r, body, replace, totals)
}

// headerRoom is kept for the headers of a result.
const headerRoom = 4096

func (h *handler) store(ctx context.Context, r schemas.Result, body []byte, replace uint64, totals schemas.Totals) bool {
	pause := settleBackoffMin
	for said := false; ; {
		outcome, _, err := h.w.ledger.Settle(ctx, h.key, h.resultMsg(r, body), h.mine, replace)
		switch outcome {
		case Stored:
			h.finish(r, body, totals)
			return true
		case Another:
			return h.overtaken(ctx, totals)
		}
		if !said {
			h.log().Warn().Err(err).Str("outcome", outcome.String()).Msg("the result is not stored yet; trying until it is")
			said = true
		}
		if !sleep(ctx, pause) {
			return false
		}
		pause = min(2*pause, settleBackoffMax)
	}
}

// mine tells this delivery's result from another's: same request, same worker, same delivery.
func (h *handler) mine(r *schemas.Result) bool {
	return r.Request.Seq == h.d.seq && r.Request.Delivery == h.d.count && r.Source.Worker == h.w.id
}

// overtaken ends a delivery whose run somebody else settled: what was spent here is told, and the stored result is what
// the requester gets.
func (h *handler) overtaken(ctx context.Context, totals schemas.Totals) bool {
	h.superseded(totals)
	r, _, err := h.w.ledger.Result(ctx, h.key)
	if err != nil || r == nil {
		return false
	}
	h.resend(r)
	return true
}

// superseded publishes what an execution cost whose result is not the stored one.
func (h *handler) superseded(totals schemas.Totals) {
	if totals.Counts.Calls == 0 {
		return
	}
	h.events.send(schemas.Event{Kind: schemas.EventSuperseded, Totals: &totals, Backend: h.backend})
}

// finish: the reply of what is stored, the finished event, the ack.
func (h *handler) finish(r schemas.Result, body []byte, totals schemas.Totals) {
	h.reply(r, body)
	totals.TimingMS = r.TimingMS
	e := schemas.Event{Kind: schemas.EventFinished, Outcome: r.Status, Totals: &totals, Prompt: r.Source.Prompt, Profile: r.Source.Profile,
		Backend: h.backend, Model: r.Source.Model}
	if r.Error != nil {
		e.Category = r.Error.Category
	}
	h.events.send(e)
	h.ackNow()
	if r.Error == nil && r.Counts.Calls > 0 {
		h.sayAnswers()
	}
	h.log().Info().Str("status", r.Status).Int("calls", r.Counts.Calls).Int64("total_ms", r.TimingMS.Total).Msg("run finished")
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
	m.Header.Del(subjects.HeaderExpectedLastSubjectSequence)
	_ = h.w.nc.PublishMsg(m)
}

func (h *handler) resultMsg(r schemas.Result, body []byte) *nats.Msg {
	m := &nats.Msg{Subject: h.w.names.Result(h.key.Queue, h.key.ID), Data: body, Header: nats.Header{}}
	m.Header.Set(subjects.HeaderStatus, r.Status)
	m.Header.Set(subjects.HeaderRun, h.key.ID)
	if r.Source.Prompt != "" {
		m.Header.Set(subjects.HeaderPrompt, r.Source.Prompt)
	}
	if tp := h.d.msg.Header.Get(subjects.HeaderTraceparent); tp != "" && len(tp) <= 128 {
		m.Header.Set(subjects.HeaderTraceparent, tp)
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
	if r.Attempts == nil {
		r.Attempts = []schemas.Attempt{}
	}
}

// tooLarge replaces a result that the server cannot take: a clear failure in place of a loop.
func tooLarge(r schemas.Result, size int, limit int64) schemas.Result {
	return schemas.Result{ID: r.ID, Queue: r.Queue, Status: schemas.StatusFailed, Counts: r.Counts, Source: r.Source, Attempts: []schemas.Attempt{},
		TimingMS: r.TimingMS, Request: r.Request, Metadata: r.Metadata,
		Error: &schemas.Error{Category: schemas.CategoryInternal, MayHaveBeenBilled: true,
			Message: fmt.Sprintf("the result has %d bytes, the server's max_payload is %d; ask for less, or raise max_payload", size, limit)}}
}

// plain is a result without an execution.
func plain(status string, source schemas.Source, metadata map[string]string) schemas.Result {
	return schemas.Result{Status: status, Source: source, Metadata: metadata, Attempts: []schemas.Attempt{}}
}

// ofState carries what earlier executions of a run did into a result that ends it without another.
func ofState(r schemas.Result, s *run.State) (schemas.Result, schemas.Totals) {
	if s == nil {
		return r, schemas.Totals{}
	}
	r.Counts, r.Attempts = s.Counts, s.Attempts
	return r, engine.Totals(run.Result{State: *s})
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
