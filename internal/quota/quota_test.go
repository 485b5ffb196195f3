package quota

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// memory is a store with a clock of its own that takes some time to answer, and can be away.
type memory struct {
	mu     sync.Mutex
	values map[string]Entry
	rev    uint64
	swaps  int
	ahead  time.Duration
	slow   time.Duration
	away   bool
}

func (m *memory) Get(ctx context.Context, key string) (Entry, error) {
	if err := pause(ctx, m.slow); err != nil {
		return Entry{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away {
		return Entry{}, errors.New("away")
	}
	return m.values[key], nil
}

func (m *memory) Swap(ctx context.Context, key string, value []byte, rev uint64) (uint64, error) {
	if err := pause(ctx, m.slow/2); err != nil {
		return 0, err
	}
	m.mu.Lock()
	e, away := m.values[key], m.away
	switch {
	case away:
		m.mu.Unlock()
		return 0, errors.New("away")
	case e.Rev != rev:
		m.mu.Unlock()
		return 0, ErrSwapped
	}
	m.rev++
	m.swaps++
	m.values[key] = Entry{Value: value, Rev: m.rev, At: time.Now().Add(m.ahead)}
	rev = m.rev
	m.mu.Unlock()
	return rev, pause(ctx, m.slow/2)
}

// most is the largest number of times within any span of a minute.
func most(at []time.Time, weight int64) int64 {
	slices.SortFunc(at, time.Time.Compare)
	max, from := 0, 0
	for i := range at {
		for at[i].Sub(at[from]) >= time.Minute {
			from++
		}
		if n := i - from + 1; n > max {
			max = n
		}
	}
	return int64(max) * weight
}

// drive has workers take from one limit for ten minutes, each with several calls at once, and returns when they did.
func drive(t *testing.T, m *memory, workers, limit int, n int64, carry bool) []time.Time {
	var mu sync.Mutex
	var at []time.Time
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var running sync.WaitGroup
	for range workers {
		r := NewRate(m, "k", int64(limit), carry)
		for range 16 {
			running.Go(func() {
				for r.Take(ctx, n) == nil {
					mu.Lock()
					at = append(at, time.Now())
					mu.Unlock()
					_ = pause(ctx, rand.N(300*time.Millisecond))
				}
			})
		}
	}
	running.Wait()
	return at
}

// Eight workers, 600 a minute: never above it in any span of a minute, at least 95% of it used, and fewer writes than calls.
func TestEightWorkersShareARate(t *testing.T) {
	for _, slow := range []time.Duration{0, 2 * time.Millisecond, 40 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			m := &memory{values: map[string]Entry{}, slow: slow, ahead: 17*time.Hour + 300*time.Millisecond}
			at := drive(t, m, 8, 600, 1, false)
			if got := most(at, 1); got > 600 {
				t.Errorf("%d in a minute", got)
			}
			if used := float64(len(at)) / 6000; used < 0.95 {
				t.Errorf("%v of the limit were used, the store takes %v", used, slow)
			}
			if m.swaps >= len(at)*9/10 {
				t.Errorf("%d writes for %d calls", m.swaps, len(at))
			}
		})
	}
}

func TestRatesOfOtherSizes(t *testing.T) {
	for _, limit := range []int{1, 7, 60, 61, 5000} {
		synctest.Test(t, func(t *testing.T) {
			m := &memory{values: map[string]Entry{}, slow: time.Millisecond}
			at := drive(t, m, 3, limit, 1, false)
			if got := most(at, 1); got > int64(limit) {
				t.Errorf("%d of %d in a minute", got, limit)
			}
			if len(at) < limit*10*95/100-1 && limit < 5000 { // 48 calls at once with pauses make less than 5000
				t.Errorf("%d of %d were used", len(at), limit*10)
			}
			if m.swaps > 10*60*10*3 {
				t.Errorf("%d writes", m.swaps)
			}
		})
	}
}

// A call that needs more than a slot has gets it over several; together they stay within the limit.
func TestTokensAreTakenOverSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{values: map[string]Entry{}, slow: time.Millisecond}
		at := drive(t, m, 4, 30_000, 2000, true)
		if got := most(at, 2000); got > 30_000+2*2000 {
			t.Errorf("%d tokens in a minute", got)
		}
		// What the four workers hold for calls that have not begun is taken, too.
		if used := (float64(len(at)) + 2*4) * 2000 / 300_000; used < 0.95 {
			t.Errorf("%v of the limit were used", used)
		}
	})
}

func TestARateOutlivesAStoreThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{values: map[string]Entry{}, away: true}
		r := NewRate(m, "k", 600, false)
		time.AfterFunc(5*time.Second, func() { m.mu.Lock(); m.away = false; m.mu.Unlock() })
		began := time.Now()
		if err := r.Take(t.Context(), 1); err != nil || time.Since(began) < 5*time.Second || time.Since(began) > 8*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		r.Hold(time.Now().Add(time.Minute))
		r.Hold(time.Now().Add(time.Second))
		began = time.Now()
		if err := r.Take(t.Context(), 1); err != nil || time.Since(began) < time.Minute {
			t.Errorf("%v after %v, though the provider said to wait", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r.Hold(time.Now().Add(time.Minute))
		if err := r.Take(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		broken := &memory{values: map[string]Entry{"k": {Value: []byte("nonsense"), Rev: 7}}}
		if err := NewRate(broken, "k", 600, false).Take(t.Context(), 1); err != nil {
			t.Errorf("an entry that cannot be read: %v", err)
		}
	})
}

