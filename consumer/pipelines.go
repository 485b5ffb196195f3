package consumer

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"emend/engine/pipeline"
	"emend/engine/run"
	"emend/prompts"
	"emend/schemas"
	"emend/subjects"
)

// A pipeline run is a run whose execution is coordination: its message comes from a durable of its queue's pipelines, it has a
// lease, a ledger entry, a result, a reply and an ack like any other. Its jobs are runs of their own.

// pipelinePool is the name of the pool of pipelines; no backend's name begins with an underscore.
const pipelinePool = "_pipeline"

// pipelinesAtOnce bounds the pipeline runs that one worker coordinates.
const pipelinesAtOnce = 8

// newPipelinePool pulls pipeline runs; nil where no pipeline is defined.
func newPipelinePool(w *Worker, cfg prompts.Config) *pool {
	if len(cfg.Pipelines) == 0 {
		return nil
	}
	p := newPool(w, prompts.Backend{Name: pipelinePool, Admitted: pipelinesAtOnce}, cfg)
	for _, q := range p.pulls.queues {
		q.durable = w.names.PipelineDurable(q.name)
	}
	p.handle, p.ahead = w.handlePipeline, nil
	return p
}

// pipelineOrigin stands for the backend in the fingerprint of a pipeline run, and wherever else a request's origin is told.
// No backend's name holds a dot.
func pipelineOrigin(name string) string { return pipelinePool + "." + name }

// PipelineOrigin is what a Client is told in place of a backend to publish a pipeline run.
func PipelineOrigin(name string) string { return pipelineOrigin(name) }

// requestSubject is where a request from an origin is published.
func requestSubject(names subjects.Names, origin string, k Key) string {
	if name := pipelineOf(origin); name != "" {
		return names.Pipeline(name, k.Queue, k.ID)
	}
	return names.Run(origin, k.Queue, k.ID)
}

func originWords(origin string) string {
	if name := pipelineOf(origin); name != "" {
		return fmt.Sprintf("pipeline %q", name)
	}
	return fmt.Sprintf("backend %q", origin)
}

// pipelineOf is the pipeline of an origin; "" for a backend's.
func pipelineOf(origin string) string {
	name, ok := strings.CutPrefix(origin, pipelinePool+".")
	if !ok {
		return ""
	}
	return name
}

// ofBackend is the backend of an origin; "" for a pipeline's.
func ofBackend(origin string) string {
	if pipelineOf(origin) != "" {
		return ""
	}
	return origin
}

// durableOf names the durable that delivers what came from an origin.
func (w *Worker) durableOf(origin, queue string) string {
	if pipelineOf(origin) != "" {
		return w.names.PipelineDurable(queue)
	}
	return w.names.Durable(origin, queue)
}

// handlePipeline does one delivery of a pipeline run, as handle does for a run.
func (w *Worker) handlePipeline(ctx context.Context, d *delivery) {
	h := &handler{w: w, d: d, taken: time.Now(), engine: w.engine.Load()}
	h.lease = w.leases.add(d, h.taken)
	defer w.leases.remove(h.lease)
	name, queue, id, err := w.names.ParsePipeline(d.msg.Subject)
	h.key = Key{Queue: queue, ID: id}
	h.fingerprint = schemas.Fingerprint(pipelineOrigin(name), d.msg.Data)
	h.events = &publisher{nc: w.nc, names: w.names, worker: w.id, metrics: w.opts.Metrics, key: h.key, delivery: d.count}
	if err != nil {
		h.unaddressable(ctx, err)
		return
	}
	h.pipe = &coordination{h: h, name: name, out: map[string]*child{}, jobs: map[pipeline.Job]*child{}, parent: pipeline.ParentTag(queue, id)}
	h.decide(ctx)
}

// planned decodes and plans a pipeline request; what it returns is what the decision needs of any run.
func (c *coordination) planned(ctx context.Context) (*run.Plan, error) {
	req, err := schemas.DecodePipelineRequest(c.h.d.msg.Data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", prompts.ErrMalformed, err)
	}
	given := schemas.Request{Inputs: req.Inputs}
	if err := c.h.w.blobs.Resolve(ctx, c.h.key.Queue, &given); err != nil {
		return nil, err
	}
	req.Inputs = given.Inputs
	c.run, err = c.h.engine.Snapshot().PlanPipeline(c.name, req, prompts.Origin{ID: c.h.key.ID, Queue: c.h.key.Queue, Published: c.h.d.published})
	if err != nil {
		return nil, err
	}
	c.content = pipeline.ContentTag(c.h.fingerprint, c.run.Plan.Digest)
	return c.run.Shell, nil
}

// pipelineSubjects lists the pipelines and queues one by one, so that an unknown one fails at the publisher.
func (t Topology) pipelineSubjects() []string {
	var out []string
	for _, name := range t.cfg.Pipelines {
		for _, q := range t.cfg.QueueNames() {
			out = append(out, t.names.PipelineFilter(name, q))
		}
	}
	return out
}

// pipelineConsumers are the durables of pipelines, one a queue; none where no pipeline is defined.
func (t Topology) pipelineConsumers() []jetstream.ConsumerConfig {
	if len(t.cfg.Pipelines) == 0 {
		return nil
	}
	var out []jetstream.ConsumerConfig
	for _, q := range t.cfg.QueueNames() {
		out = append(out, t.durable(t.names.PipelineDurable(q), t.names.PipelinesOf(q), t.cfg.Queues[q].InFlight))
	}
	return out
}

// pipelineRequest finds the queued or running request of a pipeline run, and its origin; nil if there is none.
func (w *Worker) pipelineRequest(ctx context.Context, k Key) (*jetstream.RawStreamMsg, string, error) {
	for _, name := range w.engine.Load().Snapshot().PipelineNames() {
		m, err := w.ledger.queued(ctx, w.names.Pipeline(name, k.Queue, k.ID))
		if m != nil || err != nil {
			return m, pipelineOrigin(name), err
		}
	}
	return nil, "", nil
}
