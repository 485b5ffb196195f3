package consumer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"emend/engine/run"
	"emend/schemas"
)

// Attempts with their content (attempts: full) can be larger than a message may be: in a result, in the saved state of a run,
// and in the entry of one that waits for a person. They then stand in the queue's object bucket, and what holds them has them
// without their text, and a reference.

// attempts reads attempts that are stored apart.
func (b *Blobs) attempts(ctx context.Context, queue string, blob *schemas.Blob) ([]schemas.Attempt, error) {
	content, err := b.Get(ctx, queue, blob.SHA256, schemas.MaxBytes)
	if err != nil {
		return nil, err
	}
	var all []schemas.Attempt
	if err := json.Unmarshal(content, &all); err != nil {
		return nil, fmt.Errorf("blob sha256:%s: %w", blob.SHA256, errOther)
	}
	return all, nil
}

// lean stores attempts apart and returns them without their text. had is false where there is none: nothing is stored then.
// With an error they have no text either, and there is no reference: what follows must fit all the same.
func (b *Blobs) lean(ctx context.Context, queue string, all []schemas.Attempt) (lean []schemas.Attempt, blob *schemas.Blob, had bool, err error) {
	if lean, had = schemas.Lean(all); !had {
		return all, nil, false, nil
	}
	content, err := schemas.Marshal(all)
	if err != nil {
		return lean, nil, true, err
	}
	blob = &schemas.Blob{Field: schemas.BlobAttempts, Bytes: int64(len(content))}
	if blob.SHA256, err = b.Put(ctx, queue, content); err != nil {
		return lean, nil, true, err
	}
	return lean, blob, true, nil
}

// leaner is lean for a handler, in a number of tries: texts that cannot be stored are lost, and the log says so.
func (h *handler) leaner(ctx context.Context, all []schemas.Attempt, tries int) (lean []schemas.Attempt, blob *schemas.Blob, had bool) {
	lean, blob, had, err := h.w.blobs.lean(ctx, h.key.Queue, all)
	for ; err != nil && tries > 1 && sleep(ctx, settleBackoffMax/4); tries-- {
		lean, blob, had, err = h.w.blobs.lean(ctx, h.key.Queue, all)
	}
	if err != nil {
		h.log().Warn().Err(err).Msg("the texts of the run's attempts could not be stored apart; their lengths are noted")
	}
	return lean, blob, had
}

// write stores the saved entry. Where it is too large, the texts of its attempts stand apart, or all of its state, which is tried a
// number of times.
func (h *handler) write(ctx context.Context, tries int) error {
	err := h.w.ledger.save(ctx, h.key, h.saved)
	if errors.Is(err, nats.ErrMaxPayload) && h.saved.State != nil && h.saved.Apart == nil {
		switch {
		case h.fitsLean():
			h.lighter(ctx)
		case !h.apart(ctx, tries):
			return err
		}
		err = h.w.ledger.save(ctx, h.key, h.saved)
	}
	if err == nil {
		h.w.blobs.release(ctx, h.key.Queue, h.saved)
		h.saved.kept = h.saved.Apart
	}
	return err
}

// lighter stores the texts of the entry's attempts apart.
func (h *handler) lighter(ctx context.Context) {
	s := *h.saved.State
	var blob *schemas.Blob
	s.Attempts, blob, _ = h.leaner(ctx, s.Attempts, 1)
	h.saved.State, h.saved.Attempts = &s, blob
}

// hold makes s the state that the entry is saved with.
func (h *handler) hold(s run.State) {
	h.saved.State, h.saved.Attempts, h.saved.Apart, h.saved.Phase = &s, nil, nil, ""
}

// whole is a saved state with what stands apart of it; nil for none.
func (b *Blobs) whole(ctx context.Context, queue string, s *saved) (*run.State, error) {
	state, err := b.state(ctx, queue, s)
	if err != nil || state == nil || s.Attempts == nil {
		return state, err
	}
	all, err := b.told(ctx, queue, state.Attempts, s.Attempts)
	if err != nil {
		return nil, err
	}
	out := *state
	out.Attempts = all
	return &out, nil
}

// told are attempts with their texts, which stand in blob; nil is none. Texts that are gone leave their lengths.
func (b *Blobs) told(ctx context.Context, queue string, lean []schemas.Attempt, blob *schemas.Blob) ([]schemas.Attempt, error) {
	if blob == nil {
		return lean, nil
	}
	all, err := b.attempts(ctx, queue, blob)
	switch {
	case gone(err):
		return lean, nil
	case err != nil:
		return nil, fmt.Errorf("the texts of the run's attempts: %w", err)
	}
	return all, nil
}

// gone reports that a blob will not come back, or not as it was.
func gone(err error) bool { return errors.Is(err, ErrNoBlob) || errors.Is(err, errOther) }
