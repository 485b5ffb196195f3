package consumer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/engine/run"
	"emend/prompts"
	"emend/schemas"
	"emend/subjects"
)

// Errors of a replay. In each case nothing has changed.
var (
	// ErrReplay: this letter cannot be run so. The error says why, and what may be given otherwise.
	ErrReplay = errors.New("the letter cannot be replayed so")
	// ErrAnswered: the id has an answer, is queued or running, or belongs to other content.
	ErrAnswered = errors.New("the id of the letter is taken")
)

// Replay publishes a dead letter anew, under its id and with the changes that r names, and removes the letter. Whatever would
// refuse the request is told now, not in another letter. The new result replaces the outcome that is stored now, by
// compare-and-set, and no other.
func (w *Worker) Replay(ctx context.Context, k Key, r schemas.Replay) (*schemas.Replayed, error) {
	l, err := w.ledger.letter(ctx, k, r.Seq)
	if err != nil {
		return nil, w.standing(ctx, k, err)
	}
	n, err := w.rewritten(ctx, l, r)
	if err != nil {
		return nil, err
	}
	if err := w.clears(ctx, l, n); err != nil {
		return nil, err
	}
	out := &schemas.Replayed{Queue: k.Queue, ID: k.ID, Letter: l.seq, Backend: ofBackend(n.backend), Changed: n.changed}
	if out.Seq, err = w.publishAgain(ctx, l, n); err != nil {
		return nil, err
	}
	if err := w.ledger.unbury(ctx, l.seq); err != nil {
		w.log.Warn().Err(err).Uint64("letter", l.seq).Msg("the replayed dead letter could not be removed")
	}
	w.log.Info().Str("run", k.ID).Str("queue", k.Queue).Str("backend", n.backend).Uint64("letter", l.seq).Strs("changed", n.changed).Msg("dead letter replayed")
	return out, nil
}

// rewrite is the request that a replay publishes.
type rewrite struct {
	backend string
	body    []byte
	changed []string
}

// rewritten applies the changes to a letter's request and plans it. The bytes stay as they are where nothing changes.
func (w *Worker) rewritten(ctx context.Context, l *letter, r schemas.Replay) (*rewrite, error) {
	if name := l.pipeline(w.names); name != "" {
		return w.rewrittenPipeline(ctx, l, name, r)
	}
	req, err := schemas.DecodeRequest(l.body)
	if err != nil {
		return nil, fmt.Errorf("%w: its request is refused whatever is changed: %w", ErrReplay, err)
	}
	n := &rewrite{body: l.body}
	if err := n.change(&req, r, time.Now()); err != nil {
		return nil, err
	}
	snap := w.engine.Load().Snapshot()
	n.backend = backendOf(snap, req, r, l.backend(w.names))
	if n.backend != l.backend(w.names) {
		n.changed = append(n.changed, "backend")
	}
	if len(n.changed) > 0 {
		if n.body, err = schemas.Marshal(req); err != nil {
			return nil, err
		}
	}
	if _, err := w.planAgain(ctx, snap, l.key, n.backend, req); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrReplay, err)
	}
	return n, nil
}

// change puts what r gives in the place of what the request has, and takes out a deadline that has passed: whoever replays
// wants an answer now.
func (n *rewrite) change(req *schemas.Request, r schemas.Replay, now time.Time) error {
	if r.Prompt != "" && len(req.Messages) > 0 {
		return fmt.Errorf("%w: it has messages of its own and no prompt", ErrReplay)
	}
	set := func(name string, field *string, to string) {
		if to != "" && to != *field {
			*field = to
			n.changed = append(n.changed, name)
		}
	}
	set("prompt", &req.Prompt, r.Prompt)
	set("profile", &req.Profile, r.Profile)
	if req.Deadline != nil && !now.Before(*req.Deadline) {
		req.Deadline = nil
		n.changed = append(n.changed, "deadline")
	}
	return nil
}

// backendOf is where a request goes: as told, else where its profile is now, else as before, else the only one there is.
func backendOf(snap *prompts.Snapshot, req schemas.Request, r schemas.Replay, before string) string {
	if r.Backend != "" {
		return r.Backend
	}
	profile := req.Profile
	if profile == "" {
		if p, ok := snap.Prompt(req.Prompt); ok {
			profile = p.Profile
		}
	}
	if p, ok := snap.Profiles()[profile]; ok {
		return p.Backend
	}
	if names := snap.Config().BackendNames(); before == "" && len(names) == 1 {
		return names[0]
	}
	return before
}

