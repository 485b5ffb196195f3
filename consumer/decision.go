package consumer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"

	"emend/engine"
	"emend/engine/contract"
	"emend/engine/run"
	"emend/schemas"
	"emend/subjects"
)

// Errors of a decision.
var (
	// ErrNoReview: the run does not wait for a person. The error says how it ended, if it did.
	ErrNoReview = errors.New("the run does not wait for a person")
	// ErrDecided: somebody else decided first.
	ErrDecided = errors.New("the run was decided by somebody else")
	// ErrChanged: the entry is not the one that was seen.
	ErrChanged = errors.New("the entry has changed since you saw it")
	// ErrEdit: the edit breaks the contract; nothing has changed.
	ErrEdit = errors.New("the edit breaks the contract")
	// ErrDecision: the decision itself is wrong; nothing has changed.
	ErrDecision = errors.New("invalid decision")
)

// Limits of a decision.
const (
	maxBy   = 128
	maxNote = 2048
)

func checkDecision(d schemas.Decision) error {
	edit := d.Output != nil || d.OutputText != nil
	switch {
	case d.Decision != schemas.DecisionApprove && d.Decision != schemas.DecisionReject && d.Decision != schemas.DecisionEdit:
		return fmt.Errorf("%w: decision must be approve, reject or edit", ErrDecision)
	case d.By == "" || len(d.By) > maxBy || !plainText(d.By):
		return fmt.Errorf("%w: by must name who decides, in one line of at most %d bytes", ErrDecision, maxBy)
	case len(d.Note) > maxNote || !utf8.ValidString(d.Note):
		return fmt.Errorf("%w: note has %d bytes; allowed are %d, in UTF-8", ErrDecision, len(d.Note), maxNote)
	case edit && d.Decision != schemas.DecisionEdit:
		return fmt.Errorf("%w: an output belongs to an edit; %s takes the answer as it is", ErrDecision, d.Decision)
	case d.Decision == schemas.DecisionEdit && (d.Output != nil) == (d.OutputText != nil):
		return fmt.Errorf("%w: an edit needs output (JSON), or output_text", ErrDecision)
	}
	return nil
}

func plainText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f })
}

// Decide settles a run that waits for a person. The compare-and-set of its result decides between two reviewers; the
// loser hears who was first. It is safe to ask again with the same decision.
func (w *Worker) Decide(ctx context.Context, k Key, d schemas.Decision) (*schemas.Result, error) {
	if err := checkDecision(d); err != nil {
		return nil, err
	}
	rec, err := w.ledger.Review(ctx, k)
	if err != nil {
		return nil, err
	}
	if rec == nil {
		return nil, w.notInReview(ctx, k)
	}
	if d.Seq != 0 && d.Seq != rec.seq {
		return nil, fmt.Errorf("%w: it was %d and is %d now; look again", ErrChanged, d.Seq, rec.seq)
	}
	h := w.reviewer(k, rec)
	decided, err := h.decided(ctx, rec, d)
	if err != nil {
		return nil, err
	}
	s, _ := h.plan.Step(h.plan.Revive(rec.State), decided)
	return h.settleDecided(ctx, rec, engine.WireResult(h.plan, run.Result{Status: s.Status, State: s}), s)
}

func (w *Worker) notInReview(ctx context.Context, k Key) error {
	r, _, err := w.ledger.Result(ctx, k)
	switch {
	case err != nil:
		return err
	case r == nil:
		return fmt.Errorf("%w, and has no result either: %s/%s", ErrNoReview, k.Queue, k.ID)
	case r.Review == nil:
		return fmt.Errorf("%w: %s", ErrNoReview, ended(r))
	}
	return fmt.Errorf("%w: %s", ErrDecided, ended(r))
}

func ended(r *schemas.Result) string {
	if r.Review == nil {
		return fmt.Sprintf("%s/%s ended as %s", r.Queue, r.ID, r.Status)
	}
	return fmt.Sprintf("%s/%s ended as %s: %s by %s at %s", r.Queue, r.ID, r.Status, r.Review.Decision, r.Review.By, r.Review.At.Format(time.RFC3339))
}

// reviewer is a handler without a delivery: the request is acked long since.
func (w *Worker) reviewer(k Key, rec *review) *handler {
	h := &handler{w: w, key: k, backend: rec.Backend, taken: rec.Published.Add(rec.Queued), fingerprint: rec.Fingerprint, replyTo: rec.ReplyTo, engine: w.engine.Load(),
		d: &delivery{nc: w.nc, seq: rec.RequestSeq, count: rec.Delivery, published: rec.Published,
			msg: &nats.Msg{Subject: w.names.Run(rec.Backend, k.Queue, k.ID), Data: rec.Body, Header: nats.Header{}}}}
	if rec.Traceparent != "" {
		h.d.msg.Header.Set(subjects.HeaderTraceparent, rec.Traceparent)
	}
	h.events = &publisher{nc: w.nc, names: w.names, worker: w.id, metrics: w.opts.Metrics, key: k, delivery: rec.Delivery}
	h.plan = rec.plan(k)
	if c, err := contract.Compile(specOf(h.plan.Output)); err == nil {
		h.plan.Contract = c
	}
	return h
}

// specOf is a stored contract without its rules, which tells the value of a text that was judged before.
func specOf(o schemas.Output) contract.Spec {
	spec := contract.Spec{Mode: o.Mode, Schema: o.Schema, LastWins: o.DuplicateKeys == "last_wins"}
	if o.Repair != nil {
		spec.Local = o.Repair.Local
	}
	return spec
}

