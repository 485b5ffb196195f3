package main

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otelresource "go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"emend/internal/telemetry"
	"emend/prompts"
)

// flushSpans bounds the sending of what is left when the worker ends.
const flushSpans = 5 * time.Second

// tracing sends spans over OTLP; nil where no endpoint is configured, in emend.yaml or by OpenTelemetry's own variables.
func tracing(snap *prompts.Snapshot, log zerolog.Logger) (*telemetry.Traces, func(), error) {
	cfg := snap.Config().Traces
	to, err := tracesURL(cfg.Endpoint)
	if err != nil || to == "" {
		return nil, func() {}, err
	}
	header, err := otlpHeaders(cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS"), os.Getenv("OTEL_EXPORTER_OTLP_HEADERS")))
	if err != nil {
		return nil, nil, err
	}
	exporter := telemetry.NewOTLP(to, header)
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

// tracesURL is where spans go: the configured endpoint before those of the environment; "" for nowhere.
func tracesURL(endpoint string) (string, error) {
	if whole := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"); endpoint == "" && whole != "" {
		return whole, nil
	}
	if endpoint = cmp.Or(endpoint, os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")); endpoint == "" {
		return "", nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "", errors.New("traces.endpoint: write the URL of an OTLP/HTTP receiver, such as http://collector:4318")
	}
	return u.JoinPath("v1/traces").String(), nil
}

// otlpHeaders reads name=value pairs, as OpenTelemetry writes them: values are percent-encoded. Its error holds no value.
func otlpHeaders(s string) (http.Header, error) {
	h := http.Header{}
	for pair := range strings.SplitSeq(s, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || strings.TrimSpace(name) == "" {
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS: write name=value,name=value")
		}
		h.Set(strings.TrimSpace(name), value)
	}
	return h, nil
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
