package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"emend/consumer"
	"emend/engine"
	"emend/internal/devnats"
	"emend/prompts"
)

type serveOptions struct {
	// again has a worker read its definitions again; nil for one that follows catalogs.
	again                         func(*consumer.Worker) error
	dir, config, store, level, id string
	embedded, checkStreams, text  bool
	// catalog takes the definitions from the space's catalogs in place of a folder.
	catalog bool
	// http is where the page, health and metrics are served; "" for nowhere.
	http string
	// listener is what http would be, opened before; nil for none.
	listener net.Listener
	page     pageFlags
	watch    *watcher
	port     int
}

// serve runs a worker until it is told to stop.
func (a *app) serve() *cobra.Command {
	var f natsFlags
	var o serveOptions
	manage := true
	c := &cobra.Command{Use: "serve", Short: "Run a worker", Args: atMost(0),
		Long: "Runs a worker: it makes or checks the streams, pulls runs, and serves ask, submit, get and cancel.\n" +
			"SIGHUP reloads the definitions; a bad set is refused and the old stays. SIGTERM drains: nothing is lost.",
		RunE: func(c *cobra.Command, _ []string) error {
			o.checkStreams = !manage
			if err := o.page.load(); err != nil {
				return err
			}
			return a.work(c.Context(), f, o, nil)
		}}
	f.register(c)
	c.Flags().StringVar(&o.dir, "dir", ".", "the `FOLDER` with emend.yaml and prompts/")
	c.Flags().StringVar(&o.config, "config", "", "an emend.yaml `FILE`; its folder is the working folder")
	c.Flags().StringVar(&o.http, "http", "", "serve the page, /healthz, /readyz and /metrics on this `ADDRESS`, such as 127.0.0.1:9090")
	o.page.register(c, "http-")
	c.Flags().BoolVar(&o.catalog, "catalog", false, "follow the catalogs that emend apply stores, in place of a folder")
	c.Flags().BoolVar(&o.embedded, "embedded", false, "start a nats-server inside this process")
	c.Flags().StringVar(&o.store, "store", "", "where the embedded server keeps its streams (default: a temporary folder)")
	c.Flags().IntVar(&o.port, "port", 4222, "the embedded server's port on 127.0.0.1")
	c.Flags().BoolVar(&manage, "manage-streams", true, "make missing streams and durables; false only checks")
	c.Flags().StringVar(&o.level, "log-level", "", "debug, info, warn or error")
	c.Flags().StringVar(&o.id, "worker-id", "", "the worker's name in results and events")
	return c
}

// work is one worker's life. ready is called with the server's address when it pulls; nil for nothing.
func (a *app) work(ctx context.Context, f natsFlags, o serveOptions, ready func(url string, w *consumer.Worker)) error {
	if o.catalog {
		return a.workOnCatalogs(ctx, f, o, ready)
	}
	dir, err := folder(o)
	if err != nil {
		return err
	}
	snap, err := prompts.LoadDir(dir, f.option())
	if err != nil {
		return err
	}
	log, err := a.logger(o.log(snap.Config().Log), o.level)
	if err != nil {
		return err
	}
	if o.watch, err = newWatcher(ctx, o); err != nil {
		return err
	}
	defer o.watch.serve(log)()
	warnOfKeys(ctx, snap, log)
	nc, at, stop, err := a.link(ctx, snap.Config().NATS, o, log)
	if err != nil {
		return err
	}
	defer stop()
	o.again = func(w *consumer.Worker) error {
		return reload(w, log, 0, func() (*prompts.Snapshot, error) { return prompts.LoadDir(dir, f.option()) })
	}
	return a.serveOn(ctx, o, snap, log, nc, func(w *consumer.Worker) (stop func()) {
		return onHangup(func() { _ = o.again(w) })
	}, func(w *consumer.Worker) {
		if ready != nil {
			ready(at, w)
		}
	})
}

// serveOn runs a worker over a snapshot until ctx is done. follow starts what replaces its definitions.
func (a *app) serveOn(ctx context.Context, o serveOptions, snap *prompts.Snapshot, log zerolog.Logger, nc *nats.Conn,
	follow func(*consumer.Worker) (stop func()), ready func(*consumer.Worker)) error {
	thrifty()
	eng, err := engine.New(snap, engine.WithTrouble())
	if err != nil {
		return err
	}
	defer eng.Close()
	traces, sent, err := tracing(snap, log)
	if err != nil {
		return err
	}
	defer sent()
	o.watch.providers(snap)
	hidePage, err := o.watch.showing(nc, snap.Config().NATS, &o.page)
	if err != nil {
		return err
	}
	defer hidePage()
	var w *consumer.Worker
	w, err = consumer.NewWorker(nc, eng, consumer.Options{Traces: traces, Reload: o.reloader(&w), ID: o.id, Version: semver(), Log: log, CheckStreams: o.checkStreams, Metrics: o.watch.counts(), Ready: func() {
		log.Info().Str("worker", w.ID()).Str("space", snap.Config().NATS.Space).Int("prompts", len(snap.Prompts())).Msg("serving")
		o.watch.of(w)
		ready(w)
	}})
	if err != nil {
		return err
	}
	defer follow(w)()
	return failed(w.Run(ctx))
}

// reloader is what a worker does when NATS asks for a reload; nil for one that follows catalogs. The worker is there by then.
func (o serveOptions) reloader(w **consumer.Worker) func() error {
	if o.again == nil {
		return nil
	}
	return func() error { return o.again(*w) }
}

