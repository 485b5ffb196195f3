package telemetry

import (
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"emend/schemas"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func recorded(t *testing.T, propagate bool) (*Traces, *tracetest.SpanRecorder) {
	t.Helper()
	r := tracetest.NewSpanRecorder()
	p := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r))
	t.Cleanup(func() { _ = p.Shutdown(t.Context()) })
	return NewTraces(p.Tracer("test"), propagate, func(b string) string { return "of-" + b }), r
}

// Every kind of event, and what becomes of it: all of a delivery is in one trace, waits and verdicts have spans of their own, and no
// place of an answer is told.
func TestSpansOfEveryEvent(t *testing.T) {
	traces, rec := recorded(t, true)
	at := time.Now()
	r := traces.Begin(Delivered{Traceparent: parent, Run: "a", Queue: "q", Backend: "b", Destination: "space.kind.b.q", Count: 1, Published: at.Add(-time.Second), Taken: at})
	if got := r.Propagator()(); !strings.HasPrefix(got, "00-0af7651916cd43dd8448eb211c80319c-") || got == parent {
		t.Errorf("the provider is told %s", got)
	}
	begun := schemas.Event{Kind: schemas.EventAttemptStarted, Backend: "b", Model: "m", Validator: "j@1", WaitMS: new(int64(30))}
	r.Count(&begun)
	during := r.Propagator()()
	for _, e := range every {
		e.At = at
		r.Count(&e)
	}
	r.Stored()
	r.Count(&begun) // its worker drains: nobody ends the call
	r.End()
	count := map[string]int{}
	for _, s := range rec.Ended() {
		count[s.Name()]++
		if s.SpanContext().TraceID().String() != r.ID() || TraceID(parent) != r.ID() {
			t.Errorf("%s is of another trace", s.Name())
		}
		if s.Name() == "chat m" && strings.Contains(during, s.SpanContext().SpanID().String()) {
			count["propagated"]++
		}
		for _, a := range s.Attributes() {
			if strings.Contains(a.Value.String(), "secret") || strings.Contains(a.Value.String(), "some_code") && s.Name() != "process space.kind.b.q" {
				t.Errorf("%s tells %v", s.Name(), a)
			}
		}
	}
	for name, want := range map[string]int{"process space.kind.b.q": 1, "queue wait": 1, "permit wait": 2, "chat m": 2, "judge": 1, "validator j@1": 1, "propagated": 1} {
		if count[name] != want {
			t.Errorf("%d of %s, want %d: %v", count[name], name, want, count)
		}
	}
}

// Without traces nothing is made, and nothing is asked of the caller.
func TestNoTraces(t *testing.T) {
	var none *Traces
	r := none.Begin(Delivered{})
	r.Count(&schemas.Event{Kind: schemas.EventAttemptStarted})
	r.Stored()
	r.End()
	if r != nil || r.ID() != "" || r.Propagator() != nil {
		t.Error("there is a trace")
	}
	quiet, _ := recorded(t, false)
	again := quiet.Begin(Delivered{Count: 2})
	if again.Propagator() != nil || again.ID() == "" {
		t.Error("the provider is told, or there is no trace")
	}
	again.End()
}

func TestTraceIDs(t *testing.T) {
	for s, want := range map[string]string{parent: "0af7651916cd43dd8448eb211c80319c", "": "", "00-x-y-01": "", "00-00000000000000000000000000000000-b7ad6b7169203331-01": "",
		"00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01": ""} {
		if got := TraceID(s); got != want {
			t.Errorf("%q: %q", s, got)
		}
	}
}
