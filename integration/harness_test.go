package integration

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"emend/consumer"
	"emend/engine"
	"emend/internal/devnats"
	"emend/internal/leak"
	"emend/prompts"
	"emend/subjects"
)

// patience bounds every wait of these tests: far longer than any takes on a machine that does ten other things.
const patience = 90 * time.Second

// TestMain fails when a goroutine of Emend survives the tests, and removes the program that they built.
func TestMain(m *testing.M) {
	os.Exit(leak.Main(m, func() {
		if programDir != "" {
			_ = os.RemoveAll(programDir)
		}
	}))
}

// site is one NATS server with definitions, a mock backend, and a requester's connection.
type site struct {
	// engine are further options of the engines of workers to come.
	engine []engine.Option
	*testing.T
	server *devnats.Server
	mock   *mock
	dir    string
	names  subjects.Names
	nc     *nats.Conn
	js     jetstream.JetStream
	log    *logs
	// workers are those started so far.
	workers []*worker
}

// files are the definitions besides emend.yaml.
var files = map[string]string{
	"prompts/say@1.yaml":       "profile: fast\ninputs: {text: {max: 4MiB}}\nmessages: [{user: '{{ .text }}'}]\n",
	"prompts/rate@1.yaml":      "profile: fast\ninputs: {text: {}}\nmessages: [{system: Rate it.}, {user: '{{ .text }}'}]\noutput: {mode: json_schema, schema: rate.schema.json, repair_attempts: 1}\n",
	"prompts/rate.schema.json": `{"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"], "additionalProperties": false}`,
	"prompts/away@1.yaml":      "profile: elsewhere\nmessages: [{user: hello}]\n",
	"prompts/any-json@1.yaml":  "profile: fast\ninputs: {text: {}}\nmessages: [{user: '{{ .text }}'}]\noutput: {mode: json}\n",
}

// base is emend.yaml; %s is the mock's URL. A test replaces parts of it.
const base = `
backends:
  mock: {dialect: openai, url: %[1]s, permits: 16, admitted: 32, call_timeout: 60s}
  other: {dialect: openai, url: %[1]s, permits: 4, call_timeout: 60s}
queues:
  default: {weight: 4, in_flight: 64}
  team-a: {in_flight: 8, allow: [settings]}
profiles:
  fast: {backend: mock, model: small}
  slow: {backend: mock, model: large}
  elsewhere: {backend: other, model: small}
transient_retries: 0
drain_timeout: 20s
catalog_grace: 1s
log: {level: debug}
`

// newSite starts a server and writes the definitions; pairs of old and new replace parts of emend.yaml.
func newSite(t *testing.T, o devnats.Options, replace ...string) *site {
	t.Helper()
	return newSiteAs(t, o, nil, replace...)
}

// newSiteAs is newSite for a server that wants credentials; the site's own connection has those of as.
func newSiteAs(t *testing.T, o devnats.Options, as []nats.Option, replace ...string) *site {
	t.Helper()
	o.StoreDir = t.TempDir()
	server, err := devnats.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	s := &site{T: t, server: server, mock: newMock(t), dir: t.TempDir(), log: &logs{}}
	s.names, err = subjects.New(subjects.DefaultSpace)
	s.must(err)
	s.write("emend.yaml", strings.NewReplacer(replace...).Replace(fmt.Sprintf(base, s.mock.http.URL+"/v1")))
	for name, text := range files {
		s.write(name, text)
	}
	s.nc, s.js = s.connect(as...)
	return s
}

// start is a site with one worker.
func start(t *testing.T, replace ...string) *site {
	t.Helper()
	s := newSite(t, devnats.Options{}, replace...)
	s.worker()
	return s
}

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *site) write(name, text string) {
	s.Helper()
	path := filepath.Join(s.dir, name)
	s.must(os.MkdirAll(filepath.Dir(path), 0o755))
	s.must(os.WriteFile(path, []byte(text), 0o644))
}

func (s *site) connect(opts ...nats.Option) (*nats.Conn, jetstream.JetStream) {
	s.Helper()
	nc, err := s.server.Connect(opts...)
	s.must(err)
	s.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	s.must(err)
	return nc, js
}

// worker is a running worker.
type worker struct {
	s      *site
	nc     *nats.Conn
	engine *engine.Engine
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

// worker starts a worker on a connection of its own and waits until it pulls. It is stopped with the test.
func (s *site) worker(change ...func(*consumer.Options)) *worker {
	s.Helper()
	nc, _ := s.connect()
	return s.workerOn(nc, change...)
}

func (s *site) workerOn(nc *nats.Conn, change ...func(*consumer.Options)) *worker {
	s.Helper()
	snap, err := prompts.LoadDir(s.dir)
	s.must(err)
	e, err := engine.New(snap, append([]engine.Option{engine.WithTrouble()}, s.engine...)...)
	s.must(err)
	ready := make(chan struct{})
	o := consumer.Options{Log: zerolog.New(s.log), Ready: func() { close(ready) }}
	for _, f := range change {
		f(&o)
	}
	cw, err := consumer.NewWorker(nc, e, o)
	s.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	w := &worker{s: s, nc: nc, engine: e, cancel: cancel, done: make(chan struct{})}
	s.workers = append(s.workers, w)
	go func() { defer close(w.done); w.err = cw.Run(ctx) }()
	s.Cleanup(func() { s.mock.release(); w.stop(); e.Close() })
	select {
	case <-ready:
	case <-w.done:
		s.Fatal(w.err)
	case <-time.After(patience):
		s.Fatal("the worker is not ready")
	}
	return w
}

// stop drains the worker and waits for its end.
func (w *worker) stop() {
	w.s.Helper()
	w.cancel()
	select {
	case <-w.done:
	case <-time.After(patience):
		w.s.Fatal("the worker does not end")
	}
	if w.err != nil {
		w.s.Errorf("the worker ended with %v", w.err)
	}
}

// logs keeps what workers log.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends.
func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// String is all that was logged.
func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
