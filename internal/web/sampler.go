package web

import (
	"context"
	"sync"
	"time"
)

const (
	// sampleEvery is how often the space is asked while someone looks; watchedFor is how long a look lasts.
	sampleEvery = 2 * time.Second
	watchedFor  = 30 * time.Second
	// history is how many samples the charts go back: fifteen minutes.
	history = 450
)

// overview is what the page's first view shows.
type overview struct {
	Status  any      `json:"status"`
	Samples []Sample `json:"samples"`
	// Error says why the status is not of now.
	Error string `json:"error,omitempty"`
}

// sampler asks a space for its status in the background as long as someone looks, so that views need not wait for workers
// to answer a roll call. It does nothing while nobody looks.
type sampler struct {
	source Space
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	running bool
	looked  time.Time
	// first is closed when the round that runs has asked once.
	first  chan struct{}
	latest overview
}

func newSampler(source Space) *sampler {
	ctx, cancel := context.WithCancel(context.Background())
	return &sampler{source: source, ctx: ctx, cancel: cancel}
}

// look returns the latest status; the first look waits for one.
func (s *sampler) look(ctx context.Context) (overview, error) {
	s.mu.Lock()
	s.looked = time.Now()
	if !s.running && !s.closed {
		s.running, s.first = true, make(chan struct{})
		s.wg.Go(s.run)
	}
	first := s.first
	s.mu.Unlock()
	select {
	case <-first:
	case <-ctx.Done():
		return overview{}, ctx.Err()
	case <-s.ctx.Done():
		return overview{}, context.Canceled
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.latest
	out.Samples = append([]Sample{}, out.Samples...)
	return out, nil
}

func (s *sampler) run() {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	s.sample()
	close(s.first)
	for s.watched() {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
			s.sample()
		}
	}
}

// watched reports whether someone looks; if not, the round ends.
func (s *sampler) watched() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = time.Since(s.looked) <= watchedFor
	return s.running
}

func (s *sampler) sample() {
	ctx, cancel := context.WithTimeout(s.ctx, askWithin)
	defer cancel()
	doc, sample, err := s.source.Status(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.latest.Error = err.Error()
		return
	}
	s.latest.Status, s.latest.Error = doc, ""
	s.latest.Samples = append(s.latest.Samples, sample)
	if n := len(s.latest.Samples); n > history {
		s.latest.Samples = append([]Sample{}, s.latest.Samples[n-history:]...)
	}
}

// close ends the sampling and all streams of events.
func (s *sampler) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.wg.Wait()
}
