package consumer

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"emend/engine"
	"emend/engine/run"
	"emend/schemas"
	"emend/subjects"
)

// Bounds of one list of reviews.
const (
	reviewsLimit    = 100
	maxReviewsLimit = 1000
)

// Reviews lists the runs of a queue that wait for a person, oldest first. Entries whose run has its result, left by a
// worker that died between the two, are taken out.
func (w *Worker) Reviews(ctx context.Context, queue string, q schemas.ReviewQuery) (schemas.ReviewList, error) {
	out := schemas.ReviewList{Reviews: []schemas.ReviewEntry{}}
	limit := reviewsLimit
	if q.Limit > 0 {
		limit = min(q.Limit, maxReviewsLimit)
	}
	for at := q.After + 1; at > q.After; {
		k, rec, err := w.nextReview(ctx, w.names.Review(queue, "*"), at)
		if rec == nil {
			return out, err
		}
		if at = rec.seq + 1; err != nil {
			continue // it stays for a worker that can read it, and says so in its log
		}
		switch stale, err := w.leftover(ctx, k, rec); {
		case err != nil:
			return out, err
		case stale:
			continue
		case len(out.Reviews) == limit:
			out.More = true
			return out, nil
		}
		out.Reviews = append(out.Reviews, rec.entry(k))
	}
	return out, nil
}

// nextReview is the first entry at or behind a sequence; nil if there is none. One that this worker cannot read has only its
// sequence, and an error.
func (w *Worker) nextReview(ctx context.Context, filter string, at uint64) (Key, *review, error) {
	m, err := w.ledger.reviews.GetMsg(ctx, at, jetstream.WithGetMsgSubject(filter))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return Key{}, nil, nil
	}
	if err != nil {
		return Key{}, nil, err
	}
	queue, id, err := w.names.ParseReview(m.Subject)
	if err != nil {
		return Key{}, nil, err
	}
	k := Key{Queue: queue, ID: id}
	rec, err := decodeReview(k, m)
	if err != nil {
		return k, &review{seq: m.Sequence}, err
	}
	return k, rec, nil
}

// leftover reports an entry whose run has its result, and removes it.
func (w *Worker) leftover(ctx context.Context, k Key, rec *review) (bool, error) {
	r, _, err := w.ledger.Result(ctx, k)
	if err != nil || r == nil || r.Request.Seq < rec.RequestSeq {
		return false, err
	}
	return true, w.ledger.forget(ctx, rec)
}

func (r *review) entry(k Key) schemas.ReviewEntry {
	return schemas.ReviewEntry{Queue: k.Queue, ID: k.ID, Seq: r.seq, Prompt: r.Planned.Prompt, Class: string(r.State.Judged.Class),
		Findings: len(r.State.Judged.Findings) + r.State.Judged.Omitted, Since: r.Since}
}

// ShowReview is all that a person needs to decide upon a run. The conversation is missing when its definitions are gone.
func (w *Worker) ShowReview(ctx context.Context, k Key) (*schemas.ReviewDetail, error) {
	rec, err := w.ledger.Review(ctx, k)
	if err != nil {
		return nil, err
	}
	if rec == nil {
		return nil, w.notInReview(ctx, k)
	}
	h := w.reviewer(k, rec)
	s := h.plan.Revive(rec.State)
	r := engine.WireResult(h.plan, run.Result{Status: schemas.StatusInvalid, State: s})
	out := &schemas.ReviewDetail{ReviewEntry: rec.entry(k), Messages: []schemas.Message{}, Mode: h.plan.Output.Mode, Schema: h.plan.Output.Schema,
		Candidate: s.Candidate.Text, Verdict: r.Validation}
	if p, err := h.replan(ctx, rec); err == nil {
		out.Messages = p.Messages
	}
	return w.fitting(out), nil
}

// fitting leaves out what a reply has no room for: the conversation first, which the requester has, then the correction that
// nobody will send.
func (w *Worker) fitting(d *schemas.ReviewDetail) *schemas.ReviewDetail {
	for _, drop := range []func(){func() { d.Messages = []schemas.Message{} }, func() { d.Verdict.NextCorrection = "" }, func() { d.Schema = nil }} {
		if body, err := schemas.Marshal(d); err == nil && int64(len(body))+headerRoom <= w.nc.MaxPayload() {
			break
		}
		drop()
	}
	return d
}

