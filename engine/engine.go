package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync/atomic"
	"time"

	"emend/capacity"
	"emend/engine/event"
	"emend/engine/provider"
	"emend/engine/run"
	"emend/prompts"
	"emend/schemas"
)

// Engine executes runs. It is safe for concurrent use.
type Engine struct {
	snapshot  *prompts.Snapshot
	injected  LLMClient
	transport http.RoundTripper
	trouble   bool
	retries   *int
	// validators judge in Go, by prompt.
	// given are the validators of WithValidators, functions the same by name.
	given     []Validator
	functions map[string]Validator
	// failures is told why one of them came to no decision; nil tells nobody.
	failures func(ctx context.Context, validator string, err error)
	// asked is what all executions ask validators with.
	asked     judges
	http      *provider.Client
	gates     map[string]*capacity.Gate
	endpoints map[string]*provider.Endpoint
	// clients are the built-in ones by profile, each at its profile's backend.
	clients map[string]*builtin
}

// Option configures New.
type Option func(*Engine)

// WithLLMClient replaces the built-in providers for every backend.
func WithLLMClient(c LLMClient) Option { return func(e *Engine) { e.injected = c } }

// WithTransport puts a custom HTTP transport under the built-in client, whose retry policy stays: a transport that
// retries by itself should be paired with WithTransientRetries(0). Backends with tls or proxy settings keep their own.
func WithTransport(rt http.RoundTripper) Option { return func(e *Engine) { e.transport = rt } }

// WithTransientRetries sets the default number of extra attempts per generation, 0 to 10; it replaces the snapshot's.
func WithTransientRetries(n int) Option { return func(e *Engine) { e.retries = &n } }

// WithTrouble lets the gates slow down and close on backend trouble, for a caller that can hand runs back. Without it
// the engine does what seed 003 says and no more.
func WithTrouble() Option { return func(e *Engine) { e.trouble = true } }

// WithGates shares the gates of another engine: a reload keeps what is admitted, and gives the gates their new bounds.
func WithGates(from *Engine) Option {
	return func(e *Engine) {
		maps.Copy(e.gates, from.gates)
	}
}

// New makes an engine over the definitions of a snapshot.
func New(snapshot *prompts.Snapshot, options ...Option) (*Engine, error) {
	if snapshot == nil {
		return nil, errors.New("engine.New: the snapshot is nil; make one with package prompts")
	}
	e := &Engine{snapshot: snapshot, gates: map[string]*capacity.Gate{}, endpoints: map[string]*provider.Endpoint{}}
	for _, o := range options {
		o(e)
	}
	if e.retries != nil && (*e.retries < 0 || *e.retries > prompts.MaxTransientRetries) {
		return nil, fmt.Errorf("engine.New: transient retries are %d, allowed are 0 to %d", *e.retries, prompts.MaxTransientRetries)
	}
	if err := e.checkValidators(); err != nil {
		return nil, err
	}
	connections := 0
	for _, b := range append(snapshot.Backends(), snapshot.Endpoints()...) {
		connections = max(connections, b.Permits)
		if err := e.addBackend(b); err != nil {
			return nil, err
		}
	}
	if err := e.resize(); err != nil {
		return nil, err
	}
	e.asked = e.judges()
	e.http = provider.NewClient(provider.ClientOptions{MaxIdlePerHost: max(connections, 64)})
	e.clients = map[string]*builtin{}
	for name, p := range snapshot.Config().Profiles {
		if endpoint := e.endpoints[p.Backend]; endpoint != nil {
			e.clients[name] = e.within(endpoint, snapshot.CallTimeout(name).Std())
		}
	}
	return e, nil
}

// resize gives shared gates the bounds of these definitions, once nothing can be wrong with them any more, and forgets those of
// backends that are gone.
func (e *Engine) resize() error {
	known := map[string]bool{}
	for _, b := range append(e.snapshot.Backends(), e.snapshot.Endpoints()...) {
		known[b.Name] = true
		if err := e.gates[b.Name].Resize(capacity.Limits{Permits: b.Permits, Admitted: b.Admitted}); err != nil {
			return fmt.Errorf("engine.New: backend %q: %w", b.Name, err)
		}
	}
	maps.DeleteFunc(e.gates, func(name string, _ *capacity.Gate) bool { return !known[name] })
	return nil
}

