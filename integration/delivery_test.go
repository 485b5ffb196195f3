package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"emend/consumer"
	"emend/internal/devnats"
	"emend/schemas"
)

// TestDrainLetsRunsFinish: a stopped worker ends its runs, takes no new one, and hands over what it had not started.
func TestDrainLetsRunsFinish(t *testing.T) {
	t.Parallel()
	s := start(t)
	const runs = 4
	for i := range runs {
		s.publish(fmt.Sprint("r", i), body("say", holdMark))
		receive(s, "a call arrives", s.mock.arrived)
	}
	s.workers[0].cancel()
	s.mock.release()
	s.workers[0].stop()
	for i := range runs {
		if m := s.last(s.names.ResultsStream(), s.names.Result("default", fmt.Sprint("r", i))); m == nil {
			t.Errorf("run %d has no result when its worker has ended", i)
		}
		s.goneID(fmt.Sprint("r", i))
	}
	s.publish("later", body("say", "a"))
	s.worker()
	s.ends("later", schemas.StatusSucceeded)
	s.calls(runs + 1)
}

// TestDrainPutsDownWhatDoesNotEndAndAnotherWorkerResumesIt: the initial answer is not paid for twice.
func TestDrainPutsDownWhatDoesNotEndAndAnotherWorkerResumesIt(t *testing.T) {
	t.Parallel()
	s := start(t, "drain_timeout: 20s", "drain_timeout: 1s")
	s.publish("stuck", body("rate", "STUCK-IN-REPAIR"))
	receive(s, "the repair call arrives", s.mock.arrived)
	s.worker()
	s.workers[0].stop()
	receive(s, "the repair call is aborted", s.mock.left)
	if e := s.event("stuck", schemas.EventWaiting); e.Cause != "draining" {
		t.Errorf("%+v", e)
	}
	if again := receive(s, "the other worker repairs", s.mock.arrived); !strings.Contains(again, `"assistant"`) {
		t.Errorf("it began anew: %s", again)
	}
	s.mock.release()
	r := s.ends("stuck", schemas.StatusSucceeded)
	if r.Counts.Calls != 3 || r.Counts.Executions != 2 || r.Request.Delivery != 2 {
		t.Errorf("%+v %+v", r.Counts, r.Request)
	}
	s.goneID("stuck")
	s.calls(3)
}

// TestCancelOfAQueuedRunMakesNoCall and settles it for good.
func TestCancelOfAQueuedRunMakesNoCall(t *testing.T) {
	t.Parallel()
	s := start(t, "permits: 16, admitted: 32, call_timeout: 60s}\n  other", oneplace)
	s.publish("first", body("say", holdMark))
	receive(s, "the only place is taken", s.mock.arrived)
	inbox, sub := s.replies()
	s.must(s.tryPublish(s.names.Run("mock", "default", "second"), body("say", "a"), inbox))
	if r := s.cancelRun("second"); !r.Cancelled || r.Status != schemas.StatusCancelled {
		t.Errorf("%+v", r)
	}
	if r, _ := s.reply(sub); r.Status != schemas.StatusCancelled {
		t.Errorf("reply %+v", r)
	}
	s.ends("second", schemas.StatusCancelled)
	if r := s.cancelRun("second"); r.Cancelled || r.Status != schemas.StatusCancelled {
		t.Errorf("a second cancel: %+v", r)
	}
	s.mock.release()
	s.ends("first", schemas.StatusSucceeded)
	s.goneID("second")
	s.calls(1)
}

// TestCancelOfARunningRunAbortsItsCall; what it cost is told, and the result stays cancelled.
func TestCancelOfARunningRunAbortsItsCall(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.worker()
	s.publish("run", body("say", holdMark))
	receive(s, "the call arrives", s.mock.arrived)
	if r := s.cancelRun("run"); !r.Cancelled {
		t.Errorf("%+v", r)
	}
	receive(s, "the call is aborted", s.mock.left)
	s.goneID("run")
	s.ends("run", schemas.StatusCancelled)
	if e := s.event("run", schemas.EventSuperseded); e.Totals == nil || e.Totals.Counts.Calls != 1 {
		t.Errorf("%+v", e)
	}
	s.calls(1)
}

// TestCancelOfAFinishedRunTellsHowItEnded, and of an unknown one that there is none.
func TestCancelOfAFinishedRunTellsHowItEnded(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.works("done")
	if r := s.cancelRun("done"); r.Cancelled || r.Status != schemas.StatusSucceeded {
		t.Errorf("%+v", r)
	}
	if r := s.cancelRun("never"); r.Cancelled || r.Status != schemas.CancelNotFound {
		t.Errorf("%+v", r)
	}
	s.ends("done", schemas.StatusSucceeded)
}

func shortLease(o *consumer.Options) { o.AckWait = time.Second }

// TestLostAckIsHarmless: the ack does not reach the server, the redelivery finds the stored result and makes no call.
func TestLostAckIsHarmless(t *testing.T) {
	t.Parallel()
	s := newSite(t, devnats.Options{Configure: func(o *server.Options) {
		mute := &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"$JS.ACK.>"}}}
		o.Users = []*server.User{{Username: "mute", Password: "x", Permissions: mute}, {Username: "free", Password: "x"}}
		o.NoAuthUser = "free"
	}})
	nc, _ := s.connect(nats.UserInfo("mute", "x"), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	w := s.workerOn(nc, shortLease)
	inbox, sub := s.replies()
	s.must(s.tryPublish(s.names.Run("mock", "default", "unacked"), body("rate", "fine"), inbox))
	_, first := s.reply(sub)
	if _, second := s.reply(sub); string(second) != string(first) {
		t.Errorf("the redelivery got %s\nafter %s", second, first)
	}
	if !s.queued("unacked") {
		t.Error("the ack was not lost")
	}
	w.stop()
	s.worker(shortLease)
	s.goneID("unacked")
	s.lastSeq(1)
	s.calls(1)
}

// lastSeq says how many results were ever stored.
func (s *site) lastSeq(want uint64) {
	s.Helper()
	ctx, cancel := s.within()
	defer cancel()
	str, err := s.js.Stream(ctx, s.names.ResultsStream())
	s.must(err)
	if got := str.CachedInfo().State.LastSeq; got != want {
		s.Errorf("%d results were stored, want %d", got, want)
	}
}
