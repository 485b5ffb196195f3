package consumer

import (
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"

	"emend/engine/pipeline"
	"emend/schemas"
)

// signals gathers the ids of jobs whose finished events came. An event may be lost: a signal only says where to look.
type signals struct {
	mu   sync.Mutex
	ids  []string
	wake chan struct{}
	sub  *nats.Subscription
}

// finishes subscribes to the ends of a parent's jobs.
func (w *Worker) finishes(queue, parent string) (*signals, error) {
	s := &signals{wake: make(chan struct{}, 1)}
	subject := w.names.KindOf(queue, schemas.EventFinished)
	var err error
	s.sub, err = w.nc.Subscribe(subject, func(m *nats.Msg) {
		if _, id, _, err := w.names.ParseEvent(m.Subject); err == nil && pipeline.IsChildOf(parent, id) {
			s.add(id)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", subject, err)
	}
	_ = s.sub.SetPendingLimits(-1, -1) // a signal is small, and its handler does nothing but note it
	return s, nil
}

func (s *signals) add(id string) {
	s.mu.Lock()
	s.ids = append(s.ids, id)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take returns what was gathered.
func (s *signals) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := s.ids
	s.ids = nil
	return ids
}

func (s *signals) stop() { _ = s.sub.Unsubscribe() }
