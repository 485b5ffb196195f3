package consumer

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"
)

func busy(name string, weight int) *queue {
	return &queue{name: name, durable: "b__" + name, weight: weight}
}

func total(shares map[*queue]int) (n int) {
	for _, s := range shares {
		n += s
	}
	return n
}

// TestShareFollowsWeights: over many rounds in which runs end in any order, places in use stay as the weights are.
func TestShareFollowsWeights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var queues []*queue
		weights := rapid.SliceOfN(rapid.IntRange(1, 8), 2, 5).Draw(t, "weights")
		sum := 0
		for i, w := range weights {
			queues, sum = append(queues, busy(fmt.Sprint(i), w)), sum+w
		}
		places := sum * rapid.IntRange(1, 6).Draw(t, "places")
		got, rounds := make([]int, len(queues)), 200
		for range rounds {
			in := 0
			for _, q := range queues {
				q.running -= rapid.IntRange(0, q.running).Draw(t, "ended")
				in += q.running
			}
			for q, n := range share(queues, places-in) {
				q.running += n
			}
			for i, q := range queues {
				got[i] += q.running
			}
		}
		for i, q := range queues {
			if want := places * q.weight / sum; q.running != want {
				t.Fatalf("queue %d of weight %d has %d of %d places, not %d (weights %v)", i, q.weight, q.running, places, want, weights)
			}
			if ideal := float64(places*weights[i]*rounds) / float64(sum); math.Abs(float64(got[i])-ideal) > float64(rounds) {
				t.Fatalf("queue %d: %d place-rounds, its weight gives %.0f", i, got[i], ideal)
			}
		}
	})
}

// TestShareOneAtATime: with one free place at a time nobody starves, and the counts follow the weights.
func TestShareOneAtATime(t *testing.T) {
	a, b := busy("a", 4), busy("b", 1)
	var order []*queue
	counts := map[*queue]int{}
	for range 500 {
		if len(order) == 5 {
			order[0].running--
			order = order[1:]
		}
		for q, n := range share([]*queue{a, b}, 1) {
			q.running += n
			counts[q] += n
			order = append(order, q)
		}
	}
	if counts[a] != 400 || counts[b] != 100 {
		t.Errorf("weights 4 and 1 got %d and %d of 500", counts[a], counts[b])
	}
}

