package consumer

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"emend/prompts"
	"emend/subjects"
)

// AckWait is the lease of a delivery: without a heartbeat for so long, the server gives it to another worker.
const AckWait = 30 * time.Second

// backstop is MaxDeliver: far, since giving up is the ledger's decision (max_starts), not the server's.
const backstop = 1_000_000

// Topology is what Emend needs of JetStream for one configuration: five streams, one durable per backend and queue,
// and the state bucket.
type Topology struct {
	names subjects.Names
	cfg   prompts.Config
	ack   time.Duration
}

// NewTopology derives the topology. ackWait 0 means AckWait.
func NewTopology(names subjects.Names, cfg prompts.Config, ackWait time.Duration) Topology {
	if ackWait == 0 {
		ackWait = AckWait
	}
	return Topology{names: names, cfg: cfg, ack: ackWait}
}

// Change is one difference between the topology and what the server has.
type Change struct {
	// Kind is stream, consumer or bucket; Name its name; Action is create, update or refused.
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Action string `json:"action"`
	// Detail says what differs: "max_age: 24h0m0s -> 168h0m0s".
	Detail string `json:"detail,omitempty"`
	apply  func(context.Context) error
}

// Streams returns the stream configurations.
func (t Topology) Streams() []jetstream.StreamConfig {
	n, keep := t.names, t.cfg.Keep
	base := jetstream.StreamConfig{Storage: jetstream.FileStorage, Replicas: max(t.cfg.NATS.Replicas, 1), Discard: jetstream.DiscardNew,
		MaxMsgs: -1, MaxBytes: -1, MaxMsgSize: -1, MaxConsumers: -1, MaxMsgsPerSubject: -1}
	runs, results, events, dead, reviews := base, base, base, base, base
	runs.Name, runs.Subjects = n.RunsStream(), t.runSubjects()
	runs.Retention, runs.MaxMsgsPerSubject, runs.DiscardNewPerSubject = jetstream.WorkQueuePolicy, 1, true
	runs.MaxBytes = int64(keep.RunsMax)
	results.Name, results.Subjects = n.ResultsStream(), []string{n.AllResults()}
	results.MaxMsgsPerSubject, results.MaxAge = 1, keep.Results.Std()
	events.Name, events.Subjects = n.EventsStream(), []string{n.AllEvents()}
	events.Discard, events.MaxAge, events.MaxBytes = jetstream.DiscardOld, keep.Events.Std(), int64(keep.EventsMax)
	dead.Name, dead.Subjects = n.DeadStream(), []string{n.AllDead()}
	dead.Discard, dead.MaxAge = jetstream.DiscardOld, keep.Dead.Std()
	reviews.Name, reviews.Subjects, reviews.MaxMsgsPerSubject = n.ReviewsStream(), []string{n.AllReviews()}, 1
	return []jetstream.StreamConfig{runs, results, events, dead, reviews}
}

// runSubjects lists backends and queues one by one, so that an unknown one fails at the publisher.
func (t Topology) runSubjects() []string {
	var out []string
	for _, b := range t.cfg.BackendNames() {
		for _, q := range t.cfg.QueueNames() {
			out = append(out, t.names.RunFilter(b, q))
		}
	}
	return out
}

// Consumers returns the durables. A queue's in_flight is its durable's MaxAckPending: its bound over all workers.
func (t Topology) Consumers() []jetstream.ConsumerConfig {
	var out []jetstream.ConsumerConfig
	for _, b := range t.cfg.BackendNames() {
		for _, q := range t.cfg.QueueNames() {
			out = append(out, jetstream.ConsumerConfig{Durable: t.names.Durable(b, q), FilterSubject: t.names.RunFilter(b, q),
				AckPolicy: jetstream.AckExplicitPolicy, AckWait: t.ack, MaxDeliver: backstop, MaxAckPending: t.cfg.Queues[q].InFlight,
				DeliverPolicy: jetstream.DeliverAllPolicy, ReplayPolicy: jetstream.ReplayInstantPolicy, MaxWaiting: 512})
		}
	}
	return out
}

// stateTTL bounds how long a saved state outlives its last write.
func (t Topology) stateBucket() jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{Bucket: t.names.StateBucket(), Replicas: max(t.cfg.NATS.Replicas, 1), TTL: stateTTL, Storage: jetstream.FileStorage}
}

const stateTTL = 48 * time.Hour

// Plan compares the topology with the server and returns what differs; nothing is changed.
func (t Topology) Plan(ctx context.Context, js jetstream.JetStream) ([]Change, error) {
	var out []Change
	missing := map[string]bool{}
	for _, want := range t.Streams() {
		c, err := t.planStream(ctx, js, want)
		if err != nil {
			return nil, err
		}
		if c != nil {
			out = append(out, *c)
			missing[want.Name] = c.Action == "create"
		}
	}
	for _, want := range t.Consumers() {
		c, err := t.planConsumer(ctx, js, want, missing[t.names.RunsStream()])
		if err != nil {
			return nil, err
		}
		out = append(out, c...)
	}
	bucket, err := t.planBucket(ctx, js)
	return append(out, bucket...), err
}