// replan finds the contract that the run was judged under, rules included.
//
// Definitions that have changed since are another contract: what is true under it says nothing of this run.
func (h *handler) replan(ctx context.Context, rec *review) (*run.Plan, error) {
	p, err := h.planned(ctx)
	if err != nil {
		return nil, err
	}
	if p.PromptSHA256 != rec.State.PromptSHA256 {
		return nil, fmt.Errorf("the definitions have changed since the run was judged (it ran under %s); approve or reject it, or put them back", cmp.Or(rec.Planned.Prompt, "its own messages"))
	}
	return p, nil
}

// decided is the event of a decision. An edit is judged, under the whole contract, and refused if it breaks it.
func (h *handler) decided(ctx context.Context, rec *review, d schemas.Decision) (run.Decided, error) {
	out := run.Decided{Review: schemas.Review{Decision: d.Decision, By: d.By, At: time.Now().UTC().Truncate(time.Millisecond), Note: d.Note}}
	if d.Decision != schemas.DecisionEdit {
		return out, nil
	}
	p, err := h.replan(ctx, rec)
	if err != nil {
		return out, fmt.Errorf("%w: the edit cannot be judged: %w", ErrDecision, err)
	}
	out.Text = string(d.Output)
	if d.OutputText != nil {
		out.Text = *d.OutputText
	}
	text := p.Output.Mode != schemas.ModeJSON && p.Output.Mode != schemas.ModeJSONSchema
	if text != (d.OutputText != nil) {
		return out, fmt.Errorf("%w: the contract's mode is %s; edit with %s", ErrDecision, p.Output.Mode, map[bool]string{true: "output_text", false: "output"}[text])
	}
	v := p.Contract.Judge([]byte(out.Text))
	if !v.Valid() {
		return out, fmt.Errorf("%w: %s", ErrEdit, faults(v))
	}
	out.Verdict, h.plan = v, p
	return out, nil
}

// faults lists the first findings of an edit in words: the reviewer wrote it, so it may be quoted to them.
func faults(v contract.Verdict) string {
	if v.Err != nil {
		return v.Err.Error()
	}
	const shown = 5
	var list []string
	for _, f := range v.Findings[:min(len(v.Findings), shown)] {
		list = append(list, f.Message)
	}
	if more := len(v.Findings) - shown + v.Omitted; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, "; ")
}

// settleDecided stores the result of a run in review, replies, tells, and removes the entry.
func (h *handler) settleDecided(ctx context.Context, rec *review, r schemas.Result, s run.State) (*schemas.Result, error) {
	h.stamp(&r)
	var err error
	if r.Attempts, err = h.w.blobs.told(ctx, h.key.Queue, r.Attempts, rec.Attempts); err != nil {
		return nil, err
	}
	body, err := schemas.Marshal(r)
	if err == nil && int64(len(body))+headerRoom > h.w.nc.MaxPayload() {
		r, body, err = h.smaller(ctx, r, len(body))
	}
	if err != nil {
		return nil, err
	}
	mine := func(o *schemas.Result) bool {
		return h.delivered(o) && (o.Review == nil) == (r.Review == nil) && (o.Review == nil || *o.Review == *r.Review)
	}
	switch settled, _, err := h.w.ledger.Settle(ctx, h.key, &h.resultMsg(r, body).Msg, mine, rec.Replace); settled {
	case Stored:
	case Another:
		o, _, err := h.w.ledger.Result(ctx, h.key)
		if err != nil {
			return nil, err
		}
		if o == nil || o.Request.Seq != rec.RequestSeq {
			return nil, fmt.Errorf("%w: the id has the result of another request", ErrDecided)
		}
		_ = h.w.ledger.forget(ctx, rec)
		return nil, fmt.Errorf("%w: %s", ErrDecided, ended(o))
	default:
		return nil, fmt.Errorf("the result is not stored (%s); decide again: %w", settled, err)
	}
	h.reply(r, body)
	totals := engine.Totals(run.Result{State: s})
	totals.TimingMS = r.TimingMS
	h.events.send(schemas.Event{Kind: schemas.EventFinished, Outcome: r.Status, Totals: &totals, Prompt: r.Source.Prompt, Profile: r.Source.Profile, Backend: h.backend, Model: r.Source.Model})
	if err := h.w.ledger.forget(ctx, rec); err != nil {
		h.log().Warn().Err(err).Msg("the decided run could not be taken out of the reviews; it has its result")
	}
	h.log().Info().Str("status", r.Status).Msg("run decided")
	return &r, nil
}

// waiting is the entry of a run that waits for a person, given its stored result; nil for any other.
func (w *Worker) waiting(ctx context.Context, k Key, r *schemas.Result) (*review, error) {
	if !w.ledger.reviewing.Load() {
		return nil, nil
	}
	rec, err := w.ledger.Review(ctx, k)
	if err != nil || rec == nil || (r != nil && r.Request.Seq >= rec.RequestSeq) {
		return nil, err
	}
	return rec, nil
}

func (r *review) class() contract.Class {
	if r == nil || r.State.Judged == nil {
		return ""
	}
	return r.State.Judged.Class
}

// cancelReview settles a run in review as cancelled.
func (w *Worker) cancelReview(ctx context.Context, k Key, rec *review, err error) (schemas.CancelReply, error) {
	out := schemas.CancelReply{ID: k.ID, Queue: k.Queue}
	if err != nil {
		return out, err
	}
	h := w.reviewer(k, rec)
	r, s := ofState(plain(schemas.StatusCancelled, engine.Source(h.plan, rec.State), rec.Planned.Metadata), &rec.State)
	if _, err := h.settleDecided(ctx, rec, r, s); err != nil && !errors.Is(err, ErrDecided) {
		return out, err
	}
	stored, _, err := w.ledger.Result(ctx, k)
	if err != nil || stored == nil {
		return out, err
	}
	out.Status, out.Cancelled = stored.Status, stored.Status == schemas.StatusCancelled
	return out, nil
}
