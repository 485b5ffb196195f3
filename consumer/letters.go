package consumer

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/schemas"
	"emend/subjects"
)

// Bounds of one list of dead letters, and of what one call looks at.
const (
	lettersLimit    = 100
	maxLettersLimit = 1000
	maxLettersSeen  = 1000
)

// entryRoom is more than an entry takes without its error: names are bounded.
const entryRoom = 1024

// ErrNoLetter: no dead letter has this id, or this sequence.
var ErrNoLetter = errors.New("there is no such dead letter")

// letter is one dead letter as it is stored.
type letter struct {
	key    Key
	seq    uint64
	at     time.Time
	header nats.Header
	body   []byte
}

// letter returns a dead letter of a run, the latest for seq 0, read from the stream's leader; ErrNoLetter if there is none.
func (l *Ledger) letter(ctx context.Context, k Key, seq uint64) (*letter, error) {
	subject := l.names.Dead(k.Queue, k.ID)
	get := func() (*jetstream.RawStreamMsg, error) { return l.dead.GetLastMsgForSubject(ctx, subject) }
	if seq != 0 {
		get = func() (*jetstream.RawStreamMsg, error) { return l.dead.GetMsg(ctx, seq) }
	}
	m, err := get()
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound), err == nil && m.Subject != subject:
		if seq == 0 {
			return nil, fmt.Errorf("%w: %s/%s", ErrNoLetter, k.Queue, k.ID)
		}
		return nil, fmt.Errorf("%w: %s/%s, sequence %d", ErrNoLetter, k.Queue, k.ID, seq)
	case err != nil:
		return nil, fmt.Errorf("read the dead letter of %s/%s: %w", k.Queue, k.ID, err)
	}
	return &letter{key: k, seq: m.Sequence, at: m.Time, header: m.Header, body: m.Data}, nil
}

// standing adds to an error for want of a letter how the run stands.
func (w *Worker) standing(ctx context.Context, k Key, err error) error {
	if !errors.Is(err, ErrNoLetter) {
		return err
	}
	at, fault := w.Whereabouts(ctx, k)
	if fault != nil {
		return err
	}
	switch v := at.(type) {
	case *schemas.Result:
		return fmt.Errorf("%w; the run has ended as %s", err, v.Status)
	case schemas.Progress:
		if v.State == schemas.StateNotFound {
			return fmt.Errorf("%w; no request and no result has this id either", err)
		}
		return fmt.Errorf("%w; the run is %s", err, v.State)
	}
	return err
}

// nextLetter is the first dead letter on a subject at or behind a sequence; nil if there is none.
func (l *Ledger) nextLetter(ctx context.Context, filter string, at uint64) (*letter, error) {
	m, err := l.dead.GetMsg(ctx, at, jetstream.WithGetMsgSubject(filter))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the dead letters on %s: %w", filter, err)
	}
	queue, id, err := l.names.ParseDead(m.Subject)
	if err != nil {
		return nil, err
	}
	return &letter{key: Key{queue, id}, seq: m.Sequence, at: m.Time, header: m.Header, body: m.Data}, nil
}

// unbury removes a dead letter; one that is gone already is no error.
func (l *Ledger) unbury(ctx context.Context, seq uint64) error {
	err := l.dead.DeleteMsg(ctx, seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) || errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
		return nil
	}
	return err
}

// backend is that of the subject on which the request came; "" where the letter does not say.
func (l *letter) backend(names subjects.Names) string {
	backend, _, _, err := names.ParseRun(l.header.Get(subjects.HeaderSubject))
	if err != nil {
		return ""
	}
	return backend
}

func (l *letter) entry(names subjects.Names) schemas.DeadEntry {
	e := schemas.DeadEntry{Queue: l.key.Queue, ID: l.key.ID, Seq: l.seq, Reason: l.header.Get(subjects.HeaderReason), Error: l.header.Get(subjects.HeaderError),
		Backend: l.backend(names), Pipeline: l.pipeline(names), Worker: l.header.Get(subjects.HeaderWorker), At: l.at.UTC(), Bytes: len(l.body)}
	if at, err := time.Parse(time.RFC3339Nano, l.header.Get(subjects.HeaderPublished)); err == nil {
		e.Published = at
	}
	return e
}

