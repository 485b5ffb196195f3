package consumer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/engine/run"
	"emend/schemas"
	"emend/subjects"
)

// Key names a run.
type Key struct{ Queue, ID string }

// Error codes of the server (jetstream.md, "Streams").
const (
	codeWrongSequence = jetstream.ErrorCode(10071) // someone wrote
	codeWriteUnderWay = jetstream.ErrorCode(10164)
	codeStreamFull    = jetstream.ErrorCode(10077)
	codeNoPeers       = jetstream.ErrorCode(10005) // too few servers for the replicas that are wanted
)

// Settled is the outcome of Settle.
type Settled int

// Outcomes of Settle.
const (
	// Stored: the result is the stored one, by this or an earlier try of the same writer.
	Stored Settled = iota + 1
	// Another writer's result is stored; Find shows it.
	Another
	// Full: the stream takes no more.
	Full
	// Unknown: no answer came; the result may or may not be stored.
	Unknown
)

// String names the outcome.
func (s Settled) String() string {
	return [...]string{"", "stored", "another's result", "full", "unknown"}[s]
}

// Ledger knows what has become of a run: its stored result and its saved state. It is safe for concurrent use.
type Ledger struct {
	js        jetstream.JetStream
	questions *questions
	// seeks says that the server answers a seek; it is set before the ledger is shared.
	seeks bool
	// none is the server's answer to a seek where there is nothing, once it was understood.
	none atomic.Pointer[[]byte]
	// sought are messages of seeks, to be used again.
	sought  sync.Pool
	names   subjects.Names
	results jetstream.Stream
	runs    jetstream.Stream
	reviews jetstream.Stream
	dead    jetstream.Stream
	// reviewing is asked whether a run may wait for a person at all; without it no entry is looked for.
	reviewing atomic.Bool
	state     jetstream.KeyValue
}

// NewLedger binds to the streams, which must exist.
func NewLedger(ctx context.Context, js jetstream.JetStream, names subjects.Names) (*Ledger, error) {
	l := &Ledger{js: js, questions: newQuestions(js.Conn()), names: names}
	var err error
	if l.results, err = js.Stream(ctx, names.ResultsStream()); err != nil {
		return nil, fmt.Errorf("stream %s: %w", names.ResultsStream(), err)
	}
	if l.runs, err = js.Stream(ctx, names.RunsStream()); err != nil {
		return nil, fmt.Errorf("stream %s: %w", names.RunsStream(), err)
	}
	if l.reviews, err = js.Stream(ctx, names.ReviewsStream()); err != nil {
		return nil, fmt.Errorf("stream %s: %w", names.ReviewsStream(), err)
	}
	if l.dead, err = js.Stream(ctx, names.DeadStream()); err != nil {
		return nil, fmt.Errorf("stream %s: %w", names.DeadStream(), err)
	}
	l.reviewing.Store(l.reviews.CachedInfo().State.Msgs > 0)
	if l.state, err = js.KeyValue(ctx, names.StateBucket()); err != nil {
		return nil, fmt.Errorf("bucket %s: %w", names.StateBucket(), err)
	}
	return l, nil
}

// Result returns the stored result of a run and its sequence, read from the stream's leader; nil if there is none.
func (l *Ledger) Result(ctx context.Context, k Key) (*schemas.Result, uint64, error) {
	m, err := l.results.GetLastMsgForSubject(ctx, l.names.Result(k.Queue, k.ID))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read the result of %s/%s: %w", k.Queue, k.ID, err)
	}
	var r schemas.Result
	if err := json.Unmarshal(m.Data, &r); err != nil {
		return nil, 0, fmt.Errorf("stored result of %s/%s: %w", k.Queue, k.ID, err)
	}
	return &r, m.Sequence, nil
}

