package integration

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"emend/internal/devnats"
	"emend/schemas"
	"emend/subjects"
)

// dying is a site with a prompt whose second version mends what the first cannot run: the model refuses the text.
func dying(t *testing.T, replace ...string) *site {
	t.Helper()
	s := newSite(t, devnats.Options{}, replace...)
	s.write("prompts/rate@2.yaml", strings.Replace(files["prompts/rate@1.yaml"], "'{{ .text }}'", "'{{ if .text }}ask otherwise{{ end }}'", 1))
	s.worker()
	return s
}

// dies awaits that a run has failed and its request is out of the way; the reply comes to the subscription.
func (s *site) dies(id, text string) (reply func() *schemas.Result) {
	s.Helper()
	inbox, sub := s.replies()
	s.must(s.tryPublish(s.names.Run("mock", "default", id), text, inbox))
	reply = func() *schemas.Result { s.Helper(); r, _ := s.reply(sub); return r }
	if r := reply(); r.Status != schemas.StatusFailed {
		s.Fatalf("%s: %s", id, r.Status)
	}
	s.goneID(id)
	return reply
}

func (s *site) replay(r schemas.Replay) (*schemas.Replayed, error) {
	ctx, cancel := s.within()
	defer cancel()
	return s.client().Replay(ctx, "default", r)
}

// replayed is a replay that must be taken.
func (s *site) replayed(r schemas.Replay, changed string) *schemas.Replayed {
	s.Helper()
	out, err := s.replay(r)
	s.must(err)
	if got := strings.Join(out.Changed, " "); got != changed || out.ID != r.ID || out.Queue != "default" || out.Seq == 0 {
		s.Errorf("%+v", out)
	}
	return out
}

// unreplayed is a replay that must be refused with words.
func (s *site) unreplayed(r schemas.Replay, says string) {
	s.Helper()
	if out, err := s.replay(r); err == nil || !strings.Contains(err.Error(), says) {
		s.Errorf("%+v: %+v, %v, want %q", r, out, err, says)
	}
}

// TestReplayKeepsTheIDAndReplacesTheOutcome: with another version, as it is, and at another backend; the requester hears of
// both outcomes, the letter goes, and only one result is stored.
func TestReplayKeepsTheIDAndReplacesTheOutcome(t *testing.T) {
	t.Parallel()
	s := dying(t)
	const text = "BAD-REQUEST here"
	reply := s.dies("a", body("rate@1", text))
	if got := s.replayed(schemas.Replay{ID: "a", Prompt: "rate@2"}, "prompt"); got.Backend != "mock" {
		t.Errorf("%+v", got)
	}
	if r := reply(); r.Status != schemas.StatusSucceeded || r.ID != "a" || r.Source.Prompt != "rate@2" {
		t.Errorf("%+v", r)
	}
	s.mock.fail(400)
	reply = s.dies("b", body("rate", "fine"))
	s.mock.fail(0)
	s.replayed(schemas.Replay{ID: "b"}, "")
	if r := reply(); r.Status != schemas.StatusSucceeded {
		t.Errorf("%+v", r)
	}
	s.mock.fail(400)
	reply = s.dies("c", body("rate", "fine"))
	s.mock.fail(0)
	if got := s.replayed(schemas.Replay{ID: "c", Profile: "elsewhere"}, "profile backend"); got.Backend != "other" {
		t.Errorf("%+v", got)
	}
	if r := reply(); r.Status != schemas.StatusSucceeded || r.Source.Backend != "other" {
		t.Errorf("%+v", r)
	}
	for i, id := range []string{"a", "b", "c"} {
		if r := s.ends(id, schemas.StatusSucceeded); r.Request.Delivery != 1 {
			t.Errorf("%d: %+v", i, r.Request)
		}
	}
	s.lastSeq(6)
	if n := s.count(s.names.DeadStream()); n != 0 {
		t.Errorf("%d dead letters", n)
	}
}