// Workers that reserve, spend less or more, and end: the day's budget is never passed by what was asked for, all of it can be used,
// and the next day has its own.
func TestABudgetIsSharedAndReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{values: map[string]Entry{}, slow: time.Millisecond}
		const perDay, reserve = 1_000_000, 1000
		var mu sync.Mutex
		spent := int64(0)
		var running sync.WaitGroup
		for range 5 {
			b := NewBudget(m, "k", perDay)
			running.Go(func() {
				for {
					give, err := b.Take(t.Context(), reserve)
					if errors.Is(err, ErrHeld) {
						_ = pause(t.Context(), time.Second)
						continue
					}
					if err != nil {
						break
					}
					used := rand.Int64N(reserve + 1)
					_ = pause(t.Context(), time.Millisecond)
					give(reserve - used)
					mu.Lock()
					spent += used
					mu.Unlock()
				}
				if err := b.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
		if spent > perDay || spent <= perDay-reserve {
			t.Errorf("%d of %d were spent", spent, perDay)
		}
		last := NewBudget(m, "k", perDay)
		if _, err := last.Take(t.Context(), reserve); !errors.Is(err, ErrSpent) {
			t.Errorf("after all was spent: %v", err)
		}
		time.Sleep(24 * time.Hour)
		give, err := last.Take(t.Context(), perDay)
		if err != nil {
			t.Fatalf("the next day: %v", err)
		}
		give(0)
		if _, err := last.Take(t.Context(), 1); !errors.Is(err, ErrSpent) {
			t.Errorf("%v", err)
		}
	})
}

func TestABudgetWaitsForAStoreThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{values: map[string]Entry{}, away: true}
		b := NewBudget(m, "k", 100)
		time.AfterFunc(3*time.Second, func() { m.mu.Lock(); m.away = false; m.mu.Unlock() })
		give, err := b.Take(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		give(-50) // a call that was dearer than it could be
		if _, err := b.Take(t.Context(), 51); !errors.Is(err, ErrSpent) {
			t.Errorf("%v", err)
		}
		give, err = b.Take(t.Context(), 10)
		m.mu.Lock()
		m.away = true
		m.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		give(10) // it stays here, for the store does not answer
		if err := b.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "away") {
			t.Errorf("%v", err)
		}
	})
}

// What another process has set aside is no reason to fail: it comes back, or it was spent. Only what nobody gives a sign of for long,
// because its process died, counts as spent; and nothing is waited for that would not suffice.
func TestWhatIsSetAsideIsNotSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{values: map[string]Entry{}, slow: time.Millisecond}
		one, other := NewBudget(m, "k", 1000), NewBudget(m, "k", 1000)
		give, err := one.Take(t.Context(), 900)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Take(t.Context(), 200); !errors.Is(err, ErrHeld) {
			t.Errorf("while it is set aside: %v", err)
		}
		if _, err := other.Take(t.Context(), 1001); !errors.Is(err, ErrSpent) {
			t.Errorf("more than the day has: %v", err)
		}
		give(890)
		give, err = other.Take(t.Context(), 990)
		if err != nil {
			t.Fatalf("after it came back: %v", err)
		}
		if _, err := one.Take(t.Context(), 995); !errors.Is(err, ErrSpent) {
			t.Errorf("more than could come back: %v", err)
		}
		for began := time.Now(); ; {
			_, err := one.Take(t.Context(), 100)
			if waited := time.Since(began); errors.Is(err, ErrSpent) {
				if waited < heldFor {
					t.Errorf("given up after %v", waited)
				}
				break
			} else if !errors.Is(err, ErrHeld) || waited > 2*heldFor {
				t.Fatalf("after %v: %v", waited, err)
			}
			time.Sleep(5 * time.Second)
		}
		give(990)
		if give, err = one.Take(t.Context(), 100); err != nil {
			t.Fatalf("a late sign of it: %v", err)
		}
		give(0)
	})
}

// A call that ends on another day than it began takes nothing of that day and brings nothing to it.
func TestACallOverMidnight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{values: map[string]Entry{}}
		b := NewBudget(m, "k", 1000)
		give, err := b.Take(t.Context(), 600)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		of, err := b.Take(t.Context(), 900)
		if err != nil {
			t.Fatal(err)
		}
		give(500)
		of(0)
		if _, err := b.Take(t.Context(), 101); !errors.Is(err, ErrSpent) {
			t.Errorf("yesterday's rest is spent today: %v", err)
		}
		if give, err = b.Take(t.Context(), 100); err != nil {
			t.Fatalf("today's own rest: %v", err)
		}
		give(100)
	})
}
