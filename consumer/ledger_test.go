package consumer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/schemas"
	"emend/subjects"
)

var aKey = Key{Queue: "default", ID: "inv-1"}

// result is a result message of a worker's delivery of request seq.
func (p *place) result(k Key, worker string, seq uint64, status string, pad int) *nats.Msg {
	p.Helper()
	r := schemas.Result{ID: k.ID, Queue: k.Queue, Status: status, Attempts: []schemas.Attempt{}, Source: schemas.Source{Worker: worker},
		Request: schemas.RequestRef{Seq: seq, Delivery: 1, SHA256: strings.Repeat("x", pad)}}
	b, err := schemas.Marshal(r)
	p.must(err)
	return &nats.Msg{Subject: p.names.Result(k.Queue, k.ID), Data: b, Header: nats.Header{}}
}

func by(worker string) func(*schemas.Result) bool {
	return func(r *schemas.Result) bool { return r.Source.Worker == worker }
}

// settles checks the outcome of one Settle and returns the sequence.
func (p *place) settles(l *Ledger, worker string, m *nats.Msg, expect uint64, want Settled) uint64 {
	p.Helper()
	got, seq, err := l.Settle(p.Context(), aKey, m, by(worker), expect)
	if got != want || (err != nil) != (want == Full || want == Unknown) {
		p.Fatalf("settled %v (%v), want %v", got, err, want)
	}
	return seq
}

// TestSettleOutcomes: the first writer wins, a repeated write is recognised as one's own, a replacement needs the
// sequence of what it replaces.
func TestSettleOutcomes(t *testing.T) {
	p := newPlace(t)
	p.set(config(), 0)
	l := p.ledger()
	first := p.settles(l, "a", p.result(aKey, "a", 7, schemas.StatusFailed, 0), 0, Stored)
	if again := p.settles(l, "a", p.result(aKey, "a", 7, schemas.StatusFailed, 0), 0, Stored); again != first {
		t.Errorf("the write whose ack was lost is at %d, told as %d", first, again)
	}
	if other := p.settles(l, "b", p.result(aKey, "b", 7, schemas.StatusSucceeded, 0), 0, Another); other != first {
		t.Errorf("another's result is at %d, told as %d", first, other)
	}
	p.settles(l, "b", p.result(aKey, "b", 9, schemas.StatusSucceeded, 0), first+5, Another)
	second := p.settles(l, "b", p.result(aKey, "b", 9, schemas.StatusSucceeded, 0), first, Stored)
	r, seq, err := l.Result(p.Context(), aKey)
	if err != nil || seq != second || r.Source.Worker != "b" || r.Status != schemas.StatusSucceeded {
		t.Errorf("stored %+v at %d, %v", r, seq, err)
	}
	p.settles(l, "a", p.result(aKey, "a", 9, schemas.StatusFailed, 0), first, Another)
}

// TestSettleReplacesWhatAgedOut: the result that was to be replaced is gone; nobody stands in the way.
func TestSettleReplacesWhatAgedOut(t *testing.T) {
	p := newPlace(t)
	p.set(config(), 0)
	l := p.ledger()
	seq := p.settles(l, "a", p.result(aKey, "a", 7, schemas.StatusFailed, 0), 0, Stored)
	p.must(l.results.DeleteMsg(p.Context(), seq))
	p.settles(l, "b", p.result(aKey, "b", 9, schemas.StatusSucceeded, 0), seq, Stored)
}

// TestSettleFull: a full stream is not taken for a settled run, and takes the result when there is room.
func TestSettleFull(t *testing.T) {
	p := newPlace(t)
	topology := p.set(config(), 0)
	small := topology.Streams()[1]
	small.MaxBytes = 2000
	_, err := p.js.UpdateStream(p.Context(), small)
	p.must(err)
	l := p.ledger()
	other := Key{Queue: "default", ID: "other"}
	got, seq, err := l.Settle(p.Context(), other, p.result(other, "a", 1, schemas.StatusSucceeded, 1200), by("a"), 0)
	if got != Stored {
		t.Fatalf("%v, %v", got, err)
	}
	p.settles(l, "a", p.result(aKey, "a", 7, schemas.StatusSucceeded, 1200), 0, Full)
	if r, _, err := l.Result(p.Context(), aKey); r != nil || err != nil {
		t.Errorf("a full stream holds %+v, %v", r, err)
	}
	p.must(l.results.DeleteMsg(p.Context(), seq))
	p.settles(l, "a", p.result(aKey, "a", 7, schemas.StatusSucceeded, 1200), 0, Stored)
}

// TestSettleUnknown: no answer is neither stored nor refused; the next try tells.
func TestSettleUnknown(t *testing.T) {
	p := newPlace(t)
	p.set(config(), 0)
	l := p.ledger()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got, _, err := l.Settle(ended, aKey, p.result(aKey, "a", 7, schemas.StatusSucceeded, 0), by("a"), 0); got != Unknown || err == nil {
		t.Errorf("%v, %v", got, err)
	}
	big := p.result(aKey, "a", 7, schemas.StatusSucceeded, 2<<20)
	if got, _, err := l.Settle(t.Context(), aKey, big, by("a"), 0); got != Unknown || !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("%v, %v", got, err)
	}
	p.must(p.js.DeleteStream(p.Context(), p.names.ResultsStream()))
	p.settles(l, "a", p.result(aKey, "a", 7, schemas.StatusSucceeded, 0), 0, Unknown)
	for s, want := range map[Settled]string{Stored: "stored", Another: "another's result", Full: "full", Unknown: "unknown"} {
		if s.String() != want {
			t.Errorf("%d is %q", s, s)
		}
	}
}

// TestServerErrorCodes: the codes that the ledger tells apart come from a real server.
func TestServerErrorCodes(t *testing.T) {
	p := newPlace(t)
	p.set(config(), 0)
	p.put("default", "inv-1", "{}", nil)
	_, twice := p.js.Publish(p.Context(), p.names.Run("mock", "default", "inv-1"), []byte("{}"))
	m := p.result(aKey, "a", 7, schemas.StatusFailed, 0)
	m.Header.Set(subjects.HeaderExpectedLastSubjectSequence, "3")
	_, wrong := p.js.PublishMsg(p.Context(), m)
	underWay := &jetstream.APIError{Code: 400, ErrorCode: codeWriteUnderWay}
	for _, c := range []struct {
		err  error
		code jetstream.ErrorCode
		want bool
	}{
		{twice, codeStreamFull, true}, {twice, codeWrongSequence, false},
		{wrong, codeWrongSequence, true}, {wrong, codeStreamFull, false},
		{underWay, codeWriteUnderWay, true}, {fmt.Errorf("a: %w", underWay), codeWriteUnderWay, true}, {underWay, codeWrongSequence, false},
		{jetstream.ErrKeyExists, codeWrongSequence, true}, {jetstream.ErrMsgNotFound, codeWrongSequence, false},
		{nats.ErrTimeout, codeStreamFull, false}, {nil, codeStreamFull, false}, {context.DeadlineExceeded, codeWrongSequence, false},
	} {
		if got := isCode(c.err, c.code); got != c.want {
			t.Errorf("%v is %d: %v", c.err, c.code, got)
		}
	}
}
