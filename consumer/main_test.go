package consumer

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/internal/devnats"
	"emend/internal/leak"
	"emend/prompts"
	"emend/subjects"
)

// TestMain fails when a goroutine of Emend survives the tests.
func TestMain(m *testing.M) { os.Exit(leak.Main(m, func() {})) }

// place is an embedded server that no socket leads to, with a connection; it works inside a synctest bubble.
type place struct {
	*testing.T
	server *devnats.Server
	nc     *nats.Conn
	js     jetstream.JetStream
	names  subjects.Names
}

func newPlace(t *testing.T, configure ...func(*server.Options)) *place {
	t.Helper()
	o := devnats.Options{NoListen: true, StoreDir: t.TempDir()}
	if len(configure) > 0 {
		o.Configure = configure[0]
	}
	s, err := devnats.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	p := &place{T: t, server: s}
	p.nc, p.js = p.connect()
	p.names, err = subjects.New(subjects.DefaultSpace)
	p.must(err)
	return p
}

func (p *place) connect(opts ...nats.Option) (*nats.Conn, jetstream.JetStream) {
	p.Helper()
	nc, err := p.server.Connect(opts...)
	p.must(err)
	p.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	p.must(err)
	return nc, js
}

func (p *place) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// config is a configuration of one backend and two queues.
func config() prompts.Config {
	return prompts.Config{NATS: prompts.NATS{Space: subjects.DefaultSpace, Replicas: 1, Inboxes: []string{"_INBOX.>"}},
		Keep: prompts.Keep{Results: prompts.Duration(168 * time.Hour), Events: prompts.Duration(6 * time.Hour), EventsMax: 1 << 20,
			RunsMax: 1 << 20, Dead: prompts.Duration(720 * time.Hour)},
		Backends: map[string]prompts.Backend{"mock": {Name: "mock"}},
		Queues:   map[string]prompts.Queue{"default": {Weight: 4, InFlight: 64}, "team-a": {Weight: 1, InFlight: 8}}}
}

// set applies the topology of a configuration and returns it.
func (p *place) set(cfg prompts.Config, ackWait time.Duration) Topology {
	p.Helper()
	t := NewTopology(p.names, cfg, ackWait)
	changes, err := t.Plan(p.Context(), p.js)
	p.must(err)
	p.must(t.Apply(p.Context(), changes))
	return t
}

func (p *place) ledger() *Ledger {
	p.Helper()
	l, err := NewLedger(context.Background(), p.js, p.names)
	p.must(err)
	return l
}

// receive takes the next value of a channel, or fails.
func receive[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("%s: nothing came", what)
	}
	panic("unreachable")
}

// message is a message without a body, with one header.
func message(subject, name, value string) *nats.Msg {
	return &nats.Msg{Subject: subject, Header: nats.Header{name: {value}}}
}

// eventually looks until what holds, for what no signal tells.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick, end := time.NewTicker(2*time.Millisecond), time.After(20*time.Second)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s: not within 20 s", what)
		}
	}
}
