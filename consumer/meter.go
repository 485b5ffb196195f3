package consumer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"emend/engine"
	"emend/internal/quota"
	"emend/prompts"
	"emend/schemas"
	"emend/subjects"
)

// meter shares rates and budgets with the other workers through the state bucket. It is the engine's Meter.
type meter struct {
	store quota.Store
	names subjects.Names
	log   zerolog.Logger
	// current is what is configured now; nil for nothing.
	current atomic.Pointer[metered]
	// mu guards a change of it.
	mu sync.Mutex
}

// metered are the limits by name.
type metered struct {
	requests, tokens map[string]*quota.Rate
	backends, queues map[string]*budget
}

// budget is one with its own amount, so that a changed one is known.
type budget struct {
	*quota.Budget
	perDay schemas.USD
	name   string
}

func newMeter(kv jetstream.KeyValue, names subjects.Names, log zerolog.Logger) *meter {
	return &meter{store: buckets{kv}, names: names, log: log}
}

// configure takes the limits of definitions. A rate that stays goes on with its new limit; a budget that changed begins with what
// the day has left of the new one.
func (m *meter) configure(s *prompts.Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.current.Load()
	if old == nil {
		old = &metered{}
	}
	next := &metered{requests: map[string]*quota.Rate{}, tokens: map[string]*quota.Rate{}, backends: map[string]*budget{}, queues: map[string]*budget{}}
	for _, b := range s.Backends() {
		m.rate(next.requests, old.requests, b.Name, m.names.RequestRateKey(b.Name), b.RequestsPerMinute, false)
		m.rate(next.tokens, old.tokens, b.Name, m.names.TokenRateKey(b.Name), b.TokensPerMinute, true)
		perDay, _ := s.DailyBudget(b.Name, "")
		m.budget(next.backends, old.backends, b.Name, m.names.BackendBudgetKey(b.Name), "backend "+b.Name, perDay)
	}
	for _, q := range s.Config().QueueNames() {
		_, perDay := s.DailyBudget("", q)
		m.budget(next.queues, old.queues, q, m.names.QueueBudgetKey(q), "queue "+q, perDay)
	}
	if len(next.requests)+len(next.tokens)+len(next.backends)+len(next.queues) == 0 {
		next = nil
	}
	m.current.Store(next)
}

func (m *meter) rate(next, old map[string]*quota.Rate, name, key string, limit int64, carry bool) {
	switch r := old[name]; {
	case limit == 0:
	case r != nil:
		r.SetLimit(limit)
		next[name] = r
	default:
		next[name] = quota.NewRate(m.store, key, limit, carry)
	}
}

func (m *meter) budget(next, old map[string]*budget, name, key, of string, perDay schemas.USD) {
	switch b := old[name]; {
	case perDay == 0:
	case b != nil && b.perDay == perDay:
		next[name] = b
	default:
		next[name] = &budget{Budget: quota.NewBudget(m.store, key, int64(perDay)), perDay: perDay, name: of}
	}
}

// engines is the Meter for the engine; nil when nothing is shared, so that runs pay nothing for it.
func (m *meter) engines() engine.Meter {
	if c := m.current.Load(); c != nil {
		return c
	}
	return nil
}

// Begin sets the most that a call can cost aside, of the budgets of its backend and its queue, and waits for its share of the rates.
func (c *metered) Begin(ctx context.Context, call engine.Metered) (func(engine.Spent), error) {
	var set []func(int64)
	giveBack := func(n schemas.USD) {
		for _, give := range set {
			give(int64(n))
		}
	}
	for _, b := range []*budget{c.backends[call.Backend], c.queues[call.Queue]} {
		if b == nil {
			continue
		}
		give, err := b.Take(ctx, int64(call.USD))
		if err != nil {
			giveBack(call.USD)
			return nil, b.refusal(err, call.USD)
		}
		set = append(set, give)
	}
	requests, tokens := c.requests[call.Backend], c.tokens[call.Backend]
	if err := take(ctx, tokens, call.Tokens); err != nil {
		giveBack(call.USD)
		return nil, err
	}
	if err := take(ctx, requests, 1); err != nil {
		giveBack(call.USD)
		return nil, err
	}
	return func(s engine.Spent) {
		if s.Known {
			giveBack(call.USD - s.USD)
		} else {
			giveBack(0)
		}
		hold(s.Hold, requests, tokens)
	}, nil
}

func take(ctx context.Context, r *quota.Rate, n int64) error {
	if r == nil {
		return nil
	}
	return r.Take(ctx, n)
}

// longestHold bounds what a provider's header can do.
const longestHold = 5 * time.Minute

// hold lets a backend rest that said that nothing is left.
func hold(d time.Duration, rates ...*quota.Rate) {
	for _, r := range rates {
		if r != nil && d > 0 {
			r.Hold(time.Now().Add(min(d, longestHold)))
		}
	}
}

func (b *budget) refusal(err error, need schemas.USD) error {
	switch {
	case errors.Is(err, quota.ErrSpent):
		err = engine.ErrBudget
	case errors.Is(err, quota.ErrHeld):
		err = engine.ErrBudgetHeld
	default:
		return err
	}
	return fmt.Errorf("%w: %s has $%s a day (UTC), and the next call could cost $%s", err, b.name, b.perDay, need)
}

// closeWithin bounds the giving back of what budgets have left.
const closeWithin = 2 * time.Second

// close gives back what this worker has leased of budgets and not spent; what cannot be given back is lost for the day.
func (m *meter) close() {
	c := m.current.Load()
	if c == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	for _, budgets := range []map[string]*budget{c.backends, c.queues} {
		for _, b := range budgets {
			if err := b.Close(ctx); err != nil {
				m.log.Warn().Err(err).Str("budget", b.name).Msg("what is left of a leased slice could not be given back; it is lost for the day")
			}
		}
	}
}

// buckets is the bucket as a quota.Store.
type buckets struct{ kv jetstream.KeyValue }

// storeTry bounds one question to the bucket.
const storeTry = 2 * time.Second

// Get reads an entry from the bucket's leader.
func (b buckets) Get(ctx context.Context, key string) (quota.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTry)
	defer cancel()
	e, err := b.kv.Get(ctx, key)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return quota.Entry{}, nil
	case err != nil:
		return quota.Entry{}, err
	}
	return quota.Entry{Value: e.Value(), Rev: e.Revision(), At: e.Created()}, nil
}

// Swap writes an entry by compare-and-set.
func (b buckets) Swap(ctx context.Context, key string, value []byte, rev uint64) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTry)
	defer cancel()
	var err error
	if rev == 0 {
		rev, err = b.kv.Create(ctx, key, value)
	} else {
		rev, err = b.kv.Update(ctx, key, value, rev)
	}
	if err != nil && wasWritten(err) {
		return 0, quota.ErrSwapped
	}
	return rev, err
}
