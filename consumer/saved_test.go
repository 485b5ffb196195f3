package consumer

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"emend/engine/run"
	"emend/schemas"
)

// finds reads what the ledger knows of a delivery.
func (p *place) finds(l *Ledger, seq, count uint64) (Whereabouts, *saved) {
	p.Helper()
	w, s, err := l.Find(p.Context(), aKey, seq, count, nil)
	p.must(err)
	return w, s
}

func (p *place) saves(l *Ledger, s *saved) {
	p.Helper()
	p.must(l.save(p.Context(), aKey, s))
}

// TestFind: a first delivery starts from nothing, a redelivery without word of its worker from one unclean start.
func TestFind(t *testing.T) {
	p := newPlace(t)
	p.set(config(), 0)
	l := p.ledger()
	if w, s := p.finds(l, 7, 1); w.Result != nil || w.State != nil || s.Starts != 0 || s.Seq != 7 {
		t.Errorf("first: %+v, %+v", w, s)
	}
	if w, s := p.finds(l, 7, 2); w.Result != nil || w.State != nil || s.Starts != 1 || s.Seq != 7 {
		t.Errorf("second: %+v, %+v", w, s)
	}
	_, s := p.finds(l, 7, 2)
	s.Starts, s.Cause, s.State = 2, "429", &run.State{V: run.StateVersion, Phase: run.Judging, Candidate: &run.Candidate{Text: "42"}}
	p.saves(l, s)
	p.settles(l, "a", p.result(aKey, "a", 3, schemas.StatusFailed, 0), 0, Stored)
	w, got := p.finds(l, 7, 3)
	if w.Result == nil || w.ResultSeq == 0 || w.State == nil || w.State.Candidate.Text != "42" || got.Starts != 2 || got.Cause != "429" {
		t.Errorf("third: %+v, %+v", w, got)
	}
}

// TestSavedIsBoundToItsMessage: a later publish under the same id inherits neither starts nor state.
func TestSavedIsBoundToItsMessage(t *testing.T) {
	p := newPlace(t)
	p.set(config(), 0)
	l := p.ledger()
	_, s := p.finds(l, 7, 1)
	s.Starts, s.State = 2, &run.State{V: run.StateVersion}
	p.saves(l, s)
	if w, got := p.finds(l, 9, 2); w.State != nil || got.Starts != 1 || got.rev == 0 {
		t.Errorf("of another message: %+v, %+v", w, got)
	}
	_, got := p.finds(l, 9, 1)
	p.saves(l, got)
	if err := l.save(p.Context(), aKey, s); !errors.Is(err, ErrOvertaken) {
		t.Errorf("the older message's worker writes over the newer one's: %v", err)
	}
}

// TestSavedIsCompareAndSet: the second of two owners is told so, and its entry stays.
func TestSavedIsCompareAndSet(t *testing.T) {
	p := newPlace(t)
	p.set(config(), 0)
	l := p.ledger()
	_, first := p.finds(l, 7, 2)
	_, second := p.finds(l, 7, 3)
	first.By, second.By = "a/2", "b/3"
	p.saves(l, second)
	if err := l.save(p.Context(), aKey, first); !errors.Is(err, ErrOvertaken) {
		t.Errorf("created over another's: %v", err)
	}
	_, late := p.finds(l, 7, 3)
	late.By = "c/4"
	p.saves(l, late)
	if err := l.save(p.Context(), aKey, second); !errors.Is(err, ErrOvertaken) {
		t.Errorf("updated over another's: %v", err)
	}
	if _, s := p.finds(l, 7, 5); s.By != "c/4" {
		t.Errorf("stored %+v", s)
	}
}

// TestSaveWhoseAnswerWasLost: the own write is recognised, not taken for another's.
func TestSaveWhoseAnswerWasLost(t *testing.T) {
	p := newPlace(t)
	p.set(config(), 0)
	l := p.ledger()
	_, s := p.finds(l, 7, 2)
	s.By = "a/2"
	for _, starts := range []int{1, 2, 3} {
		unanswered := *s
		unanswered.Starts = starts
		p.saves(l, &unanswered)
	}
	s.Starts = 4
	p.saves(l, s)
	if _, got := p.finds(l, 7, 3); got.Starts != 4 || got.rev != s.rev {
		t.Errorf("%+v", got)
	}
}

// TestErase: what a new request wrote meanwhile stays, and after an erase the next request begins anew.
func TestErase(t *testing.T) {
	p := newPlace(t)
	p.set(config(), 0)
	l := p.ledger()
	_, old := p.finds(l, 7, 2)
	p.saves(l, old)
	_, fresh := p.finds(l, 9, 2)
	p.saves(l, fresh)
	l.erase(p.Context(), aKey, old)
	if _, got := p.finds(l, 9, 2); got.rev != fresh.rev {
		t.Errorf("the newer entry is gone: %+v", got)
	}
	l.erase(p.Context(), aKey, fresh)
	if _, err := l.state.Get(p.Context(), p.names.StateKey(aKey.Queue, aKey.ID)); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Errorf("not erased: %v", err)
	}
	if err := l.save(p.Context(), aKey, fresh); !errors.Is(err, ErrOvertaken) {
		t.Errorf("who was erased wrote again: %v", err)
	}
	_, next := p.finds(l, 11, 1)
	p.saves(l, next)
	l.erase(p.Context(), aKey, nil)
	l.erase(p.Context(), aKey, &saved{})
}

// TestSaveAfterTheEnd: a delivery that found nothing saves too late, when another has settled the run and erased its entry. It
// is overtaken; the next request under the id is not.
func TestSaveAfterTheEnd(t *testing.T) {
	p := newPlace(t)
	p.set(config(), 0)
	l := p.ledger()
	_, late := p.finds(l, 7, 1)
	_, other := p.finds(l, 7, 2)
	p.saves(l, other)
	r := p.result(aKey, "a", 2, schemas.StatusFailed, 0)
	p.settles(l, "a", r, 0, Stored)
	stored, _, err := l.Result(p.Context(), aKey)
	p.must(err)
	late.Seq = stored.Request.Seq
	l.erase(p.Context(), aKey, other)
	if err := l.save(p.Context(), aKey, late); !errors.Is(err, ErrOvertaken) {
		t.Errorf("saved after the end: %v", err)
	}
	_, next := p.finds(l, late.Seq+2, 1)
	p.saves(l, next)
}

// TestUnreadableEntryIsWrittenOver: an entry of another version costs a start, never the run.
func TestUnreadableEntryIsWrittenOver(t *testing.T) {
	p := newPlace(t)
	p.set(config(), 0)
	l := p.ledger()
	for _, text := range []string{"no JSON", `{"v": 99, "seq": 7, "starts": 0}`} {
		_, err := l.state.Put(p.Context(), p.names.StateKey(aKey.Queue, aKey.ID), []byte(text))
		p.must(err)
		if w, s := p.finds(l, 7, 2); w.State != nil || s.Starts != 1 {
			t.Errorf("%s: %+v", text, s)
		}
		_, s := p.finds(l, 7, 1)
		p.saves(l, s)
	}
}
