package consumer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/engine"
	"emend/engine/run"
	"emend/schemas"
	"emend/subjects"
)

// review is what the stream of reviews holds of a run that waits for a person: its State, and all of the acked request
// that its result will need.
type review struct {
	V           int           `json:"v"`
	Fingerprint string        `json:"fingerprint"`
	Backend     string        `json:"backend"`
	RequestSeq  uint64        `json:"request_seq"`
	Delivery    uint64        `json:"delivery"`
	Published   time.Time     `json:"published"`
	Queued      time.Duration `json:"queued"`
	Since       time.Time     `json:"since"`
	ReplyTo     string        `json:"reply_to,omitempty"`
	Traceparent string        `json:"traceparent,omitempty"`
	// Replace is the sequence of the settled outcome that the result replaces, else 0.
	Replace uint64    `json:"replace,omitempty"`
	State   run.State `json:"state"`
	// Attempts are those of State with their texts, where the entry has no room for them.
	Attempts *schemas.Blob `json:"attempts,omitempty"`
	Body     []byte        `json:"body"`
	// Planned is what the result says of its plan, should the definitions be gone by then.
	Planned planned `json:"planned"`
	// seq is the entry's own sequence in the stream.
	seq uint64
}

const reviewVersion = 1

// planned is the part of a plan that a decision can be settled with.
type planned struct {
	Prompt       string            `json:"prompt,omitempty"`
	PromptSHA256 string            `json:"prompt_sha256,omitempty"`
	Catalog      int               `json:"catalog,omitempty"`
	Profile      string            `json:"profile,omitempty"`
	Model        string            `json:"model,omitempty"`
	Output       schemas.Output    `json:"output"`
	Metadata     map[string]string `json:"metadata,omitempty"`
	Warnings     []string          `json:"warnings,omitempty"`
	Attempts     string            `json:"attempts,omitempty"`
}

func plannedOf(p *run.Plan) planned {
	return planned{Prompt: p.Prompt, PromptSHA256: p.PromptSHA256, Catalog: p.Catalog, Profile: p.Profile, Model: p.Model, Output: p.Output,
		Metadata: p.Metadata, Warnings: p.Warnings, Attempts: p.Attempts}
}

func (r *review) plan(k Key) *run.Plan {
	p := r.Planned
	return &run.Plan{ID: k.ID, Queue: k.Queue, Prompt: p.Prompt, PromptSHA256: p.PromptSHA256, Catalog: p.Catalog, Profile: p.Profile, Backend: r.Backend,
		Model: p.Model, Output: p.Output, Metadata: p.Metadata, Warnings: p.Warnings, Attempts: p.Attempts}
}

// Review returns the entry of a run that waits for a person, read from the stream's leader; nil if there is none.
func (l *Ledger) Review(ctx context.Context, k Key) (*review, error) {
	m, err := l.reviews.GetLastMsgForSubject(ctx, l.names.Review(k.Queue, k.ID))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the review of %s/%s: %w", k.Queue, k.ID, err)
	}
	return decodeReview(k, m)
}

func decodeReview(k Key, m *jetstream.RawStreamMsg) (*review, error) {
	var r review
	if err := json.Unmarshal(m.Data, &r); err != nil || r.V != reviewVersion {
		return nil, fmt.Errorf("the review of %s/%s (sequence %d) has a form that this worker does not know: version %d", k.Queue, k.ID, m.Sequence, r.V)
	}
	r.seq = m.Sequence
	return &r, nil
}

// Escalate stores an entry by compare-and-set. One of an earlier request under the same id, which has its result, is
// written over; Another means that this request's entry is there already.
func (l *Ledger) Escalate(ctx context.Context, k Key, r *review) (Settled, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return Unknown, fmt.Errorf("review of %s/%s: %w", k.Queue, k.ID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, settleTry)
	defer cancel()
	old, err := l.Review(ctx, k)
	if err != nil {
		return Unknown, err
	}
	var expect uint64
	if old != nil {
		if old.RequestSeq >= r.RequestSeq {
			return Another, nil
		}
		expect = old.seq
	}
	m := &nats.Msg{Subject: l.names.Review(k.Queue, k.ID), Data: body, Header: nats.Header{}}
	m.Header.Set(subjects.HeaderExpectedLastSubjectSequence, strconv.FormatUint(expect, 10))
	switch _, err := l.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0)); {
	case err == nil:
		return Stored, nil
	case isCode(err, codeStreamFull):
		return Full, err
	default:
		return Unknown, err
	}
}

