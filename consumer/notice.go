package consumer

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"emend/capacity"
	"emend/subjects"
)

// notice is what workers tell each other of a backend's gate: that it closed, why and for how long, or that it opened.
type notice struct {
	V      int           `json:"v"`
	By     string        `json:"by"`
	Open   bool          `json:"open,omitempty"`
	Cause  string        `json:"cause,omitempty"`
	For    time.Duration `json:"for,omitempty"`
	Pauses int           `json:"pauses,omitempty"`
	// rev and at are the entry's revision and the server's time of it. fresh: it came as it was written, not later.
	rev   uint64
	at    time.Time
	fresh bool
}

const noticeVersion = 1

// longestNotice bounds what a notice can do, whoever wrote it: a gate closes for at most an hour.
const longestNotice = time.Hour

func decodeNotice(e jetstream.KeyValueEntry) (notice, bool) {
	var n notice
	if e.Operation() != jetstream.KeyValuePut || json.Unmarshal(e.Value(), &n) != nil || n.V != noticeVersion {
		return n, false
	}
	n.For = min(n.For, longestNotice)
	n.rev, n.at = e.Revision(), e.Created()
	return n, true
}

// until is the end of a closing. One that was read later counts from the server's time of it, and clocks may differ: never
// longer than from now.
func (n notice) until(now time.Time) time.Time {
	if n.fresh || n.at.After(now) {
		return now.Add(n.For)
	}
	return n.at.Add(n.For)
}

// hear does what another worker tells. Own closings that are not told yet stand, and so does trouble that is not the backend's.
func (s *sharedGate) hear(n notice) {
	if n.rev <= s.heard {
		return
	}
	s.heard = n.rev
	if n.By == s.self {
		return
	}
	now, st := time.Now(), s.gate.State()
	until := n.until(now)
	switch {
	case n.Open && st.Phase == gateClosed && st.Until.After(s.until):
	case n.Open:
		s.shut, s.until = false, time.Time{}
		if !ownTrouble(st.Cause) {
			s.gate.Reopen()
		}
	case until.After(now):
		if until.After(s.until) {
			s.shut, s.until = true, until
		}
		s.gate.Follow(capacity.GateState{Phase: gateClosed, Cause: n.Cause, Until: until, Pauses: n.Pauses})
	}
}

// shareGate starts the sharing of a backend's gate, until ctx is done.
func (w *Worker) shareGate(ctx context.Context, backend string, g *capacity.Gate) {
	s := newSharedGate(w.ledger.state, w.names, backend, g, w.log)
	w.background.Go(func() { s.run(ctx) })
	w.background.Go(func() { watchGates(ctx, w.ledger.state, w.names, map[string]*sharedGate{backend: s}, w.log) })
}

// watchAgain is the pause before a watch that ended is begun again.
const watchAgain = 5 * time.Second

// watchGates hands notices to the gates that they are about, until ctx is done.
func watchGates(ctx context.Context, kv jetstream.KeyValue, names subjects.Names, gates map[string]*sharedGate, log zerolog.Logger) {
	for said := false; ; {
		err := followGates(ctx, kv, names, gates)
		if ctx.Err() != nil {
			return
		}
		if !said {
			log.Warn().Err(err).Msg("this worker does not hear when others' gates close; trying again")
			said = true
		}
		if !sleep(ctx, watchAgain) {
			return
		}
	}
}

var errWatchEnded = errors.New("the watch of the gates ended")

func followGates(ctx context.Context, kv jetstream.KeyValue, names subjects.Names, gates map[string]*sharedGate) error {
	keys := make([]string, 0, len(gates))
	for backend := range gates {
		keys = append(keys, names.GateKey(backend))
	}
	watch, err := kv.WatchFiltered(ctx, keys, jetstream.IgnoreDeletes())
	if err != nil {
		return err
	}
	defer func() { _ = watch.Stop() }()
	for fresh := false; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e, more := <-watch.Updates():
			if !more {
				return errWatchEnded
			}
			if e == nil { // what was there before
				fresh = true
				continue
			}
			deliverNotice(ctx, e, fresh, names, gates)
		}
	}
}

func deliverNotice(ctx context.Context, e jetstream.KeyValueEntry, fresh bool, names subjects.Names, gates map[string]*sharedGate) {
	backend, err := names.ParseGateKey(e.Key())
	n, ok := decodeNotice(e)
	if err != nil || !ok || gates[backend] == nil {
		return
	}
	n.fresh = fresh
	select {
	case gates[backend].news <- n:
	case <-ctx.Done():
	}
}
