package consumer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"emend/subjects"
)

func TestParseDelivery(t *testing.T) {
	const nums = "2.18233.9.1700000000000000123.4"
	want := delivery{count: 2, seq: 18233, pending: 4, published: time.Unix(1700000000, 123)}
	for _, c := range []struct{ reply, err string }{
		{"$JS.ACK.EMEND_RUNS.mock__default." + nums, ""},
		{"$JS.ACK._.ACCHASH.EMEND_RUNS.mock__default." + nums, ""},
		{"$JS.ACK._.ACCHASH.EMEND_RUNS.mock__default." + nums + ".token", ""},
		{"$JS.ACK.hub.ACCHASH.EMEND_RUNS.mock__default." + nums + ".token.more", ""},
		{"", "no ack subject"},
		{"_INBOX.abc", "no ack subject"},
		{"_INBOX.a.b.c.d.e.f.g.h.i.j", "no ack subject"},
		{"$JS.API.EMEND_RUNS.mock__default." + nums, "no ack subject"},
		{"$JS.ACK.EMEND_RUNS.mock__default.2.18233.9.1700000000000000123", "no ack subject"},
		{"$JS.ACK.ACCHASH.EMEND_RUNS.mock__default." + nums, "has 10 tokens"},
		{"$JS.ACK.EMEND_RUNS.mock__default.two.18233.9.1700000000000000123.4", "token 6 is no number"},
		{"$JS.ACK.EMEND_RUNS.mock__default.2.18233.9.-1.4", "token 9 is no number"},
		{"$JS.ACK._.ACCHASH.EMEND_RUNS.mock__default.2.18233.9.1700000000000000123..tok", "token 10 is no number"},
	} {
		d, err := parseDelivery(nil, &nats.Msg{Subject: "emend.run.mock.default.x", Reply: c.reply})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: error %v, want %q", c.reply, err, c.err)
			}
			continue
		}
		if err != nil || d.count != want.count || d.seq != want.seq || d.pending != want.pending || !d.published.Equal(want.published) {
			t.Errorf("%q: %+v, %v", c.reply, d, err)
		}
	}
}

// pulling is a place with the topology and one pulls over its durables.
func pulling(t *testing.T, ackWait time.Duration) (*place, *pulls, chan *nats.Msg) {
	t.Helper()
	p := newPlace(t)
	p.set(config(), ackWait)
	ps, in := p.pulls()
	return p, ps, in
}

// pulls asks the durables of config, and where the answers come.
func (p *place) pulls() (*pulls, chan *nats.Msg) {
	p.Helper()
	ps := &pulls{nc: p.nc, inbox: nats.NewInbox(), open: map[string]*pull{}, prefix: p.names.API("") + "CONSUMER.MSG.NEXT." + p.names.RunsStream() + "."}
	for _, name := range config().QueueNames() {
		ps.queues = append(ps.queues, &queue{name: name, durable: p.names.Durable("mock", name), weight: 1})
	}
	in := make(chan *nats.Msg, 64)
	_, err := p.nc.ChanSubscribe(ps.inbox+".*", in)
	p.must(err)
	return ps, in
}

// put publishes a request and returns its sequence and when it was stored.
func (p *place) put(queue, id, body string, header nats.Header) (uint64, time.Time) {
	p.Helper()
	ack, err := p.js.PublishMsg(p.Context(), &nats.Msg{Subject: p.names.Run("mock", queue, id), Data: []byte(body), Header: header})
	p.must(err)
	s, err := p.js.Stream(p.Context(), p.names.RunsStream())
	p.must(err)
	m, err := s.GetMsg(p.Context(), ack.Sequence)
	p.must(err)
	return ack.Sequence, m.Time
}

// next takes in messages until a run's comes.
func next(t *testing.T, ps *pulls, in chan *nats.Msg) (*queue, *delivery) {
	t.Helper()
	for {
		m := receive(t, "a delivery", in)
		if q, gone := ps.received(m); q != nil {
			d, err := parseDelivery(ps.nc, m)
			if err != nil {
				t.Fatal(err)
			}
			return q, d
		} else if gone {
			t.Fatal("the durable is gone")
		}
	}
}

