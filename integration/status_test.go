package integration

import (
	"testing"

	"emend/capacity"
	"emend/consumer"
	"emend/schemas"
)

func (s *site) status() *consumer.Status {
	s.Helper()
	ctx, cancel := s.within()
	defer cancel()
	st, err := s.client().Status(ctx)
	s.must(err)
	return st
}

func (s *site) queueStatus(backend, queue string) consumer.QueueStatus {
	s.Helper()
	for _, q := range s.status().Queues {
		if q.Backend == backend && q.Queue == queue {
			return q
		}
	}
	s.Fatalf("no queue %s/%s in the status", backend, queue)
	return consumer.QueueStatus{}
}

func TestStatusTellsWorkersGatesAndQueues(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.worker()
	s.publish("held", body("say", holdMark))
	receive(s, "the call is under way", s.mock.arrived)
	st := s.status()
	if len(st.Workers) != 2 || len(st.Queues) != 4 || st.Workers[0].ID == st.Workers[1].ID || st.Workers[0].Started.IsZero() {
		t.Fatalf("%+v", st)
	}
	if q := s.queueStatus("mock", "default"); q.InFlight != 1 || q.Limit != 64 || q.Queued != 0 || q.Oldest <= 0 {
		t.Errorf("%+v", q)
	}
	calls := 0
	for _, w := range st.Workers {
		if g := w.Gates["mock"]; g.Permits != 16 || g.State.Phase != capacity.Open {
			t.Errorf("%s: %+v", w.ID, g)
		}
		calls += w.Gates["mock"].PermitsInUse
	}
	if calls != 1 {
		t.Errorf("%d calls are under way", calls)
	}
	s.mock.release()
	s.ends("held", schemas.StatusSucceeded)
}

// While a backend is in trouble the status tells why, and what waits for it.
func TestStatusTellsTheCauseOfAClosedGate(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.mock.fault.Store(401)
	s.publish("waits", body("say", "x"))
	s.closed("401 mock_trouble")
	s.eventually("the status shows the closed gate", func() bool {
		g := s.status().Workers[0].Gates["mock"].State
		return g.Phase == capacity.Closed && g.Cause == "401 mock_trouble" && !g.Until.IsZero()
	})
}
