package consumer

import (
	"cmp"
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

// AckWait is the lease of a delivery where the configuration names none: without a heartbeat for so long, the server
// gives it to another worker.
const AckWait = 30 * time.Second

// backstop is MaxDeliver: far, since giving up is the ledger's decision (max_starts), not the server's.
const backstop = 1_000_000

// dedupe is the shortest window that the server takes. Nats-Msg-Id counts for a whole stream: with a long one a requester could
// use up the ids of another's requests, which would be confirmed and not stored. A run is told from its repetition by its subject.
const dedupe = 100 * time.Millisecond

// Topology is what Emend needs of JetStream for one configuration: five streams, one durable per backend and queue,
// and the state bucket.
type Topology struct {
	names subjects.Names
	cfg   prompts.Config
	ack   time.Duration
}

// NewTopology derives the topology. ackWait 0 means the configuration's ack_wait, or else AckWait.
func NewTopology(names subjects.Names, cfg prompts.Config, ackWait time.Duration) Topology {
	ackWait = cmp.Or(ackWait, cfg.AckWait.Std(), AckWait)
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
	runs.MaxBytes, runs.Duplicates = int64(keep.RunsMax), dedupe
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
	return append(out, t.pipelineSubjects()...)
}

// Consumers returns the durables. A queue's in_flight is its durable's MaxAckPending: its bound over all workers.
func (t Topology) Consumers() []jetstream.ConsumerConfig {
	var out []jetstream.ConsumerConfig
	for _, b := range t.cfg.BackendNames() {
		for _, q := range t.cfg.QueueNames() {
			out = append(out, t.durable(t.names.Durable(b, q), t.names.RunFilter(b, q), t.cfg.Queues[q].InFlight))
		}
	}
	return append(out, t.pipelineConsumers()...)
}

func (t Topology) durable(name, filter string, inFlight int) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{Durable: name, FilterSubject: filter, AckPolicy: jetstream.AckExplicitPolicy, AckWait: t.ack, MaxDeliver: backstop,
		MaxAckPending: inFlight, DeliverPolicy: jetstream.DeliverAllPolicy, ReplayPolicy: jetstream.ReplayInstantPolicy, MaxWaiting: 512}
}

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
	for _, plan := range []func(context.Context, jetstream.JetStream) ([]Change, error){t.planBucket, t.planReuse} {
		c, err := plan(ctx, js)
		if err != nil {
			return nil, err
		}
		out = append(out, c...)
	}
	return out, nil
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
	kind("storage", have.Storage, want.Storage)
	kind("retention", have.Retention, want.Retention)
	kind("discard", have.Discard, want.Discard)
	kind("discard_new_per_subject", have.DiscardNewPerSubject, want.DiscardNewPerSubject)
	kind("max_msgs_per_subject", have.MaxMsgsPerSubject, want.MaxMsgsPerSubject)
	kind("allow_direct", have.AllowDirect && want.Retention == jetstream.LimitsPolicy && want.MaxMsgsPerSubject == 1, false)
	kind("allow_rollup_hdrs", have.AllowRollup, want.AllowRollup)
	kind("allow_msg_schedules", have.AllowMsgSchedules, false)
	kind("allow_msg_ttl", have.AllowMsgTTL, false)
	kind("no_ack", have.NoAck, false)
	kind("sealed", have.Sealed, false)
	kind("mirror", have.Mirror != nil, false)
	kind("sources", len(have.Sources) > 0, false)
	kind("subject_transform", have.SubjectTransform != nil, false)
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
	if want.Duplicates != 0 && have.Duplicates > want.Duplicates {
		merged.Duplicates = want.Duplicates
		diffs = append(diffs, fmt.Sprintf("duplicate_window: %v -> %v", have.Duplicates, want.Duplicates))
	}
	limit := func(field string, to *int64, a, b int64) {
		if a != b {
			*to = b
			diffs = append(diffs, fmt.Sprintf("%s: %d -> %d", field, a, b))
		}
	}
	limit("max_bytes", &merged.MaxBytes, have.MaxBytes, unbounded(want.MaxBytes))
	limit("max_msgs", &merged.MaxMsgs, have.MaxMsgs, want.MaxMsgs)
	if have.MaxMsgSize != want.MaxMsgSize {
		merged.MaxMsgSize = want.MaxMsgSize
		diffs = append(diffs, fmt.Sprintf("max_msg_size: %d -> %d", have.MaxMsgSize, want.MaxMsgSize))
	}
	if have.Replicas < want.Replicas {
		merged.Replicas = want.Replicas
		diffs = append(diffs, fmt.Sprintf("replicas: %d -> %d", have.Replicas, want.Replicas))
	}
	return merged, diffs, refused
}

// unbounded is a limit as the server shows it: 0 is none.
func unbounded(n int64) int64 {
	if n == 0 {
		return -1
	}
	return n
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
	if h.AckPolicy != want.AckPolicy {
		c.Action, c.Detail = "refused", fmt.Sprintf("ack_policy is %v, Emend needs %v", h.AckPolicy, want.AckPolicy)
		c.apply = func(context.Context) error { return fmt.Errorf("consumer %s: %s", want.Durable, c.Detail) }
		return []Change{c}, nil
	}
	diffs := consumerDiffs(h, want)
	if len(diffs) == 0 {
		return nil, nil
	}
	c.Action, c.Detail = "update", strings.Join(diffs, "; ")
	return []Change{c}, nil
}

// consumerDiffs lists what a durable has otherwise than wanted, of what decides which runs come, when and to whom.
func consumerDiffs(have, want jetstream.ConsumerConfig) (out []string) {
	differ := func(field string, a, b any) {
		if !reflect.DeepEqual(a, b) {
			out = append(out, fmt.Sprintf("%s: %v -> %v", field, a, b))
		}
	}
	differ("max_ack_pending", have.MaxAckPending, want.MaxAckPending)
	differ("ack_wait", have.AckWait, want.AckWait)
	differ("max_deliver", have.MaxDeliver, want.MaxDeliver)
	differ("backoff", len(have.BackOff), 0)
	differ("filter_subject", strings.Join(append(have.FilterSubjects, have.FilterSubject), " "), want.FilterSubject)
	differ("headers_only", have.HeadersOnly, want.HeadersOnly)
	differ("inactive_threshold", have.InactiveThreshold, want.InactiveThreshold)
	differ("max_batch", have.MaxRequestBatch, want.MaxRequestBatch)
	differ("max_expires", have.MaxRequestExpires, want.MaxRequestExpires)
	differ("max_bytes", have.MaxRequestMaxBytes, want.MaxRequestMaxBytes)
	return out
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