// reviewsEvery is how often a worker looks for runs that nobody decided upon.
const reviewsEvery = time.Minute

// watchReviews settles what waited longer than keep.reviews, and notices entries that another configuration makes.
func (w *Worker) watchReviews(ctx context.Context) {
	ticker := time.NewTicker(reviewsEvery)
	defer ticker.Stop()
	for {
		if err := w.overdue(ctx); err != nil && ctx.Err() == nil {
			w.log.Warn().Err(err).Msg("overdue reviews could not be settled; trying again")
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// overdue settles as invalid what nobody decided upon in time: a run is never forgotten.
func (w *Worker) overdue(ctx context.Context) error {
	keep := w.engine.Load().Snapshot().Config().Keep.Reviews.Std()
	for at := uint64(1); ; {
		k, rec, err := w.nextReview(ctx, w.names.AllReviews(), at)
		if rec == nil {
			return err
		}
		w.ledger.reviewing.Store(true)
		if at = rec.seq + 1; err != nil {
			w.log.Warn().Err(err).Msg("a review cannot be read; it is left where it is")
			continue
		}
		if time.Since(rec.Since) < keep {
			return nil // the oldest comes first
		}
		h := w.reviewer(k, rec)
		s := h.plan.Revive(rec.State)
		s.Phase, s.Status = run.Done, schemas.StatusInvalid
		r := engine.WireResult(h.plan, run.Result{Status: s.Status, State: s})
		r.Warnings = append(r.Warnings, "nobody decided upon the answer within keep.reviews ("+keep.String()+")")
		if _, err := h.settleDecided(ctx, rec, r, s); err != nil && !errors.Is(err, ErrDecided) {
			h.log().Warn().Err(err).Msg("an overdue review could not be settled; trying again in a minute")
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// reviewsOf answers reviews: a list, or one run.
func (s *services) reviewsOf(r micro.Request) {
	queue, err := s.w.names.ParseReviews(r.Subject())
	if err != nil {
		s.refuse(r, "", queue, schemas.CategoryInvalidRequest, err)
		return
	}
	q, err := schemas.DecodeReviewQuery(r.Data())
	if err == nil && q.ID != "" {
		err = subjects.CheckID(q.ID)
	}
	if err != nil {
		s.refuse(r, q.ID, queue, schemas.CategoryInvalidRequest, err)
		return
	}
	if !s.known(r, queue) {
		return
	}
	ctx, cancel := context.WithTimeout(s.w.base, serviceWait)
	defer cancel()
	var out any
	if q.ID != "" {
		out, err = s.w.ShowReview(ctx, Key{queue, q.ID})
	} else {
		out, err = s.w.Reviews(ctx, queue, q)
	}
	if err != nil {
		s.refuse(r, q.ID, queue, decisionCategory(err), err)
		return
	}
	s.respond(r, out)
}

// decide answers decide with the result of the run.
func (s *services) decide(r micro.Request) {
	queue, err := s.w.names.ParseDecide(r.Subject())
	if err != nil {
		s.refuse(r, "", queue, schemas.CategoryInvalidRequest, err)
		return
	}
	d, err := schemas.DecodeDecision(r.Data())
	if err == nil {
		err = subjects.CheckID(d.ID)
	}
	if err != nil {
		s.refuse(r, "", queue, schemas.CategoryInvalidRequest, err)
		return
	}
	if !s.known(r, queue) {
		return
	}
	ctx, cancel := context.WithTimeout(s.w.base, 2*serviceWait)
	defer cancel()
	out, err := s.w.Decide(ctx, Key{queue, d.ID}, d)
	if err != nil {
		s.refuse(r, d.ID, queue, decisionCategory(err), err)
		return
	}
	s.respond(r, out)
}

func decisionCategory(err error) string {
	switch {
	case errors.Is(err, ErrDecision), errors.Is(err, ErrNoReview):
		return schemas.CategoryInvalidRequest
	case errors.Is(err, ErrEdit):
		return schemas.CategoryOutputInvalid
	case errors.Is(err, ErrDecided), errors.Is(err, ErrChanged):
		return schemas.CategoryIDConflict
	}
	return schemas.CategoryCapacity
}
