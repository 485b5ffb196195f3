package consumer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"emend/capacity"
	"emend/prompts"
)

// job is a delivery with the queue that it came from.
type job struct {
	q *queue
	d *delivery
}

// pool pulls the runs of one backend and has a goroutine for each. Its own goroutine (run) is the only one that
// touches pulls and places; the others speak to it through channels.
type pool struct {
	w       *Worker
	backend string
	places  int
	pulls   *pulls
	inbox   chan *nats.Msg
	sub     *nats.Subscription
	done    chan *queue
	// handle does a delivery.
	handle func(context.Context, *delivery)
	// ahead does what need not wait for the goroutine of a delivery; nil for nothing. It must not block.
	ahead   func(*delivery)
	active  int
	running sync.WaitGroup
	// next is where a goroutine whose run ended waits for another: its stack has grown already. closed ends them.
	next   chan job
	closed chan struct{}
	// asked is when the last pull was sent; again is the timer of ask.
	asked time.Time
	again *time.Timer
	// reconnects is the connection's count when last looked at.
	reconnects uint64
	// missing holds pulling back while a durable is made anew.
	missing time.Time
	counted
}

func newPool(w *Worker, b prompts.Backend, cfg prompts.Config) *pool {
	p := &pool{w: w, backend: b.Name, places: b.Admitted, handle: w.handle, ahead: w.ahead}
	p.pulls = &pulls{nc: w.nc, inbox: w.nc.NewInbox(), open: map[string]*pull{},
		prefix: w.names.API(cfg.NATS.Domain) + "CONSUMER.MSG.NEXT." + w.names.RunsStream() + "."}
	total := 0
	for _, name := range cfg.QueueNames() {
		q := cfg.Queues[name]
		total += q.InFlight
		p.pulls.queues = append(p.pulls.queues, &queue{name: name, durable: w.names.Durable(b.Name, name), weight: max(q.Weight, 1), idle: true})
	}
	if p.places == 0 || p.places > total {
		p.places = total
	}
	p.reconnects = w.nc.Stats().Reconnects
	p.inbox = make(chan *nats.Msg, p.places+1024)
	p.done = make(chan *queue, p.places)
	p.next, p.closed = make(chan job), make(chan struct{})
	return p
}

// listen subscribes to what the pulls bring.
func (p *pool) listen() (err error) {
	if p.sub, err = p.w.nc.ChanSubscribe(p.pulls.inbox+".*", p.inbox); err != nil {
		return fmt.Errorf("pool %s: %w", p.backend, err)
	}
	p.date()
	return nil
}

// date asks when the durables were made. One that does not say so, in a time that all of them share, is taken to be as old as its
// messages.
func (p *pool) date() {
	ctx, cancel := context.WithTimeout(p.w.base, datedWithin)
	defer cancel()
	for _, q := range p.pulls.queues {
		if c, err := p.w.js.Consumer(ctx, p.w.names.RunsStream(), q.durable); err == nil {
			q.made, q.last = c.CachedInfo().Created, c.CachedInfo().Delivered.Consumer
		}
	}
}

const datedWithin = 5 * time.Second

// run pulls until stop is done; runs that were started go on. It returns when nothing is pulled any more.
func (p *pool) run(stop, work context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	p.again = time.NewTimer(time.Hour)
	defer p.again.Stop()
	for stop.Err() == nil {
		changed := p.changed() // before the gate is looked at, so that no change is missed
		p.turn(stop, work, tick.C, changed, p.ask(time.Now()))
	}
	p.close()
	p.giveBack(work)
	close(p.closed)
	p.ended.Store(true)
}

// Pulls are not sent more often than pullPause for fewer than an eighth of the places: in a busy pool a place gets free every
// few tenths of a millisecond, and a pull for each would cost the server as much as the message that it brings.
const (
	pullPause = time.Millisecond
	pullShare = 8
)

// ask pulls for the places that are free. It returns what tells when to ask again for those that it left, nil for nothing.
func (p *pool) ask(now time.Time) (again <-chan time.Time) {
	free := p.free()
	if free <= 0 {
		if p.shut(now) {
			p.pulls.look(now)
		}
		return nil
	}
	if wait := p.asked.Add(pullPause).Sub(now); wait > 0 && free < p.places/pullShare {
		p.again.Reset(wait)
		return p.again.C
	}
	if p.pulls.ask(free, now) {
		p.asked = now
	}
	return nil
}

// close ends the pulls. What the server has delivered by now comes before its answer to the flush: dropped, it would
// wait out AckWait.
func (p *pool) close() {
	if err := errors.Join(p.sub.Drain(), flush(p.w.nc)); err != nil {
		p.w.log.Warn().Err(err).Str("backend", p.backend).Msg("what was delivered last may wait for AckWait")
	}
	_ = p.sub.Unsubscribe()
}

// turn waits for something to happen and takes in all that has.
func (p *pool) turn(stop, work context.Context, tick <-chan time.Time, changed <-chan struct{}, again <-chan time.Time) {
	select {
	case <-stop.Done():
		return
	case m := <-p.inbox:
		p.take(work, m)
	case q := <-p.done:
		p.freed(q)
	case <-changed:
	case <-again:
	case now := <-tick:
		p.pulls.reap(now, p.wasLost())
	}
	for {
		select {
		case m := <-p.inbox:
			p.take(work, m)
		case q := <-p.done:
			p.freed(q)
		default:
			return
		}
	}
}

