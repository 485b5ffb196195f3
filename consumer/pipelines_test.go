package consumer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"emend/prompts"
	"emend/subjects"
)

func pipelineTopology(t *testing.T, pipelines ...string) Topology {
	t.Helper()
	names, err := subjects.New("emend")
	if err != nil {
		t.Fatal(err)
	}
	return NewTopology(names, prompts.Config{Backends: map[string]prompts.Backend{"b": {}}, Queues: map[string]prompts.Queue{"q": {InFlight: 7}, "r": {InFlight: 9}}, Pipelines: pipelines}, 0)
}

// Pipelines and queues are listed one by one in the runs stream, and each queue has one durable for all of its pipelines.
func TestTopologyOfPipelines(t *testing.T) {
	top := pipelineTopology(t, "digest", "split")
	runs := top.Streams()[0]
	for _, want := range []string{"emend.run.b.q.*", "emend.pipeline.digest.q.*", "emend.pipeline.digest.r.*", "emend.pipeline.split.q.*", "emend.pipeline.split.r.*"} {
		if !slices.Contains(runs.Subjects, want) {
			t.Errorf("%s is not in %v", want, runs.Subjects)
		}
	}
	var durables []string
	for _, c := range top.Consumers() {
		durables = append(durables, c.Durable+" "+c.FilterSubject)
		if c.Durable == "_pipeline__q" && c.MaxAckPending != 7 {
			t.Errorf("%+v", c)
		}
	}
	if want := []string{"b__q emend.run.b.q.*", "b__r emend.run.b.r.*", "_pipeline__q emend.pipeline.*.q.*", "_pipeline__r emend.pipeline.*.r.*"}; !slices.Equal(durables, want) {
		t.Errorf("%v", durables)
	}
}

// Where no pipeline is defined there is nothing of them: no subject, no durable, no bucket.
func TestTopologyWithoutPipelines(t *testing.T) {
	top := pipelineTopology(t)
	if s := strings.Join(top.Streams()[0].Subjects, " "); strings.Contains(s, "pipeline") || len(top.Consumers()) != 2 {
		t.Errorf("%s, %d durables", s, len(top.Consumers()))
	}
	if changes, err := top.planReuse(t.Context(), nil); changes != nil || err != nil {
		t.Errorf("%v %v", changes, err)
	}
}

// An origin is a backend's name or a pipeline's, and neither passes for the other.
func TestOrigins(t *testing.T) {
	names, err := subjects.New("emend")
	if err != nil {
		t.Fatal(err)
	}
	k := Key{"q", "one"}
	for origin, want := range map[string][3]string{
		"digest":                 {"emend.run.digest.q.one", "digest", `backend "digest"`},
		PipelineOrigin("digest"): {"emend.pipeline.digest.q.one", "", `pipeline "digest"`},
	} {
		if got := [3]string{requestSubject(names, origin, k), ofBackend(origin), originWords(origin)}; got != want {
			t.Errorf("%s: %q, want %q", origin, got, want)
		}
	}
	if subjects.ValidName(PipelineOrigin("digest")) || pipelineOf("digest") != "" || pipelineOf(PipelineOrigin("digest")) != "digest" {
		t.Error("origins are not told apart")
	}
}

// Tasks are done a few at a time, every report is taken once, and waiting waits for all of them.
func TestTasks(t *testing.T) {
	ts := newTasks(t.Context())
	var now, most, done atomic.Int64
	failed := errors.New("x")
	for i := range 200 {
		ts.do(func(context.Context) report {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			done.Add(1)
			switch i % 3 {
			case 0:
				return nil
			case 1:
				return fails(failed)
			}
			return func() error { return nil }
		})
	}
	ts.wait()
	reports, errs := ts.take(), 0
	for _, r := range reports {
		if r() != nil {
			errs++
		}
	}
	if done.Load() != 200 || most.Load() > tasksAtOnce || len(reports) != 133 || errs != 67 || ts.take() != nil {
		t.Errorf("%d done, %d at once, %d reports, %d errors", done.Load(), most.Load(), len(reports), errs)
	}
	select {
	case <-ts.wake:
	default:
		t.Error("nobody is woken")
	}
}

// On a server, what pipelines need is made once, and follows the configuration.
func TestTopologyOfPipelinesIsMade(t *testing.T) {
	p := newPlace(t)
	cfg := config()
	p.set(cfg, 0)
	cfg.Pipelines, cfg.Keep.Reuse = []string{"digest"}, prompts.Duration(time.Hour)
	topology, changes, text := p.plan(cfg)
	for _, want := range []string{"update stream EMEND_RUNS: subjects: + emend.pipeline.digest.default.*; subjects: + emend.pipeline.digest.team-a.*",
		"create consumer _pipeline__default", "create consumer _pipeline__team-a", "create bucket emend_reuse"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	p.must(topology.Apply(p.Context(), changes))
	if _, _, text := p.plan(cfg); text != "" {
		t.Errorf("after apply:\n%s", text)
	}
	cfg.Keep.Reuse = prompts.Duration(2 * time.Hour)
	topology, changes, text = p.plan(cfg)
	if text != "update bucket emend_reuse: ttl: 1h0m0s -> 2h0m0s" {
		t.Errorf("%s", text)
	}
	p.must(topology.Apply(p.Context(), changes))
	if _, _, text := p.plan(cfg); text != "" {
		t.Errorf("after apply:\n%s", text)
	}
}
