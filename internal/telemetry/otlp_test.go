package telemetry

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// exported is what a receiver gets of one span, and the error of the export.
func exported(t *testing.T, status int, fill func(trace.Span)) (body string, header http.Header, err error) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body, header = string(b), r.Header
		w.WriteHeader(status)
	}))
	defer srv.Close()
	kept := &keeper{}
	p := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))
	_, s := p.Tracer("emend").Start(t.Context(), "name", trace.WithSpanKind(trace.SpanKindClient))
	fill(s)
	s.End()
	o := NewOTLP(srv.URL+"/v1/traces", http.Header{"X-Key": {"k"}})
	err = o.ExportSpans(t.Context(), kept.spans)
	if serr := o.Shutdown(t.Context()); serr != nil {
		t.Error(serr)
	}
	return body, header, err
}

func TestTheJSONOfASpan(t *testing.T) {
	body, header, err := exported(t, http.StatusOK, func(s trace.Span) {
		s.SetAttributes(attribute.String("s", "x"), attribute.Int64("i", 7), attribute.Bool("b", true), attribute.Float64("f", 0.5), attribute.StringSlice("l", []string{"a", "b"}))
		s.AddEvent("event", trace.WithTimestamp(time.Unix(1, 5)), trace.WithAttributes(attribute.String("k", "v")))
		s.SetStatus(codes.Error, "why")
	})
	if err != nil || !json.Valid([]byte(body)) || header.Get("Content-Type") != "application/json" || header.Get("X-Key") != "k" {
		t.Fatalf("%v %v %s", err, header, body)
	}
	for _, want := range []string{`"scope":{"name":"emend"}`, `"name":"name","kind":3`, `{"key":"s","value":{"stringValue":"x"}}`, `{"key":"i","value":{"intValue":"7"}}`, `{"key":"b","value":{"boolValue":true}}`,
		`{"key":"f","value":{"doubleValue":0.5}}`, `{"key":"l","value":{"arrayValue":{"values":[{"stringValue":"a"},{"stringValue":"b"}]}}}`,
		`{"timeUnixNano":"1000000005","name":"event","attributes":[{"key":"k","value":{"stringValue":"v"}}]}`, `"status":{"code":2,"message":"why"}`} {
		if !strings.Contains(body, want) {
			t.Errorf("lacks %s:\n%s", want, body)
		}
	}
}

func TestAReceiverThatRefuses(t *testing.T) {
	if _, _, err := exported(t, http.StatusServiceUnavailable, func(trace.Span) {}); err == nil || !strings.Contains(err.Error(), "1 spans are lost: the receiver answers 503") {
		t.Errorf("%v", err)
	}
	if err := NewOTLP("http://127.0.0.1:1", nil).ExportSpans(t.Context(), nil); err != nil {
		t.Errorf("nothing to send: %v", err)
	}
	kept := &keeper{}
	_, s := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept)).Tracer("t").Start(t.Context(), "x")
	s.End()
	for _, url := range []string{"http://127.0.0.1:1", ":no URL"} {
		if err := NewOTLP(url, nil).ExportSpans(t.Context(), kept.spans); err == nil {
			t.Errorf("%s takes spans", url)
		}
	}
}

// keeper keeps what it is given.
type keeper struct{ spans []sdktrace.ReadOnlySpan }

func (k *keeper) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	k.spans = append(k.spans, spans...)
	return nil
}

func (k *keeper) Shutdown(context.Context) error { return nil }
