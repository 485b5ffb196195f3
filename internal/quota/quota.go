// Package quota shares limits among processes that know nothing of each other but a store with compare-and-set: a rate of
// requests or tokens a minute, and a budget a day.
//
// A rate is cut into slots of one second by the store's clock, each with its part of the limit. A process leases what it needs of
// the slot that is, for all that wait in it together, and uses it within the slot; what it does not use is lost with the slot,
// and so is the lease of a process that died. Any span of 60 seconds touches at most 61 slots; the parts of any 62 slots in a row
// add up to the limit, so that calls which leave up to a second late, or clocks that differ by as much, do not break it.
//
// A budget is leased in slices of half a percent. What is set aside for a call and not spent comes back; a process without calls
// keeps nothing. One that dies takes with it what its calls had set aside, and up to a slice. Whoever finds no room is told whether
// it is spent or only set aside.
package quota

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Entry is a value in the store; Rev 0 is none. At is the store's time of it.
type Entry struct {
	Value []byte
	Rev   uint64
	At    time.Time
}

// Store holds small values. It is used concurrently.
type Store interface {
	Get(ctx context.Context, key string) (Entry, error)
	// Swap writes a value in place of revision rev, 0 for none, and returns the new revision. ErrSwapped says that another was
	// faster.
	Swap(ctx context.Context, key string, value []byte, rev uint64) (uint64, error)
}

// ErrSwapped says that the entry is not at the revision that was to be replaced.
var ErrSwapped = errors.New("another process wrote the entry")

// turn lets one goroutine after the other speak to the store.
type turn chan struct{}

func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) give() { <-t }

// pause waits, or returns why it ended before.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// taken is the value of an entry: how much of a period is given out.
type taken struct {
	Period string `json:"period"`
	Taken  int64  `json:"taken"`
}

func (t taken) bytes() []byte {
	b, err := json.Marshal(t)
	if err != nil {
		panic("a word and a number have a JSON form") // json.Marshal fails on neither
	}
	return b
}

// readTaken reads an entry; one that cannot be read counts as none.
func readTaken(e Entry) taken {
	var t taken
	if e.Rev == 0 || json.Unmarshal(e.Value, &t) != nil {
		return taken{}
	}
	return t
}

// again is the pause before a store that did not answer is asked again.
const again = time.Second
