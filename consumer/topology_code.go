package consumer

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Buckets returns the streams that hold the key-value buckets, for those who make streams by other means than Emend: as the
// server would make the buckets, but read from their leaders only.
func (t Topology) Buckets() []jetstream.StreamConfig {
	out := []jetstream.StreamConfig{bucketStream(t.stateBucket(), t.names.StateSubject(">"))}
	if len(t.cfg.Pipelines) > 0 {
		out = append(out, bucketStream(t.reuseBucket(), t.names.ReuseSubject(">")))
	}
	return out
}

func bucketStream(kv jetstream.KeyValueConfig, subject string) jetstream.StreamConfig {
	window := 2 * time.Minute
	if kv.TTL > 0 && kv.TTL < window {
		window = kv.TTL
	}
	return jetstream.StreamConfig{Name: kvStream(kv.Bucket), Description: kv.Description, Subjects: []string{subject}, MaxMsgsPerSubject: max(int64(kv.History), 1),
		MaxAge: kv.TTL, Storage: kv.Storage, Replicas: kv.Replicas, Discard: jetstream.DiscardNew, DenyDelete: true, AllowRollup: true, Duplicates: window,
		MaxMsgs: -1, MaxBytes: -1, MaxMsgSize: -1, MaxConsumers: -1}
}
