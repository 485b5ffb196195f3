package consumer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"emend/schemas"
)

// grant is the leave to replace one outcome of a run by requests of one other content; the key names that content. Only who
// may write the state bucket can give it: a worker, for an operator's replay. No header of a requester stands for it.
type grant struct {
	V int `json:"v"`
	// Outcome is the sequence of the result that may be replaced.
	Outcome uint64 `json:"outcome"`
}

const grantVersion = 1

// grants gives the leave.
func (l *Ledger) grants(ctx context.Context, k Key, fingerprint string, outcome uint64) error {
	b, err := json.Marshal(grant{V: grantVersion, Outcome: outcome})
	if err != nil {
		return err
	}
	if _, err := l.state.Put(ctx, l.names.GrantKey(k.Queue, k.ID, fingerprint), b); err != nil {
		return fmt.Errorf("store the grant of %s/%s: %w", k.Queue, k.ID, err)
	}
	return nil
}

// granted reports whether a request may replace an outcome whose content is another. It looks only where that is the
// question.
func (l *Ledger) granted(ctx context.Context, k Key, fingerprint string, r *schemas.Result, outcome uint64) (bool, error) {
	if r == nil || r.Request.SHA256 == fingerprint || !unanswered(r.Status) {
		return false, nil
	}
	entry, err := l.state.Get(ctx, l.names.GrantKey(k.Queue, k.ID, fingerprint))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the grant of %s/%s: %w", k.Queue, k.ID, err)
	}
	var g grant
	return json.Unmarshal(entry.Value(), &g) == nil && g.V == grantVersion && g.Outcome == outcome, nil
}
