package integration

import (
	"fmt"
	"testing"

	"emend/internal/devnats"
	"emend/schemas"
)

// A queue's in_flight holds over all workers, each of which alone has room for more.
func TestInFlightHoldsOverAllWorkers(t *testing.T) {
	t.Parallel()
	const inFlight, runs = 4, 24
	s := newSite(t, devnats.Options{}, "default: {weight: 4, in_flight: 64}", fmt.Sprintf("default: {weight: 4, in_flight: %d}", inFlight))
	for range 3 {
		s.worker()
	}
	for i := range runs {
		s.publish(fmt.Sprint("r", i), body("rate", fmt.Sprint("PAUSE ", i)))
	}
	s.eventually("the queue is full", func() bool { return s.mock.calls.Load() == inFlight })
	s.mock.resume()
	for i := range runs {
		s.ends(fmt.Sprint("r", i), schemas.StatusSucceeded)
	}
	s.mock.mu.Lock()
	defer s.mock.mu.Unlock()
	if s.mock.most != inFlight {
		t.Errorf("%d runs at once, %d are allowed", s.mock.most, inFlight)
	}
}