// saved is what the state bucket holds of a run. Seq binds it to one request message: a later publish under the same id
// does not inherit it.
type saved struct {
	V      int        `json:"v"`
	Seq    uint64     `json:"seq"`
	Starts int        `json:"starts"`
	Cause  string     `json:"cause,omitempty"`
	State  *run.State `json:"state,omitempty"`
	// Attempts are those of State with their texts, where the entry has no room for them.
	Attempts *schemas.Blob `json:"attempts,omitempty"`
	// Apart holds the state as a whole, where the entry has no room for it; State is then one without an answer, and Phase the
	// whole one's.
	Apart *schemas.Blob `json:"apart,omitempty"`
	Phase run.Phase     `json:"phase,omitempty"`
	// By is the worker and delivery that wrote the entry: its next write tells an answer that was lost from another's write.
	By string `json:"by,omitempty"`
	// rev is the entry's revision, 0 for one that is not stored. begun says that this delivery noted its start.
	rev   uint64
	begun bool
	// kept is what Apart is in the entry as it was last stored.
	kept *schemas.Blob
}

const savedVersion = 1

// Find tells what the stores hold of a run. From the second delivery of a message on, the saved entry is read too;
// before it there is none for this message. asked is a seek for the run, nil for none.
func (l *Ledger) Find(ctx context.Context, k Key, seq, count uint64, asked *question) (Whereabouts, *saved, error) {
	var w Whereabouts
	var err error
	if !l.nothing(ctx, asked) {
		if w.Result, w.ResultSeq, err = l.Result(ctx, k); err != nil {
			return w, nil, err
		}
	}
	if l.reviewing.Load() {
		if w.Review, err = l.Review(ctx, k); err != nil {
			return w, nil, err
		}
	}
	if count < 2 {
		return w, &saved{V: savedVersion, Seq: seq}, nil
	}
	s, err := l.load(ctx, k, seq)
	if err != nil {
		return w, nil, err
	}
	w.State = s.State
	return w, s, nil
}

// load reads the saved entry. A redelivered message without one was started once and its worker left no word.
func (l *Ledger) load(ctx context.Context, k Key, seq uint64) (*saved, error) {
	none := &saved{V: savedVersion, Seq: seq, Starts: 1}
	entry, err := l.state.Get(ctx, l.names.StateKey(k.Queue, k.ID))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return none, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the saved state of %s/%s: %w", k.Queue, k.ID, err)
	}
	var s saved
	if err := json.Unmarshal(entry.Value(), &s); err != nil || s.V != savedVersion || s.Seq != seq {
		none.rev = entry.Revision()
		return none, nil
	}
	s.rev, s.kept = entry.Revision(), s.Apart
	return &s, nil
}

// left reads what is saved of a run whose message comes as a first delivery, but of a durable that is younger than it. Nothing says
// that it was started before where nothing is saved.
func (l *Ledger) left(ctx context.Context, k Key, seq uint64) (*saved, error) {
	s, err := l.load(ctx, k, seq)
	if err == nil && s.State == nil && s.By == "" {
		s.Starts = 0
	}
	return s, err
}

// ErrOvertaken says that another worker wrote the run's saved state: this one no longer owns the run.
var ErrOvertaken = errors.New("another worker has taken the run")

// save writes the entry by compare-and-set. What an earlier request left under the same id, and an own write whose
// answer was lost, are written over.
func (l *Ledger) save(ctx context.Context, k Key, s *saved) error {
	b, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("saved state of %s/%s: %w", k.Queue, k.ID, err)
	}
	rev, err := l.state.Update(ctx, l.names.StateKey(k.Queue, k.ID), b, s.rev)
	if wasWritten(err) {
		rev, err = l.overwrite(ctx, k, b, s)
	}
	switch {
	case err == nil:
		s.rev = rev
		return nil
	case wasWritten(err) && !isCode(err, codeWriteUnderWay):
		return ErrOvertaken
	}
	return fmt.Errorf("save the state of %s/%s: %w", k.Queue, k.ID, err)
}

// wasWritten: the entry is not as it was last seen. It also matches codeWriteUnderWay, which only a replicated bucket
// gives.
func wasWritten(err error) bool {
	return errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch)
}

