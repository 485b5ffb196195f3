package consumer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"emend/prompts"
)

// plan returns the changes of a configuration, as "action kind name: detail".
func (p *place) plan(cfg prompts.Config) (Topology, []Change, string) {
	p.Helper()
	t := NewTopology(p.names, cfg, 0)
	changes, err := t.Plan(p.Context(), p.js)
	p.must(err)
	var lines []string
	for _, c := range changes {
		lines = append(lines, strings.TrimSuffix(c.Action+" "+c.Kind+" "+c.Name+": "+c.Detail, ": "))
	}
	return t, changes, strings.Join(lines, "\n")
}

// TestTopologyOnAnEmptyServer: all of it is made, and then nothing differs.
func TestTopologyOnAnEmptyServer(t *testing.T) {
	p := newPlace(t)
	topology, changes, text := p.plan(config())
	want := `create stream EMEND_RUNS
create stream EMEND_RESULTS
create stream EMEND_EVENTS
create stream EMEND_DEAD
create stream EMEND_REVIEWS
create consumer mock__default
create consumer mock__team-a
create bucket emend_state`
	if text != want {
		t.Errorf("plan:\n%s", text)
	}
	if _, _, again := p.plan(config()); again != want {
		t.Errorf("a plan changed something:\n%s", again)
	}
	p.must(topology.Apply(p.Context(), changes))
	if _, _, text := p.plan(config()); text != "" {
		t.Errorf("after apply:\n%s", text)
	}
	p.must(topology.Apply(p.Context(), changes)) // two workers that start at once both apply
}

// TestTopologyUnlimited: what keep leaves open is as the server shows it.
func TestTopologyUnlimited(t *testing.T) {
	p := newPlace(t)
	cfg := config()
	cfg.Keep = prompts.Keep{}
	p.set(cfg, 0)
	if _, _, text := p.plan(cfg); text != "" {
		t.Errorf("after apply:\n%s", text)
	}
}