// forget removes an entry whose run has its result; one that cannot be removed is skipped by every list.
func (l *Ledger) forget(ctx context.Context, r *review) error {
	err := l.reviews.DeleteMsg(ctx, r.seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) || errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
		return nil
	}
	return err
}

// escalate stores a run that waits for a person, retrying until it is stored or the process must stop; then an interim
// reply and the ack. An entry that the server cannot take is no reason to lose an answer: the run ends as invalid.
func (h *handler) escalate(work context.Context, s run.State, replace uint64) {
	r := &review{V: reviewVersion, Fingerprint: h.fingerprint, Backend: h.backend, RequestSeq: h.d.seq, Delivery: h.d.count, Published: h.d.published,
		Queued: max(h.taken.Sub(h.d.published), 0), Since: time.Now().UTC(), ReplyTo: h.replyTo, Traceparent: h.d.msg.Header.Get(subjects.HeaderTraceparent),
		Replace: replace, State: s, Body: h.d.msg.Data, Planned: plannedOf(h.plan)}
	pause := settleBackoffMin
	for said := false; ; {
		outcome, err := h.w.ledger.Escalate(h.w.base, h.key, r)
		switch {
		case outcome == Stored || outcome == Another:
			h.interim()
			h.ackNow()
			h.log().Info().Str("state", schemas.StateInReview).Int("calls", s.Counts.Calls).Msg("run waits for a person")
			return
		case errors.Is(err, nats.ErrMaxPayload):
			if h.lighten(work, r) {
				continue
			}
			h.unescalated(work, s, replace)
			return
		}
		h.w.closeGates(pause)
		if !said {
			h.log().Warn().Err(err).Str("outcome", outcome.String()).Msg("the review is not stored yet; trying until it is")
			said = true
			defer h.w.stuck()()
		}
		if !sleep(work, pause) && (h.keep(s) || !sleep(h.w.base, pause)) {
			return
		}
		pause = min(2*pause, settleBackoffMax)
	}
}

// lighten stores the texts of an entry's attempts apart, or else leaves out what its votes say beside their codes, and reports whether
// there was any of it.
func (h *handler) lighten(ctx context.Context, r *review) bool {
	if lean, blob, had := h.leaner(ctx, r.State.Attempts, blobTries); had {
		r.State.Attempts, r.Attempts = lean, blob
		return true
	}
	votes, n, size := bareVotes(r.State.Votes)
	if n == 0 {
		return false
	}
	r.State.Votes = votes
	r.Planned.Warnings = append(slices.Clone(r.Planned.Warnings), unguidedText("the review", n, size, h.w.nc.MaxPayload()))
	return true
}

// unescalated settles a run whose review has no room in a message.
func (h *handler) unescalated(work context.Context, s run.State, replace uint64) {
	s.Phase, s.Status = run.Done, schemas.StatusInvalid
	r := engine.WireResult(h.plan, run.Result{Status: s.Status, State: s})
	r.Warnings = append(r.Warnings, fmt.Sprintf("the answer stayed invalid and was not escalated: request and state are larger than the server's max_payload (%d)", h.w.nc.MaxPayload()))
	h.settle(work, r, replace, s)
}

// interim tells the requester that a person is asked; the result follows on the same subject.
func (h *handler) interim() {
	if h.replyTo == "" {
		return
	}
	body, err := schemas.Marshal(schemas.Progress{ID: h.key.ID, Queue: h.key.Queue, State: schemas.StateInReview})
	if err != nil {
		return
	}
	m := &nats.Msg{Subject: h.replyTo, Data: body, Header: nats.Header{}}
	m.Header.Set(subjects.HeaderStatus, schemas.StateInReview)
	m.Header.Set(subjects.HeaderRun, h.key.ID)
	_ = h.w.nc.PublishMsg(m)
}
