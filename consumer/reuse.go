package consumer

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/schemas"
	"emend/subjects"
)

// reuse keeps accepted, completely validated outputs of stages for later pipeline runs of the same queue, under digests of
// all that shaped them. It is never needed: whatever is wrong with it, a job is run instead.
type reuse struct {
	kv          jetstream.KeyValue
	names       subjects.Names
	queue       string
	reads, puts bool
}

// keptOutput is an entry of the bucket.
type keptOutput struct {
	V      int             `json:"v"`
	Output json.RawMessage `json:"output"`
}

const keptVersion = 1

// openReuse binds to the bucket as the word says; one that is not there reuses nothing.
func (w *Worker) openReuse(ctx context.Context, queue, word string) *reuse {
	r := &reuse{names: w.names, queue: queue, reads: word == schemas.ReuseAuto, puts: word != schemas.ReuseNone}
	if !r.puts {
		return r
	}
	kv, err := w.js.KeyValue(ctx, w.names.ReuseBucket())
	if err != nil {
		w.log.Warn().Err(err).Str("bucket", w.names.ReuseBucket()).Msg("outputs are neither reused nor kept")
		return &reuse{}
	}
	r.kv = kv
	return r
}

// used says that outputs are taken, kept, or both.
func (r *reuse) used() bool { return r.reads || r.puts }

// get returns a kept output, nil without one.
func (r *reuse) get(ctx context.Context, digest string) json.RawMessage {
	if !r.reads {
		return nil
	}
	e, err := r.kv.Get(ctx, r.names.ReuseKey(r.queue, digest))
	if err != nil {
		return nil
	}
	var k keptOutput
	if json.Unmarshal(e.Value(), &k) != nil || k.V != keptVersion {
		return nil
	}
	return k.Output
}

// put keeps an output; one that is larger than a message is not kept.
func (r *reuse) put(ctx context.Context, digest string, output json.RawMessage) error {
	if !r.puts {
		return nil
	}
	b, err := schemas.Marshal(keptOutput{keptVersion, output})
	if err != nil {
		return err
	}
	if _, err = r.kv.Put(ctx, r.names.ReuseKey(r.queue, digest), b); errors.Is(err, nats.ErrMaxPayload) {
		return nil
	}
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
