package consumer

import (
	"errors"
	"testing"

	"emend/engine/pipeline"
	"emend/schemas"
)

// Of a result that was there before the pipeline run was asked for, only an answer that every validator accepted is taken over: one
// that is no answer is replaced, any other answer is no checkpoint. Of this run's own jobs every result counts.
func TestWhichResultsOfAJobCount(t *testing.T) {
	c := &coordination{h: &handler{w: &Worker{}, d: &delivery{seq: 5}}}
	const taken, replaced, stale = "taken", "replaced", "stale"
	for status, before := range map[string]string{schemas.StatusSucceeded: taken, schemas.StatusUnverified: stale, schemas.StatusRejected: stale, schemas.StatusInvalid: stale,
		schemas.StatusFailed: replaced, schemas.StatusExpired: replaced, schemas.StatusCancelled: replaced} {
		for seq, want := range map[uint64]string{4: before, 5: before, 6: taken} {
			o, err := c.counts(t.Context(), &schemas.Result{ID: "j", Status: status, Request: schemas.RequestRef{SHA256: "f", Seq: seq}}, "f")
			got := replaced
			switch {
			case errors.Is(err, errStale):
				got = stale
			case o != nil && o.Status == status && err == nil:
				got = taken
			}
			if got != want || (want != stale) != (err == nil) {
				t.Errorf("%s of sequence %d: %s, want %s (%v)", status, seq, got, want, err)
			}
		}
		if _, err := c.counts(t.Context(), &schemas.Result{ID: "j", Status: status, Request: schemas.RequestRef{SHA256: "other", Seq: 6}}, "f"); !errors.Is(err, errConflict) {
			t.Errorf("%s of other content: %v", status, err)
		}
	}
}

// A job whose earlier answer is stale is run again once, under an id of this request, however often it is said to be stale, and not
// at all when nobody needs it any more.
func TestAStaleJobIsRunAgainOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := coordinated(p)
	ch := c.testJob(1, "mock", "one")
	id := ch.key.ID
	for range 2 {
		p.must(c.outcome(ch, id, nil, errStale)())
	}
	if again := pipeline.AgainID(id, 5); ch.key.ID != again || c.out[again] != ch || c.out[id] != nil || c.unconfirmed != 1 {
		t.Errorf("%s, %d requests are under way, out are %v", ch.key.ID, c.unconfirmed, c.out)
	}
	p.must(c.next(t))
	gone := c.testJob(2, "mock", "two")
	c.forget(gone.job)
	p.must(c.outcome(gone, gone.key.ID, nil, errStale)())
	if c.unconfirmed != 0 || gone.published {
		t.Errorf("%+v is published", gone)
	}
}

// auto takes outputs and keeps them, refresh keeps them alone, none does neither.
func TestWordsOfReuse(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	bucketed(p)
	w := &Worker{nc: p.nc, js: p.js, names: p.names}
	for word, want := range map[string][2]bool{schemas.ReuseAuto: {true, true}, schemas.ReuseRefresh: {false, true}, schemas.ReuseNone: {false, false}} {
		if r := w.openReuse(t.Context(), "default", word); r.reads != want[0] || r.puts != want[1] || r.used() != want[1] || r.queue != "default" {
			t.Errorf("%s: %+v", word, r)
		}
	}
}
