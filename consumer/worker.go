package consumer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"emend/capacity"
	"emend/engine"
	"emend/engine/run"
	"emend/internal/telemetry"
	"emend/prompts"
	"emend/subjects"
)

// gateState and gateClosed are capacity's words under short names.
type gateState = capacity.GateState

const gateClosed = capacity.Closed

// Options of a Worker.
type Options struct {
	// ID names the worker in results and events; "" makes one.
	ID string
	// Version is told through the service registry.
	Version string
	Log     zerolog.Logger
	// CheckStreams only checks that the streams are as needed, and makes none.
	CheckStreams bool
	// AckWait is the lease of a run; 0 means the configuration's ack_wait.
	AckWait time.Duration
	// Metrics counts what the worker's events tell; nil for none.
	Metrics *telemetry.Metrics
	// Traces makes spans of what happens; nil for none.
	Traces *telemetry.Traces
	// Reload reads the definitions again and calls Worker.Reload, or says why not; nil for a worker that takes them from elsewhere.
	Reload func() error
	// Ready is called once, when the worker pulls.
	Ready func()
}

// Worker executes runs from JetStream until it is told to stop. Make one with NewWorker; Run may be called once.
type Worker struct {
	id     string
	opts   Options
	nc     *nats.Conn
	js     jetstream.JetStream
	names  subjects.Names
	log    zerolog.Logger
	engine atomic.Pointer[engine.Engine]
	ledger *Ledger
	// meter shares rates and budgets; it is there once the ledger is.
	meter    *meter
	blobs    *Blobs
	leases   *leases
	inflight *inflight
	// lastStart is held by the run that has its last start.
	lastStart chan struct{}
	troubles  troubleLog
	pools     *pools
	verdicts  telemetry.Verdicts
	// definitions tells of the engine's.
	definitions definitions
	topology    atomic.Pointer[Topology]
	// reshaping holds word of a reload, for the goroutine of Run.
	reshaping chan struct{}
	draining  atomic.Bool
	remaking  atomic.Bool
	// stuckRuns have an answer and cannot store it.
	stuckRuns atomic.Int64
	// background are the goroutines that are neither a pool's nor a run's: heartbeats, and making durables again.
	background sync.WaitGroup
	// base outlives the runs: it ends only when the process must stop.
	base context.Context
}

// NewWorker makes a worker on a connection. The engine must be made WithTrouble.
func NewWorker(nc *nats.Conn, e *engine.Engine, o Options) (*Worker, error) {
	cfg := e.Snapshot().Config()
	names, err := subjects.New(cfg.NATS.Space)
	if err != nil {
		return nil, err
	}
	js, err := JetStream(nc, cfg.NATS)
	if err != nil {
		return nil, err
	}
	w := &Worker{id: o.ID, opts: o, nc: nc, js: js, names: names, inflight: newInflight(), lastStart: make(chan struct{}, 1), reshaping: make(chan struct{}, 1)}
	topology := NewTopology(names, cfg, o.AckWait)
	w.topology.Store(&topology)
	w.pools = &pools{w: w, now: map[string]*pool{}, shared: map[string]sharing{}}
	if w.id == "" {
		w.id = "w-" + subjects.NewID()[:8]
	}
	w.log = o.Log.With().Str("worker", w.id).Logger()
	w.engine.Store(e)
	w.definitions.taken(time.Now().UTC())
	w.leases = newLeases(nc, nc.NewInbox(), topology.ack)
	return w, nil
}

// JetStream opens the JetStream context of a configuration.
func JetStream(nc *nats.Conn, cfg prompts.NATS) (jetstream.JetStream, error) {
	if cfg.Domain != "" {
		return jetstream.NewWithDomain(nc, cfg.Domain)
	}
	return jetstream.New(nc)
}

// ID is the worker's name in results and events.
func (w *Worker) ID() string { return w.id }

// Engine is the engine that runs started now use.
func (w *Worker) Engine() *engine.Engine { return w.engine.Load() }

