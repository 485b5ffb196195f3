package capacity

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// narrowBackend answers what it has room for and throttles the rest. All of it happens in a bubble, under its own lock.
type narrowBackend struct {
	mu               chan struct{}
	room, under      int
	calls, throttled int
}

func (b *narrowBackend) call(d time.Duration) Outcome {
	b.mu <- struct{}{}
	b.calls++
	if b.under >= b.room {
		b.throttled++
		<-b.mu
		return throttled
	}
	b.under++
	<-b.mu
	time.Sleep(d)
	b.mu <- struct{}{}
	b.under--
	<-b.mu
	return ok
}

func (b *narrowBackend) set(room int) { b.mu <- struct{}{}; b.room = room; <-b.mu }

func (b *narrowBackend) counted() (calls, throttled int) {
	b.mu <- struct{}{}
	defer func() { <-b.mu }()
	return b.calls, b.throttled
}

// keepBusy keeps a gate busy with more runs than it has permits, until ctx is done. One that is throttled comes back later.
func keepBusy(ctx context.Context, all *sync.WaitGroup, g *Gate, b *narrowBackend, runs int) {
	for i := range runs {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if oneCall(ctx, g, b, time.Duration(80+(i*7+n*13)%40)*time.Millisecond) {
					continue
				}
				select {
				case <-ctx.Done():
				case <-time.After(2 * time.Second):
				}
			}
		})
	}
}

// oneCall is a run of one call; false if it was throttled or found no place.
func oneCall(ctx context.Context, g *Gate, b *narrowBackend, d time.Duration) bool {
	s, err := g.Admit(ctx)
	if err != nil {
		return false
	}
	defer s.Release()
	release, err := s.Permit(ctx)
	if err != nil {
		return false
	}
	o := b.call(d)
	release()
	s.Report(o)
	return o.Kind == Answered
}

// TestSettlesAtWhatTheBackendTakes: against a backend that has room for k calls at once and throttles the rest, the limit comes
// within 10% of k and stays there, also after k has changed, and few calls are throttled from then on.
func TestSettlesAtWhatTheBackendTakes(t *testing.T) {
	for _, rooms := range [][]int{{20, 10, 40}, {50}, {3}, {1}} {
		t.Run(fmt.Sprint(rooms), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := gate(t, Limits{Permits: 64, Admitted: 128, Trouble: true})
				b := &narrowBackend{mu: make(chan struct{}, 1)}
				ctx, stop := context.WithCancel(t.Context())
				var runs sync.WaitGroup
				defer runs.Wait()
				defer stop()
				for i, k := range rooms {
					if b.set(k); i == 0 {
						keepBusy(ctx, &runs, g, b, 128)
					}
					time.Sleep(3 * time.Minute)
					settledAt(t, g, b, k)
				}
			})
		})
	}
}

// settledAt looks at the limit for three minutes.
func settledAt(t *testing.T, g *Gate, b *narrowBackend, k int) {
	t.Helper()
	calls, refused := b.counted()
	for range 1800 {
		time.Sleep(100 * time.Millisecond)
		if st := g.State(); st.Phase != Slow || 10*st.Limit < 9*k || st.Limit > k+max(k/10, 1) {
			t.Fatalf("the limit is %+v, the backend takes %d", st, k)
		}
	}
	moreCalls, moreRefused := b.counted()
	calls, refused = moreCalls-calls, moreRefused-refused
	if refused == 0 || refused*min(50, 10*k) > calls {
		t.Errorf("%d of %d calls were throttled at %d", refused, calls, k)
	}
}
