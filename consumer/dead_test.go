package consumer

import (
	"testing"

	"github.com/nats-io/nats.go"

	"emend/subjects"
)

// letter is a dead letter of request seq.
func (p *place) letter(seq, body string) *nats.Msg {
	m := message(p.names.Dead("default", "a"), subjects.HeaderRequest, seq)
	m.Data = []byte(body)
	return m
}

// letters is the number of dead letters.
func (p *place) letters() uint64 {
	p.Helper()
	s, err := p.js.Stream(p.Context(), p.names.DeadStream())
	p.must(err)
	return s.CachedInfo().State.Msgs
}

// TestDeadLetterIsStoredOnce: however often the answer to it is lost, and whoever tries again; those of other requests under
// the same id are letters of their own.
func TestDeadLetterIsStoredOnce(t *testing.T) {
	p := newPlace(t)
	p.set(config(), 0)
	l := p.ledger()
	for i, c := range []struct {
		seq, body string
		want      uint64
	}{
		{"7", "one", 1}, {"7", "one", 1},
		{"9", "one", 2}, {"9", "one", 2},
		{"9", "of a stream that began anew", 3},
		{"7", "one", 4}, // not the latest of its subject: rather twice than not at all
	} {
		p.must(l.bury(p.Context(), p.letter(c.seq, c.body)))
		if n := p.letters(); n != c.want {
			t.Errorf("%d: %d letters, want %d", i, n, c.want)
		}
	}
	bare := p.letter("", "fills the message")
	bare.Header = nil
	for range 2 {
		p.must(l.bury(p.Context(), bare))
	}
	if n := p.letters(); n != 5 {
		t.Errorf("%d letters", n)
	}
}

// TestTwoWorkersBuryTheSameRequest: the one that looked before the other wrote is refused, and then sees it.
func TestTwoWorkersBuryTheSameRequest(t *testing.T) {
	p := newPlace(t)
	p.set(config(), 0)
	l := p.ledger()
	late := p.letter("7", "one")
	late.Header.Set(subjects.HeaderExpectedLastSubjectSequence, "0")
	p.must(l.bury(p.Context(), p.letter("7", "one")))
	if _, err := p.js.PublishMsg(p.Context(), late); !isCode(err, codeWrongSequence) {
		t.Errorf("written beside the first: %v", err)
	}
	p.must(l.bury(p.Context(), late))
	if n := p.letters(); n != 1 {
		t.Errorf("%d letters", n)
	}
}