// overwrite writes an entry over one that is not as it was last seen, if s may replace it, or returns ErrOvertaken.
func (l *Ledger) overwrite(ctx context.Context, k Key, b []byte, s *saved) (uint64, error) {
	key := l.names.StateKey(k.Queue, k.ID)
	entry, err := l.state.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		if err := l.ended(ctx, k, s); err != nil {
			return 0, err
		}
		return l.state.Create(ctx, key, b) // it was erased when an earlier request under this id ended
	}
	if err != nil {
		return 0, err
	}
	var there saved
	readable := json.Unmarshal(entry.Value(), &there) == nil && there.V == savedVersion
	own := there.Seq == s.Seq && there.By == s.By && s.By != ""
	if !readable || there.Seq < s.Seq || own || entry.Revision() == s.rev {
		s.rev = entry.Revision()
		return l.state.Update(ctx, key, b, s.rev)
	}
	return 0, ErrOvertaken
}

// ended returns ErrOvertaken for an erased entry whose run has come to its end by another: a late delivery must leave nothing
// behind, and must not take for unpaid what somebody else has told.
func (l *Ledger) ended(ctx context.Context, k Key, s *saved) error {
	if s.rev != 0 {
		return ErrOvertaken
	}
	r, _, err := l.Result(ctx, k)
	if err != nil {
		return err
	}
	review := r == nil && l.reviewing.Load()
	if review {
		entry, err := l.Review(ctx, k)
		if err != nil {
			return err
		}
		review = entry != nil
	}
	if review || r != nil && r.Request.Seq == s.Seq {
		return ErrOvertaken
	}
	return nil
}

// erase removes a run's saved state as it was last seen: what a new request has written since stays. Nothing is lost if
// it fails, the bucket's age limit removes it too.
func (l *Ledger) erase(ctx context.Context, k Key, s *saved) {
	if s == nil || s.rev == 0 {
		return
	}
	_ = l.state.Purge(ctx, l.names.StateKey(k.Queue, k.ID), jetstream.LastRevision(s.rev))
}

// settleTry bounds one write of a result.
const settleTry = 5 * time.Second

// Settle stores the result by compare-and-set: expectSeq is 0 for a first result, else the sequence of the one that is
// replaced; one that has aged out meanwhile counts as none. It does not retry; the four outcomes are never confused
// (design section 3).
func (l *Ledger) Settle(ctx context.Context, k Key, m *nats.Msg, mine func(*schemas.Result) bool, expectSeq uint64) (Settled, uint64, error) {
	m.Header.Set(subjects.HeaderExpectedLastSubjectSequence, strconv.FormatUint(expectSeq, 10))
	seq, err := l.publish(ctx, m)
	switch {
	case err == nil:
		return Stored, seq, nil
	case isCode(err, codeWrongSequence):
		settled, seq, err := l.whose(ctx, k, mine)
		if errors.Is(err, errNotThere) && expectSeq != 0 {
			return l.Settle(ctx, k, m, mine, 0)
		}
		return settled, seq, err
	case isCode(err, codeStreamFull):
		return Full, 0, err
	}
	return Unknown, 0, err
}

// publish stores a message and returns its sequence.
func (l *Ledger) publish(ctx context.Context, m *nats.Msg) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	k, err := l.questions.send(m)
	if err != nil {
		return 0, err
	}
	return acked(k.wait(ctx, settleTry))
}

// Close ends what the ledger listens to.
func (l *Ledger) Close() { l.questions.close() }

var errNotThere = errors.New("refused as written, yet not there")

// whose tells a lost PubAck of our own from another's write.
func (l *Ledger) whose(ctx context.Context, k Key, mine func(*schemas.Result) bool) (Settled, uint64, error) {
	r, seq, err := l.Result(ctx, k)
	switch {
	case err != nil:
		return Unknown, 0, err
	case r == nil:
		return Unknown, 0, fmt.Errorf("result of %s/%s: %w", k.Queue, k.ID, errNotThere)
	case mine(r):
		return Stored, seq, nil
	}
	return Another, seq, nil
}

func isCode(err error, code jetstream.ErrorCode) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.ErrorCode == code
	}
	if js, ok := errors.AsType[jetstream.JetStreamError](err); ok && js.APIError() != nil {
		return js.APIError().ErrorCode == code
	}
	return false
}

// description is the server's word for an error, "" if it is not the server's.
func description(err error) string {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.Description
	}
	return ""
}
