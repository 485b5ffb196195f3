package consumer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"

	"emend/engine/run"
	"emend/schemas"
)

// A state that no message can hold stands in the queue's object bucket as a whole. Its entry has a reference, and a state without
// the answer: what a worker goes on from that does not know references, or finds the object gone, with all that was spent.

// stateObject is what a state stands apart as. Seq, that of its request, makes it an object of one run alone: who goes on may take
// it away.
type stateObject struct {
	Seq   uint64     `json:"seq"`
	State *run.State `json:"state"`
}

// stateRoom is kept for the headers of an entry.
const stateRoom = 512

// fitsLean reports whether the entry has room without the texts of attempts, and has any.
func (h *handler) fitsLean() bool {
	lean, had := schemas.Lean(h.saved.State.Attempts)
	if !had {
		return false
	}
	s, entry := *h.saved.State, *h.saved
	s.Attempts = lean
	entry.State, entry.Attempts = &s, &schemas.Blob{SHA256: strings.Repeat("0", 2*sha256.Size), Bytes: math.MaxInt64, Field: schemas.BlobAttempts}
	b, err := json.Marshal(entry)
	return err == nil && int64(len(b))+stateRoom <= h.w.nc.MaxPayload()
}

// apart stores the state of the entry in the queue's bucket, in a number of tries, and reports whether it stands there.
func (h *handler) apart(ctx context.Context, tries int) bool {
	s := h.saved.State
	content, err := json.Marshal(stateObject{Seq: h.saved.Seq, State: s})
	if err != nil {
		return false
	}
	sum := sha256.Sum256(content)
	blob := &schemas.Blob{SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(content)), Field: fieldState}
	if h.saved.kept == nil || *h.saved.kept != *blob {
		_, err = h.w.blobs.Put(ctx, h.key.Queue, content)
		for ; err != nil && tries > 1 && sleep(ctx, settleBackoffMax/4); tries-- {
			_, err = h.w.blobs.Put(ctx, h.key.Queue, content)
		}
	}
	if err != nil {
		h.log().Warn().Err(err).Msg("the state of the run is larger than max_payload and could not be stored apart")
		return false
	}
	h.saved.Phase, h.saved.Apart, h.saved.State = s.Phase, blob, h.slim(s)
	if h.saved.State != nil {
		h.saved.State.Attempts, _ = schemas.Lean(s.Attempts)
	}
	return true
}

// fieldState is the field of a reference to a state.
const fieldState = "state"

// state is a saved state without the texts of its attempts, where those stand apart; nil for none. One that is gone leaves what the
// entry has.
func (b *Blobs) state(ctx context.Context, queue string, s *saved) (*run.State, error) {
	if s.Apart == nil {
		return s.State, nil
	}
	content, err := b.Get(ctx, queue, s.Apart.SHA256, s.Apart.Bytes)
	var o stateObject
	switch {
	case gone(err):
		return s.State, nil
	case err != nil:
		return nil, err
	case json.Unmarshal(content, &o) != nil || o.State == nil:
		return s.State, nil
	}
	return o.State, nil
}

// release takes the object away that the entry named before it was written, or erased: nobody goes on from it. What fails is
// left to the bucket's age limit.
func (b *Blobs) release(ctx context.Context, queue string, s *saved) {
	if s == nil || s.kept == nil || s.Apart != nil && *s.Apart == *s.kept {
		return
	}
	old := s.kept
	s.kept = nil
	ctx, cancel := context.WithTimeout(ctx, settleTry)
	defer cancel()
	if bucket, err := b.js.ObjectStore(ctx, b.names.ObjectBucket(queue)); err == nil {
		_ = bucket.Delete(ctx, old.SHA256)
	}
}

// erase removes what was saved of a run that has ended.
func (w *Worker) erase(ctx context.Context, k Key, s *saved) {
	w.ledger.erase(ctx, k, s)
	if s != nil {
		s.Apart = nil
		w.blobs.release(ctx, k.Queue, s)
	}
}
