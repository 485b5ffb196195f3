package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/schemas"
	"emend/subjects"
)

// works runs an ordinary run: the pool still serves.
func (s *site) works(id string) {
	s.Helper()
	s.publish(id, body("rate", "fine"))
	s.ends(id, schemas.StatusSucceeded)
	s.goneID(id)
}

// TestIDOf10000CharactersIsRefusedByTheServer: the subject is longer than the server's control line. The publisher
// hears it as a server error and is disconnected; nobody else notices.
func TestIDOf10000CharactersIsRefusedByTheServer(t *testing.T) {
	t.Parallel()
	s := start(t)
	heard, off := make(chan error, 4), make(chan error, 4)
	nc, err := nats.Connect(s.server.URL(), nats.NoReconnect(), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { heard <- err }),
		nats.ClosedHandler(func(nc *nats.Conn) { off <- nc.LastError() }))
	s.must(err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	s.must(err)
	ctx, cancel := s.within()
	defer cancel()
	_, err = js.Publish(ctx, s.names.Run("mock", "default", strings.Repeat("x", 10_000)), []byte(body("say", "a")))
	if err == nil {
		t.Error("published")
	}
	if err := receive(s, "the publisher is told", off); err == nil || !strings.Contains(strings.ToLower(err.Error()), "maximum control line") {
		t.Errorf("the publisher heard %v", err)
	}
	s.works("after")
}

// TestIDOf10000CharactersIsRefusedByTheServices: a service says what an id may be.
func TestIDOf10000CharactersIsRefusedByTheServices(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, id := range []string{strings.Repeat("x", 10_000), "a.b", "a b", "*", ">", "ünï", "\x01"} {
		for _, subject := range []string{s.names.Submit("mock", "default"), s.names.Ask("mock", "default")} {
			m := s.request(subject, body("say", "a"), subjects.HeaderRun, id)
			r := s.decode(m.Data)
			if r.Status != schemas.StatusFailed || r.Error.Category != schemas.CategoryInvalidRequest || !strings.Contains(r.Error.Message, "1 to 128 characters") ||
				m.Header.Get(subjects.HeaderServiceError) == "" {
				t.Errorf("%.20q on %s: %.300s", id, subject, m.Data)
			}
		}
		if m := s.request(s.names.Get(), fmt.Sprintf(`{"queue": "default", "id": %q}`, "bad "+id)); m.Header.Get(subjects.HeaderServiceError) == "" {
			t.Errorf("get %.20q: %s", id, m.Data)
		}
	}
	s.calls(0)
	s.works("after")
}

// TestOddIDThatTheStreamTakesIsADeadLetter: longer than an id may be, or with odd bytes, yet a legal subject.
func TestOddIDThatTheStreamTakesIsADeadLetter(t *testing.T) {
	t.Parallel()
	s := start(t)
	next := s.reader(s.names.DeadStream(), s.names.AllDead())
	for _, id := range []string{strings.Repeat("x", 129), strings.Repeat("y", 3000), "ünï", "a+b", "\xff\xfe", "a\x01b", "$SYS"} {
		inbox, sub := s.replies()
		subject := s.names.Run("mock", "default", id)
		text := body("say", "hello "+fmt.Sprint(len(id)))
		s.must(s.tryPublish(subject, text, inbox))
		if r, raw := s.reply(sub); r.Status != schemas.StatusFailed || r.Error.Category != schemas.CategoryInvalidRequest ||
			!strings.Contains(r.Error.Message, "1 to 128 characters") {
			t.Errorf("%.20q: %.300s", id, raw)
		}
		if m := next(); string(m.Data()) != text || m.Headers().Get(subjects.HeaderReason) != schemas.CategoryInvalidRequest {
			t.Errorf("%.20q: dead letter %v %.100s", id, m.Headers(), m.Data())
		}
		s.eventually("the work queue is empty", func() bool { return s.count(s.names.RunsStream()) == 0 })
	}
	s.calls(0)
	s.works("after")
}

// TestSameIDWhileQueuedIsRefusedAtThePublisher, whatever it asks.
func TestSameIDWhileQueuedIsRefusedAtThePublisher(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.workers[0].stop()
	s.publish("twin", body("rate", "first"))
	for _, text := range []string{body("rate", "first"), body("rate", "second")} {
		s.takenAtPublisher("twin", text)
	}
	s.worker()
	s.ends("twin", schemas.StatusSucceeded)
	s.goneID("twin")
	s.calls(1)
}

