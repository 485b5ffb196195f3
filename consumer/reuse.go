package consumer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"emend/schemas"
	"emend/subjects"
)

// reuse keeps accepted, completely validated outputs of stages for later pipeline runs of the same queue, under digests of
// all that shaped them. It is never needed: whatever is wrong with it, a job is run instead. It belongs to the coordinator's
// goroutine, but for some, which a task may call.
type reuse struct {
	nc          *nats.Conn
	js          jetstream.JetStream
	domain      string
	names       subjects.Names
	queue       string
	reads, puts bool
	// last is the output that is kept next, when there is another, or at the end.
	last *nats.Msg
	// waiting are jobs whose outputs are looked for next; asking says that the answer for those before them is not there yet.
	waiting []*child
	asking  bool
}

// keptOutput is an entry of the bucket.
type keptOutput struct {
	V      int             `json:"v"`
	Output json.RawMessage `json:"output"`
}

const keptVersion = 1

// openReuse binds to the bucket as the word says; one that is not there reuses nothing.
func (w *Worker) openReuse(ctx context.Context, queue, word string) *reuse {
	r := &reuse{nc: w.nc, js: w.js, domain: w.js.Options().Domain, names: w.names, queue: queue, reads: word == schemas.ReuseAuto, puts: word != schemas.ReuseNone}
	if !r.puts {
		return r
	}
	_, err := w.js.Stream(ctx, kvStream(w.names.ReuseBucket()))
	if err == nil && r.domain != "" {
		r.js, err = prefixed(w.nc, w.names, r.domain)
	}
	if err != nil {
		w.log.Warn().Err(err).Str("bucket", w.names.ReuseBucket()).Msg("outputs are neither reused nor kept")
		return &reuse{}
	}
	return r
}

// prefixed is JetStream of a domain by its prefix: of a domain by its name jetstreamext 0.3.2 forms a subject without API.
func prefixed(nc *nats.Conn, names subjects.Names, domain string) (jetstream.JetStream, error) {
	return jetstream.NewWithAPIPrefix(nc, names.API(domain))
}

// used says that outputs are taken, kept, or both.
func (r *reuse) used() bool { return r.reads || r.puts }

// findAtOnce bounds the outputs that one question is about, findWithin the wait for its answer.
const (
	findAtOnce = 256
	findWithin = 5 * time.Second
)

// some returns those of the outputs that are kept, by digest. The server is asked about all of them at once.
func (r *reuse) some(ctx context.Context, digests []string) (map[string]json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, findWithin)
	defer cancel()
	want, found := map[string]string{}, map[string]json.RawMessage{}
	for _, d := range digests {
		want[r.names.ReuseSubject(r.names.ReuseKey(r.queue, d))] = d
	}
	for left := true; left && len(want) > 0; {
		var err error
		if left, err = r.ask(ctx, want, found); err != nil {
			return found, err
		}
	}
	return found, ctx.Err()
}

// ask asks once for what is wanted, by subject, and moves to found what comes. left says that the server, which bounds an answer, has
// more of it.
func (r *reuse) ask(ctx context.Context, want map[string]string, found map[string]json.RawMessage) (left bool, err error) {
	msgs, err := jetstreamext.GetLastMsgsFor(ctx, r.js, kvStream(r.names.ReuseBucket()), slices.Sorted(maps.Keys(want)))
	if err != nil {
		return false, err
	}
	for m, err := range msgs {
		if errors.Is(err, jetstreamext.ErrNoMessages) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if out := outputIn(m); out != nil {
			found[want[m.Subject]] = out
		}
		delete(want, m.Subject)
		left = m.Header.Get(subjects.HeaderNumPending) != "0"
	}
	return left, nil
}

// outputIn is the output that an entry holds, nil if it holds none.
func outputIn(m *jetstream.RawStreamMsg) json.RawMessage {
	var k keptOutput
	if m.Header.Get(subjects.HeaderKVOperation) != "" || json.Unmarshal(m.Data, &k) != nil || k.V != keptVersion {
		return nil
	}
	return k.Output
}

// put keeps an output; one that is larger than a message is not kept. The server is asked to confirm the last one alone, and with it
// all before it, which it takes in order: see flush.
func (r *reuse) put(digest string, output json.RawMessage) error {
	if !r.puts {
		return nil
	}
	b := fmt.Appendf(nil, `{"v":%d,"output":%s}`, keptVersion, output)
	if int64(len(b)) > r.nc.MaxPayload() {
		return nil
	}
	last := r.last
	r.last = &nats.Msg{Subject: r.names.ReuseStore(r.domain, r.names.ReuseKey(r.queue, digest)), Data: b}
	if last == nil {
		return nil
	}
	return r.nc.PublishMsg(last)
}

// flush returns when all that was put is kept.
func (r *reuse) flush(ctx context.Context) error {
	if r.last == nil {
		return nil
	}
	m := r.last
	r.last = nil
	_, err := r.js.PublishMsg(ctx, m)
	return err
}

func (t Topology) reuseBucket() jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{Bucket: t.names.ReuseBucket(), Replicas: max(t.cfg.NATS.Replicas, 1), TTL: t.cfg.Keep.Reuse.Std(), Storage: jetstream.FileStorage,
		Description: "accepted outputs of pipeline stages"}
}

// planReuse compares the bucket of reused outputs; none is needed where no pipeline is defined.
func (t Topology) planReuse(ctx context.Context, js jetstream.JetStream) ([]Change, error) {
	if len(t.cfg.Pipelines) == 0 {
		return nil, nil
	}
	want := t.reuseBucket()
	c := Change{Kind: "bucket", Name: want.Bucket, Action: "create", apply: func(ctx context.Context) error {
		_, err := js.CreateKeyValue(ctx, want)
		if errors.Is(err, jetstream.ErrBucketExists) {
			return nil // another worker made it meanwhile
		}
		return err
	}}
	s, err := js.Stream(ctx, kvStream(want.Bucket))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return []Change{c}, nil
	}
	if err != nil {
		return nil, denied("read bucket "+want.Bucket, err)
	}
	merged, diffs := widenBucket(s.CachedInfo().Config, want)
	if len(diffs) == 0 {
		return nil, nil
	}
	c.Action, c.Detail = "update", strings.Join(diffs, "; ")
	c.apply = func(ctx context.Context) error { _, err := js.UpdateStream(ctx, merged); return err }
	return []Change{c}, nil
}
