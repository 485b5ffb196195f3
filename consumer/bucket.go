package consumer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// stateTTL bounds how long a saved state outlives its last write.
const stateTTL = 48 * time.Hour

func (t Topology) stateBucket() jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{Bucket: t.names.StateBucket(), Replicas: max(t.cfg.NATS.Replicas, 1), TTL: stateTTL, Storage: jetstream.FileStorage}
}

// planBucket compares the state bucket. Buckets are made so that any replica answers a read; this one must not be read from a
// replica that is behind: a state from before the last answer would have that answer paid again.
func (t Topology) planBucket(ctx context.Context, js jetstream.JetStream) ([]Change, error) {
	want := t.stateBucket()
	c := Change{Kind: "bucket", Name: want.Bucket, Action: "create", apply: func(ctx context.Context) error {
		if _, err := js.CreateKeyValue(ctx, want); err != nil && !errors.Is(err, jetstream.ErrBucketExists) {
			return err // one that is there was made by another worker meanwhile
		}
		return strict(ctx, js, want.Bucket)
	}}
	s, err := js.Stream(ctx, kvStream(want.Bucket))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return []Change{c}, nil
	}
	if err != nil {
		return nil, denied("read bucket "+want.Bucket, err)
	}
	merged, diffs := mergeBucket(s.CachedInfo().Config, want)
	if len(diffs) == 0 {
		return nil, nil
	}
	c.Action, c.Detail = "update", strings.Join(diffs, "; ")
	c.apply = func(ctx context.Context) error { _, err := js.UpdateStream(ctx, merged); return err }
	return []Change{c}, nil
}

// kvStream is the stream that holds a bucket.
func kvStream(bucket string) string { return "KV_" + bucket }

// widenBucket has what a bucket's stream must have, as far as any bucket: what differs is listed.
func widenBucket(have jetstream.StreamConfig, want jetstream.KeyValueConfig) (jetstream.StreamConfig, []string) {
	var diffs []string
	if have.MaxAge != want.TTL {
		diffs = append(diffs, fmt.Sprintf("ttl: %v -> %v", have.MaxAge, want.TTL))
		have.MaxAge = want.TTL
	}
	if have.Replicas < want.Replicas {
		diffs = append(diffs, fmt.Sprintf("replicas: %d -> %d", have.Replicas, want.Replicas))
		have.Replicas = want.Replicas
	}
	return have, diffs
}

// mergeBucket is widenBucket for a bucket that is read from its leader only.
func mergeBucket(have jetstream.StreamConfig, want jetstream.KeyValueConfig) (jetstream.StreamConfig, []string) {
	have, diffs := widenBucket(have, want)
	if have.AllowDirect {
		diffs = append(diffs, "allow_direct: true -> false")
		have.AllowDirect = false
	}
	return have, diffs
}

// strict has a bucket read from its leader only.
func strict(ctx context.Context, js jetstream.JetStream, bucket string) error {
	s, err := js.Stream(ctx, kvStream(bucket))
	if err != nil {
		return err
	}
	cfg := s.CachedInfo().Config
	if !cfg.AllowDirect {
		return nil
	}
	cfg.AllowDirect = false
	_, err = js.UpdateStream(ctx, cfg)
	return err
}
