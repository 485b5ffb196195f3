package telemetry

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"emend/schemas"
	"emend/subjects"
)

// Traces makes spans of what the events of a run tell. The nil Traces makes none.
type Traces struct {
	tracer trace.Tracer
	// Propagate sends the trace context on to providers.
	propagate bool
	provider  func(backend string) string
}

// NewTraces makes spans with a tracer. provider is the conventions' name of a backend's provider.
func NewTraces(t trace.Tracer, propagate bool, provider func(backend string) string) *Traces {
	return &Traces{tracer: t, propagate: propagate, provider: provider}
}

// Delivered is what a trace needs to know of a delivery.
type Delivered struct {
	// Traceparent and Tracestate are those of the request.
	Traceparent, Tracestate string
	Run, Queue, Backend     string
	// Destination is the request's subject without the id.
	Destination      string
	Count            uint64
	Published, Taken time.Time
}

// traceContext is W3C trace context. Header names of NATS keep their case, so the carrier is a map of the names in small letters.
var traceContext = propagation.TraceContext{}

// RunTrace makes the spans of one delivery: one for the delivery itself, and in it those of waits, calls and verdicts. It belongs to the
// delivery's goroutine; the nil RunTrace makes none.
type RunTrace struct {
	traces *Traces
	ctx    context.Context
	span   trace.Span
	// call is the span of the call that is under way.
	call trace.Span
	from Delivered
}

// Begin opens the span of a delivery, in the requester's trace if it has one.
func (t *Traces) Begin(d Delivered) *RunTrace {
	if t == nil {
		return nil
	}
	ctx := traceContext.Extract(context.Background(), propagation.MapCarrier{subjects.HeaderTraceparent: d.Traceparent, subjects.HeaderTracestate: d.Tracestate})
	r := &RunTrace{traces: t, from: d}
	r.ctx, r.span = t.tracer.Start(ctx, "process "+d.Destination, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithTimestamp(d.Taken), trace.WithAttributes(
		attribute.String("messaging.system", "nats"), attribute.String("messaging.operation.type", "process"), attribute.String("messaging.destination.name", d.Destination),
		attribute.String("messaging.message.id", d.Run), attribute.String("emend.queue", d.Queue), attribute.String("emend.backend", d.Backend), attribute.Int64("emend.delivery", int64(d.Count))))
	if d.Count == 1 {
		r.past("queue wait", d.Published, d.Taken)
	}
	return r
}

// past makes a span of what is over.
func (r *RunTrace) past(name string, from, to time.Time, attributes ...attribute.KeyValue) {
	_, s := r.traces.tracer.Start(r.ctx, name, trace.WithTimestamp(from), trace.WithAttributes(attributes...))
	s.End(trace.WithTimestamp(to))
}

// ID is the trace's id in hex, "" without one.
func (r *RunTrace) ID() string {
	if r == nil || !r.span.SpanContext().HasTraceID() {
		return ""
	}
	return r.span.SpanContext().TraceID().String()
}

// Count takes one event of the delivery, as it is published.
func (r *RunTrace) Count(e *schemas.Event) {
	if r == nil {
		return
	}
	switch e.Kind {
	case schemas.EventStarted:
		r.span.SetAttributes(attribute.String("emend.prompt", named(e.Prompt)), attribute.String("emend.profile", e.Profile))
	case schemas.EventAttemptStarted:
		r.begin(e)
	case schemas.EventAttempt:
		r.end(e)
	case schemas.EventRetry:
		r.span.AddEvent("retry", trace.WithTimestamp(e.At), trace.WithAttributes(attribute.String("cause", e.Cause), attribute.Int("status", e.Status), attribute.Int64("delay_ms", value(e.WaitMS))))
	case schemas.EventValidation:
		r.verdict(e)
	case schemas.EventRepair, schemas.EventStage, schemas.EventEscalated:
		r.span.AddEvent(e.Kind, trace.WithTimestamp(e.At), trace.WithAttributes(attribute.String("outcome", e.Outcome)))
	case schemas.EventValidator:
		r.past("validator "+e.Validator, e.At.Add(-ms(e.DurationMS)), e.At, attribute.String("emend.outcome", e.Outcome))
	case schemas.EventWaiting:
		r.span.AddEvent("handed back", trace.WithTimestamp(e.At), trace.WithAttributes(attribute.String("cause", e.Cause)))
		r.span.SetAttributes(attribute.String("emend.status", "waiting"))
	case schemas.EventSuperseded:
		r.span.SetAttributes(attribute.String("emend.status", "superseded"))
	case schemas.EventFinished:
		r.finished(e)
	}
}

