package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"

	"emend/capacity"
	"emend/consumer"
	"emend/internal/telemetry"
	"emend/internal/web"
	"emend/prompts"
)

// watcher serves a worker's health, its metrics and the page over HTTP. Without a token it shows no content and changes
// nothing, but asks nobody who they are: bind it to where only your people, probes and scrapers are.
type watcher struct {
	listener net.Listener
	registry *prometheus.Registry
	metrics  *telemetry.Metrics
	worker   atomic.Pointer[consumer.Worker]
	page     atomic.Pointer[web.Page]
	client   atomic.Pointer[consumer.Client]
	server   *http.Server
}

// newWatcher listens, if nothing does yet; nil without an address.
func newWatcher(ctx context.Context, o serveOptions) (*watcher, error) {
	l := o.listener
	if l == nil {
		if o.http == "" {
			return nil, nil
		}
		var err error
		if l, err = listen(ctx, "--http", o.http); err != nil {
			return nil, err
		}
	}
	w := &watcher{listener: l, registry: prometheus.NewRegistry()}
	w.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	w.metrics = telemetry.NewMetrics(w.registry)
	telemetry.NewGates(w.registry, w.gates)
	telemetry.NewBacklogs(w.registry, w.backlog)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, _ *http.Request) { say(rw, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", w.ready)
	mux.Handle("GET /metrics", promhttp.HandlerFor(w.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/", w.show)
	w.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	return w, nil
}

func (w *watcher) gates() map[string]capacity.Stats {
	if worker := w.worker.Load(); worker != nil {
		return worker.Gates()
	}
	return nil
}

// show is the page, from the moment at which the worker is connected.
func (w *watcher) show(rw http.ResponseWriter, r *http.Request) {
	if page := w.page.Load(); page != nil {
		page.ServeHTTP(rw, r)
		return
	}
	say(rw, http.StatusServiceUnavailable, "the worker is starting")
}

// showing serves the page of a space until stop is called.
func (w *watcher) showing(nc *nats.Conn, cfg prompts.NATS, f *pageFlags) (stop func(), err error) {
	if w == nil {
		return func() {}, nil
	}
	client, err := consumer.NewClient(nc, cfg.Space, cfg.Domain)
	if err != nil {
		return nil, err
	}
	page, end := f.page(client, cfg.Space)
	w.page.Store(page)
	w.client.Store(client)
	return func() { w.page.Store(nil); w.client.Store(nil); end() }, nil
}

// scrapeWithin bounds what a scrape asks of NATS.
const scrapeWithin = 3 * time.Second

// backlog asks the streams at a scrape.
func (w *watcher) backlog() (*telemetry.Backlog, error) {
	client := w.client.Load()
	if client == nil {
		return nil, errors.New("the worker is starting")
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeWithin)
	defer cancel()
	s, err := client.Backlog(ctx)
	if err != nil {
		return nil, err
	}
	out := &telemetry.Backlog{Dead: s.Dead, Reviews: s.Reviews}
	for _, q := range s.Queues {
		out.Queues = append(out.Queues, telemetry.Queue{Backend: q.Backend, Queue: q.Queue, Queued: q.Queued, InFlight: q.InFlight, Redelivered: q.Redelivered, Oldest: q.Oldest})
	}
	return out, nil
}

// ready is 200 while the worker serves: it pulls, NATS is reachable, results can be stored, and it does not drain.
func (w *watcher) ready(rw http.ResponseWriter, _ *http.Request) {
	worker := w.worker.Load()
	if worker == nil {
		say(rw, http.StatusServiceUnavailable, "the worker is starting")
		return
	}
	if err := worker.Fit(); err != nil {
		say(rw, http.StatusServiceUnavailable, err.Error())
		return
	}
	say(rw, http.StatusOK, "ok")
}

func say(rw http.ResponseWriter, status int, text string) {
	rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
	rw.WriteHeader(status)
	_, _ = fmt.Fprintln(rw, text)
}

// serve answers until stop is called.
func (w *watcher) serve(log zerolog.Logger) (stop func()) {
	if w == nil {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := w.server.Serve(w.listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error().Err(err).Msg("page, health and metrics are no longer served")
		}
	}()
	log.Info().Str("address", w.listener.Addr().String()).Msg("page, health and metrics")
	return func() { _ = w.server.Close(); <-done }
}

// counts are the worker's metrics; nil without an address.
func (w *watcher) counts() *telemetry.Metrics {
	if w == nil {
		return nil
	}
	return w.metrics
}

// of says whose health is told, from the moment at which it pulls.
func (w *watcher) of(worker *consumer.Worker) {
	if w != nil {
		w.worker.Store(worker)
	}
}

// providers names the backends' providers in the metrics as the GenAI conventions do.
func (w *watcher) providers(snap *prompts.Snapshot) {
	if w == nil {
		return
	}
	names := map[string]string{}
	for _, b := range snap.Backends() {
		names[b.Name] = telemetry.ProviderName(b.Dialect)
	}
	w.metrics.Providers(func(backend string) string { return cmp.Or(names[backend], backend) })
}
