package telemetry

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"emend/schemas"
)

// Metrics counts what events tell, for Prometheus. Labels are bounded: backends, queues and prompts come from definitions,
// everything else is a word of Emend, a status or a keyword of JSON Schema. It is safe for concurrent use.
type Metrics struct {
	runs, calls, retries, repairs, stages, findings, tokens, votes, escalations, waits, cost *prometheus.CounterVec
	callSeconds, permitSeconds, runSeconds                                                   *prometheus.HistogramVec
	superseded                                                                               prometheus.Counter
	genAI                                                                                    *genAI
}

// Buckets in seconds: those that the GenAI conventions recommend for an operation of a model (providers.md).
var buckets = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}

// NewMetrics makes the metrics and registers them.
func NewMetrics(r prometheus.Registerer) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "emend", Name: name, Help: help}, labels)
		r.MustRegister(c)
		return c
	}
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "emend", Name: name, Help: help, Buckets: buckets}, labels)
		r.MustRegister(h)
		return h
	}
	m := &Metrics{
		runs:          counter("runs_total", "Runs that ended, by status; category is that of failed ones. The prompt is a definition's or a pipeline's name and version, (inline) for messages without one, (none) for what came to no run.", "backend", "queue", "prompt", "status", "category"),
		calls:         counter("calls_total", "Provider calls that ended; validator is the judge whose call it was.", "backend", "kind", "outcome", "status", "validator"),
		retries:       counter("retries_total", "Waits before another attempt.", "backend", "cause", "status"),
		repairs:       counter("repairs_total", "Corrective generations, by style.", "prompt", "style"),
		stages:        counter("stage_attempts_total", "Further stage attempts, by why they began.", "prompt", "cause"),
		findings:      counter("findings_total", "Findings of judged candidates, by keyword.", "prompt", "keyword"),
		tokens:        counter("tokens_total", "Tokens that providers reported, by type.", "backend", "type"),
		cost:          counter("cost_usd_total", "US dollars that provider calls cost, where the price and the tokens are known.", "backend"),
		votes:         counter("votes_total", "Votes of judges.", "validator", "outcome"),
		escalations:   counter("escalations_total", "Answers that stayed invalid, by where they went.", "sink"),
		waits:         counter("handed_back_total", "Runs handed back to the queue, by the first word of the cause.", "backend", "cause"),
		callSeconds:   histogram("call_seconds", "Duration of provider calls.", "backend"),
		permitSeconds: histogram("permit_wait_seconds", "Wait for a permit before a call.", "backend"),
		runSeconds:    histogram("run_seconds", "From publication to settlement.", "backend", "status"),
		superseded:    prometheus.NewCounter(prometheus.CounterOpts{Namespace: "emend", Name: "superseded_total", Help: "Executions whose result is not the stored one."}),
	}
	r.MustRegister(m.superseded)
	m.genAI = newGenAI(r)
	return m
}

// Providers says how a backend's provider is called in the metrics of the GenAI conventions; without it, as the backend. Call it
// before the first event.
func (m *Metrics) Providers(name func(backend string) string) { m.genAI.provider = name }

// Count takes one event of the wire. A kind that has no metric is ignored: started and attempt_started tell nothing that
// their ends do not.
func (m *Metrics) Count(e schemas.Event) {
	switch e.Kind {
	case schemas.EventAttempt:
		m.attempt(e)
	case schemas.EventRetry:
		m.retries.WithLabelValues(e.Backend, e.Cause, code(e.Status)).Inc()
	case schemas.EventRepair:
		m.repairs.WithLabelValues(named(e.Prompt), e.Outcome).Inc()
	case schemas.EventStage:
		if e.Pipeline != "" {
			return // a stage of a pipeline is no stage attempt
		}
		m.stages.WithLabelValues(named(e.Prompt), e.Outcome).Inc()
	case schemas.EventValidation:
		for _, f := range e.Findings {
			m.findings.WithLabelValues(named(e.Prompt), f.Keyword).Inc()
		}
	case schemas.EventValidator:
		m.votes.WithLabelValues(e.Validator, e.Outcome).Inc()
	case schemas.EventEscalated:
		m.escalations.WithLabelValues(e.Outcome).Inc()
	case schemas.EventWaiting:
		cause, _, _ := strings.Cut(e.Cause, " ")
		m.waits.WithLabelValues(e.Backend, cause).Inc()
	case schemas.EventSuperseded:
		m.superseded.Inc()
	case schemas.EventFinished:
		m.finished(e)
	}
}

func (m *Metrics) attempt(e schemas.Event) {
	m.calls.WithLabelValues(e.Backend, e.GenerationKind, e.Outcome, code(e.Status), e.Validator).Inc()
	m.callSeconds.WithLabelValues(e.Backend).Observe(seconds(e.DurationMS))
	m.permitSeconds.WithLabelValues(e.Backend).Observe(seconds(e.WaitMS))
	m.genAI.attempt(e)
	if e.Cost != nil {
		m.cost.WithLabelValues(e.Backend).Add(float64(*e.Cost) / float64(schemas.Dollar))
	}
	if e.Usage == nil {
		return
	}
	for kind, n := range map[string]*int64{"input": e.Usage.Input, "output": e.Usage.Output, "cached": e.Usage.Cached, "cache_written": e.Usage.CacheWritten, "reasoning": e.Usage.Reasoning} {
		if n != nil && *n > 0 {
			m.tokens.WithLabelValues(e.Backend, kind).Add(float64(*n))
		}
	}
}

func (m *Metrics) finished(e schemas.Event) {
	m.runs.WithLabelValues(e.Backend, e.Queue, ended(e), e.Outcome, e.Category).Inc()
	if e.Totals != nil {
		m.runSeconds.WithLabelValues(e.Backend, e.Outcome).Observe((time.Duration(e.Totals.TimingMS.Total) * time.Millisecond).Seconds())
	}
}

// ended is whose run finished: only one that was planned has a model.
func ended(e schemas.Event) string {
	if e.Model == "" {
		return cmp.Or(e.Prompt, e.Pipeline, None)
	}
	return named(e.Prompt)
}

func named(prompt string) string {
	if prompt == "" {
		return Inline
	}
	return prompt
}

// code is a provider's status as a label; 0 is none.
func code(status int) string {
	if status == 0 {
		return ""
	}
	return strconv.Itoa(status)
}

func seconds(ms *int64) float64 {
	if ms == nil {
		return 0
	}
	return (time.Duration(*ms) * time.Millisecond).Seconds()
}