// waits opens a pull of one that waits at the queue of that name.
func (ps *pulls) waits(t *testing.T, name string) {
	t.Helper()
	for _, q := range ps.queues {
		if q.name == name {
			if err := ps.send(q, pull{left: 1}, true, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestDeliveryOfARealServer: what the server says of a delivery, and what its verbs do.
func TestDeliveryOfARealServer(t *testing.T) {
	p, ps, in := pulling(t, time.Minute)
	seq, at := p.put("team-a", "one", `{"a": 1}`, nil)
	ps.waits(t, "team-a")
	q, d := next(t, ps, in)
	if q.name != "team-a" || d.seq != seq || d.count != 1 || !d.published.Equal(at) || d.pending != 0 || string(d.msg.Data) != `{"a": 1}` {
		t.Errorf("queue %s, %+v, published %v", q.name, d, at)
	}
	p.must(d.nak(0))
	ps.waits(t, "team-a")
	if _, d = next(t, ps, in); d.seq != seq || d.count != 2 {
		t.Errorf("after a nak: %+v", d)
	}
	began := time.Now()
	p.must(d.nak(150 * time.Millisecond))
	ps.waits(t, "team-a")
	if _, d = next(t, ps, in); d.count != 3 || time.Since(began) < 140*time.Millisecond {
		t.Errorf("after a delayed nak: %+v after %v", d, time.Since(began))
	}
	p.must(d.term("invalid_request"))
	p.gone(seq)
	seq, _ = p.put("team-a", "two", "{}", nil)
	ps.waits(t, "team-a")
	_, d = next(t, ps, in)
	p.must(d.ack())
	p.gone(seq)
	if ps.reserved() != 0 {
		t.Errorf("%d places are still reserved", ps.reserved())
	}
}

// gone waits until a request is not in the work queue any more.
func (p *place) gone(seq uint64) {
	p.Helper()
	p.must(p.nc.Flush())
	s, err := p.js.Stream(p.Context(), p.names.RunsStream())
	p.must(err)
	eventually(p.T, fmt.Sprintf("request %d leaves the queue", seq), func() bool {
		_, err := s.GetMsg(p.Context(), seq)
		return err != nil
	})
}

// TestStatusesOfARealServer: empty durables, a durable that is deleted, and a request that pretends to be a status.
func TestStatusesOfARealServer(t *testing.T) {
	p, ps, in := pulling(t, time.Minute)
	ps.ask(2, time.Now())
	for range ps.queues {
		if q, gone := ps.received(receive(t, "404", in)); q != nil || gone {
			t.Errorf("an empty durable: queue %v, gone %v", q, gone)
		}
	}
	if ps.reserved() != 0 || !ps.queues[0].idle || !ps.queues[1].idle {
		t.Errorf("%d reserved", ps.reserved())
	}
	p.put("default", "status", "", nats.Header{"Status": {"503"}})
	ps.waits(t, "default")
	if q, d := next(t, ps, in); q.name != "default" || d.msg.Header.Get("Status") != "503" {
		t.Errorf("queue %s", q.name)
	}
	ps.waits(t, "team-a")
	eventually(t, "the server has the pull", func() bool {
		c, err := p.js.Consumer(p.Context(), p.names.RunsStream(), p.names.Durable("mock", "team-a"))
		return err == nil && c.CachedInfo().NumWaiting == 1
	})
	p.must(p.js.DeleteConsumer(p.Context(), p.names.RunsStream(), p.names.Durable("mock", "team-a")))
	if _, gone := ps.received(receive(t, "word of the deletion", in)); !gone {
		t.Error("the deletion is not told")
	}
	ps.waits(t, "team-a")
	if m := receive(t, "503", in); m.Header.Get("Status") != "503" {
		t.Errorf("%v", m.Header)
	} else if _, gone := ps.received(m); !gone || ps.reserved() != 0 {
		t.Error("a durable that is not there is not told")
	}
}

// TestDeadLetterHeaders: what the server and Emend steer by is never copied from a requester.
func TestDeadLetterHeaders(t *testing.T) {
	h := &handler{w: &Worker{id: "w-1"}, d: &delivery{seq: 7, published: now, msg: &nats.Msg{Subject: "emend.run.mock.default.x", Header: nats.Header{
		"Nats-Rollup": {"all"}, "nats-ttl": {"1s"}, subjects.HeaderStatus: {"succeeded"}, subjects.HeaderReplyTo: {"_INBOX.a"},
		subjects.HeaderTraceparent: {"00-1"}, "X-Mine": {"a", "b"}}}}}
	got := h.deadHeader("invalid_request", "two\r\nlines \x00 and "+strings.Repeat("ü", 2000))
	for name, want := range map[string]string{"Nats-Rollup": "", "nats-ttl": "", subjects.HeaderStatus: "", subjects.HeaderReplyTo: "_INBOX.a",
		subjects.HeaderTraceparent: "00-1", "X-Mine": "a", subjects.HeaderReason: "invalid_request", subjects.HeaderWorker: "w-1",
		subjects.HeaderSubject: "emend.run.mock.default.x", subjects.HeaderPublished: "2026-11-01T12:00:00Z", subjects.HeaderRequest: "7"} {
		if got.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.Get(name), want)
		}
	}
	if e := got.Get(subjects.HeaderError); len(e) > 1024 || strings.ContainsAny(e, "\r\n\x00") {
		t.Errorf("error header of %d bytes: %q", len(e), e[:60])
	}
}
