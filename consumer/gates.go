package consumer

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"emend/capacity"
	"emend/engine"
	"emend/subjects"
)

// sharedGate has a backend's gate closed and opened together with those of all workers, through the state bucket, so that they
// send one probe a period (design section 3, "Trouble"). A worker whose gate closes writes why and for how long; the others
// close theirs. When the time is over one worker takes the probe's key, by creating it, and lets a run through; it tells how
// that went, and lets the key go. Without the bucket, or without word of the holder, a worker probes by itself: what is shared
// never keeps a gate shut for longer than its writer said.
//
// All of it happens on the goroutine of run; news comes to it through a channel.
type sharedGate struct {
	kv                jetstream.KeyValue
	gateKey, probeKey string
	gate              *capacity.Gate
	news              chan notice
	log               zerolog.Logger
	// self tells own notices from those of others, also of a worker under the same name.
	self string
	// shut says that the gate is known to be closed, until then, by all workers.
	shut  bool
	until time.Time
	// heard is the revision of the latest notice, written or read.
	heard uint64
	// held is the revision of the probe's key while it is ours, else 0. seen is another's, since when it has not moved.
	held, seen uint64
	seenAt     time.Time
}

// probeLease is how long the probe's key stands without a sign of its holder; who holds it renews it three times as often.
const probeLease = 6 * time.Second

// gateTry bounds one question to the bucket.
const gateTry = 2 * time.Second

func newSharedGate(kv jetstream.KeyValue, names subjects.Names, backend string, g *capacity.Gate, log zerolog.Logger) *sharedGate {
	return &sharedGate{kv: kv, gateKey: names.GateKey(backend), probeKey: names.ProbeKey(backend), gate: g, news: make(chan notice, 64),
		self: subjects.NewID(), log: log.With().Str("backend", backend).Logger()}
}

// run shares the gate until ctx is done; then the gate is as one that is not shared, and the probe is another's.
func (s *sharedGate) run(ctx context.Context) {
	s.gate.Guard(true)
	defer s.gate.Guard(false)
	defer s.letGo(context.WithoutCancel(ctx))
	for ctx.Err() == nil {
		turned := s.gate.Turned() // before the gate is looked at, so that no change is missed
		s.wait(ctx, turned, earlier(s.tell(ctx), s.attend(ctx)))
	}
}

// earlier is the shorter of two pauses, of which 0 is none.
func earlier(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// wait waits for a change of the gate, for news, and if again is not 0 no longer than that.
func (s *sharedGate) wait(ctx context.Context, turned <-chan struct{}, again time.Duration) {
	var due <-chan time.Time
	if again > 0 {
		t := time.NewTimer(again)
		defer t.Stop()
		due = t.C
	}
	select {
	case <-ctx.Done():
	case <-turned:
	case <-due:
	case n := <-s.news:
		s.hear(n)
	}
}

// tell writes what happened at this gate and the others do not know. It returns when to try again, 0 when all is told.
func (s *sharedGate) tell(ctx context.Context) time.Duration {
	st := s.gate.State()
	switch {
	case st.Phase == gateClosed && !ownTrouble(st.Cause) && st.Until.After(s.until):
		if !s.write(ctx, notice{Cause: st.Cause, For: time.Until(st.Until), Pauses: st.Pauses}) {
			return gateTry
		}
		s.shut, s.until = true, st.Until
	case s.shut && (st.Phase == capacity.Open || st.Phase == capacity.Slow):
		if !s.write(ctx, notice{Open: true}) {
			return gateTry
		}
		s.shut, s.until = false, time.Time{}
	}
	return 0
}

// attend sees to the probe: it is taken when the gate's time is over, renewed while the run that probes is under way, and let
// go when its end was told. It returns when to look again, 0 if a change of the gate will say.
func (s *sharedGate) attend(ctx context.Context) time.Duration {
	st := s.gate.State()
	if s.held != 0 && st.Phase == capacity.Probing {
		return s.renew(ctx)
	}
	s.letGo(ctx)
	switch {
	case st.Phase != gateClosed || time.Now().Before(st.Until):
		return 0
	case ownTrouble(st.Cause):
		s.gate.Probe()
		return 0
	}
	return s.bid(ctx)
}

// ownTrouble reports a cause that is this worker's alone: others need not have it, and are not told.
func ownTrouble(cause string) bool { return cause == causeStore || cause == engine.CauseNoCredential }

// bid tries to take the probe.
func (s *sharedGate) bid(ctx context.Context) time.Duration {
	switch taken, err := s.take(ctx); {
	case err != nil && ctx.Err() == nil:
		s.log.Warn().Err(err).Msg("the workers cannot agree on who probes; this one does")
		s.gate.Probe()
		return 0
	case err != nil || !taken:
		return probeLease / 3
	}
	if s.refresh(ctx); s.due() {
		s.gate.Probe()
	}
	return probeLease / 3
}

// due reports whether the gate is closed and its time is over.
func (s *sharedGate) due() bool {
	st := s.gate.State()
	return st.Phase == gateClosed && !time.Now().Before(st.Until)
}

// take makes the probe's key ours: by creating it, or by writing over one whose holder gave no sign for as long as a lease. No
// clock is compared: a key that does not move is watched from when it was first seen.
func (s *sharedGate) take(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, gateTry)
	defer cancel()
	rev, err := s.kv.Create(ctx, s.probeKey, []byte(s.self))
	if err == nil {
		s.held = rev
		return true, nil
	}
	if !wasWritten(err) {
		return false, err
	}
	entry, err := s.kv.Get(ctx, s.probeKey)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return false, nil
	case err != nil:
		return false, err
	case entry.Revision() != s.seen:
		s.seen, s.seenAt = entry.Revision(), time.Now()
		return false, nil
	case time.Since(s.seenAt) < probeLease:
		return false, nil
	}
	if rev, err = s.kv.Update(ctx, s.probeKey, []byte(s.self), s.seen); err == nil {
		s.held = rev
	} else if wasWritten(err) {
		err = nil
	}
	return s.held != 0, err
}

// renew keeps the probe's key. One that was taken over is another's now; the run that probes goes on.
func (s *sharedGate) renew(ctx context.Context) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, gateTry)
	defer cancel()
	rev, err := s.kv.Update(ctx, s.probeKey, []byte(s.self), s.held)
	switch {
	case err == nil:
		s.held = rev
	case wasWritten(err):
		s.held = 0
	}
	return probeLease / 3
}

// letGo gives the probe's key up, if it is ours; one that cannot be given up is another's when its lease is over.
func (s *sharedGate) letGo(ctx context.Context) {
	if s.held == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, gateTry)
	defer cancel()
	_ = s.kv.Purge(ctx, s.probeKey, jetstream.LastRevision(s.held))
	s.held = 0
}

// refresh hears the latest notice: whoever held the probe before wrote one, which may not have come yet.
func (s *sharedGate) refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, gateTry)
	defer cancel()
	if entry, err := s.kv.Get(ctx, s.gateKey); err == nil {
		if n, ok := decodeNotice(entry); ok {
			s.hear(n)
		}
	}
}

func (s *sharedGate) write(ctx context.Context, n notice) bool {
	n.V, n.By = noticeVersion, s.self
	b, err := json.Marshal(n)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, gateTry)
	defer cancel()
	rev, err := s.kv.Put(ctx, s.gateKey, b)
	if err != nil {
		s.log.Debug().Err(err).Msg("the other workers could not be told of the gate; trying again")
		return false
	}
	s.heard = max(s.heard, rev)
	return true
}