// each hands the dead letters on a subject behind a sequence to do, oldest first, until it says stop or one call has looked at
// enough. more says that others may follow behind last.
func (w *Worker) each(ctx context.Context, filter string, after uint64, do func(*letter) (stop bool, err error)) (last uint64, more bool, err error) {
	for range maxLettersSeen {
		l, err := w.ledger.nextLetter(ctx, filter, after+1)
		if err != nil || l == nil {
			return after, false, err
		}
		stop, err := do(l)
		if stop || err != nil {
			return after, true, err
		}
		after = l.seq
	}
	return after, true, nil
}

// Letters lists the dead letters of a queue, oldest first.
func (w *Worker) Letters(ctx context.Context, queue string, q schemas.DeadQuery) (schemas.DeadList, error) {
	out := schemas.DeadList{Letters: []schemas.DeadEntry{}}
	limit := lettersLimit
	if q.Limit > 0 {
		limit = min(q.Limit, maxLettersLimit)
	}
	var err error
	room := int(w.nc.MaxPayload()) - headerRoom
	out.After, out.More, err = w.each(ctx, w.names.DeadFilter(queue), q.After, func(l *letter) (bool, error) {
		e := l.entry(w.names)
		if q.Reason != "" && e.Reason != q.Reason {
			return false, nil
		}
		if room -= entryRoom + len(e.Error); len(out.Letters) == limit || room < 0 {
			return true, nil
		}
		out.Letters = append(out.Letters, e)
		return false, nil
	})
	return out, err
}

// Letter shows one dead letter, content included.
func (w *Worker) Letter(ctx context.Context, k Key, seq uint64) (*schemas.DeadDetail, error) {
	l, err := w.ledger.letter(ctx, k, seq)
	if err != nil {
		return nil, w.standing(ctx, k, err)
	}
	out := &schemas.DeadDetail{DeadEntry: l.entry(w.names)}
	r, _, err := w.ledger.Result(ctx, k)
	if err != nil {
		return nil, err
	}
	if r != nil {
		out.Outcome = r.Status
	}
	switch room := w.nc.MaxPayload() - headerRoom; {
	case utf8.Valid(l.body) && json.Valid(l.body) && int64(len(l.body)) <= room:
		out.Request = l.body
	case int64(base64.StdEncoding.EncodedLen(len(l.body))) <= room:
		out.BodyBase64 = base64.StdEncoding.EncodeToString(l.body)
	}
	return out, nil
}

// ErrPurge: what to remove is not said clearly; nothing has changed.
var ErrPurge = errors.New("invalid purge")

// Purge removes the dead letters of a queue that p describes; one call looks at most at 1000.
func (w *Worker) Purge(ctx context.Context, queue string, p schemas.Purge) (schemas.Purged, error) {
	var out schemas.Purged
	if p.ID == "" && p.Seq == 0 && p.Reason == "" && p.Before == nil && !p.All {
		return out, fmt.Errorf("%w: say what to remove: id, seq, reason, before, or all", ErrPurge)
	}
	filter := w.names.DeadFilter(queue)
	if p.ID != "" {
		filter = w.names.Dead(queue, p.ID)
	}
	var err error
	out.After, out.More, err = w.each(ctx, filter, p.After, func(l *letter) (bool, error) {
		switch {
		case p.Before != nil && !l.at.Before(*p.Before):
			return false, nil
		case p.Seq != 0 && l.seq != p.Seq, p.Reason != "" && l.header.Get(subjects.HeaderReason) != p.Reason:
			return false, nil
		}
		out.Removed++
		return false, w.ledger.unbury(ctx, l.seq)
	})
	return out, err
}
