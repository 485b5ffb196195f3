package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"emend/capacity"
	"emend/internal/devnats"
	"emend/schemas"
)

// TestBackendThatAnswers503FailsNoRun: few calls, the cause in waiting events and in get, and everything succeeds when
// it is over.
func TestBackendThatAnswers503FailsNoRun(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.mock.fail(503)
	const runs = 40
	for i := range runs {
		s.publish(fmt.Sprintf("r%d", i), body("rate", fmt.Sprint("text ", i)))
	}
	waiting := s.waiting("503 mock_trouble")
	s.closed("503 mock_trouble")
	if p := s.progress(waiting); p.State != schemas.StateWaiting && p.State != schemas.StateRunning || !strings.Contains(p.Cause, "503") {
		t.Errorf("get: %+v", p)
	}
	if n := s.mock.calls.Load(); n > runs+16 {
		t.Errorf("%d calls before the gate closed", n)
	}
	before := s.mock.calls.Load()
	s.mock.fail(0)
	for i := range runs {
		if r := s.ends(fmt.Sprintf("r%d", i), schemas.StatusSucceeded); r.Counts.Executions < 1 {
			t.Errorf("%+v", r.Counts)
		}
	}
	if n := s.mock.calls.Load() - before; n > runs+4 {
		t.Errorf("%d calls for %d runs when it was over", n, runs)
	}
	if n := s.count(s.names.DeadStream()); n != 0 {
		t.Errorf("%d dead letters", n)
	}
	s.eventually("the work queue is empty", func() bool { return s.count(s.names.RunsStream()) == 0 })
}

// waiting awaits a waiting event with a cause and returns its run's id.
func (s *site) waiting(cause string) string {
	s.Helper()
	next := s.reader(s.names.EventsStream(), s.names.Event("*", "*", schemas.EventWaiting))
	for {
		if e := s.eventOf(next()); e.Cause == cause {
			return e.RunID
		}
	}
}

// closed awaits that the gate of backend mock closes.
func (s *site) closed(cause string) {
	s.Helper()
	gate := s.workers[0].engine.Gate("mock")
	for {
		changed := gate.Changed()
		if g := gate.State(); g.Phase == capacity.Closed && g.Cause == cause {
			return
		}
		receive(s, "the gate closes", changed)
	}
}

// opens awaits that the gate is no longer closed, which an account's pause delays by half a minute.
func (s *site) opens() {
	s.Helper()
	gate := s.workers[0].engine.Gate("mock")
	for end := time.After(2 * patience); gate.State().Phase == capacity.Closed; {
		select {
		case <-gate.Changed():
		case <-end:
			s.Fatal("the gate stays closed")
		}
	}
}

// TestBackendThatAnswers401FailsNoRun: the gate closes at the first answer, the rest stays queued without a call, and
// after the pause one probe opens it.
func TestBackendThatAnswers401FailsNoRun(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.mock.fail(401)
	s.publish("first", body("rate", "first"))
	s.closed("401 mock_trouble")
	if e := s.event("first", schemas.EventWaiting); e.Cause != "401 mock_trouble" || e.WaitMS == nil || *e.WaitMS < 1000 {
		t.Errorf("%+v", e)
	}
	const runs = 20
	for i := range runs {
		s.publish(fmt.Sprintf("r%d", i), body("rate", fmt.Sprint("text ", i)))
	}
	if p := s.progress("first"); p.State != schemas.StateWaiting || p.Cause != "401 mock_trouble" {
		t.Errorf("get of the run that met it: %+v", p)
	}
	if p := s.progress("r0"); p.State == schemas.StateRunning || p.Cause != "401 mock_trouble" {
		t.Errorf("get of a queued run: %+v", p)
	}
	s.calls(1)
	s.mock.fail(0)
	s.opens()
	for i := range runs {
		s.ends(fmt.Sprintf("r%d", i), schemas.StatusSucceeded)
	}
	s.ends("first", schemas.StatusSucceeded)
	s.calls(runs + 2)
	if n := s.count(s.names.DeadStream()); n != 0 {
		t.Errorf("%d dead letters", n)
	}
}

// TestOnTroubleFailSettlesAtOnce, with a dead letter, and the error says that it may pass later.
func TestOnTroubleFailSettlesAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, "admitted: 32, call_timeout: 60s}", "admitted: 32, call_timeout: 60s, on_trouble: fail}")
	s.mock.fail(503)
	inbox, sub := s.replies()
	s.must(s.tryPublish(s.names.Run("mock", "default", "now"), body("rate", "fine"), inbox))
	r, _ := s.reply(sub)
	if r.Status != schemas.StatusFailed || r.Error.Category != schemas.CategoryProviderStatus || r.Error.Provider.Status != 503 || !r.Error.Retryable {
		t.Errorf("%+v", r.Error)
	}
	s.ends("now", schemas.StatusFailed)
	s.deadLetter("now", body("rate", "fine"), schemas.CategoryProviderStatus, "503")
	s.goneID("now")
	s.calls(1)
}

// TestBackendThatIsNotThereFailsNoRun: a request that provably never left is the backend's trouble.
func TestBackendThatIsNotThereFailsNoRun(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.mock.http.Close()
	s.publish("nobody", body("rate", "fine"))
	if e := s.event("nobody", schemas.EventWaiting); e.Cause != "unreachable" {
		t.Errorf("%+v", e)
	}
	if !s.queued("nobody") {
		t.Error("the run left the queue")
	}
	if s.cancelRun("nobody").Status != schemas.StatusCancelled {
		t.Error("not cancelled")
	}
}

// TestRunsOwnFaultFailsIt: 400 is the run's, and the others go on.
func TestRunsOwnFaultFailsIt(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.publish("own", body("rate", "BAD-REQUEST"))
	r := s.ends("own", schemas.StatusFailed)
	if r.Error.Category != schemas.CategoryProviderStatus || r.Error.Provider.Status != 400 || r.Error.Provider.Code != "bad_parameter" ||
		r.Error.Retryable || r.Output != nil || r.Usage != nil {
		t.Errorf("%+v", r)
	}
	s.works("after")
}

// A worker without the key hands its runs to one that has it, at once and not when its own gate would probe.
func TestAWorkerWithoutTheKeyKeepsNoRunFromOthers(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "key")
	s := newSite(t, devnats.Options{}, "call_timeout: 60s}\n  other", "call_timeout: 60s, key: {file: "+key+"}}\n  other")
	without := s.worker()
	s.publish("first", body("rate", "fine"))
	if e := s.event("first", schemas.EventWaiting); e.Cause != "no_credential" || *e.WaitMS > 5000 {
		t.Errorf("%+v, %d ms", e, *e.WaitMS)
	}
	s.must(os.WriteFile(key, []byte("k"), 0o600))
	s.worker()
	if r := s.ends("first", schemas.StatusSucceeded); r.Source.Worker == "" || without.engine.Gate("mock").State().Phase != capacity.Closed {
		t.Errorf("%+v", r.Source)
	}
}