// begin opens the span of a call; the wait for its permit, if there was one, is over.
func (r *RunTrace) begin(e *schemas.Event) {
	now := time.Now()
	if wait := ms(e.WaitMS); wait > 0 {
		r.past("permit wait", now.Add(-wait), now, attribute.String("emend.backend", e.Backend))
	}
	if r.call != nil {
		r.call.End() // nobody told its end
	}
	_, r.call = r.traces.tracer.Start(r.ctx, "chat "+e.Model, trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(now), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", operation), attribute.String("gen_ai.provider.name", r.traces.provider(e.Backend)), attribute.String("gen_ai.request.model", e.Model),
		attribute.String("emend.backend", e.Backend), attribute.Int("emend.generation", e.Generation), attribute.String("emend.generation_kind", e.GenerationKind), attribute.Int("emend.attempt", e.Attempt)))
	if e.Validator != "" {
		r.call.SetAttributes(attribute.String("emend.validator", e.Validator))
	}
}

func (r *RunTrace) end(e *schemas.Event) {
	if r.call == nil {
		return
	}
	if u := e.Usage; u != nil && u.Input != nil {
		r.call.SetAttributes(attribute.Int64("gen_ai.usage.input_tokens", *u.Input))
	}
	if u := e.Usage; u != nil && u.Output != nil {
		r.call.SetAttributes(attribute.Int64("gen_ai.usage.output_tokens", *u.Output))
	}
	if e.Outcome != schemas.OutcomeCompleted {
		fault := e.Outcome
		if e.Status != 0 {
			fault = code(e.Status)
			r.call.SetAttributes(attribute.Int("http.response.status_code", e.Status))
		}
		r.call.SetAttributes(attribute.String("error.type", fault))
		r.call.SetStatus(codes.Error, e.Outcome)
	}
	r.call.End(trace.WithTimestamp(e.At))
	r.call = nil
}

func (r *RunTrace) verdict(e *schemas.Event) {
	var keywords []string
	for _, f := range e.Findings {
		keywords = append(keywords, f.Keyword)
	}
	r.past("judge", e.At.Add(-ms(e.DurationMS)), e.At, attribute.String("emend.outcome", e.Outcome), attribute.StringSlice("emend.findings", keywords))
}

func (r *RunTrace) finished(e *schemas.Event) {
	r.span.SetAttributes(attribute.String("emend.status", e.Outcome))
	if e.Totals != nil {
		c := e.Totals.Counts
		r.span.SetAttributes(attribute.Int("emend.calls", c.Calls), attribute.Int("emend.repairs", c.Repairs))
	}
	if e.Category != "" {
		r.span.SetAttributes(attribute.String("error.type", e.Category))
		r.span.SetStatus(codes.Error, e.Category)
	}
}

// Stored notes that the result is stored.
func (r *RunTrace) Stored() {
	if r != nil {
		r.span.AddEvent("result stored")
	}
}

// End closes the span of the delivery, and that of a call that nobody ended.
func (r *RunTrace) End() {
	if r == nil {
		return
	}
	if r.call != nil {
		r.call.End()
	}
	r.span.End()
}

// Propagator returns what tells the trace context for a provider: that of the call under way; nil when it is not to be sent.
func (r *RunTrace) Propagator() func() string {
	if r == nil || !r.traces.propagate {
		return nil
	}
	return func() string {
		s := r.span
		if r.call != nil {
			s = r.call
		}
		c := s.SpanContext()
		return fmt.Sprintf("00-%s-%s-%s", c.TraceID(), c.SpanID(), c.TraceFlags())
	}
}

// TraceID is the id in a traceparent, "" if it is none.
func TraceID(traceparent string) string {
	parts := strings.Split(traceparent, "-")
	if len(parts) < 4 || len(parts[1]) != 32 || strings.Trim(parts[1], "0123456789abcdef") != "" || strings.Trim(parts[1], "0") == "" {
		return ""
	}
	return parts[1]
}

func ms(n *int64) time.Duration { return time.Duration(value(n)) * time.Millisecond }

func value(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
