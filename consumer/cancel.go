package consumer

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/engine"
	"emend/engine/run"
	"emend/schemas"
)

// Cancel settles a run as cancelled, then tells the workers. What really happened comes back: cancelled, the status
// that it had already ended with, or not_found.
func (w *Worker) Cancel(ctx context.Context, k Key) (schemas.CancelReply, error) {
	out := schemas.CancelReply{ID: k.ID, Queue: k.Queue}
	asked := false
	for range cancelTries {
		r, seq, err := w.ledger.Result(ctx, k)
		if err != nil {
			return out, err
		}
		m, backend, err := w.request(ctx, k)
		if err != nil {
			return out, err
		}
		if rec, err := w.waiting(ctx, k, r); rec != nil || err != nil {
			return w.cancelReview(ctx, k, rec, err)
		}
		queued, err := w.replaces(ctx, k, r, seq, m, backend)
		if err != nil {
			return out, err
		}
		if r != nil && !queued {
			out.Status, out.Cancelled = r.Status, asked && r.Status == schemas.StatusCancelled
			return out, w.cleared(ctx, k, out.Cancelled)
		}
		if m == nil {
			out.Status = schemas.CancelNotFound
			// Between the reads the run may have been settled, and its request or review taken away.
			r, _, err := w.ledger.Result(ctx, k)
			if r != nil {
				out.Status = r.Status
			}
			return out, err
		}
		if pipelineOf(backend) != "" && !asked {
			asked = true
			if err := w.askCoordinator(ctx, k, seq); err != nil {
				return out, err
			}
			continue
		}
		settled, err := w.settleCancelled(ctx, k, backend, m, seq)
		if settled == Stored {
			out.Status, out.Cancelled = schemas.StatusCancelled, true
			if pipelineOf(backend) == "" {
				return out, w.clear(ctx, k, m.Sequence)
			}
			return out, errors.Join(w.clear(ctx, k, m.Sequence), w.cancelChildren(ctx, k))
		}
		if err != nil && settled != Another {
			return out, err
		}
	}
	return out, errors.New("the run is being settled by others; ask again")
}

// coordinatorWithin is how long whoever coordinates a cancelled pipeline run may take to settle it with what its jobs have done. One
// that nobody coordinates, or whose coordinator does not answer, is settled without.
const coordinatorWithin = 900 * time.Millisecond

// askCoordinator stops a pipeline run and its jobs, and waits until its coordinator has settled it, by another result than that of
// sequence before.
func (w *Worker) askCoordinator(ctx context.Context, k Key, before uint64) error {
	if err := errors.Join(w.stopChildren(ctx, k), w.nc.Publish(w.names.Control(k.Queue, k.ID), nil)); err != nil {
		return err
	}
	within := time.Now().Add(coordinatorWithin)
	for time.Now().Before(within) && sleep(ctx, 25*time.Millisecond) {
		if _, seq, err := w.ledger.Result(ctx, k); err != nil || seq != before {
			return err
		}
	}
	return ctx.Err()
}

// cleared takes away the jobs of a pipeline run that was cancelled.
func (w *Worker) cleared(ctx context.Context, k Key, cancelled bool) error {
	if !cancelled {
		return nil
	}
	return w.cancelChildren(ctx, k)
}

// replaces reports whether a queued request (nil for none) is one whose result may replace r.
func (w *Worker) replaces(ctx context.Context, k Key, r *schemas.Result, seq uint64, m *jetstream.RawStreamMsg, backend string) (bool, error) {
	if r == nil || m == nil || !replaceable(r, m.Sequence) {
		return false, nil
	}
	fingerprint := schemas.Fingerprint(backend, m.Data)
	if r.Request.SHA256 == fingerprint {
		return true, nil
	}
	return w.ledger.granted(ctx, k, fingerprint, r, seq)
}

// clear tells the workers to abort a cancelled run, and takes its request out of the queue: one that waits for a
// redelivery would hold its id until then. Its result is stored already; a worker that has it in hand finds that.
func (w *Worker) clear(ctx context.Context, k Key, seq uint64) error {
	err := w.nc.Publish(w.names.Control(k.Queue, k.ID), nil)
	if s, lost := w.ledger.load(ctx, k, seq); lost == nil {
		w.erase(ctx, k, s)
	}
	if gone := w.ledger.runs.DeleteMsg(ctx, seq); gone != nil && !errors.Is(gone, jetstream.ErrMsgNotFound) && !errors.Is(gone, jetstream.ErrMsgDeleteUnsuccessful) {
		err = errors.Join(err, gone)
	}
	return err
}

const cancelTries = 5

func (w *Worker) settleCancelled(ctx context.Context, k Key, backend string, m *jetstream.RawStreamMsg, seq uint64) (Settled, error) {
	h := &handler{w: w, key: k, backend: ofBackend(backend), taken: time.Now(), fingerprint: schemas.Fingerprint(backend, m.Data),
		d: &delivery{msg: &nats.Msg{Subject: m.Subject, Header: m.Header}, nc: w.nc, seq: m.Sequence, published: m.Time}}
	h.events = &publisher{nc: w.nc, names: w.names, worker: w.id, metrics: w.opts.Metrics, key: k}
	h.engine = w.engine.Load()
	before, err := w.ledger.load(ctx, k, m.Sequence)
	if err != nil {
		return Unknown, err
	}
	reached, err := w.blobs.whole(ctx, k.Queue, before)
	if err != nil {
		return Unknown, err
	}
	r, s := ofState(plain(schemas.StatusCancelled, schemas.Source{}, nil), reached)
	h.stamp(&r)
	body, err := schemas.Marshal(r)
	if err == nil && int64(len(body))+headerRoom > w.nc.MaxPayload() {
		r, body, err = h.smaller(ctx, r, len(body))
	}
	if err != nil {
		return Unknown, err
	}
	settled, _, err := w.ledger.Settle(ctx, k, &h.resultMsg(r, body).Msg, h.mine, seq)
	if settled == Stored {
		h.readReplyTo()
		h.reply(r, body)
		totals := engine.Totals(run.Result{State: s})
		totals.TimingMS = r.TimingMS
		h.events.send(schemas.Event{Kind: schemas.EventFinished, Outcome: r.Status, Backend: h.backend, Totals: &totals})
	}
	return settled, err
}

// request finds the queued or running request of a run; nil if there is none.
func (w *Worker) request(ctx context.Context, k Key) (*jetstream.RawStreamMsg, string, error) {
	for _, b := range w.engine.Load().Snapshot().Config().BackendNames() {
		m, err := w.ledger.runs.GetLastMsgForSubject(ctx, w.names.Run(b, k.Queue, k.ID))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		return m, b, nil
	}
	if m, name, err := w.pipelineRequest(ctx, k); m != nil || err != nil {
		return m, name, err
	}
	return w.unserved(ctx, k)
}

// unserved finds a request for a backend that these definitions do not have: it waits for a worker whose definitions do.
func (w *Worker) unserved(ctx context.Context, k Key) (*jetstream.RawStreamMsg, string, error) {
	m, err := w.ledger.runs.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(w.names.RunOf(k.Queue, k.ID)))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	backend, _, _, err := w.names.ParseRun(m.Subject)
	return m, backend, err
}