func TestShareBounds(t *testing.T) {
	idle := busy("idle", 9)
	idle.idle = true
	for _, c := range []struct {
		name   string
		queues []*queue
		free   int
		want   int
	}{
		{"nothing free", []*queue{busy("a", 1), busy("b", 1)}, 0, 0},
		{"less than nothing", []*queue{busy("a", 1)}, -3, 0},
		{"all of it", []*queue{busy("a", 1), busy("b", 7)}, 13, 13},
		{"one queue takes all", []*queue{busy("a", 1)}, 13, 13},
		{"an only queue takes all though it was idle", []*queue{idle}, 5, 5},
		{"a busy one takes what the idle leave", []*queue{idle, busy("a", 1)}, 5, 5},
		{"all idle: nothing is shared", []*queue{idle, idle}, 5, 0},
		{"no queues", nil, 5, 0},
	} {
		got := share(c.queues, c.free)
		if total(got) != c.want || (len(c.queues) > 1 && got[idle] != 0) {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// asked are pulls over a connection that leads nowhere.
func asked(t *testing.T, queues ...*queue) *pulls {
	p := newPlace(t)
	return &pulls{nc: p.nc, prefix: "nowhere.", inbox: nats.NewInbox(), open: map[string]*pull{}, queues: queues}
}

func status(id, code, description string) *nats.Msg {
	return &nats.Msg{Subject: "_INBOX.x." + id, Header: nats.Header{"Status": {code}, "Description": {description}}}
}

// arrives is a run's message of a queue's durable.
func arrives(q *queue) *nats.Msg {
	return &nats.Msg{Subject: "emend.run.b." + q.name + ".id", Reply: "$JS.ACK.EMEND_RUNS." + q.durable + ".1.7.7.1700000000000000000.0", Data: []byte("{}")}
}

// TestIdleQueuesKeepOnePullEach: an idle queue is listened at by exactly one pull, which holds no place.
func TestIdleQueuesKeepOnePullEach(t *testing.T) {
	a, b := busy("a", 1), busy("b", 1)
	a.idle, b.idle = true, true
	p := asked(t, a, b)
	for range 5 {
		p.ask(3, now)
	}
	if a.wanted != 1 || b.wanted != 1 || p.reserved() != 0 || len(p.open) != 2 {
		t.Errorf("wanted %d and %d, %d reserved, %d pulls", a.wanted, b.wanted, p.reserved(), len(p.open))
	}
	if q, _ := p.received(arrives(a)); q != a || a.idle || a.wanted != 0 {
		t.Errorf("a run of a: %+v", a)
	}
	p.ask(3, now)
	if a.wanted != 3 || b.wanted != 1 || p.reserved() != 3 {
		t.Errorf("a is busy now: wanted %d and %d, %d reserved", a.wanted, b.wanted, p.reserved())
	}
}

// TestOnePullAQueue: what comes cannot be told apart, so a second pull waits until the first has ended, and then asks for
// all that became free meanwhile; the share of a queue that has one open is not given to another.
func TestOnePullAQueue(t *testing.T) {
	a, b := busy("a", 1), busy("b", 1)
	p := asked(t, a, b)
	p.ask(4, now)
	p.received(arrives(a))
	if p.ask(3, now); a.wanted != 1 || b.wanted != 2 || len(p.open) != 2 {
		t.Errorf("wanted %d and %d, %d pulls", a.wanted, b.wanted, len(p.open))
	}
	p.received(arrives(a))
	a.running = 0
	p.ask(6-p.reserved(), now)
	if a.wanted < 2 || b.wanted != 2 || len(p.open) != 2 {
		t.Errorf("after the first was full: wanted %d and %d, %d pulls", a.wanted, b.wanted, len(p.open))
	}
	for id, o := range p.open {
		if o.queue == a {
			p.received(status(id, "404", "No Messages"))
		}
	}
	if p.ask(4, now); a.wanted != 1 || !a.idle {
		t.Errorf("an empty queue is listened at by one pull: %+v", a)
	}
}

func TestStatus(t *testing.T) {
	for _, c := range []struct {
		code, description string
		ends, gone        bool
	}{
		{"100", "Idle Heartbeat", false, false},
		{"404", "No Messages", true, false},
		{"408", "Request Timeout", true, false},
		{"409", "Exceeded MaxWaiting", true, false},
		{"409", "Leadership Change", true, false},
		{"409", "Consumer Deleted", true, true},
		{"503", "", true, true},
	} {
		q := busy("a", 1)
		p := asked(t, q)
		p.ask(4, now)
		got, gone := p.received(status("1", c.code, c.description))
		if got != nil || gone != c.gone || (len(p.open) == 0) != c.ends || (q.wanted == 0) != c.ends || q.idle != c.ends {
			t.Errorf("%s %s: queue %v, gone %v, %d open, %+v", c.code, c.description, got, gone, len(p.open), q)
		}
		if q, gone := p.received(status("zz", "404", "")); q != nil || gone {
			t.Errorf("a status of a pull that is not open: %v, %v", q, gone)
		}
	}
}

// TestRefusedPullsAreNotRepeatedAtOnce: with 512 pulls waiting the server refuses more as fast as they come.
func TestRefusedPullsAreNotRepeatedAtOnce(t *testing.T) {
	q := busy("a", 1)
	p := asked(t, q)
	p.ask(1, now)
	p.received(status("1", "409", "Exceeded MaxWaiting"))
	p.ask(1, now)
	p.ask(1, now.Add(pullRest-1))
	if len(p.open) != 0 {
		t.Error("asked again at once")
	}
	if p.ask(1, now.Add(pullRest)); len(p.open) != 1 {
		t.Error("never asked again")
	}
}

// TestRequestersHeadersAreNoStatus: an empty request with a Status header is a run, not word of the server.
func TestRequestersHeadersAreNoStatus(t *testing.T) {
	q := busy("a", 1)
	p := asked(t, q)
	p.ask(1, now)
	m := arrives(q)
	m.Data, m.Header = nil, nats.Header{"Status": {"503"}, "Description": {"Consumer Deleted"}}
	if got, gone := p.received(m); got != q || gone || q.wanted != 0 {
		t.Errorf("queue %v, gone %v, %+v", got, gone, q)
	}
}

func TestReap(t *testing.T) {
	q := busy("a", 1)
	p := asked(t, q)
	p.ask(2, now)
	p.reap(now.Add(pullExpiry+pullGrace), false)
	if p.reserved() != 2 {
		t.Errorf("reaped too early: %d reserved", p.reserved())
	}
	p.reap(now.Add(pullExpiry+pullGrace+1), false)
	if p.reserved() != 0 || q.wanted != 0 {
		t.Errorf("not reaped: %d reserved, %d wanted", p.reserved(), q.wanted)
	}
	p.ask(2, now)
	p.reap(now, true)
	if p.reserved() != 0 || q.wanted != 0 || len(p.open) != 0 {
		t.Errorf("the connection was lost: %d reserved", p.reserved())
	}
}

// TestPlacesNeverDrift: whatever comes in whatever order, what a queue wants is what its open pulls still expect, and no
// more is reserved than was free.
func TestPlacesNeverDrift(t *testing.T) {
	nc := newPlace(t).nc
	rapid.Check(t, func(t *rapid.T) {
		queues := []*queue{busy("a", 4), busy("b", 1), busy("c", 2)}[:rapid.IntRange(1, 3).Draw(t, "queues")]
		p := &pulls{nc: nc, prefix: "nowhere.", inbox: "_INBOX.x", open: map[string]*pull{}, queues: queues}
		clock, places := now, rapid.IntRange(1, 12).Draw(t, "places")
		t.Repeat(map[string]func(*rapid.T){
			"ask": func(t *rapid.T) {
				p.ask(places-p.reserved(), clock)
				if p.reserved() > places {
					t.Fatalf("%d reserved of %d", p.reserved(), places)
				}
			},
			"look":    func(*rapid.T) { p.look(clock) },
			"message": func(t *rapid.T) { p.received(arrives(rapid.SampledFrom(queues).Draw(t, "queue"))) },
			"status": func(t *rapid.T) {
				id := fmt.Sprint(rapid.IntRange(1, 20).Draw(t, "id"))
				p.received(status(id, rapid.SampledFrom([]string{"100", "404", "408", "409", "503"}).Draw(t, "code"), "words"))
			},
			"stranger": func(*rapid.T) { p.received(arrives(busy("zz", 1))) },
			"reap": func(t *rapid.T) {
				clock = clock.Add(time.Duration(rapid.IntRange(0, 30).Draw(t, "seconds")) * time.Second)
				p.reap(clock, rapid.IntRange(0, 9).Draw(t, "lost") == 0)
			},
			"": func(t *rapid.T) { consistent(t, p) },
		})
	})
}

func consistent(t *rapid.T, p *pulls) {
	left, held := map[*queue]int{}, 0
	for id, o := range p.open {
		if o.left <= 0 || strings.Contains(id, ".") {
			t.Fatalf("pull %s is open for %d", id, o.left)
		}
		if left[o.queue] > 0 {
			t.Fatalf("queue %s has two pulls open", o.queue.name)
		}
		left[o.queue] += o.left
		if !o.listens {
			held += o.left
		}
		if o.queue.pull != o || o.queue.id != id {
			t.Fatalf("queue %s takes %s for its pull, it is %s", o.queue.name, o.queue.id, id)
		}
	}
	if p.reserved() != held {
		t.Fatalf("%d places are reserved, pulls hold %d", p.reserved(), held)
	}
	for _, q := range p.queues {
		if q.wanted != left[q] || (q.pull == nil) != (left[q] == 0) {
			t.Fatalf("queue %s wants %d, its pulls %d", q.name, q.wanted, left[q])
		}
	}
}

// TestALookIsOnePullNowAndThen: at each queue, and none while one is open.
func TestALookIsOnePullNowAndThen(t *testing.T) {
	p := newPlace(t)
	ps := &pulls{nc: p.nc, inbox: p.nc.NewInbox(), prefix: "looks.", open: map[string]*pull{}, queues: []*queue{busy("a", 1), busy("b", 1)}}
	at := time.Now()
	for _, step := range []struct {
		after time.Duration
		end   bool
		open  int
	}{{0, false, 2}, {lookAgain, false, 2}, {lookAgain, true, 2}, {lookAgain + 1, true, 0}, {2*lookAgain + 1, false, 2}} {
		if step.end {
			ps.reap(at, true)
		}
		if ps.look(at.Add(step.after)); len(ps.open) != step.open || ps.reserved() != 0 {
			t.Errorf("after %v: %d pulls are open, %d places held", step.after, len(ps.open), ps.reserved())
		}
	}
}