// onHangup calls do for every SIGHUP until it is stopped.
func onHangup(do func()) (stop func()) {
	hup, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hup, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-hup:
				do()
			case <-done:
				return
			}
		}
	}()
	return func() { signal.Stop(hup); close(done) }
}

// warnOfKeys says at once which credentials cannot be read: the worker starts all the same, since one may come later.
func warnOfKeys(ctx context.Context, snap *prompts.Snapshot, log zerolog.Logger) {
	for _, b := range snap.Backends() {
		if b.Key.IsZero() {
			continue
		}
		if _, err := b.Key.Resolve(ctx); err != nil {
			log.Warn().Str("backend", b.Name).Err(err).Msg("the backend has no key; its runs will wait")
		}
	}
}

// log is how the worker logs: for people under dev, else as configured.
func (o serveOptions) log(cfg prompts.Log) prompts.Log {
	if o.text {
		cfg.Format = "text"
	}
	return cfg
}

// link connects, to the embedded server if asked for.
func (a *app) link(ctx context.Context, cfg prompts.NATS, o serveOptions, log zerolog.Logger) (*nats.Conn, string, func(), error) {
	if !o.embedded {
		nc, err := await(ctx, cfg, log)
		if err != nil {
			return nil, "", nil, err
		}
		if old := consumer.OldServer(nc); old != "" {
			log.Warn().Msg(old)
		}
		return nc, safeURL(nc.ConnectedUrl()), nc.Close, nil
	}
	srv, err := devnats.Start(devnats.Options{StoreDir: o.store, Port: o.port})
	if err != nil {
		return nil, "", nil, failed(err)
	}
	nc, err := srv.Connect(nats.Name("emend worker"))
	if err != nil {
		srv.Stop()
		return nil, "", nil, failed(err)
	}
	log.Info().Str("url", srv.URL()).Msg("embedded nats-server")
	return nc, srv.URL(), func() { nc.Close(); srv.Stop() }, nil
}

// Bounds of the pause between two tries to reach NATS.
const (
	reachMin = 250 * time.Millisecond
	reachMax = 5 * time.Second
)

// await connects, waiting for a server that is not there yet. What waiting cannot help, such as refused credentials, is an
// error at once.
func await(ctx context.Context, cfg prompts.NATS, log zerolog.Logger) (*nats.Conn, error) {
	for wait, said := reachMin, false; ; wait = min(2*wait, reachMax) {
		nc, err := connect(cfg, "worker", false, comingAndGoing(
			func(err error) {
				log.Warn().Err(err).Msg("the connection to NATS is lost; trying until it is there again")
			},
			func(url string) { log.Info().Str("url", url).Msg("connected to NATS again") })...)
		if err == nil || ctx.Err() != nil || !away(err) {
			return nc, err
		}
		if !said {
			log.Warn().Err(err).Msg("NATS is not reachable; trying until it is")
			said = true
		}
		pause(ctx, wait)
	}
}

// away reports whether a server is not there, in contrast to one that says no.
func away(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, syscall.ECONNREFUSED)
}

// folder is the working folder: --dir, or that of --config.
func folder(o serveOptions) (string, error) {
	if o.config == "" {
		return o.dir, nil
	}
	base := "."
	name := o.config
	if i := strings.LastIndexByte(o.config, '/'); i >= 0 {
		base, name = o.config[:i], o.config[i+1:]
	}
	if name != "emend.yaml" {
		return "", errors.New("--config: the file must be named emend.yaml; prompts/ stands beside it")
	}
	return base, nil
}

// option lets flags and environment replace what emend.yaml says of NATS.
func (f *natsFlags) option() prompts.Option {
	return func(c *prompts.Config) { c.NATS = f.over(c.NATS) }
}

func (a *app) logger(cfg prompts.Log, level string) (zerolog.Logger, error) {
	if level == "" {
		level = cfg.Level
	}
	if level == "" {
		level = "info"
	}
	l, err := zerolog.ParseLevel(level)
	if err != nil {
		return zerolog.Nop(), fmt.Errorf("log level %q: write debug, info, warn or error", level)
	}
	out := a.err
	if cfg.Format == "text" || (cfg.Format != "json" && a.tty) {
		out = zerolog.ConsoleWriter{Out: a.err, NoColor: !a.tty, TimeFormat: "15:04:05.000"}
	}
	return zerolog.New(out).Level(l).Hook(zerolog.HookFunc(stamped)), nil
}

// stamped gives a log line its time with milliseconds; zerolog's own has none unless all of the process has.
func stamped(e *zerolog.Event, _ zerolog.Level, _ string) {
	e.Str(zerolog.TimestampFieldName, time.Now().Format("2006-01-02T15:04:05.000Z07:00"))
}

var semantic = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// semver is the version in the form that the service registry insists on; a build from a bare commit has none.
func semver() string {
	if v := strings.TrimPrefix(version, "v"); semantic.MatchString(v) {
		return v
	}
	return "0.0.0"
}

// safeURL is a URL without its credentials.
func safeURL(s string) string {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if !strings.Contains(part, "://") {
			part = "nats://" + part
		}
		u, err := url.Parse(part)
		if err != nil || u.Host == "" {
			out = append(out, "(unreadable URL)")
			continue
		}
		u.User, u.RawQuery = nil, ""
		out = append(out, u.String())
	}
	return strings.Join(out, ",")
}
