package consumer

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"emend/engine/event"
	"emend/engine/run"
	"emend/internal/telemetry"
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
	// verdicts counts what engine events tell; nil for none.
	verdicts *telemetry.Verdicts
	// metrics counts every event that is sent; nil for none.
	metrics *telemetry.Metrics
	// trace makes spans of every event that is sent; nil for none.
	trace *telemetry.RunTrace
}

// Observe publishes an engine event. The engine's finished is kept back: the run is finished when it is settled.
func (p *publisher) Observe(_ context.Context, e event.Event) {
	if _, last := e.(event.Finished); last {
		return
	}
	if p.verdicts != nil {
		p.verdicts.Count(e)
	}
	p.send(event.Wire(e))
}

func (p *publisher) send(e schemas.Event) {
	p.seq++
	e.V, e.RunID, e.Queue, e.Seq, e.Worker, e.Delivery = schemas.EventVersion, p.key.ID, p.key.Queue, p.seq, p.worker, p.delivery
	if e.At.IsZero() {
		e.At = time.Now().UTC()
	}
	if p.metrics != nil {
		p.metrics.Count(e)
	}
	p.trace.Count(&e)
	buf := scratch.Get().(*[]byte)
	defer putBack(buf)
	b, err := e.AppendJSON((*buf)[:0])
	if err != nil {
		return
	}
	*buf = b
	_ = p.nc.Publish(p.names.Event(p.key.Queue, p.key.ID, e.Kind), b)
}

// spent is what a state holds beyond one that came before it.
func spent(s run.State, before *run.State) run.State {
	if before == nil {
		return s
	}
	b := before.Counts
	s.Counts = schemas.Counts{Calls: s.Counts.Calls - b.Calls, Retries: s.Counts.Retries - b.Retries, Repairs: s.Counts.Repairs - b.Repairs,
		Corrections: s.Counts.Corrections - b.Corrections, ValidatorCalls: s.Counts.ValidatorCalls - b.ValidatorCalls,
		Executions: s.Counts.Executions - b.Executions}
	s.ValidatorUsage = used(s.ValidatorUsage, before.ValidatorUsage)
	s.Cost = s.Cost.Less(before.Cost)
	s.Model, s.Waited = s.Model-before.Model, s.Waited-before.Waited
	s.Usage = used(s.Usage, before.Usage)
	return s
}

func used(u, before schemas.UsageSum) schemas.UsageSum {
	out := schemas.UsageSum{Calls: u.Calls - before.Calls, Without: u.Without - before.Without, Reported: map[string]int{}}
	for name, n := range u.Reported {
		if n -= before.Reported[name]; n > 0 {
			out.Reported[name] = n
		}
	}
	a, b := u.Sum, before.Sum
	out.Sum = schemas.Tokens{Input: minus(a.Input, b.Input), Output: minus(a.Output, b.Output), Cached: minus(a.Cached, b.Cached),
		CacheWritten: minus(a.CacheWritten, b.CacheWritten), Reasoning: minus(a.Reasoning, b.Reasoning)}
	for name, v := range a.Other {
		if out.Reported[name] > 0 {
			if out.Sum.Other == nil {
				out.Sum.Other = map[string]float64{}
			}
			out.Sum.Other[name] = v - b.Other[name]
		}
	}
	return out
}

// minus is a-b, nil when nothing was added to b.
func minus(a, b *int64) *int64 {
	if b == nil {
		return a
	}
	if a == nil || *a == *b {
		return nil
	}
	d := *a - *b
	return &d
}

// scratch holds buffers for what is published: a publish copies. A very large one is not kept.
var scratch = sync.Pool{New: func() any { return new(make([]byte, 0, 2<<10)) }}

func putBack(buf *[]byte) {
	if cap(*buf) <= 64<<10 {
		scratch.Put(buf)
	}
}
