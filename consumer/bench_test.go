package consumer

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/engine/run"
	"emend/internal/devnats"
	"emend/schemas"
	"emend/subjects"
)

// stand is what the benchmarks run on: a server with a socket, a connection to it, and the streams.
type stand struct {
	*testing.B
	nc     *nats.Conn
	js     jetstream.JetStream
	names  subjects.Names
	ledger *Ledger
}

func newStand(b *testing.B) *stand {
	b.Helper()
	s := &stand{B: b}
	server, err := devnats.Start(devnats.Options{StoreDir: b.TempDir()})
	s.must(err)
	b.Cleanup(server.Stop)
	s.nc, err = nats.Connect(server.URL())
	s.must(err)
	b.Cleanup(s.nc.Close)
	s.js, err = jetstream.New(s.nc)
	s.must(err)
	s.names, err = subjects.New(subjects.DefaultSpace)
	s.must(err)
	cfg := config()
	cfg.Keep.RunsMax = 1 << 30
	q := cfg.Queues["default"]
	q.InFlight = 2000
	cfg.Queues["default"] = q
	t := NewTopology(s.names, cfg, 0)
	changes, err := t.Plan(context.Background(), s.js)
	s.must(err)
	s.must(t.Apply(context.Background(), changes))
	s.ledger, err = NewLedger(context.Background(), s.js, s.names)
	s.must(err)
	return s
}

func (s *stand) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// BenchmarkFind is what it costs to make sure that a run has no result: asked one after the other, and by 64 runs at once.
func BenchmarkFind(b *testing.B) {
	s := newStand(b)
	find := func(k Key) {
		if w, _, err := s.ledger.Find(context.Background(), k, 1, 1, s.ledger.seek(k)); err != nil || w.Result != nil {
			b.Errorf("%+v, %v", w, err)
		}
	}
	b.Run("one", func(b *testing.B) {
		for i := range b.N {
			find(Key{"default", fmt.Sprint("r", i)})
		}
	})
	b.Run("64", func(b *testing.B) {
		b.SetParallelism(32) // times two cores
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				find(Key{"default", fmt.Sprint("p", i)})
			}
		})
	})
}

// BenchmarkSave is one checkpoint between two generations, of an answer of 4 KB.
func BenchmarkSave(b *testing.B) {
	s := newStand(b)
	state := &run.State{V: run.StateVersion, Phase: run.Judging, Candidate: &run.Candidate{Text: strings.Repeat("x", 4<<10)}, Counts: schemas.Counts{Calls: 1}}
	for i := range b.N {
		s.must(s.ledger.save(context.Background(), Key{"default", fmt.Sprint("r", i)}, &saved{V: savedVersion, Seq: uint64(i), By: "w/1", State: state}))
	}
}

// BenchmarkHeartbeats is one beat of a worker with 1,000 runs in flight: all are sent, and all are answered.
func BenchmarkHeartbeats(b *testing.B) {
	const runs = 1000
	s := newStand(b)
	l := newLeases(s.nc, s.nc.NewInbox(), time.Hour)
	answered := make(chan struct{}, runs)
	_, err := s.nc.Subscribe(l.inbox+".>", func(m *nats.Msg) { l.confirmed(m); answered <- struct{}{} })
	s.must(err)
	for i := range runs {
		_, err := s.js.Publish(context.Background(), s.names.Run("mock", "default", fmt.Sprint("r", i)), []byte("{}"))
		s.must(err)
	}
	c, err := s.js.Consumer(context.Background(), s.names.RunsStream(), s.names.Durable("mock", "default"))
	s.must(err)
	batch, err := c.Fetch(runs)
	s.must(err)
	for m := range batch.Messages() {
		d, err := parseDelivery(s.nc, &nats.Msg{Subject: m.Subject(), Reply: m.Reply()})
		s.must(err)
		l.add(d, time.Now())
	}
	s.must(batch.Error())
	if len(l.held) != runs {
		b.Fatalf("%d runs in hand", len(l.held))
	}
	b.ResetTimer()
	for range b.N {
		l.beat(time.Now())
		for range runs {
			<-answered
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*runs), "µs/heartbeat")
}
