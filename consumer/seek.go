package consumer

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/subjects"
)

// Most runs have no result yet, and to be told so by the server's API costs more than the rest of a run. The leader tells it
// at a tenth of the cost when it refuses a write: of a message to subjects.Names.Seek, which belongs to no run, that is to be
// stored only if the result's subject has a sequence that no stream ever reaches. It is never stored.

// never is a sequence that no stream reaches.
var never = strconv.FormatUint(math.MaxInt64, 10)

// nothingThere is the refusal of a write whose subject has no message.
const nothingThere = "wrong last sequence: 0"

// codeNoSequence is the answer of a server that knows HeaderExpectedLastSubjectSequenceSubject, where only that is given.
const codeNoSequence = jetstream.ErrorCode(10193)

// seekWithin bounds the wait for an answer; without one the API is asked.
const seekWithin = 5 * time.Second

// learn finds out whether the server answers a seek. One that is too old for it would take the header for none.
func (l *Ledger) learn(ctx context.Context) {
	m := &nats.Msg{Subject: l.names.Seek(), Header: nats.Header{
		subjects.HeaderExpectedLastSubjectSequenceSubject: {l.names.Seek()}, subjects.HeaderExpectedLastSequence: {never}}}
	k, err := l.questions.send(m)
	if err != nil {
		return
	}
	_, err = acked(k.wait(ctx, learnWithin))
	l.seeks = isCode(err, codeNoSequence)
}

// learnWithin is short: who may not publish a seek gets no answer.
const learnWithin = 2 * time.Second

// seek asks whether a run has a result; nil if that is not known so cheaply. The answer is nothing's.
func (l *Ledger) seek(k Key) *question {
	if !l.seeks {
		return nil
	}
	m, of := l.seekMsg()
	of[0] = l.names.Result(k.Queue, k.ID)
	asked, err := l.questions.send(m)
	l.sought.Put(m)
	if err != nil {
		return nil
	}
	return asked
}

// seekMsg is the message of a seek, and where its result's subject goes. It is used again: a publish copies.
func (l *Ledger) seekMsg() (m *nats.Msg, of []string) {
	m, ok := l.sought.Get().(*nats.Msg)
	if !ok {
		m = &nats.Msg{Subject: l.names.Seek(), Header: nats.Header{
			subjects.HeaderExpectedLastSubjectSequence: {never}, subjects.HeaderExpectedLastSubjectSequenceSubject: {""}}}
	}
	return m, m.Header[subjects.HeaderExpectedLastSubjectSequenceSubject]
}

// nothing reports that the leader has no result for certain. Whatever else it says, and its silence, is not certain.
func (l *Ledger) nothing(ctx context.Context, asked *question) bool {
	if asked == nil {
		return false
	}
	m, err := asked.wait(ctx, seekWithin)
	if err != nil {
		return false
	}
	if known := l.none.Load(); known != nil && bytes.Equal(m.Data, *known) {
		return true
	}
	if _, err := acked(m, nil); !isCode(err, codeWrongSequence) || description(err) != nothingThere {
		return false
	}
	l.none.Store(&m.Data)
	return true
}

// pubAck is the server's answer to a publish.
type pubAck struct {
	Stream string              `json:"stream"`
	Seq    uint64              `json:"seq"`
	Error  *jetstream.APIError `json:"error"`
}

// acked reads the answer to a publish: the sequence of what is stored, or why it is not.
func acked(m *nats.Msg, err error) (uint64, error) {
	if err != nil {
		return 0, err
	}
	if seq, ok := plainAck(m.Data); ok {
		return seq, nil
	}
	var a pubAck
	if err := json.Unmarshal(m.Data, &a); err != nil {
		return 0, jetstream.ErrInvalidJSAck
	}
	switch {
	case a.Error != nil:
		return 0, a.Error
	case a.Stream == "":
		return 0, jetstream.ErrInvalidJSAck
	}
	return a.Seq, nil
}

// plainAck reads the usual form of an answer, {"stream":"NAME","seq":7}, without a decoder; older servers write a space before
// "seq". Anything else is left to one.
func plainAck(b []byte) (uint64, bool) {
	b, ok := bytes.CutPrefix(b, []byte(`{"stream":"`))
	_, b, named := bytes.Cut(b, []byte(`",`))
	b, numbered := bytes.CutPrefix(bytes.TrimPrefix(b, []byte{' '}), []byte(`"seq":`))
	digits, ends := bytes.CutSuffix(b, []byte{'}'})
	if !ok || !named || !numbered || !ends || len(digits) == 0 || len(digits) > 18 {
		return 0, false
	}
	var seq uint64
	for _, d := range digits {
		if d < '0' || d > '9' {
			return 0, false
		}
		seq = 10*seq + uint64(d-'0')
	}
	return seq, true
}
