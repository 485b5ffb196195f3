package integration

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"emend/schemas"
)

// refusals awaits that a worker has tried to store a result in vain.
func (s *site) refusals(outcome string) {
	s.Helper()
	s.eventually("the worker says that the result is not stored", func() bool {
		text := s.log.String()
		return strings.Contains(text, "the result is not stored yet") && strings.Contains(text, outcome)
	})
}

func (s *site) results() jetstream.StreamConfig {
	s.Helper()
	ctx, cancel := s.within()
	defer cancel()
	str, err := s.js.Stream(ctx, s.names.ResultsStream())
	s.must(err)
	return str.CachedInfo().Config
}

// TestRunIsAckedOnlyWhenItsResultIsStored: the results stream goes while the model answers; the run waits for it, is
// not acked, is not paid for again, and settles when the stream is back.
func TestRunIsAckedOnlyWhenItsResultIsStored(t *testing.T) {
	t.Parallel()
	s := start(t)
	config := s.results()
	inbox, sub := s.replies()
	s.must(s.tryPublish(s.names.Run("mock", "default", "homeless"), body("rate", holdMark), inbox))
	receive(s, "the call arrives", s.mock.arrived)
	ctx, cancel := s.within()
	defer cancel()
	s.must(s.js.DeleteStream(ctx, config.Name))
	s.mock.release()
	s.refusals("unknown")
	if !s.queued("homeless") {
		t.Fatal("acked without a stored result")
	}
	if n, _, _ := sub.Pending(); n != 0 {
		t.Error("the requester got a result that is not stored")
	}
	_, err := s.js.CreateStream(ctx, config)
	s.must(err)
	if r, _ := s.reply(sub); r.Status != schemas.StatusSucceeded {
		t.Errorf("%+v", r)
	}
	s.ends("homeless", schemas.StatusSucceeded)
	s.goneID("homeless")
	s.lastSeq(1)
	s.calls(1)
}

// TestFullResultStreamIsNotTakenForASettledRun: 10077 is not 10071.
func TestFullResultStreamIsNotTakenForASettledRun(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.works("before")
	config := s.results()
	full := config
	full.MaxMsgs = 1
	ctx, cancel := s.within()
	defer cancel()
	_, err := s.js.UpdateStream(ctx, full)
	s.must(err)
	s.publish("extra", body("rate", "fine"))
	s.refusals(`"full"`)
	if !s.queued("extra") {
		t.Fatal("acked without a stored result")
	}
	_, err = s.js.UpdateStream(ctx, config)
	s.must(err)
	s.ends("extra", schemas.StatusSucceeded)
	s.goneID("extra")
	s.ends("before", schemas.StatusSucceeded)
	s.calls(2)
}

// TestStoreThatIsAwayHandsRunsBackWithoutACall: a run whose past cannot be looked up is not started.
func TestStoreThatIsAwayHandsRunsBackWithoutACall(t *testing.T) {
	t.Parallel()
	s := start(t)
	config := s.results()
	ctx, cancel := s.within()
	defer cancel()
	s.must(s.js.DeleteStream(ctx, config.Name))
	s.publish("blind", body("rate", "fine"))
	if e := s.event("blind", schemas.EventWaiting); e.Cause != "ledger" {
		t.Errorf("%+v", e)
	}
	s.calls(0)
	_, err := s.js.CreateStream(ctx, config)
	s.must(err)
	s.ends("blind", schemas.StatusSucceeded)
	s.goneID("blind")
	s.calls(1)
}

// TestDeletedDurableIsMadeAgain: the pool goes on.
func TestDeletedDurableIsMadeAgain(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.works("before")
	ctx, cancel := s.within()
	defer cancel()
	s.must(s.js.DeleteConsumer(ctx, s.names.RunsStream(), s.names.Durable("mock", "default")))
	s.publish("after", body("rate", "fine"))
	s.ends("after", schemas.StatusSucceeded)
	s.goneID("after")
}