// TestReplayIsRefusedWhereItWouldHarm: what cannot be run is told at once, and no answer is ever replaced.
func TestReplayIsRefusedWhereItWouldHarm(t *testing.T) {
	t.Parallel()
	s := dying(t)
	s.unreplayed(schemas.Replay{ID: "nobody"}, "no such dead letter")
	s.dies("a", body("rate@1", "BAD-REQUEST"))
	s.unreplayed(schemas.Replay{ID: "a", Prompt: "rate@9"}, "no version")
	s.unreplayed(schemas.Replay{ID: "a", Profile: "elsewhere", Backend: "mock"}, "elsewhere")
	s.unreplayed(schemas.Replay{ID: "a", Backend: "nowhere"}, "nowhere")
	s.unreplayed(schemas.Replay{ID: "a", Seq: 4711}, "no such dead letter")
	s.unreplayed(schemas.Replay{ID: "a.b"}, "invalid id")
	s.works("settled")
	s.dies("settled", body("rate", "other content"))
	s.unreplayed(schemas.Replay{ID: "settled"}, "other content than the letter's")
	s.dies("malformed", inline(`, "nonsense": 1`))
	s.unreplayed(schemas.Replay{ID: "malformed", Prompt: "rate@2"}, "nonsense")
	if n := s.count(s.names.DeadStream()); n != 3 {
		t.Errorf("%d dead letters", n)
	}
	s.mock.fail(401)
	s.replayed(schemas.Replay{ID: "a", Prompt: "rate@2"}, "prompt")
	s.publish("a2", body("rate", "x"))
	s.unreplayed(schemas.Replay{ID: "a"}, "no such dead letter")
	if r := s.cancelRun("a"); !r.Cancelled {
		t.Errorf("cancel of a replay that waits: %+v", r)
	}
}

// TestNobodyForgesAReplay: other content under a failed id stays a conflict, whatever headers it brings and whatever was
// granted to a replay.
func TestNobodyForgesAReplay(t *testing.T) {
	t.Parallel()
	s := dying(t)
	s.dies("a", body("rate@1", "BAD-REQUEST"))
	letter := s.last(s.names.DeadStream(), s.names.Dead("default", "a"))
	s.replayed(schemas.Replay{ID: "a", Prompt: "rate@2"}, "prompt")
	s.goneID("a")
	replaced := s.last(s.names.ResultsStream(), s.names.Result("default", "a"))
	if s.decode(replaced.Data).Status != schemas.StatusSucceeded {
		t.Fatalf("%s", replaced.Data)
	}
	s.dies("b", body("rate@1", "BAD-REQUEST"))
	s.dies("b", body("rate@2", "BAD-REQUEST")) // what a replay would publish
	if r := s.decode(s.last(s.names.ResultsStream(), s.names.Result("default", "b")).Data); r.Source.Prompt != "rate@1" {
		t.Errorf("%+v", r.Source)
	}
	for i, id := range []string{"a", "b"} {
		inbox, sub := s.replies()
		s.must(s.publishWith(s.names.Run("mock", "default", id), body("rate", fmt.Sprint("forged ", i)), subjects.HeaderReplyTo, inbox,
			subjects.HeaderRequest, fmt.Sprint(letter.Sequence), subjects.HeaderReason, "replay"))
		if r, _ := s.reply(sub); r.Error == nil || r.Error.Category != schemas.CategoryIDConflict {
			t.Errorf("%s: %+v", id, r)
		}
	}
}

// TestTwoReplaysOfOneLetter: one is taken, the run has one new result.
func TestTwoReplaysOfOneLetter(t *testing.T) {
	t.Parallel()
	s := dying(t)
	s.worker()
	s.dies("a", body("rate@1", "BAD-REQUEST"))
	before := s.mock.calls.Load()
	var taken, refused int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			_, err := s.replay(schemas.Replay{ID: "a", Prompt: "rate@2"})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				taken++
			} else {
				refused++
			}
		})
	}
	wg.Wait()
	s.goneID("a")
	s.eventually("the outcome is replaced", func() bool {
		return s.decode(s.last(s.names.ResultsStream(), s.names.Result("default", "a")).Data).Status == schemas.StatusSucceeded
	})
	s.lastSeq(2)
	if taken == 0 || s.mock.calls.Load() != before+1 {
		t.Errorf("%d taken, %d refused, %d calls", taken, refused, s.mock.calls.Load()-before)
	}
	if n := s.count(s.names.DeadStream()); n != 0 {
		t.Errorf("%d dead letters", n)
	}
}