// wasLost reports whether the connection is down, or was since the last look: the server may have forgotten the pulls.
func (p *pool) wasLost() bool {
	n := p.w.nc.Stats().Reconnects
	lost := n != p.reconnects || !p.w.nc.IsConnected()
	p.reconnects = n
	return lost
}

func (p *pool) freed(q *queue) {
	q.running--
	p.active--
}

// changed tells of what may free places. At an open gate that is never the coming and going of the pool's own runs, which it counts
// itself; those of retired pools are others'.
func (p *pool) changed() <-chan struct{} {
	g := p.w.engine.Load().Gate(p.backend)
	if g == nil {
		return nil
	}
	turned := g.Turned() // before the state is looked at, so that no change is missed
	if len(p.before) == 0 && g.State().Phase == capacity.Open {
		return turned
	}
	return g.Changed()
}

// shut says that the gate is closed, and nothing else keeps the pool from pulling.
func (p *pool) shut(now time.Time) bool {
	g := p.w.engine.Load().Gate(p.backend)
	return g != nil && g.State().Phase == gateClosed && !now.Before(p.missing)
}

// free is the number of places that may be asked for: no more than the gate would admit, none while it is closed.
func (p *pool) free() int {
	if time.Now().Before(p.missing) {
		return 0
	}
	reserved := p.pulls.reserved()
	n := p.places - p.active - reserved
	if g := p.w.engine.Load().Gate(p.backend); g != nil {
		// A run that was taken and is not yet admitted counts as much as one that is.
		n = min(n, g.Free()+max(g.Stats().AdmittedInUse-p.elsewhere(), 0)-p.active-reserved)
	}
	return n
}

// lost notes that a durable is not there any more; which one is not said. Open pulls may have gone with it, and nobody would say so.
func (p *pool) lost(now time.Time) {
	p.missing = now.Add(remakeAfter)
	for _, q := range p.pulls.queues {
		q.made = now.Add(clocksDiffer)
	}
	p.pulls.reap(now, true)
}

// dated notes whether a delivery may be of a durable that is younger than its message. One whose deliveries are counted from the
// beginning again was made anew, by whomever.
func (q *queue) dated(d *delivery, now time.Time) {
	if d.n <= q.last {
		q.made = now.Add(clocksDiffer)
	}
	q.last = d.n
	d.before = d.published.Before(q.made)
}

// clocksDiffer is by how much those of server and worker may differ.
const clocksDiffer = time.Minute

// take starts a run for a message, or accounts for a status.
func (p *pool) take(work context.Context, m *nats.Msg) {
	q, gone := p.pulls.received(m)
	if gone {
		p.lost(time.Now())
		p.w.remake()
		return
	}
	if q == nil {
		return
	}
	d, err := parseDelivery(p.w.nc, m)
	if err != nil {
		p.w.log.Error().Err(err).Msg("unexpected message in a pull")
		return
	}
	q.dated(d, time.Now())
	if p.active >= p.places {
		p.turnAway(work, d) // a pull that listened holds no place; its queue is busy now, and gets its share of those to come
		return
	}
	if p.ahead != nil {
		p.ahead(d)
		if p.active == 0 {
			runtime.Gosched() // nothing else shares its flush: it leaves before the run's goroutine has this one's processor
		}
	}
	q.running++
	p.active++
	p.under.Add(1)
	p.running.Add(1)
	select {
	case p.next <- job{q, d}:
	default:
		go p.work(work, job{q, d})
	}
}

// work does runs one after the other, as long as the next comes soon.
func (p *pool) work(ctx context.Context, j job) {
	idle := time.NewTimer(idleFor)
	defer idle.Stop()
	for {
		p.do(ctx, j)
		idle.Reset(idleFor)
		select {
		case j = <-p.next:
		case <-idle.C:
			return
		case <-p.closed:
			return
		}
	}
}

// do handles one delivery and frees its place, whatever happens.
func (p *pool) do(ctx context.Context, j job) {
	defer p.running.Done()
	defer func() { p.under.Add(-1); p.done <- j.q }()
	p.handle(ctx, j.d)
}

// idleFor is how long a goroutine waits for another run: long enough for a busy queue, too short to keep the memory of a burst.
const idleFor = time.Second

// remakeAfter is the pause after a durable was found missing.
const remakeAfter = time.Second

// turnAway hands a delivery back at once, with word that it was not started.
func (p *pool) turnAway(work context.Context, d *delivery) {
	d.turnedAway = true
	p.running.Go(func() { p.handle(work, d) })
}

// giveBack hands over at once what was delivered and not started.
func (p *pool) giveBack(work context.Context) {
	for {
		select {
		case m := <-p.inbox:
			q, _ := p.pulls.received(m)
			if q == nil {
				continue
			}
			if d, err := parseDelivery(p.w.nc, m); err == nil {
				q.dated(d, time.Now())
				p.turnAway(work, d)
			}
		default:
			return
		}
	}
}