func (s *site) takenAtPublisher(id, text string) {
	s.Helper()
	err := s.tryPublish(s.names.Run("mock", "default", id), text, "")
	if err == nil || !strings.Contains(err.Error(), "maximum messages per subject exceeded") {
		s.Errorf("a second publish of %s: %v", id, err)
	}
}

// TestSameIDWhileRunningIsRefusedAtThePublisher, and by the services as an id_conflict.
func TestSameIDWhileRunningIsRefusedAtThePublisher(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.publish("twin", body("say", holdMark))
	receive(s, "the run is under way", s.mock.arrived)
	s.takenAtPublisher("twin", body("say", holdMark))
	for _, subject := range []string{s.names.Submit("mock", "default"), s.names.Ask("mock", "default")} {
		r := s.decode(s.request(subject, body("say", "other"), subjects.HeaderRun, "twin").Data)
		if r.Error == nil || r.Error.Category != schemas.CategoryIDConflict || !strings.Contains(r.Error.Message, "queued or running") {
			t.Errorf("%s: %+v", subject, r)
		}
	}
	s.mock.release()
	s.ends("twin", schemas.StatusSucceeded)
	s.calls(1)
}

// TestSameContentAfterItsResultGetsTheResultAgainWithoutACall.
func TestSameContentAfterItsResultGetsTheResultAgainWithoutACall(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.publish("again", body("rate", "fine"))
	first := s.stored(s.names.ResultsStream(), s.names.Result("default", "again"))
	s.goneID("again")
	inbox, sub := s.replies()
	s.must(s.tryPublish(s.names.Run("mock", "default", "again"), body("rate", "fine"), inbox))
	if _, raw := s.reply(sub); string(raw) != string(first.Data()) {
		t.Errorf("the reply %s\nis not the stored %s", raw, first.Data())
	}
	s.goneID("again")
	m := s.request(s.names.Ask("mock", "default"), body("rate", "fine"), subjects.HeaderRun, "again")
	if string(m.Data) != string(first.Data()) {
		t.Errorf("ask: %s", m.Data)
	}
	s.unchanged("again", first)
	s.calls(1)
}

func (s *site) unchanged(id string, first jetstream.Msg) {
	s.Helper()
	meta, err := first.Metadata()
	s.must(err)
	if last := s.last(s.names.ResultsStream(), s.names.Result("default", id)); last.Sequence != meta.Sequence.Stream {
		s.Errorf("the result of %s was stored twice: %d, then %d", id, meta.Sequence.Stream, last.Sequence)
	}
}

// TestOtherContentUnderASettledIDIsAConflictThatRevealsNothing.
func TestOtherContentUnderASettledIDIsAConflictThatRevealsNothing(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.publish("mine", `{"messages": [{"role": "user", "content": "ECHO private"}], "profile": "fast", "metadata": {"owner": "private"}}`)
	first := s.stored(s.names.ResultsStream(), s.names.Result("default", "mine"))
	s.goneID("mine")
	inbox, sub := s.replies()
	s.must(s.tryPublish(s.names.Run("mock", "default", "mine"), body("say", "other"), inbox))
	r, raw := s.reply(sub)
	if r.Status != schemas.StatusFailed || r.Error.Category != schemas.CategoryIDConflict || strings.Contains(string(raw), "private") || r.Output != nil {
		t.Errorf("reply %s", raw)
	}
	s.deadLetter("mine", body("say", "other"), schemas.CategoryIDConflict, "another id")
	s.goneID("mine")
	s.unchanged("mine", first)
	s.calls(1)
}

// TestFailedRunPublishedAnewRunsAgain: an end that was no answer is replaced by compare-and-set.
func TestFailedRunPublishedAnewRunsAgain(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.mock.fail(400)
	s.publish("retry", body("rate", "fine"))
	s.ends("retry", schemas.StatusFailed)
	s.deadLetter("retry", body("rate", "fine"), schemas.CategoryProviderStatus, "400")
	s.goneID("retry")
	s.mock.fail(0)
	s.publish("retry", body("rate", "fine"))
	s.goneID("retry")
	s.ends("retry", schemas.StatusSucceeded)
	s.calls(2)
}
