package consumer

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"emend/engine/event"
	"emend/schemas"
	"emend/subjects"
)

// publisher sends the events of one delivery, in order, as core publishes that the events stream captures. They may be
// lost; nobody waits on one. The terminal event is not sent by the engine's but by the delivery's hand, after the settle.
type publisher struct {
	nc       *nats.Conn
	names    subjects.Names
	worker   string
	key      Key
	delivery uint64
	seq      int
	// began is when the first call started, for the timing of the result.
	began atomic.Int64
}

// Observe publishes an engine event. The engine's finished is kept back: the run is finished when it is settled.
func (p *publisher) Observe(_ context.Context, e event.Event) {
	switch e.(type) {
	case event.Finished:
		return
	case event.AttemptStarted:
		p.began.CompareAndSwap(0, time.Now().UnixNano())
	}
	p.send(event.Wire(e))
}

func (p *publisher) send(e schemas.Event) {
	p.seq++
	e.V, e.RunID, e.Queue, e.Seq, e.Worker, e.Delivery = schemas.EventVersion, p.key.ID, p.key.Queue, p.seq, p.worker, p.delivery
	if e.At.IsZero() {
		e.At = time.Now().UTC()
	}
	b, err := schemas.Marshal(e)
	if err != nil {
		return
	}
	_ = p.nc.Publish(p.names.Event(p.key.Queue, p.key.ID, e.Kind), b)
}