// Reload replaces the definitions for runs that start from now on; runs under way keep theirs. The engine must share the gates of
// the one before it (engine.WithGates). Backends, queues and their bounds follow, soon.
func (w *Worker) Reload(e *engine.Engine) {
	if w.ledger != nil {
		w.noteSink(e)
		w.meter.configure(e.Snapshot())
	}
	w.engine.Store(e)
	w.definitions.taken(time.Now().UTC())
	select {
	case w.reshaping <- struct{}{}:
	default: // it will find these definitions
	}
}

// noteSink lets deliveries look for reviews from the moment at which there may be some.
func (w *Worker) noteSink(e *engine.Engine) {
	if e.Snapshot().Config().Escalation.Sink == run.SinkReview {
		w.ledger.reviewing.Store(true)
	}
}

// Run makes or checks the streams, serves until ctx is done, then drains: it stops pulling, hands back at once what has
// made no call, lets runs finish for the configuration's drain_timeout, and puts down the rest with its state. It returns
// nil after a complete drain.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.prepared(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // told to stop before it served: nothing is in its hands
		}
		return err
	}
	defer w.ledger.Close()
	base, stopBase := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBase()
	w.base = base
	work, putDown := context.WithCancelCause(base)
	defer putDown(nil)
	deaf, err := w.listen()
	if err != nil {
		return err
	}
	defer deaf()
	services, err := w.serve()
	if err != nil {
		return err
	}
	stopLeases := make(chan struct{})
	w.background.Go(func() { w.leases.run(stopLeases) })
	w.background.Go(func() { w.watchReviews(ctx) })
	for _, p := range w.pools.now {
		w.pools.start(ctx, work, p)
	}
	if w.opts.Ready != nil {
		w.opts.Ready()
	}
	w.follow(ctx, work)
	w.draining.Store(true)
	w.inflight.drain()
	services.stop()
	w.pools.pulling.Wait()
	w.drain(putDown, stopBase)
	stopBase()
	close(stopLeases)
	w.background.Wait()
	w.meter.close()
	return flush(w.nc)
}

// listen subscribes to all that the runs need, and returns what ends it.
func (w *Worker) listen() (deaf func(), err error) {
	hearts, err := w.leases.listen()
	if err != nil {
		return nil, err
	}
	deaf = func() {
		_ = hearts.Unsubscribe()
		w.pools.deaf()
	}
	w.pools.now = w.wanted(w.engine.Load().Snapshot())
	if err := w.pools.listen(); err != nil {
		deaf()
		return nil, err
	}
	return deaf, nil
}

// flushWithin bounds the last flush: what was published must leave before the process does.
const flushWithin = 5 * time.Second

func flush(nc *nats.Conn) error {
	if !nc.IsConnected() {
		return nil
	}
	return nc.FlushTimeout(flushWithin)
}

// prepared is prepare, tried again while a cluster is not whole: its servers may be starting, too.
func (w *Worker) prepared(ctx context.Context) error {
	pause := settleBackoffMin
	for said := false; ; said = true {
		err := w.prepare(ctx)
		if err == nil || !notYet(err) {
			return err
		}
		if !said {
			w.log.Warn().Err(err).Msg("JetStream cannot take the streams yet; trying until it can")
		}
		if !sleep(ctx, pause) {
			return err
		}
		pause = min(2*pause, settleBackoffMax)
	}
}

// notYet reports an error of a cluster that has no leader, or too few servers for the replicas that are wanted.
func notYet(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (api.Code == http.StatusServiceUnavailable || api.ErrorCode == codeNoPeers)
}

func (w *Worker) prepare(ctx context.Context) error {
	if err := CheckServer(w.nc, w.engine.Load().Snapshot().Config().NATS); err != nil {
		return err
	}
	topology := w.topology.Load()
	changes, err := topology.Plan(ctx, w.js)
	if err != nil {
		return err
	}
	if w.opts.CheckStreams && len(changes) > 0 {
		return needed(changes)
	}
	if err := topology.Apply(ctx, changes); err != nil {
		return err
	}
	if w.ledger, err = NewLedger(ctx, w.js, w.names); err != nil {
		return err
	}
	w.ledger.learn(ctx)
	w.meter = newMeter(w.ledger.state, w.names, w.log)
	w.meter.configure(w.engine.Load().Snapshot())
	cfg := w.engine.Load().Snapshot().Config()
	w.blobs = NewBlobs(w.js, w.names, cfg.Keep.Results.Std(), cfg.NATS.Replicas)
	w.noteSink(w.engine.Load())
	return nil
}

