package consumer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/subjects"
)

// deadLetter stores the request as it came, with the reason in headers, once. It retries until stored or the process must
// stop: a request must not vanish. It reports whether the letter is stored.
func (h *handler) deadLetter(category, message string) bool {
	m := &nats.Msg{Subject: h.w.names.Dead(h.deadQueue(), h.deadID()), Data: h.d.msg.Data, Header: h.deadHeader(category, message)}
	pause := settleBackoffMin
	for said := false; ; {
		err := h.w.ledger.bury(h.w.base, m)
		switch {
		case err == nil:
			return true
		case errors.Is(err, nats.ErrMaxPayload) && m.Header != nil:
			m.Header = nil // the body fills the message by itself: the request matters more than the reason
			continue
		case !said:
			h.log().Warn().Err(err).Msg("the dead letter is not stored yet; trying until it is")
			said = true
		}
		if !sleep(h.w.base, pause) {
			return false
		}
		pause = min(2*pause, settleBackoffMax)
	}
}

// deadHeader keeps the requester's own headers but for those that steer the server.
func (h *handler) deadHeader(category, message string) nats.Header {
	out := nats.Header{}
	for name, values := range h.d.msg.Header {
		if !subjects.Steering(name) {
			out[name] = values
		}
	}
	out.Set(subjects.HeaderReason, category)
	out.Set(subjects.HeaderError, oneLine(message))
	out.Set(subjects.HeaderSubject, h.d.msg.Subject)
	out.Set(subjects.HeaderWorker, h.w.id)
	out.Set(subjects.HeaderPublished, h.d.published.UTC().Format(time.RFC3339Nano))
	out.Set(subjects.HeaderRequest, strconv.FormatUint(h.d.seq, 10))
	return out
}

// bury stores a dead letter by compare-and-set, unless the latest of its subject is this request's already: the answer to
// an earlier try was lost, or the worker that stored it died before the result. A letter that somebody else wrote meanwhile
// is an error, and the next try sees it.
func (l *Ledger) bury(ctx context.Context, m *nats.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, settleTry)
	defer cancel()
	last, err := l.dead.GetLastMsgForSubject(ctx, m.Subject)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		last = &jetstream.RawStreamMsg{}
	case err != nil:
		return fmt.Errorf("read the dead letters of %s: %w", m.Subject, err)
	case bytes.Equal(last.Data, m.Data) && last.Header.Get(subjects.HeaderRequest) == m.Header.Get(subjects.HeaderRequest):
		return nil
	}
	if m.Header != nil {
		m.Header.Set(subjects.HeaderExpectedLastSubjectSequence, strconv.FormatUint(last.Sequence, 10))
	}
	if _, err := l.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0)); err != nil {
		return fmt.Errorf("store the dead letter: %w", err)
	}
	return nil
}

// deadQueue and deadID name the letter; a request whose subject names no run is filed under its fingerprint.
func (h *handler) deadQueue() string {
	if subjects.ValidName(h.key.Queue) {
		return h.key.Queue
	}
	return "unaddressable"
}

func (h *handler) deadID() string {
	if subjects.ValidID(h.key.ID) {
		return h.key.ID
	}
	return "sha256-" + h.fingerprint[:32]
}

func oneLine(s string) string {
	b := []byte(s)
	if len(b) > 1024 {
		b = b[:1024]
	}
	for i, c := range b {
		if c < ' ' || c > '~' {
			b[i] = ' '
		}
	}
	return string(b)
}