// planAgain plans a request as its delivery will.
func (w *Worker) planAgain(ctx context.Context, snap *prompts.Snapshot, k Key, backend string, req schemas.Request) (*run.Plan, error) {
	if !subjects.ValidName(backend) {
		return nil, errors.New("the letter does not say for which backend it was; give one")
	}
	req.Inputs = maps.Clone(req.Inputs)
	if err := w.blobs.Resolve(ctx, k.Queue, &req); err != nil {
		return nil, err
	}
	return snap.Plan(req, prompts.Origin{ID: k.ID, Queue: k.Queue, Backend: backend, Published: time.Now()})
}

// clears sees that the id is free for the request, and grants it the outcome that it is to replace where the content is another.
func (w *Worker) clears(ctx context.Context, l *letter, n *rewrite) error {
	k := l.key
	r, seq, err := w.ledger.Result(ctx, k)
	if err != nil {
		return err
	}
	m, _, err := w.request(ctx, k)
	if err != nil {
		return err
	}
	rec, err := w.waiting(ctx, k, r)
	switch {
	case err != nil:
		return err
	case m != nil:
		return fmt.Errorf("%w: a request with it is queued or running", ErrAnswered)
	case rec != nil:
		return fmt.Errorf("%w: its run waits for a person", ErrAnswered)
	case r == nil:
		return nil
	case !w.of(l, r):
		return fmt.Errorf("%w: it was settled with other content than the letter's; purge the letter, and publish under another id", ErrAnswered)
	case !unanswered(r.Status):
		return fmt.Errorf("%w: its run has ended as %s since; purge the letter", ErrAnswered, r.Status)
	case r.Request.SHA256 == schemas.Fingerprint(n.backend, n.body):
		return nil
	}
	return w.ledger.grants(ctx, k, schemas.Fingerprint(n.backend, n.body), seq)
}

// of reports whether a result is that of a letter's request. One that does not say its backend may be any backend's.
func (w *Worker) of(l *letter, r *schemas.Result) bool {
	backends := w.engine.Load().Snapshot().Config().BackendNames()
	if b := l.backend(w.names); b != "" {
		backends = []string{b}
	}
	if name := l.pipeline(w.names); name != "" {
		backends = []string{pipelineOrigin(name)}
	}
	for _, b := range backends {
		if r.Request.SHA256 == schemas.Fingerprint(b, l.body) {
			return true
		}
	}
	return false
}

// publishAgain stores the request with the headers that its requester gave; a reply goes where it was to go, if that is still
// allowed.
func (w *Worker) publishAgain(ctx context.Context, l *letter, n *rewrite) (uint64, error) {
	m := &nats.Msg{Subject: requestSubject(w.names, n.backend, l.key), Data: n.body, Header: nats.Header{}}
	for name, values := range l.header {
		if !subjects.Steering(name) {
			m.Header[name] = values
		}
	}
	inboxes := w.engine.Load().Snapshot().Config().InboxesOf(l.key.Queue)
	if to := m.Header.Get(subjects.HeaderReplyTo); to != "" && w.names.CheckReplyTo(to, inboxes) != nil {
		m.Header.Del(subjects.HeaderReplyTo)
	}
	ack, err := w.js.PublishMsg(ctx, m)
	if errors.Is(err, nats.ErrMaxPayload) {
		m.Header = nil
		ack, err = w.js.PublishMsg(ctx, m)
	}
	switch {
	case err == nil:
		return ack.Sequence, nil
	case errors.Is(err, jetstream.ErrNoStreamResponse):
		return 0, fmt.Errorf("%w: no backend %q with queue %q is served here", ErrReplay, n.backend, l.key.Queue)
	case isCode(err, codeStreamFull) && strings.Contains(err.Error(), "per subject"):
		return 0, fmt.Errorf("%w: a request with it is queued or running", ErrAnswered)
	}
	return 0, fmt.Errorf("the request was not stored; ask again: %w", err)
}
