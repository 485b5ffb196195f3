package integration

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"emend/internal/devnats"
	"emend/schemas"
	"emend/subjects"
)

// A service answers where the requester says, with the worker's rights: only inboxes may be named, or a stored result
// could be overwritten and the server's API be reached.
func TestServicesAnswerToInboxesOnly(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.publish("victim", body("rate", "text"))
	s.ends("victim", schemas.StatusSucceeded)
	before := s.last(s.names.ResultsStream(), s.names.Result("default", "victim"))
	for _, service := range []string{s.names.Get(), s.names.Cancel(), s.names.Ask("mock", "default"), s.names.Submit("mock", "default")} {
		for _, reply := range []string{s.names.Result("default", "victim"), s.names.Dead("default", "forged"), s.names.Run("mock", "default", "forged"),
			"$JS.API.STREAM.DELETE." + s.names.RunsStream()} {
			for _, text := range []string{`{"queue":"default","id":"nowhere"}`, `{"queue":"default","id":"victim"}`, body("rate", "text"), "junk"} {
				s.must(s.nc.PublishRequest(service, reply, []byte(text)))
			}
		}
	}
	s.publish("after", body("rate", "text"))
	s.ends("after", schemas.StatusSucceeded)
	after := s.last(s.names.ResultsStream(), s.names.Result("default", "victim"))
	if after.Sequence != before.Sequence || string(after.Data) != string(before.Data) {
		t.Errorf("the victim's result became %s", after.Data)
	}
	if n := s.count(s.names.DeadStream()); n != 0 {
		t.Errorf("%d forged dead letters", n)
	}
	if s.queued("forged") {
		t.Error("a run was forged")
	}
}

// A provider's word alone neither ends a backend nor keeps a run from its deadline.
func TestAnAbsurdRetryAfterIsBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{})
	s.mock.headers = http.Header{"Retry-After": {"99999999999999999999"}}
	s.mock.fail(http.StatusTooManyRequests)
	s.worker()
	s.publish("r", strings.Replace(body("rate", "text"), "{", `{"timeout_s": 3, `, 1))
	e := s.event("r", schemas.EventWaiting)
	if e.WaitMS == nil || time.Duration(*e.WaitMS)*time.Millisecond > time.Minute {
		t.Errorf("handed back for %v ms", e.WaitMS)
	}
	if r := s.ends("r", schemas.StatusExpired); r.Counts.Calls != 1 {
		t.Errorf("%+v", r.Counts)
	}
	if g := s.workers[0].engine.Gate("mock").State(); time.Until(g.Until) > time.Hour {
		t.Errorf("the gate is closed until %v", g.Until)
	}
}

// A state that max_payload cannot take costs no call and no run.
func TestAnAnswerTooLargeForACheckpoint(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{})
	s.mock.answers["HUGE"] = `{"score": "` + strings.Repeat("x", 2<<20) + `"}`
	s.mock.answers["previous answer"] = `{"score": 1}`
	s.worker()
	s.publish("r", body("rate", "HUGE"))
	if r := s.ends("r", schemas.StatusSucceeded); r.Counts.Calls != 2 || r.Counts.Repairs != 1 || s.mock.calls.Load() != 2 {
		t.Errorf("%+v after %d calls", r.Counts, s.mock.calls.Load())
	}
}

// An empty request with a Status header is a bad request like any other, not the server's word.
func TestAStatusHeaderOfARequesterIsNoStatus(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, status := range []string{"503", "404", "409", "408", "100"} {
		m := nats.NewMsg(s.names.Run("mock", "default", "s"+status))
		m.Header.Set("Status", status)
		m.Header.Set("Description", "Consumer Deleted")
		if _, err := s.js.PublishMsg(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if h := s.last(s.names.DeadStream(), s.dead("s"+status)).Header.Get(subjects.HeaderReason); h != schemas.CategoryInvalidRequest {
			t.Errorf("%s: %q", status, h)
		}
		s.goneID("s" + status)
	}
	s.publish("after", body("rate", "text"))
	s.ends("after", schemas.StatusSucceeded)
}

// dead awaits a dead letter and returns its subject.
func (s *site) dead(id string) string {
	s.Helper()
	s.stored(s.names.DeadStream(), s.names.Dead("default", id))
	return s.names.Dead("default", id)
}
