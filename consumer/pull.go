package consumer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// pulls asks the durables of one backend for messages, never for more than there are places. It belongs to the pool's
// goroutine: nothing here is shared.
//
// A pull is a publish to $JS.API.CONSUMER.MSG.NEXT with the number wanted and an expiry; messages and statuses come to
// an inbox whose last token names the pull. A place asked for is reserved until its message comes or the pull ends.
type pulls struct {
	nc     *nats.Conn
	prefix string // of the API subjects
	inbox  string
	next   uint64
	open   map[string]*pull
	queues []*queue
	// held is the number of places that open pulls reserve; those that listen reserve none.
	held int
	// refused says that the server took a pull not, for another reason than that there is nothing: asking again at once
	// would be answered as fast. No pull is sent before rest.
	refused bool
	rest    time.Time
}

// queue is one durable of the backend.
type queue struct {
	name, durable string
	weight        int
	// wanted is the number of places reserved by open pulls, running the runs of this queue under way.
	wanted, running int
	// look is when to listen again while the gate is shut.
	look time.Time
	// idle says that a pull ended without its full number: nothing more was there.
	idle bool
	// made is when the durable was, as far as is known: no message that was published after it had another one.
	made time.Time
	// last is the number of the durable's latest delivery here: they only rise.
	last uint64
	// pull is the open one, and id its name; nil for none.
	pull *pull
	id   string
}

// pull is one open request.
type pull struct {
	queue *queue
	left  int
	ends  time.Time
	// listens says that the pull waits at an idle queue and holds no place.
	listens bool
}

// pullRequest is the body of a pull, as the server reads it.
type pullRequest struct {
	Batch   int           `json:"batch"`
	Expires time.Duration `json:"expires,omitempty"`
	NoWait  bool          `json:"no_wait,omitempty"`
}

// pullExpiry is how long the server holds a pull; pullGrace is added before a pull without word is given up: the
// connection was lost, and the server forgot it.
const (
	pullExpiry = 20 * time.Second
	pullGrace  = 5 * time.Second
	// fullExpiry is how long the server holds a pull that does not wait at a queue whose in_flight is used up: it answers one
	// at an empty queue at once, but keeps one at a full queue for as long as it may, and with it the places.
	fullExpiry = 250 * time.Millisecond
	// lookAgain is the pause between two looks at a queue whose gate is shut.
	lookAgain = 10 * time.Second
	// pullRest is the pause after a refusal.
	pullRest = time.Second
)

// reserved is the number of places asked for. A pull that listens holds none: else an idle queue would keep a busy one
// from the only place that a slow or probing gate has.
func (p *pulls) reserved() int { return p.held }

// ask shares free places among the busy queues and listens at the idle ones. Where there are several queues only those
// pulls wait that hold no place: a place held open at an empty queue would be lost to the others.
//
// A queue has one pull open at a time. The server deals its messages out among all that are open, and a message does not
// say which it is for: with two of them one would be taken for full that is not, and the other hold its places, and keep
// its queue from being listened at, until it is given up.
//
// It reports whether a pull was sent for a busy queue.
func (p *pulls) ask(free int, now time.Time) (sent bool) {
	if p.refused {
		p.refused, p.rest = false, now.Add(pullRest)
	}
	if free <= 0 || now.Before(p.rest) {
		return false
	}
	alone := len(p.queues) == 1
	if alone && p.queues[0].wanted > 0 {
		return false
	}
	for q, n := range share(p.queues, free) {
		if q.wanted > 0 {
			continue
		}
		if p.send(q, pull{left: n}, alone, now) != nil {
			return sent // not connected: the next turn of the pool tries again
		}
		sent = true
	}
	for _, q := range p.queues {
		if !alone && q.idle && q.wanted == 0 && p.send(q, pull{left: 1, listens: true}, true, now) != nil {
			return sent
		}
	}
	return sent
}

// look listens now and then at queues whose gate is shut: a run that was handed back comes again when its deadline is over, and is
// settled. Few do: what comes in vain waits for as long as it is handed back, also when the gate opens before.
func (p *pulls) look(now time.Time) {
	for _, q := range p.queues {
		if q.wanted > 0 || now.Before(q.look) {
			continue
		}
		if p.send(q, pull{left: 1, listens: true}, true, now) != nil {
			return
		}
		q.look = now.Add(lookAgain)
	}
}

