package quota

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// ErrSpent says that a budget has no room for what is to be spent.
var ErrSpent = errors.New("the budget of the day is used up")

// ErrHeld says that a budget has no room now, and may have when calls under way have told what they cost.
var ErrHeld = errors.New("what is left of the day's budget is set aside for calls under way")

// parts is into how many slices a budget is leased.
const parts = 200

// heldFor is how long what others have set aside is waited for without a sign of them: longer than calls take. What a process that
// died has taken with it is then as good as spent.
const heldFor = 10 * time.Minute

// Budget is an amount a day, in UTC. It is safe for concurrent use.
type Budget struct {
	store  Store
	key    string
	perDay int64
	// turn guards what follows: have is leased and neither set aside nor spent, of day. It can be below 0 when more was spent than
	// was asked for. spent was not written yet.
	turn  turn
	day   string
	have  int64
	spent int64
	// out counts what is set aside; back is closed, and made anew, when some of it comes back.
	out  int
	back chan struct{}
	// rev is the revision at which there was no room, seen first at since.
	rev   uint64
	since time.Time
}

// account is the entry of a budget: what processes have leased of a day, and what of that they have told to be spent.
type account struct {
	Period string `json:"period"`
	Taken  int64  `json:"taken"`
	Spent  int64  `json:"spent,omitempty"`
}

// NewBudget makes a budget.
func NewBudget(s Store, key string, perDay int64) *Budget {
	return &Budget{store: s, key: key, perDay: perDay, turn: make(turn, 1), back: make(chan struct{})}
}

// Take sets n of the day's budget aside, or returns ErrSpent when there is no room for it, or ErrHeld when there may be later. While
// others of this process have set something aside that may come back, it waits for that, as it does for a store that does not
// answer. The function must be called once, with what was set aside and not spent; less than 0 is what was spent beyond it.
func (b *Budget) Take(ctx context.Context, n int64) (give func(back int64), err error) {
	for {
		if err := b.turn.take(ctx); err != nil {
			return nil, err
		}
		give, err := b.set(ctx, n)
		out, back := b.out, b.back
		b.turn.give()
		full := errors.Is(err, ErrSpent) || errors.Is(err, ErrHeld)
		switch {
		case err == nil || ctx.Err() != nil || (full && out == 0):
			return give, err
		case !full:
			if err := pause(ctx, again); err != nil {
				return nil, err
			}
			continue
		}
		select {
		case <-back:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// set sets n aside. The caller has the turn.
func (b *Budget) set(ctx context.Context, n int64) (func(int64), error) {
	b.today()
	if b.have < n {
		if err := b.lease(ctx, n); err != nil {
			return nil, err
		}
	}
	b.have -= n
	b.out++
	day := b.day
	return func(back int64) { b.returned(day, n, back) }, nil
}

// today forgets what is left of another day.
func (b *Budget) today() {
	if day := time.Now().UTC().Format(time.DateOnly); day != b.day {
		b.day, b.have, b.spent, b.rev = day, 0, 0, 0
	}
}

// lease takes a slice, or what is left if that is enough, so that there is n.
func (b *Budget) lease(ctx context.Context, n int64) error {
	var got int64
	rev, err := b.write(ctx, func(a *account) error {
		left, need := b.perDay-a.Taken, n-b.have
		switch {
		case left >= need:
			got = min(max(need, b.perDay/parts), left)
			a.Taken += got
			return nil
		case b.perDay-a.Spent < n:
			return ErrSpent
		}
		return ErrHeld
	})
	switch {
	case err == nil:
		b.have += got
	case errors.Is(err, ErrHeld) && b.stands(rev):
		return ErrSpent
	}
	return err
}

// stands reports that nobody has written the entry for too long.
func (b *Budget) stands(rev uint64) bool {
	if rev != b.rev {
		b.rev, b.since = rev, time.Now()
	}
	return time.Since(b.since) >= heldFor
}

// write changes the entry by compare-and-set, and tells in it what was spent here. What change refuses is written for that alone,
// and its error returned.
func (b *Budget) write(ctx context.Context, change func(*account) error) (rev uint64, err error) {
	for {
		e, err := b.store.Get(ctx, b.key)
		if err != nil {
			return 0, err
		}
		a := readAccount(e, b.day)
		a.Spent += b.spent
		refused := change(&a)
		if refused != nil && b.spent == 0 {
			return e.Rev, refused
		}
		value, err := json.Marshal(a)
		if err != nil {
			return 0, err
		}
		rev, err := b.store.Swap(ctx, b.key, value, e.Rev)
		if errors.Is(err, ErrSwapped) {
			continue
		}
		if err == nil {
			b.spent, err = 0, refused
		}
		return rev, err
	}
}

// readAccount reads the entry of a day; another day's, or one that cannot be read, counts as none.
func readAccount(e Entry, day string) account {
	var a account
	if e.Rev == 0 || json.Unmarshal(e.Value, &a) != nil || a.Period != day {
		return account{Period: day}
	}
	return a
}

// returned ends what a Take began on a day: back of n was not spent. A process that has set nothing aside any more keeps nothing.
func (b *Budget) returned(day string, n, back int64) {
	b.turn <- struct{}{}
	defer b.turn.give()
	b.today()
	if day == b.day {
		b.have += back
		b.spent += n - back
	}
	if b.out--; b.out == 0 {
		ctx, cancel := context.WithTimeout(context.Background(), giveBackWithin)
		defer cancel()
		_ = b.giveBack(ctx) // else with the next, or at the end
	}
	close(b.back)
	b.back = make(chan struct{})
}

// giveBackWithin bounds the giving back of what is not spent.
const giveBackWithin = 2 * time.Second

// giveBack lets others have what is leased and not used. The caller has the turn.
func (b *Budget) giveBack(ctx context.Context) error {
	if b.have == 0 && b.spent == 0 {
		return nil
	}
	_, err := b.write(ctx, func(a *account) error {
		a.Taken = max(a.Taken-b.have, 0)
		return nil
	})
	if err == nil {
		b.have = 0
	}
	return err
}

// Close gives back what this process has leased and not spent, and says whether that went well.
func (b *Budget) Close(ctx context.Context) error {
	if err := b.turn.take(ctx); err != nil {
		return err
	}
	defer b.turn.give()
	b.today()
	return b.giveBack(ctx)
}
