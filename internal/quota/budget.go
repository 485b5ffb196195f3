package quota

import (
	"context"
	"errors"
	"time"
)

// ErrSpent says that a budget has no room for what is to be spent.
var ErrSpent = errors.New("the budget of the day is used up")

// parts is into how many slices a budget is leased.
const parts = 200

// Budget is an amount a day, in UTC. It is safe for concurrent use.
type Budget struct {
	store  Store
	key    string
	perDay int64
	// turn guards what follows: have is leased and not spent, of day. It can be below 0 when more was spent than was asked for.
	turn turn
	day  string
	have int64
	// out counts what is set aside; back is closed, and made anew, when some of it comes back.
	out  int
	back chan struct{}
}

// NewBudget makes a budget.
func NewBudget(s Store, key string, perDay int64) *Budget {
	return &Budget{store: s, key: key, perDay: perDay, turn: make(turn, 1), back: make(chan struct{})}
}

// Take sets n of the day's budget aside, or returns ErrSpent when there is no room for it. While others of this process have set
// something aside that may come back, it waits for that, as it does for a store that does not answer. Every Take that returns nil
// must be followed by one Return.
func (b *Budget) Take(ctx context.Context, n int64) error {
	for {
		if err := b.turn.take(ctx); err != nil {
			return err
		}
		err := b.set(ctx, n)
		out, back := b.out, b.back
		b.turn.give()
		switch {
		case err == nil || ctx.Err() != nil || (errors.Is(err, ErrSpent) && out == 0):
			return err
		case !errors.Is(err, ErrSpent):
			if err := pause(ctx, again); err != nil {
				return err
			}
			continue
		}
		select {
		case <-back:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// set sets n aside. The caller has the turn.
func (b *Budget) set(ctx context.Context, n int64) error {
	b.today()
	if b.have < n {
		if err := b.lease(ctx, n-b.have); err != nil {
			return err
		}
	}
	b.have -= n
	b.out++
	return nil
}

// today forgets what is left of another day.
func (b *Budget) today() {
	if day := time.Now().UTC().Format(time.DateOnly); day != b.day {
		b.day, b.have = day, 0
	}
}

// lease takes a slice, or what is left if that is enough.
func (b *Budget) lease(ctx context.Context, need int64) error {
	for {
		e, err := b.store.Get(ctx, b.key)
		if err != nil {
			return err
		}
		t := readTaken(e)
		if t.Period != b.day {
			t = taken{Period: b.day}
		}
		left := b.perDay - t.Taken
		if left < need {
			return ErrSpent
		}
		got := min(max(need, b.perDay/parts), left)
		t.Taken += got
		if _, err = b.store.Swap(ctx, b.key, t.bytes(), e.Rev); err == nil {
			b.have += got
			return nil
		}
		if !errors.Is(err, ErrSwapped) {
			return err
		}
	}
}

// Return ends what a Take began: n was set aside and not spent; less than 0 is what was spent beyond it.
func (b *Budget) Return(n int64) {
	b.turn <- struct{}{}
	defer b.turn.give()
	b.have += n
	b.out--
	close(b.back)
	b.back = make(chan struct{})
}

// Close gives back what this process has leased and not spent, and says whether that went well.
func (b *Budget) Close(ctx context.Context) error {
	if err := b.turn.take(ctx); err != nil {
		return err
	}
	defer b.turn.give()
	b.today()
	for b.have != 0 {
		e, err := b.store.Get(ctx, b.key)
		if err != nil {
			return err
		}
		t := readTaken(e)
		if t.Period != b.day {
			return nil
		}
		t.Taken -= b.have
		switch _, err := b.store.Swap(ctx, b.key, t.bytes(), e.Rev); {
		case err == nil:
			b.have = 0
		case !errors.Is(err, ErrSwapped):
			return err
		}
	}
	return nil
}