// share gives the free places to the busy queues, each next one to that with the least in use for its weight, so that
// none starves.
func share(queues []*queue, free int) map[*queue]int {
	if len(queues) == 1 && free > 0 {
		return map[*queue]int{queues[0]: free}
	}
	out := map[*queue]int{}
	for ; free > 0; free-- {
		q := neediest(queues, out)
		if q == nil {
			return out
		}
		out[q]++
	}
	return out
}

func neediest(queues []*queue, out map[*queue]int) *queue {
	var best *queue
	load := func(q *queue) float64 { return float64(q.running+q.wanted+out[q]) / float64(q.weight) }
	for _, q := range queues {
		if q.idle && len(queues) > 1 {
			continue
		}
		if best == nil || load(q) < load(best) {
			best = q
		}
	}
	return best
}

func (p *pulls) send(q *queue, o pull, wait bool, now time.Time) error {
	p.next++
	id := strconv.FormatUint(p.next, 36)
	ask := pullRequest{Batch: o.left, Expires: pullExpiry}
	if !wait {
		ask = pullRequest{Batch: o.left, Expires: fullExpiry, NoWait: true}
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return fmt.Errorf("pull request: %w", err)
	}
	if err := p.nc.PublishRequest(p.prefix+q.durable, p.inbox+"."+id, body); err != nil {
		return fmt.Errorf("pull from %s: %w", q.durable, err)
	}
	o.queue, o.ends = q, now.Add(pullExpiry+pullGrace)
	p.open[id], q.pull, q.id = &o, &o, id
	q.wanted += o.left
	if !o.listens {
		p.held += o.left
	}
	return nil
}

// received accounts for one message of the inbox. It returns the queue of a run's message, nil for a status; gone says
// that the durable is not there (any more).
func (p *pulls) received(m *nats.Msg) (q *queue, gone bool) {
	id := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
	// What a durable delivers has an ack subject, and may carry any header of its requester's: only without one is a
	// status the server's word.
	if m.Reply == "" && m.Header.Get("Status") != "" {
		return nil, p.status(id, m.Header.Get("Status"), m.Header.Get("Description"))
	}
	// A run's message keeps its own subject; the pull is named by the subscription's subject only in statuses. So the
	// queue is known from the ack subject instead.
	return p.ofDurable(m), false
}

func (p *pulls) ofDurable(m *nats.Msg) *queue {
	durable := durableOf(m.Reply)
	for _, q := range p.queues {
		if q.durable == durable {
			p.take(q)
			return q
		}
	}
	return nil
}

// take gives one reserved place of the queue to a message. One that no open pull expects was asked for by a pull that is
// given up.
func (p *pulls) take(q *queue) {
	q.idle = false
	o := q.pull
	if o == nil {
		return
	}
	q.wanted--
	if !o.listens {
		p.held--
	}
	if o.left--; o.left == 0 {
		p.close(q.id, o)
	}
}

// status ends a pull. 404 and 408 are its ordinary end; 409 with "deleted" says the durable is gone, and so does a 503
// (no responders).
func (p *pulls) status(id, code, description string) (gone bool) {
	if code == "100" {
		return false // a heartbeat of the server
	}
	if o := p.open[id]; o != nil {
		o.queue.idle = true
		p.close(id, o)
	}
	p.refused = p.refused || code == "409"
	return code == "503" || (code == "409" && strings.Contains(strings.ToLower(description), "deleted"))
}

func (p *pulls) close(id string, o *pull) {
	q := o.queue
	q.wanted -= o.left
	if !o.listens {
		p.held -= o.left
	}
	if q.pull == o {
		q.pull, q.id = nil, ""
	}
	delete(p.open, id)
}

// reap gives up the pulls that the server forgot, and all of them when all is set (the connection was lost).
func (p *pulls) reap(now time.Time, all bool) {
	for id, o := range p.open {
		if all || now.After(o.ends) {
			p.close(id, o)
		}
	}
}