func needed(changes []Change) error {
	errs := []error{errors.New("the streams are not as this configuration needs them; `emend streams apply` makes them so")}
	for _, c := range changes {
		errs = append(errs, fmt.Errorf("%s %s %s %s", c.Action, c.Kind, c.Name, c.Detail))
	}
	return errors.Join(errs...)
}

// follow reshapes the pools after every reload, until ctx is done.
func (w *Worker) follow(ctx, work context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.reshaping:
			w.pools.reshape(ctx, work)
		}
	}
}

// lastStores is how long, after the drain timeout, results and states may still be stored. Past it the store is taken to
// be out of reach: what is not stored is not acked, and is delivered again.
const lastStores = 15 * time.Second

// drain waits for the runs under way, then puts down the rest.
func (w *Worker) drain(putDown context.CancelCauseFunc, giveUp context.CancelFunc) {
	timeout := w.engine.Load().Snapshot().Config().DrainTimeout.Std()
	first := time.AfterFunc(timeout, func() { putDown(errPutDown) })
	defer first.Stop()
	last := time.AfterFunc(timeout+lastStores, giveUp)
	defer last.Stop()
	w.pools.wait()
}

// causeStore is why runs wait while results cannot be stored.
const causeStore = "store"

// closeGates lets no run start and no call be made while a result cannot be stored; it holds beyond the next try, which
// comes after pause and is the probe.
func (w *Worker) closeGates(pause time.Duration) {
	until := time.Now().Add(pause + 2*settleTry)
	w.eachGate(func(g *capacity.Gate) { g.Close(causeStore, until) })
}

// stuck counts a run that cannot store its result. The function that it returns ends that, and the last one opens the
// gates again.
func (w *Worker) stuck() (done func()) {
	w.stuckRuns.Add(1)
	return func() {
		if w.stuckRuns.Add(-1) == 0 {
			w.eachGate(func(g *capacity.Gate) {
				if g.State().Cause == causeStore {
					g.Reopen()
				}
			})
		}
	}
}

func (w *Worker) eachGate(do func(*capacity.Gate)) {
	e := w.engine.Load()
	for _, b := range e.Snapshot().Backends() {
		if g := e.Gate(b.Name); g != nil {
			do(g)
		}
	}
}

// Gates tells how the gates stand, by backend.
func (w *Worker) Gates() map[string]capacity.Stats { return w.workerStats().Gates }

// Fit reports why the worker should get no more runs now; nil if it serves.
func (w *Worker) Fit() error {
	switch {
	case w.stopping():
		return errors.New("the worker drains")
	case !w.nc.IsConnected():
		return errors.New("NATS is not reachable")
	case w.stuckRuns.Load() > 0:
		return errors.New("results cannot be stored")
	}
	return nil
}

func (w *Worker) stopping() bool { return w.draining.Load() }

func (w *Worker) limits() Limits {
	cfg := w.engine.Load().Snapshot().Config()
	return Limits{MaxStarts: cfg.MaxStarts, CatalogGrace: cfg.CatalogGrace.Std(), QueueTTL: cfg.QueueTTL.Std()}
}

// remakeWithin bounds the making of streams and durables while the worker runs.
const remakeWithin = 10 * time.Second

// remake makes missing durables again, once at a time.
func (w *Worker) remake() {
	if w.opts.CheckStreams || w.remaking.Swap(true) {
		return
	}
	w.background.Go(func() {
		defer w.remaking.Store(false)
		ctx, cancel := context.WithTimeout(w.base, remakeWithin)
		defer cancel()
		topology := w.topology.Load()
		changes, err := topology.Plan(ctx, w.js)
		if err == nil {
			err = topology.Apply(ctx, changes)
		}
		switch {
		case err != nil:
			w.log.Error().Err(err).Msg("streams or durables are missing and could not be made again")
		case len(changes) > 0:
			w.log.Warn().Int("changes", len(changes)).Msg("streams or durables were missing and are made again")
		}
	})
}