// TestTopologyFollowsTheConfiguration: limits and bounds go up and down, subjects and durables are only ever added.
func TestTopologyFollowsTheConfiguration(t *testing.T) {
	p := newPlace(t)
	p.set(config(), 0)
	grown := config()
	grown.Keep.Results, grown.Keep.RunsMax = prompts.Duration(time.Hour), 2<<20
	grown.Queues = maps.Clone(grown.Queues)
	grown.Queues["default"] = prompts.Queue{Weight: 1, InFlight: 100}
	grown.Queues["team-a"] = prompts.Queue{Weight: 1, InFlight: 2}
	grown.Queues["urgent"] = prompts.Queue{Weight: 1, InFlight: 5}
	topology, changes, text := p.plan(grown)
	want := `update stream EMEND_RUNS: subjects: + emend.run.mock.urgent.*; max_bytes: 1048576 -> 2097152
update stream EMEND_RESULTS: max_age: 168h0m0s -> 1h0m0s
update consumer mock__default: max_ack_pending: 64 -> 100
update consumer mock__team-a: max_ack_pending: 8 -> 2
create consumer mock__urgent`
	if text != want {
		t.Errorf("plan:\n%s", text)
	}
	p.must(topology.Apply(p.Context(), changes))
	if _, _, text := p.plan(grown); text != "" {
		t.Errorf("after apply:\n%s", text)
	}
	p.set(config(), 0)
	s, err := p.js.Stream(p.Context(), p.names.RunsStream())
	p.must(err)
	if got := s.CachedInfo().Config; !slices.Contains(got.Subjects, "emend.run.mock.urgent.*") || got.MaxBytes != 1<<20 {
		t.Errorf("%v, %d", got.Subjects, got.MaxBytes)
	}
	for name, bound := range map[string]int{"mock__default": 64, "mock__team-a": 8, "mock__urgent": 5} {
		c, err := p.js.Consumer(p.Context(), p.names.RunsStream(), name)
		p.must(err)
		if got := c.CachedInfo().Config.MaxAckPending; got != bound {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// TestDedupeWindowIsCutShort: a stream that was made with the server's window of two minutes gets the shortest one; the others,
// to which no requester publishes, keep theirs.
func TestDedupeWindowIsCutShort(t *testing.T) {
	p := newPlace(t)
	for _, s := range NewTopology(p.names, config(), 0).Streams() {
		s.Duplicates = 2 * time.Minute
		_, err := p.js.CreateStream(p.Context(), s)
		p.must(err)
	}
	p.set(config(), 0)
	for name, want := range map[string]time.Duration{p.names.RunsStream(): dedupe, p.names.ResultsStream(): 2 * time.Minute} {
		s, err := p.js.Stream(p.Context(), name)
		p.must(err)
		if got := s.CachedInfo().Config.Duplicates; got != want {
			t.Errorf("%s: the window is %v", name, got)
		}
	}
	changes, err := NewTopology(p.names, config(), 0).Plan(p.Context(), p.js)
	if p.must(err); len(changes) != 0 {
		t.Errorf("still to change: %+v", changes)
	}
}

// TestStreamOfAnotherKindIsRefused: each field that makes a stream another kind of stream is told by name, and the
// stream is left as it is.
func TestStreamOfAnotherKindIsRefused(t *testing.T) {
	for _, c := range []struct {
		stream int
		change func(*jetstream.StreamConfig)
		detail string
	}{
		{0, func(s *jetstream.StreamConfig) { s.Retention = jetstream.LimitsPolicy }, "retention is Limits, Emend needs WorkQueue"},
		{0, func(s *jetstream.StreamConfig) { s.Storage = jetstream.MemoryStorage }, "storage is Memory, Emend needs File"},
		{0, func(s *jetstream.StreamConfig) { s.MaxMsgsPerSubject, s.DiscardNewPerSubject = -1, false },
			"discard_new_per_subject is false, Emend needs true; max_msgs_per_subject is -1, Emend needs 1"},
		{0, func(s *jetstream.StreamConfig) { s.AllowMsgTTL = true }, "allow_msg_ttl is true, Emend needs false"},
		{0, func(s *jetstream.StreamConfig) { s.AllowRollup = true }, "allow_rollup_hdrs is true, Emend needs false"},
		{1, func(s *jetstream.StreamConfig) { s.Discard = jetstream.DiscardOld }, "discard is DiscardOld, Emend needs DiscardNew"},
		{1, func(s *jetstream.StreamConfig) { s.DiscardNewPerSubject = true }, "discard_new_per_subject is true, Emend needs false"},
		{1, func(s *jetstream.StreamConfig) { s.AllowDirect = true }, "allow_direct is true, Emend needs false"},
		{1, func(s *jetstream.StreamConfig) { s.NoAck = true }, "no_ack is true, Emend needs false"},
		{3, func(s *jetstream.StreamConfig) { s.Retention = jetstream.InterestPolicy }, "retention is Interest, Emend needs Limits"},
	} {
		p := newPlace(t)
		hand := NewTopology(p.names, config(), 0).Streams()[c.stream]
		c.change(&hand)
		_, err := p.js.CreateStream(p.Context(), hand)
		p.must(err)
		topology, changes, text := p.plan(config())
		if want := "refused stream " + hand.Name + ": " + c.detail; !strings.Contains("\n"+text+"\n", "\n"+want+"\n") {
			t.Errorf("plan:\n%s\nwant %s", text, want)
			continue
		}
		err = topology.Apply(p.Context(), changes)
		if err == nil || !strings.Contains(err.Error(), c.detail) {
			t.Errorf("apply: %v", err)
		}
	}
}

// TestDurableChangedByHandIsMended: whatever would keep runs from a worker is put right, or refused by name.
func TestDurableChangedByHandIsMended(t *testing.T) {
	p := newPlace(t)
	p.set(config(), 0)
	hand := NewTopology(p.names, config(), 0).Consumers()[1]
	hand.HeadersOnly, hand.AckWait, hand.MaxDeliver, hand.MaxRequestBatch = true, time.Minute, 5, 1
	_, err := p.js.UpdateConsumer(p.Context(), p.names.RunsStream(), hand)
	p.must(err)
	topology, changes, text := p.plan(config())
	if want := "update consumer mock__team-a: ack_wait: 1m0s -> 30s; max_deliver: 5 -> 1000000; headers_only: true -> false; max_batch: 1 -> 0"; text != want {
		t.Errorf("plan:\n%s", text)
	}
	p.must(topology.Apply(p.Context(), changes))
	if _, _, text := p.plan(config()); text != "" {
		t.Errorf("after apply:\n%s", text)
	}
}

// TestLeaseFollowsTheConfiguration: ack_wait is the durables', and the caller's own word goes over it.
func TestLeaseFollowsTheConfiguration(t *testing.T) {
	p := newPlace(t)
	p.set(config(), 0)
	short := config()
	short.AckWait = prompts.Duration(2 * time.Second)
	_, _, text := p.plan(short)
	if want := "update consumer mock__default: ack_wait: 30s -> 2s\nupdate consumer mock__team-a: ack_wait: 30s -> 2s"; text != want {
		t.Errorf("plan:\n%s", text)
	}
	if got := NewTopology(p.names, short, time.Minute).Consumers()[0].AckWait; got != time.Minute {
		t.Errorf("the caller's word: %v", got)
	}
}

// TestBucketFollows: the state bucket's age limit is kept; it is replicated as the streams are, and read from its leader.
func TestBucketFollows(t *testing.T) {
	p := newPlace(t)
	p.set(config(), 0)
	hand := NewTopology(p.names, config(), 0).stateBucket()
	hand.TTL = time.Minute
	_, err := p.js.UpdateKeyValue(p.Context(), hand)
	p.must(err)
	topology, changes, text := p.plan(config())
	if text != "update bucket emend_state: ttl: 1m0s -> 48h0m0s; allow_direct: true -> false" {
		t.Errorf("plan:\n%s", text)
	}
	p.must(topology.Apply(p.Context(), changes))
	if _, _, text := p.plan(config()); text != "" {
		t.Errorf("after apply:\n%s", text)
	}
	replicated := config()
	replicated.NATS.Replicas = 3
	if _, _, text := p.plan(replicated); !strings.Contains(text, "update bucket emend_state: replicas: 1 -> 3") {
		t.Errorf("plan:\n%s", text)
	}
}

// TestRunsStreamTakesNoSteeringHeaders: what a requester's headers could do to the queue, the server refuses.
func TestRunsStreamTakesNoSteeringHeaders(t *testing.T) {
	p := newPlace(t)
	p.set(config(), 0)
	for i, h := range []string{"Nats-Rollup", "Nats-TTL", "Nats-Schedule"} {
		value := []string{"all", "1s", "@at 2030-01-01T00:00:00Z"}[i]
		_, err := p.js.PublishMsg(p.Context(), message(p.names.Run("mock", "default", "x"), h, value))
		if err == nil {
			t.Errorf("%s was taken", h)
		}
	}
	if _, err := p.js.Publish(p.Context(), p.names.Run("mock", "unknown", "x"), nil, jetstream.WithRetryAttempts(0)); err == nil {
		t.Error("an unknown queue was taken")
	}
}

// A cluster that has no leader, or too few servers yet, is waited for; what waiting cannot mend is an error at once.
func TestOnlyAClusterThatIsNotWholeIsWaitedFor(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("create stream: %w", &jetstream.APIError{Code: 503, ErrorCode: 10008}), true},
		{&jetstream.APIError{Code: 400, ErrorCode: 10005}, true},
		{&jetstream.APIError{Code: 400, ErrorCode: 10074}, false},
		{errors.New("the streams are not as this configuration needs them"), false},
	} {
		if got := notYet(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}
