package consumer

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"emend/capacity"
	"emend/prompts"
)

// pools are those of a worker: one for each backend that the definitions have, and those that a reload has retired, whose runs
// under way go on. They belong to the goroutine of Worker.Run.
type pools struct {
	w *Worker
	// now has the pools that pull, by backend; retired those that do not and may have runs.
	now     map[string]*pool
	retired []*pool
	// shared are the gates that are shared with other workers, by backend, whichever pool has them.
	shared map[string]sharing
	// pulling waits for all that pull.
	pulling sync.WaitGroup
}

// sharing ends with stop.
type sharing struct {
	gate *capacity.Gate
	stop context.CancelFunc
}

// share shares a backend's gate, if it is not shared already, until ctx is done or the backend is gone.
func (ps *pools) share(ctx context.Context, backend string) {
	g := ps.w.engine.Load().Gate(backend)
	old := ps.shared[backend]
	if g == old.gate {
		return
	}
	ps.unshare(backend)
	if g == nil {
		return
	}
	own, stop := context.WithCancel(ctx)
	ps.shared[backend] = sharing{g, stop}
	ps.w.shareGate(own, backend, g)
}

func (ps *pools) unshare(backend string) {
	if s, ok := ps.shared[backend]; ok {
		s.stop()
		delete(ps.shared, backend)
	}
}

// wanted are the pools that definitions ask for, not started.
func (w *Worker) wanted(s *prompts.Snapshot) map[string]*pool {
	out, cfg := map[string]*pool{}, s.Config()
	for _, b := range s.Backends() {
		out[b.Name] = newPool(w, b, cfg)
	}
	if p := newPipelinePool(w, cfg); p != nil {
		out[pipelinePool] = p
	}
	return out
}

// listen subscribes to what the pulls will bring; the caller makes those deaf that were before a failure.
func (ps *pools) listen() error {
	for _, p := range ps.now {
		if err := p.listen(); err != nil {
			return err
		}
	}
	return nil
}

func (ps *pools) deaf() {
	for _, p := range ps.now {
		if p.sub != nil {
			_ = p.sub.Unsubscribe()
		}
	}
}

// start lets a pool pull, and its gate be shared, until ctx is done or it is retired.
func (ps *pools) start(ctx, work context.Context, p *pool) {
	ps.share(ctx, p.backend)
	own, stop := context.WithCancel(ctx)
	p.stop = stop
	ps.pulling.Go(func() {
		defer stop()
		p.run(own, work)
	})
}

// reshape makes the pools those of the newest definitions. One whose queues and places stay goes on; one that changed is retired,
// and a new one takes its place: what it has not started it hands back at once, its runs under way go on, and count.
func (ps *pools) reshape(ctx, work context.Context) {
	w := ps.w
	e := w.engine.Load()
	w.retopologise(ctx, e.Snapshot().Config())
	wanted := w.wanted(e.Snapshot())
	for name, p := range ps.now {
		next := wanted[name]
		if next != nil && p.like(next) {
			delete(wanted, name)
			continue
		}
		p.stop()
		delete(ps.now, name)
		ps.retired = append(ps.retired, p)
		if next == nil {
			ps.unshare(name)
			w.log.Warn().Str("backend", name).Int64("under_way", p.under.Load()).Msg("the backend is gone from the definitions: runs under way go on, queued ones wait for a worker that has it")
		}
	}
	ps.retired = slices.DeleteFunc(ps.retired, func(p *pool) bool { return p.ended.Load() && p.under.Load() == 0 })
	for name, p := range wanted {
		if err := p.listen(); err != nil {
			w.log.Error().Err(err).Str("backend", name).Msg("the backend is not served; reload again, or restart")
			continue
		}
		p.before = ps.before(name)
		ps.now[name] = p
		ps.start(ctx, work, p)
		w.log.Info().Str("backend", name).Int("places", p.places).Int("queues", len(p.pulls.queues)).Msg("pulls")
	}
}

// before are the retired pools of a backend, whose runs hold places at its gate.
func (ps *pools) before(backend string) (out []*pool) {
	for _, p := range ps.retired {
		if p.backend == backend {
			out = append(out, p)
		}
	}
	return out
}

// wait waits for the runs under way.
func (ps *pools) wait() {
	for _, p := range ps.now {
		p.running.Wait()
	}
	for _, p := range ps.retired {
		p.running.Wait()
	}
}

// like reports whether a pool needs no change to be another.
func (p *pool) like(o *pool) bool {
	return p.places == o.places && slices.EqualFunc(p.pulls.queues, o.pulls.queues, func(a, b *queue) bool { return a.durable == b.durable && a.weight == b.weight })
}

// elsewhere is how many runs of retired pools are under way at the backend.
func (p *pool) elsewhere() int {
	n := int64(0)
	for _, o := range p.before {
		n += o.under.Load()
	}
	return int(n)
}

// retopologise makes streams and durables as new definitions need them; what cannot be made is said, and tried again when a durable is
// found missing.
func (w *Worker) retopologise(ctx context.Context, cfg prompts.Config) {
	t := NewTopology(w.names, cfg, w.opts.AckWait)
	w.topology.Store(&t)
	ctx, cancel := context.WithTimeout(ctx, remakeWithin)
	defer cancel()
	changes, err := t.Plan(ctx, w.js)
	switch {
	case err != nil:
	case w.opts.CheckStreams && len(changes) > 0:
		err = needed(changes)
	default:
		err = t.Apply(ctx, changes)
	}
	if err != nil {
		w.log.Error().Err(err).Msg("the streams are not as the new definitions need them")
	}
}

// counted is embedded in a pool: what other goroutines may know of it.
type counted struct {
	// under counts the runs under way; ended says that nothing is pulled any more.
	under atomic.Int64
	ended atomic.Bool
	// stop ends the pulling; before are the pools that this one replaces. Both are set before it runs.
	stop   context.CancelFunc
	before []*pool
}