func (t Topology) planStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig) (*Change, error) {
	c := &Change{Kind: "stream", Name: want.Name, Action: "create"}
	s, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		c.apply = func(ctx context.Context) error { _, err := js.CreateStream(ctx, want); return err }
		return c, nil
	}
	if err != nil {
		return nil, denied("read stream "+want.Name, err)
	}
	have := s.CachedInfo().Config
	merged, diffs, refused := mergeStream(have, want)
	switch {
	case len(refused) > 0:
		c.Action, c.Detail = "refused", strings.Join(refused, "; ")
		c.apply = func(context.Context) error { return fmt.Errorf("stream %s: %s", want.Name, c.Detail) }
	case len(diffs) > 0:
		c.Action, c.Detail = "update", strings.Join(diffs, "; ")
		c.apply = func(ctx context.Context) error { _, err := js.UpdateStream(ctx, merged); return err }
	default:
		return nil, nil
	}
	return c, nil
}

// mergeStream widens what the server has to what is wanted: subjects are added, never removed, and limits follow the
// configuration. What would make the stream another kind of stream is refused.
func mergeStream(have, want jetstream.StreamConfig) (merged jetstream.StreamConfig, diffs, refused []string) {
	merged = have
	kind := func(field string, a, b any) {
		if !reflect.DeepEqual(a, b) {
			refused = append(refused, fmt.Sprintf("%s is %v, Emend needs %v", field, a, b))
		}
	}
	kind("retention", have.Retention, want.Retention)
	kind("discard", have.Discard, want.Discard)
	kind("discard_new_per_subject", have.DiscardNewPerSubject, want.DiscardNewPerSubject)
	kind("max_msgs_per_subject", have.MaxMsgsPerSubject, want.MaxMsgsPerSubject)
	kind("allow_direct", have.AllowDirect && want.Retention == jetstream.LimitsPolicy && want.MaxMsgsPerSubject == 1, false)
	kind("allow_rollup_hdrs", have.AllowRollup, want.AllowRollup)
	kind("allow_msg_schedules", have.AllowMsgSchedules, false)
	for _, s := range want.Subjects {
		if !slices.Contains(have.Subjects, s) {
			merged.Subjects = append(slices.Clone(merged.Subjects), s)
			diffs = append(diffs, "subjects: + "+s)
		}
	}
	if have.MaxAge != want.MaxAge {
		merged.MaxAge = want.MaxAge
		diffs = append(diffs, fmt.Sprintf("max_age: %v -> %v", have.MaxAge, want.MaxAge))
	}
	if have.MaxBytes != want.MaxBytes {
		merged.MaxBytes = want.MaxBytes
		diffs = append(diffs, fmt.Sprintf("max_bytes: %d -> %d", have.MaxBytes, want.MaxBytes))
	}
	if have.Replicas < want.Replicas {
		merged.Replicas = want.Replicas
		diffs = append(diffs, fmt.Sprintf("replicas: %d -> %d", have.Replicas, want.Replicas))
	}
	return merged, diffs, refused
}

func (t Topology) planConsumer(ctx context.Context, js jetstream.JetStream, want jetstream.ConsumerConfig, noStream bool) ([]Change, error) {
	stream := t.names.RunsStream()
	c := Change{Kind: "consumer", Name: want.Durable, Action: "create"}
	c.apply = func(ctx context.Context) error { _, err := js.CreateOrUpdateConsumer(ctx, stream, want); return err }
	if noStream {
		return []Change{c}, nil
	}
	have, err := js.Consumer(ctx, stream, want.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return []Change{c}, nil
	}
	if err != nil {
		return nil, denied("read consumer "+want.Durable, err)
	}
	h := have.CachedInfo().Config
	var diffs []string
	if h.MaxAckPending != want.MaxAckPending {
		diffs = append(diffs, fmt.Sprintf("max_ack_pending: %d -> %d", h.MaxAckPending, want.MaxAckPending))
	}
	if h.AckWait != want.AckWait {
		diffs = append(diffs, fmt.Sprintf("ack_wait: %v -> %v", h.AckWait, want.AckWait))
	}
	if h.MaxDeliver != want.MaxDeliver || len(h.BackOff) > 0 {
		diffs = append(diffs, fmt.Sprintf("max_deliver: %d -> %d, no backoff", h.MaxDeliver, want.MaxDeliver))
	}
	if len(diffs) == 0 {
		return nil, nil
	}
	c.Action, c.Detail = "update", strings.Join(diffs, "; ")
	return []Change{c}, nil
}

func (t Topology) planBucket(ctx context.Context, js jetstream.JetStream) ([]Change, error) {
	want := t.stateBucket()
	_, err := js.KeyValue(ctx, want.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return []Change{{Kind: "bucket", Name: want.Bucket, Action: "create",
			apply: func(ctx context.Context) error { _, err := js.CreateKeyValue(ctx, want); return err }}}, nil
	}
	if err != nil {
		return nil, denied("read bucket "+want.Bucket, err)
	}
	return nil, nil
}

// Apply makes the changes that Plan returned, in order.
func (t Topology) Apply(ctx context.Context, changes []Change) error {
	for _, c := range changes {
		if err := c.apply(ctx); err != nil {
			return denied(fmt.Sprintf("%s %s %s", c.Action, c.Kind, c.Name), err)
		}
	}
	return nil
}

// denied adds what to look at when the server did not answer: a missing permission looks like a timeout.
func denied(what string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, jetstream.ErrNoStreamResponse) {
		return fmt.Errorf("%s: no answer from JetStream; may this account publish to $JS.API.> and subscribe to its inbox? %w", what, err)
	}
	if isCode(err, codeNoStorage) {
		return fmt.Errorf("%s: %w; the streams reserve what keep allows (keep.runs_max, keep.events_max): lower it, or give the server more", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// codeNoStorage is the server's "insufficient storage resources available".
const codeNoStorage = jetstream.ErrorCode(10047)
