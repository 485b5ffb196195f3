package consumer

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"emend/schemas"
	"emend/subjects"
)

// morgue is a worker that does not run, with a ledger and letters of the given reasons under ids a, b, c and so on.
func morgue(t *testing.T, reasons ...string) (*rig, *Worker) {
	t.Helper()
	r := newRig(t)
	r.set(config(), 0)
	w := r.newWorker(Options{})
	w.ledger = r.ledger()
	w.blobs = NewBlobs(w.js, w.names, time.Hour, 1)
	w.base = t.Context()
	for i, reason := range reasons {
		r.dead(string(rune('a'+i)), jsonRequest, reason)
	}
	return r, w
}

// dead stores a dead letter of queue default, and returns its sequence.
func (p *place) dead(id, body, reason string, more ...string) uint64 {
	p.Helper()
	m := &nats.Msg{Subject: p.names.Dead("default", id), Data: []byte(body), Header: nats.Header{}}
	for name, value := range map[string]string{subjects.HeaderReason: reason, subjects.HeaderError: "words", subjects.HeaderSubject: p.names.Run("mock", "default", id),
		subjects.HeaderWorker: "w-1", subjects.HeaderPublished: "2026-11-01T12:00:00Z"} {
		m.Header.Set(name, value)
	}
	for i := 0; i+1 < len(more); i += 2 {
		m.Header.Set(more[i], more[i+1])
	}
	ack, err := p.js.PublishMsg(p.Context(), m)
	p.must(err)
	return ack.Sequence
}

func ids(letters []schemas.DeadEntry) string {
	var out []string
	for _, l := range letters {
		out = append(out, l.ID)
	}
	return strings.Join(out, "")
}

// TestLettersAreListedInPages: oldest first, by reason, behind a sequence, and never those of another queue.
func TestLettersAreListedInPages(t *testing.T) {
	r, w := morgue(t, "transport", "refused", "transport", "transport")
	_, err := r.js.Publish(t.Context(), r.names.Dead("team-a", "x"), []byte("{}"))
	r.must(err)
	for _, c := range []struct {
		q    schemas.DeadQuery
		want string
		more bool
	}{
		{schemas.DeadQuery{}, "abcd", false},
		{schemas.DeadQuery{Limit: 2}, "ab", true},
		{schemas.DeadQuery{Limit: 2, After: 2}, "cd", false},
		{schemas.DeadQuery{Limit: 4}, "abcd", false},
		{schemas.DeadQuery{Reason: "transport"}, "acd", false},
		{schemas.DeadQuery{Reason: "transport", Limit: 1}, "a", true},
		{schemas.DeadQuery{After: 99}, "", false},
		{schemas.DeadQuery{Reason: "nothing"}, "", false},
	} {
		got, err := w.Letters(t.Context(), "default", c.q)
		if err != nil || ids(got.Letters) != c.want || got.More != c.more {
			t.Errorf("%+v: %s, more %v, %v", c.q, ids(got.Letters), got.More, err)
		}
		if c.more && got.After != got.Letters[len(got.Letters)-1].Seq && c.q.Reason == "" {
			t.Errorf("%+v goes on behind %d", c.q, got.After)
		}
	}
	got, err := w.Letters(t.Context(), "default", schemas.DeadQuery{Limit: 1})
	r.must(err)
	e := got.Letters[0]
	e.At = time.Time{}
	if e != (schemas.DeadEntry{Queue: "default", ID: "a", Seq: 1, Reason: "transport", Error: "words", Backend: "mock", Worker: "w-1", Bytes: len(jsonRequest),
		Published: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)}) {
		t.Errorf("%+v", e)
	}
}

