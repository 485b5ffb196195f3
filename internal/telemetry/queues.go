package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Backlog is what waits in a space at one moment.
type Backlog struct {
	Queues []Queue
	// Dead letters, and runs that wait for a person.
	Dead, Reviews uint64
}

// Queue is one queue of a backend; a queue of pipelines has no backend.
type Queue struct {
	Backend, Queue        string
	Queued                uint64
	InFlight, Redelivered int
	Oldest                time.Duration
}

// Backlogs is a Prometheus collector of what waits. Every worker of a space tells the same: take the maximum over them, not the
// sum. read is called at each scrape; what it cannot read is left out, and said by emend_backlog_read.
type Backlogs struct {
	read func() (*Backlog, error)
}

// NewBacklogs makes the collector and registers it.
func NewBacklogs(r prometheus.Registerer, read func() (*Backlog, error)) {
	r.MustRegister(&Backlogs{read})
}

var (
	backlogRead = prometheus.NewDesc("emend_backlog_read", "1 if the streams told what waits in them, else 0.", nil, nil)
	queued      = prometheus.NewDesc("emend_queued", "Runs that wait to be delivered, over all workers.", []string{"backend", "queue"}, nil)
	inFlight    = prometheus.NewDesc("emend_in_flight", "Runs with workers, or handed back for a time, over all workers.", []string{"backend", "queue"}, nil)
	redelivered = prometheus.NewDesc("emend_redelivered", "Runs in flight that were delivered more than once.", []string{"backend", "queue"}, nil)
	oldest      = prometheus.NewDesc("emend_queue_oldest_seconds", "Age of the oldest run that has not ended.", []string{"backend", "queue"}, nil)
	deadLetters = prometheus.NewDesc("emend_dead_letters", "Dead letters that are kept.", nil, nil)
	reviews     = prometheus.NewDesc("emend_reviews_waiting", "Runs that wait for a person.", nil, nil)
)

// Describe implements prometheus.Collector.
func (b *Backlogs) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{backlogRead, queued, inFlight, redelivered, oldest, deadLetters, reviews} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (b *Backlogs) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	log, err := b.read()
	if err != nil {
		gauge(backlogRead, 0)
		return
	}
	gauge(backlogRead, 1)
	gauge(deadLetters, float64(log.Dead))
	gauge(reviews, float64(log.Reviews))
	for _, q := range log.Queues {
		gauge(queued, float64(q.Queued), q.Backend, q.Queue)
		gauge(inFlight, float64(q.InFlight), q.Backend, q.Queue)
		gauge(redelivered, float64(q.Redelivered), q.Backend, q.Queue)
		gauge(oldest, q.Oldest.Seconds(), q.Backend, q.Queue)
	}
}
