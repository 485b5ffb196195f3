package quota

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	slotTime = time.Second
	// spread is how many slots in a row have the limit together.
	spread = 62
	// syncEvery is how often the store's clock is looked at.
	syncEvery = time.Minute
)

// MaxRate bounds a limit.
const MaxRate = 1_000_000_000

// Rate is a limit a minute. It is safe for concurrent use.
type Rate struct {
	store Store
	key   string
	// carry keeps what is leased beyond its slot: tokens, of which one call can need more than a slot has.
	carry bool
	limit atomic.Int64
	// waiting is what all that wait need together.
	waiting atomic.Int64
	// turn guards what follows.
	turn turn
	// have is leased and not used, of slot; used was used of it, last of the slot before.
	slot, have, used, last int64
	// known and rev are the entry as it was last seen; rev 0 is not known.
	known taken
	rev   uint64
	// ahead is how much the store's clock is ahead of ours, as of synced.
	ahead  time.Duration
	synced time.Time
	mu     sync.Mutex
	hold   time.Time
}

// NewRate makes a limit. With carry, what one Take needs may be more than a slot has.
func NewRate(s Store, key string, perMinute int64, carry bool) *Rate {
	r := &Rate{store: s, key: key, carry: carry, turn: make(turn, 1)}
	r.SetLimit(perMinute)
	return r
}

// SetLimit changes the limit from the next slot on.
func (r *Rate) SetLimit(perMinute int64) { r.limit.Store(max(min(perMinute, MaxRate), 1)) }

// Hold lets nothing be taken until then: the provider said so. A later end wins.
func (r *Rate) Hold(until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if until.After(r.hold) {
		r.hold = until
	}
}

func (r *Rate) held() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Until(r.hold)
}

// Take waits until n of the limit are there for this caller, first come first served within the process. More than a minute's
// limit is taken for a minute's. Its error is the context's.
func (r *Rate) Take(ctx context.Context, n int64) error {
	n = min(n, r.limit.Load())
	r.waiting.Add(n)
	defer r.waiting.Add(-n)
	if err := r.turn.take(ctx); err != nil {
		return err
	}
	defer r.turn.give()
	for {
		if wait := r.held(); wait > 0 {
			if err := pause(ctx, wait); err != nil {
				return err
			}
			continue
		}
		slot := r.now()
		r.enter(slot)
		if r.have >= n {
			r.have -= n
			r.used += n
			return nil
		}
		if err := r.more(ctx, slot); err != nil {
			return err
		}
	}
}

// enter makes a slot the one that is.
func (r *Rate) enter(slot int64) {
	if slot == r.slot {
		return
	}
	if !r.carry {
		r.have = 0
	}
	r.slot, r.last, r.used = slot, r.used, 0
}

// perSlot: beyond those that wait, a lease is for this part of what the slot before it took: with steady work a slot takes a few leases.
const perSlot = 4

// more leases some of the slot, or waits for the next.
func (r *Rate) more(ctx context.Context, slot int64) error {
	got, err := r.lease(ctx, slot, max(r.waiting.Load()-r.have, r.last/perSlot, 1))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		r.rev = 0
		return pause(ctx, again)
	case got > 0:
		r.have += got
		return r.sync(ctx)
	}
	next := time.Unix(slot+1, 0).Sub(time.Now().Add(r.ahead))
	return pause(ctx, next+rand.N(slotTime/20)) // not all at once
}

// lease takes at most want of what is left of a slot, and no more than half of it, so that others have theirs; 0 if it is used up.
func (r *Rate) lease(ctx context.Context, slot, want int64) (int64, error) {
	for {
		if r.rev == 0 {
			e, err := r.store.Get(ctx, r.key)
			if err != nil {
				return 0, err
			}
			r.known, r.rev = readTaken(e), e.Rev
		}
		left := r.part(slot)
		switch at, err := strconv.ParseInt(r.known.Period, 10, 64); {
		case err == nil && at > slot:
			return 0, nil // our clock is behind
		case err == nil && at == slot:
			left -= r.known.Taken
		default:
			r.known = taken{Period: strconv.FormatInt(slot, 10)}
		}
		if left <= 0 {
			return 0, nil
		}
		got := min(want, (left+1)/2)
		next := taken{Period: r.known.Period, Taken: r.known.Taken + got}
		rev, err := r.store.Swap(ctx, r.key, next.bytes(), r.rev)
		if errors.Is(err, ErrSwapped) {
			r.rev = 0
			if r.now() != slot {
				return 0, nil
			}
			continue
		}
		if err != nil {
			return 0, err
		}
		r.known, r.rev = next, rev
		return got, nil
	}
}

// part is what a slot has of the limit: any spread of them in a row have all of it.
func (r *Rate) part(slot int64) int64 {
	limit, at := r.limit.Load(), slot%spread
	return (at+1)*limit/spread - at*limit/spread
}

// now is the slot that is, by the store's clock.
func (r *Rate) now() int64 { return time.Now().Add(r.ahead).Unix() }

// sync looks at the store's clock, now and then: what was written just now has its time.
func (r *Rate) sync(ctx context.Context) error {
	if time.Since(r.synced) < syncEvery {
		return nil
	}
	before := time.Now()
	rev, err := r.store.Swap(ctx, r.key, r.known.bytes(), r.rev)
	after := time.Now()
	if err != nil {
		r.rev = 0
		return ctx.Err()
	}
	r.rev = rev
	if e, err := r.store.Get(ctx, r.key); err == nil && e.Rev == rev && !e.At.IsZero() {
		r.ahead, r.synced = e.At.Sub(before.Add(after.Sub(before)/2)), after
	}
	return ctx.Err()
}
