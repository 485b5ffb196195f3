package consumer

import (
	"context"

	"emend/engine/run"
)

// What is done of a delivery before it is decided what becomes of it.

func (w *Worker) runOf(d *delivery) *parsed {
	if d.run == nil {
		backend, queue, id, err := w.names.ParseRun(d.msg.Subject)
		d.run = &parsed{key: Key{Queue: queue, ID: id}, backend: backend, err: err}
	}
	return d.run
}

// ahead asks for a result of a run that comes for the first time: the answer is on its way while the delivery's goroutine begins.
func (w *Worker) ahead(d *delivery) {
	if d.count > 1 || d.before {
		return
	}
	if r := w.runOf(d); r.err == nil {
		d.asked = w.ledger.seek(r.key)
	}
}

// find asks the ledger where the run stands.
func (h *handler) find(ctx context.Context) (where Whereabouts, entry *saved, err error) {
	where, entry, err = h.w.ledger.Find(ctx, h.key, h.d.seq, h.d.count, h.seek(ctx))
	if err == nil {
		where.Granted, err = h.w.ledger.granted(ctx, h.key, h.fingerprint, where.Result, where.ResultSeq)
	}
	if err == nil && h.d.count < 2 && h.d.before {
		entry, err = h.w.ledger.left(ctx, h.key, h.d.seq)
	}
	return where, entry, err
}

// reading is a request that was read, or why it is refused.
type reading struct {
	plan    *run.Plan
	refusal error
}

// seek asks the ledger for a result of the run, and reads the request until the answer comes. A redelivery may have made its
// worker die: nothing of it is read before its starts are known.
func (h *handler) seek(ctx context.Context) *question {
	if h.d.count > 1 || h.d.before {
		return nil
	}
	asked := h.d.asked
	if asked == nil {
		asked = h.w.ledger.seek(h.key)
	}
	if asked != nil {
		h.early = &reading{}
		h.early.plan, h.early.refusal = h.decode(ctx)
	}
	return asked
}
