package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// OTLP sends spans to an OTLP/HTTP receiver as JSON. The SDK's own exporter would bring protobuf and gRPC into every worker, 6 MiB
// of memory that one without traces would pay, too; the JSON form is as much of the standard, and the SDK does all else.
type OTLP struct {
	url    string
	header http.Header
	client *http.Client
}

// sendWithin bounds one export.
const sendWithin = 10 * time.Second

// NewOTLP sends to a URL that ends in /v1/traces.
func NewOTLP(url string, header http.Header) *OTLP {
	return &OTLP{url: url, header: header, client: &http.Client{Timeout: sendWithin}}
}

// ExportSpans implements sdktrace.SpanExporter.
func (o *OTLP) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	body, err := json.Marshal(wireSpans(spans))
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("traces: %w", err)
	}
	r.Header = o.header.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := o.client.Do(r)
	if err != nil {
		return fmt.Errorf("traces: %d spans are lost: %w", len(spans), err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("traces: %d spans are lost: the receiver answers %s", len(spans), resp.Status)
	}
	return nil
}

// Shutdown implements sdktrace.SpanExporter.
func (o *OTLP) Shutdown(context.Context) error {
	o.client.CloseIdleConnections()
	return nil
}

// What follows is the JSON form of OTLP: ids in hex, 64-bit numbers as strings.
type (
	otlpAttribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpValue struct {
		String *string    `json:"stringValue,omitempty"`
		Int    *string    `json:"intValue,omitempty"`
		Double *float64   `json:"doubleValue,omitempty"`
		Bool   *bool      `json:"boolValue,omitempty"`
		Array  *otlpArray `json:"arrayValue,omitempty"`
	}
	otlpArray struct {
		Values []otlpValue `json:"values"`
	}
	otlpEvent struct {
		Time       string          `json:"timeUnixNano"`
		Name       string          `json:"name"`
		Attributes []otlpAttribute `json:"attributes,omitempty"`
	}
	otlpStatus struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
	otlpSpan struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		ParentID   string          `json:"parentSpanId,omitempty"`
		TraceState string          `json:"traceState,omitempty"`
		Name       string          `json:"name"`
		Kind       int             `json:"kind"`
		Start      string          `json:"startTimeUnixNano"`
		End        string          `json:"endTimeUnixNano"`
		Attributes []otlpAttribute `json:"attributes,omitempty"`
		Events     []otlpEvent     `json:"events,omitempty"`
		Status     otlpStatus      `json:"status"`
	}
	otlpScope struct {
		Scope map[string]string `json:"scope"`
		Spans []otlpSpan        `json:"spans"`
	}
	otlpResource struct {
		Resource map[string][]otlpAttribute `json:"resource"`
		Scopes   []otlpScope                `json:"scopeSpans"`
	}
	otlpTraces struct {
		Resources []otlpResource `json:"resourceSpans"`
	}
)

// wireSpans is the body for spans of one process, which all have the same resource and scope.
func wireSpans(spans []sdktrace.ReadOnlySpan) otlpTraces {
	out := make([]otlpSpan, len(spans))
	for i, s := range spans {
		out[i] = wireSpan(s)
	}
	first := spans[0]
	return otlpTraces{[]otlpResource{{Resource: map[string][]otlpAttribute{"attributes": wireAttributes(first.Resource().Attributes())},
		Scopes: []otlpScope{{Scope: map[string]string{"name": first.InstrumentationScope().Name}, Spans: out}}}}}
}

func wireSpan(s sdktrace.ReadOnlySpan) otlpSpan {
	c := s.SpanContext()
	out := otlpSpan{TraceID: c.TraceID().String(), SpanID: c.SpanID().String(), TraceState: c.TraceState().String(), Name: s.Name(), Kind: int(s.SpanKind()),
		Start: nanos(s.StartTime()), End: nanos(s.EndTime()), Attributes: wireAttributes(s.Attributes())}
	if s.Parent().HasSpanID() {
		out.ParentID = s.Parent().SpanID().String()
	}
	for _, e := range s.Events() {
		out.Events = append(out.Events, otlpEvent{nanos(e.Time), e.Name, wireAttributes(e.Attributes)})
	}
	// The numbers of the wire are not those of the package.
	out.Status = otlpStatus{map[codes.Code]int{codes.Ok: 1, codes.Error: 2}[s.Status().Code], s.Status().Description}
	return out
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func wireAttributes(in []attribute.KeyValue) []otlpAttribute {
	out := make([]otlpAttribute, len(in))
	for i, a := range in {
		out[i] = otlpAttribute{string(a.Key), wireValue(a.Value)}
	}
	return out
}

func wireValue(v attribute.Value) otlpValue {
	switch v.Type() {
	case attribute.INT64:
		return otlpValue{Int: new(strconv.FormatInt(v.AsInt64(), 10))}
	case attribute.FLOAT64:
		return otlpValue{Double: new(v.AsFloat64())}
	case attribute.BOOL:
		return otlpValue{Bool: new(v.AsBool())}
	case attribute.STRINGSLICE:
		array := otlpArray{Values: []otlpValue{}}
		for _, s := range v.AsStringSlice() {
			array.Values = append(array.Values, otlpValue{String: &s})
		}
		return otlpValue{Array: &array}
	}
	return otlpValue{String: new(v.String())}
}
