package consumer

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"emend/prompts"
	"emend/schemas"
	"emend/subjects"
)

// TestReplayChangesWhatItNames, and only that; a deadline that has passed goes, one that has not stays.
func TestReplayChangesWhatItNames(t *testing.T) {
	past, ahead := now.Add(-time.Second), now.Add(time.Second)
	for _, c := range []struct {
		name    string
		req     schemas.Request
		r       schemas.Replay
		changed string
		err     bool
	}{
		{"nothing", schemas.Request{Prompt: "p@1", Profile: "fast"}, schemas.Replay{}, "", false},
		{"the same again", schemas.Request{Prompt: "p@1", Profile: "fast"}, schemas.Replay{Prompt: "p@1", Profile: "fast"}, "", false},
		{"a version", schemas.Request{Prompt: "p@1"}, schemas.Replay{Prompt: "p@2"}, "prompt", false},
		{"both", schemas.Request{Prompt: "p@1"}, schemas.Replay{Prompt: "p@2", Profile: "slow"}, "prompt profile", false},
		{"a prompt for messages", schemas.Request{Messages: []schemas.Message{{Role: "user", Content: "a"}}}, schemas.Replay{Prompt: "p@2"}, "", true},
		{"a profile for messages", schemas.Request{Messages: []schemas.Message{{Role: "user", Content: "a"}}}, schemas.Replay{Profile: "slow"}, "profile", false},
		{"deadline passed", schemas.Request{Prompt: "p@1", Deadline: &past}, schemas.Replay{}, "deadline", false},
		{"deadline now", schemas.Request{Prompt: "p@1", Deadline: &now}, schemas.Replay{}, "deadline", false},
		{"deadline ahead", schemas.Request{Prompt: "p@1", Deadline: &ahead}, schemas.Replay{}, "", false},
	} {
		n, req := &rewrite{}, c.req
		err := n.change(&req, c.r, now)
		if got := strings.Join(n.changed, " "); got != c.changed || errors.Is(err, ErrReplay) != c.err {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
		for _, f := range []struct{ name, got, before, asked string }{{"prompt", req.Prompt, c.req.Prompt, c.r.Prompt}, {"profile", req.Profile, c.req.Profile, c.r.Profile}} {
			want := f.before
			if strings.Contains(c.changed, f.name) {
				want = f.asked
			}
			if f.got != want {
				t.Errorf("%s: %s is %q, want %q", c.name, f.name, f.got, want)
			}
		}
		if strings.Contains(c.changed, "deadline") != (c.req.Deadline != nil && req.Deadline == nil) {
			t.Errorf("%s: deadline %v", c.name, req.Deadline)
		}
	}
}

// TestReplayWithoutHeaders: a letter whose body left no room for them goes to where its profile is; where two backends could
// be meant, the operator says which.
func TestReplayWithoutHeaders(t *testing.T) {
	r, w := morgue(t)
	m := &nats.Msg{Subject: r.names.Dead("default", "bare"), Data: []byte(jsonRequest)}
	_, err := r.js.PublishMsg(t.Context(), m)
	r.must(err)
	l, err := w.ledger.letter(t.Context(), Key{"default", "bare"}, 0)
	r.must(err)
	if e := l.entry(w.names); e.Backend != "" || e.Reason != "" || !e.Published.IsZero() {
		t.Errorf("%+v", e)
	}
	out, err := w.Replay(t.Context(), Key{"default", "bare"}, schemas.Replay{})
	if err != nil || out.Backend != "mock" || strings.Join(out.Changed, " ") != "backend" {
		t.Errorf("%+v, %v", out, err)
	}
	snap := w.Engine().Snapshot()
	unknown := schemas.Request{Profile: "gone"}
	for before, want := range map[string]string{"": "mock", "old": "old"} {
		if got := backendOf(snap, unknown, schemas.Replay{}, before); got != want {
			t.Errorf("before %q: %q", before, got)
		}
	}
	if got := backendOf(snap, schemas.Request{Profile: "fast"}, schemas.Replay{Backend: "told"}, "old"); got != "told" {
		t.Errorf("%q", got)
	}
	if _, err := w.planAgain(t.Context(), snap, Key{"default", "x"}, "", unknown); err == nil || !strings.Contains(err.Error(), "give one") {
		t.Errorf("%v", err)
	}
}

// TestReplayKeepsTheRequestersHeaders: its own and the trace, but for a reply subject that is not allowed any more.
func TestReplayKeepsTheRequestersHeaders(t *testing.T) {
	r, w := morgue(t)
	r.dead("a", jsonRequest, "transport", subjects.HeaderReplyTo, "_INBOX.a", subjects.HeaderTraceparent, "00-1", "X-Mine", "b")
	r.dead("b", jsonRequest, "transport", subjects.HeaderReplyTo, "private.a")
	for id, to := range map[string]string{"a": "_INBOX.a", "b": ""} {
		_, err := w.Replay(t.Context(), Key{"default", id}, schemas.Replay{})
		r.must(err)
		m, err := w.ledger.runs.GetLastMsgForSubject(t.Context(), r.names.Run("mock", "default", id))
		r.must(err)
		if m.Header.Get(subjects.HeaderReplyTo) != to || m.Header.Get(subjects.HeaderReason) != "" || string(m.Data) != jsonRequest {
			t.Errorf("%s: %v %s", id, m.Header, m.Data)
		}
		if id == "a" && (m.Header.Get(subjects.HeaderTraceparent) != "00-1" || m.Header.Get("X-Mine") != "b") {
			t.Errorf("%v", m.Header)
		}
	}
	if n := r.letters(); n != 0 {
		t.Errorf("%d letters are left", n)
	}
}

// TestReplayLeavesAnswersAlone: every status, of the letter's own content and of other content.
func TestReplayLeavesAnswersAlone(t *testing.T) {
	own := schemas.Fingerprint("mock", []byte(jsonRequest))
	i := 0
	r, w := morgue(t)
	for status, again := range settledStatus {
		for _, fingerprint := range []string{own, "another's"} {
			id := "run" + string(rune('a'+i))
			i++
			k := Key{"default", id}
			letter := r.dead(id, jsonRequest, "transport")
			b, err := schemas.Marshal(schemas.Result{ID: id, Queue: "default", Status: status, Attempts: []schemas.Attempt{}, Request: schemas.RequestRef{SHA256: fingerprint, Seq: 1000}})
			r.must(err)
			_, _, err = w.ledger.Settle(t.Context(), k, &nats.Msg{Subject: r.names.Result("default", id), Data: b, Header: nats.Header{}}, by("a"), 0)
			r.must(err)
			taken := again && fingerprint == own
			if _, err = w.Replay(t.Context(), k, schemas.Replay{}); (err == nil) != taken || (!taken && !errors.Is(err, ErrAnswered)) {
				t.Errorf("%s of %s: %v", status, fingerprint, err)
			}
			if _, err := w.ledger.letter(t.Context(), k, letter); errors.Is(err, ErrNoLetter) != taken {
				t.Errorf("%s of %s: the letter: %v", status, fingerprint, err)
			}
		}
	}
}

// TestGrantIsForOneContentAndOneOutcome: nothing else passes, and answers never do.
func TestGrantIsForOneContentAndOneOutcome(t *testing.T) {
	r := newRig(t)
	r.set(config(), 0)
	l := r.ledger()
	r.must(l.grants(t.Context(), aKey, "mine", 40))
	r.must(l.grants(t.Context(), aKey, "also-mine", 40))
	for _, c := range []struct {
		k           Key
		fingerprint string
		w           Whereabouts
		want        bool
	}{
		{aKey, "mine", stored(schemas.StatusFailed, "theirs", 3), true},
		{aKey, "also-mine", stored(schemas.StatusExpired, "theirs", 3), true},
		{aKey, "third", stored(schemas.StatusFailed, "theirs", 3), false},
		{Key{"default", "inv-2"}, "mine", stored(schemas.StatusFailed, "theirs", 3), false},
		{aKey, "mine", stored(schemas.StatusSucceeded, "theirs", 3), false},
		{aKey, "mine", Whereabouts{ResultSeq: 41, Result: stored(schemas.StatusFailed, "theirs", 3).Result}, false},
		{aKey, "mine", Whereabouts{}, false},
	} {
		got, err := l.granted(t.Context(), c.k, c.fingerprint, c.w.Result, c.w.ResultSeq)
		if err != nil || got != c.want {
			t.Errorf("%v %s %+v: %v, %v", c.k, c.fingerprint, c.w.Result, got, err)
		}
	}
}

// TestReplayIsPlannedFirst: what would only make another letter is told to the operator.
func TestReplayIsPlannedFirst(t *testing.T) {
	r, w := morgue(t)
	r.dead("text", "no JSON", "invalid_request")
	r.dead("gone", `{"prompt": "gone@1"}`, "invalid_request")
	r.dead("fine", jsonRequest, "transport")
	for _, c := range []struct {
		r    schemas.Replay
		says string
		is   error
	}{
		{schemas.Replay{ID: "text"}, "refused whatever is changed", ErrReplay},
		{schemas.Replay{ID: "gone"}, "gone", prompts.ErrUnknown},
		{schemas.Replay{ID: "fine", Prompt: "p@1"}, "messages of its own", ErrReplay},
		{schemas.Replay{ID: "fine", Profile: "nowhere"}, "nowhere", prompts.ErrUnknown},
		{schemas.Replay{ID: "fine", Backend: "elsewhere"}, "elsewhere", ErrReplay},
		{schemas.Replay{ID: "fine", Backend: "$JS.API"}, "give one", ErrReplay},
	} {
		_, err := w.Replay(t.Context(), Key{"default", c.r.ID}, c.r)
		if err == nil || !strings.Contains(err.Error(), c.says) || !errors.Is(err, c.is) {
			t.Errorf("%+v: %v", c.r, err)
		}
	}
	if n := r.letters(); n != 3 {
		t.Errorf("%d letters", n)
	}
}