func (e *Engine) addBackend(b prompts.Backend) error {
	if err := e.addEndpoint(b); err != nil {
		return fmt.Errorf("engine.New: backend %q: %w", b.Name, err)
	}
	if e.gates[b.Name] != nil {
		return nil
	}
	gate, err := capacity.New(capacity.Limits{Permits: b.Permits, Admitted: b.Admitted, Trouble: e.trouble})
	if err != nil {
		return fmt.Errorf("engine.New: backend %q: %w", b.Name, err)
	}
	e.gates[b.Name] = gate
	return nil
}

// addEndpoint makes what calls need; an injected client makes them without, so that no secret has to be there.
func (e *Engine) addEndpoint(b prompts.Backend) error {
	if e.injected != nil {
		return nil
	}
	endpoint, err := b.Endpoint()
	if err != nil {
		return err
	}
	if e.transport != nil && endpoint.Transport == nil {
		endpoint.Transport = e.transport
	}
	e.endpoints[b.Name] = endpoint
	return nil
}

// Gate returns a backend's gate, nil if there is no such backend.
func (e *Engine) Gate(backend string) *capacity.Gate { return e.gates[backend] }

// Snapshot returns the definitions that the engine runs on.
func (e *Engine) Snapshot() *prompts.Snapshot { return e.snapshot }

// Close drops idle connections. Runs under way are not touched.
func (e *Engine) Close() { e.http.CloseIdle() }

// Run prepares and executes one run. It makes at most (R+1)(P+1) provider calls. It returns a result when the last
// candidate could be judged, whether valid or not, and an error otherwise, never both.
func (e *Engine) Run(ctx context.Context, r RunRequest) (*RunResult, error) {
	p, err := e.Prepare(ctx, r)
	if err != nil {
		e.observeRefusal(ctx, r, err)
		return nil, err
	}
	p.direct = true
	return e.RunPrepared(ctx, p)
}

// observeRefusal closes the execution of a request that could not be prepared: only what it named is known.
func (e *Engine) observeRefusal(ctx context.Context, r RunRequest, err error) {
	if r.Observer == nil {
		return
	}
	status, category := schemas.StatusFailed, schemas.CategoryInvalidRequest
	if ctx.Err() != nil && !errors.Is(err, ErrInvalidRequest) {
		status, category = statusOf(ctx.Err()), ""
	}
	pos := event.Position{At: time.Now(), RunID: r.ID}
	r.Observer.Observe(ctx, event.Started{Position: pos})
	r.Observer.Observe(ctx, event.Finished{Position: pos, Status: status, Category: category})
}

func statusOf(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return schemas.StatusExpired
	}
	return schemas.StatusCancelled
}

// Prepared is a rendered, checked run that has called nothing yet. It is single-use; credentials are resolved only when
// it runs.
type Prepared struct {
	engine   *Engine
	plan     *run.Plan
	observer event.Observer
	used     atomic.Bool
	direct   bool
}

// Plan returns what will be sent, to whom, and the most calls it can take (MaxCalls). It must not be changed.
func (p *Prepared) Plan() *run.Plan { return p.plan }

// Prepare renders and checks a run without calling anything. Its error matches ErrInvalidRequest and names every fault.
func (e *Engine) Prepare(ctx context.Context, r RunRequest) (*Prepared, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	wire, err := r.wire()
	if err != nil {
		return nil, err
	}
	plan, err := e.snapshot.Plan(wire, prompts.Origin{ID: r.ID, Library: true})
	if err != nil {
		return nil, &categorised{kind: ErrInvalidRequest, message: err.Error(), cause: err}
	}
	e.applyRetries(plan, r.TransientRetries)
	return &Prepared{engine: e, plan: plan, observer: r.Observer}, nil
}

// applyRetries: a request's number wins over the engine's, which wins over the snapshot's; an injected client has none.
func (e *Engine) applyRetries(plan *run.Plan, requested *int) {
	switch {
	case e.injected != nil:
		plan.TransientRetries = 0
	case requested == nil && e.retries != nil:
		plan.TransientRetries = *e.retries
	}
}

// RunPrepared executes a prepared run once; a second call gives ErrPreparedUsed.
func (e *Engine) RunPrepared(ctx context.Context, p *Prepared) (*RunResult, error) {
	if p == nil || p.engine != e {
		return nil, fmt.Errorf("%w: the prepared execution belongs to another engine", ErrInvalidRequest)
	}
	if p.used.Swap(true) {
		return nil, ErrPreparedUsed
	}
	began := time.Now()
	res, err := e.Execute(ctx, Execution{Plan: p.plan, State: p.plan.Start(), Observer: p.observer, Prepared: !p.direct})
	if err != nil {
		return nil, err
	}
	if err := asError(p.plan.Backend, res); err != nil {
		return nil, err
	}
	return runResult(p.plan, res, time.Since(began)), nil
}