// TestLettersThatSayMuch: a page is smaller than a message, however long the errors are.
func TestLettersThatSayMuch(t *testing.T) {
	r, w := morgue(t)
	for i := range 700 {
		r.dead(fmt.Sprint("id", i), "{}", "refused", subjects.HeaderError, strings.Repeat("x", 1024))
	}
	seen := 0
	for q := (schemas.DeadQuery{Limit: 1000}); ; {
		got, err := w.Letters(t.Context(), "default", q)
		r.must(err)
		b, err := schemas.Marshal(got)
		r.must(err)
		if int64(len(b)) > w.nc.MaxPayload() {
			t.Fatalf("a page of %d bytes", len(b))
		}
		if seen += len(got.Letters); !got.More {
			break
		}
		q.After = got.After
	}
	if seen != 700 {
		t.Errorf("%d letters", seen)
	}
}

// TestLetterIsShown: its content as JSON or as it is, what has become of the run, and the right one of several.
func TestLetterIsShown(t *testing.T) {
	r, w := morgue(t)
	first := r.dead("a", jsonRequest, "transport")
	second := r.dead("a", "\xff\x00 no text", "invalid_request")
	k := Key{"default", "a"}
	if d, err := w.Letter(t.Context(), k, 0); err != nil || d.Seq != second || d.Request != nil || d.BodyBase64 != base64.StdEncoding.EncodeToString([]byte("\xff\x00 no text")) || d.Outcome != "" {
		t.Errorf("%+v, %v", d, err)
	}
	_, _, err := w.ledger.Settle(t.Context(), k, r.result(k, "a", 99, schemas.StatusFailed, 3), by("a"), 0)
	r.must(err)
	if d, err := w.Letter(t.Context(), k, first); err != nil || string(d.Request) != jsonRequest || d.BodyBase64 != "" || d.Outcome != schemas.StatusFailed {
		t.Errorf("%+v, %v", d, err)
	}
	large := r.dead("large", `"`+strings.Repeat("x", 1<<20-1000)+`"`, "refused")
	if d, err := w.Letter(t.Context(), Key{"default", "large"}, large); err != nil || d.Request != nil || d.BodyBase64 != "" || d.Bytes < 1<<20-1000 {
		t.Errorf("%d bytes of %+v, %v", len(d.Request), d.DeadEntry, err)
	}
	for seq, key := range map[uint64]Key{first: {"default", "b"}, 4711: k, large: k, 0: {"team-a", "a"}} {
		if _, err := w.Letter(t.Context(), key, seq); !errors.Is(err, ErrNoLetter) {
			t.Errorf("%v at %d: %v", key, seq, err)
		}
	}
}

// TestPurgeRemovesWhatItSays, and nothing when it says nothing.
func TestPurgeRemovesWhatItSays(t *testing.T) {
	r, w := morgue(t, "transport", "refused", "transport", "refused")
	second := r.dead("a", "{}", "timeout")
	_, err := r.js.Publish(t.Context(), r.names.Dead("team-a", "x"), []byte("{}"))
	r.must(err)
	past := time.Now().Add(-time.Hour)
	soon := time.Now().Add(time.Hour)
	for _, c := range []struct {
		p       schemas.Purge
		removed int
		left    string
	}{
		{schemas.Purge{Before: &past}, 0, "abcda"},
		{schemas.Purge{ID: "a", Seq: 1, Reason: "refused"}, 0, "abcda"},
		{schemas.Purge{ID: "a", Seq: second}, 1, "abcd"},
		{schemas.Purge{ID: "b"}, 1, "acd"},
		{schemas.Purge{Reason: "transport", Before: &soon}, 2, "d"},
		{schemas.Purge{All: true}, 1, ""},
	} {
		got, err := w.Purge(t.Context(), "default", c.p)
		list, lerr := w.Letters(t.Context(), "default", schemas.DeadQuery{})
		if err != nil || lerr != nil || got.Removed != c.removed || got.More || ids(list.Letters) != c.left {
			t.Errorf("%+v: %+v, left %s, %v, %v", c.p, got, ids(list.Letters), err, lerr)
		}
	}
	if _, err := w.Purge(t.Context(), "team-a", schemas.Purge{}); !errors.Is(err, ErrPurge) || r.letters() != 1 {
		t.Errorf("%v, %d letters of the other queue", err, r.letters())
	}
}
