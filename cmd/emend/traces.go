package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	otelresource "go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"emend/internal/telemetry"
	"emend/prompts"
)

// flushSpans bounds the sending of what is left when the worker ends.
const flushSpans = 5 * time.Second

// tracing sends spans over OTLP; nil where no endpoint is configured, in emend.yaml or by OTEL_EXPORTER_OTLP_ENDPOINT. The other
// variables of OpenTelemetry apply, too: headers with a credential belong into OTEL_EXPORTER_OTLP_HEADERS.
func tracing(ctx context.Context, snap *prompts.Snapshot, log zerolog.Logger) (*telemetry.Traces, func(), error) {
	cfg := snap.Config().Traces
	if cfg.Endpoint == "" && cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")) == "" {
		return nil, func() {}, nil
	}
	var o []otlptracehttp.Option
	if cfg.Endpoint != "" {
		u, err := url.JoinPath(cfg.Endpoint, "v1/traces")
		if err != nil {
			return nil, nil, fmt.Errorf("traces.endpoint: write a URL such as http://collector:4318")
		}
		o = append(o, otlptracehttp.WithEndpointURL(u))
	}
	exporter, err := otlptracehttp.New(ctx, o...)
	if err != nil {
		return nil, nil, failed(fmt.Errorf("traces: %w", err))
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn().Err(err).Msg("spans could not be sent") }))
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(cfg.Ratio))),
		sdktrace.WithResource(otelresource.NewSchemaless(attribute.String("service.name", cmp.Or(os.Getenv("OTEL_SERVICE_NAME"), "emend")), attribute.String("service.version", version))))
	stop := func() {
		ctx, cancel := context.WithTimeout(context.Background(), flushSpans)
		defer cancel()
		if err := p.Shutdown(ctx); err != nil {
			log.Warn().Err(err).Msg("the last spans could not be sent")
		}
	}
	return telemetry.NewTraces(p.Tracer("emend"), cfg.Propagate, providerOf(snap)), stop, nil
}

// providerOf names a backend's provider as the conventions do.
func providerOf(snap *prompts.Snapshot) func(backend string) string {
	return func(backend string) string {
		b, ok := snap.Backend(backend)
		if !ok {
			return backend
		}
		return telemetry.ProviderName(b.Dialect)
	}
}
