package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"emend/schemas"
)

// genAI are the metrics of the OpenTelemetry GenAI conventions (semconv v1.41.0), in the form that Prometheus gives them.
type genAI struct {
	duration, tokens *prometheus.HistogramVec
	// provider is the convention's name of a backend's provider.
	provider func(backend string) string
}

// tokenBuckets are those that the conventions recommend: powers of four up to 67108864.
var tokenBuckets = prometheus.ExponentialBuckets(1, 4, 14)

// operation is what every call of Emend is to the conventions.
const operation = "chat"

func newGenAI(r prometheus.Registerer) *genAI {
	g := &genAI{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "gen_ai_client_operation_duration_seconds", Help: "Duration of provider calls (GenAI conventions).",
			Buckets: buckets}, []string{"gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model", "error_type"}),
		tokens: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "gen_ai_client_token_usage", Help: "Tokens of provider calls, input with cache (GenAI conventions).",
			Buckets: tokenBuckets}, []string{"gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model", "gen_ai_token_type"}),
		provider: func(backend string) string { return backend },
	}
	r.MustRegister(g.duration, g.tokens)
	return g
}

// attempt counts a call. Models are those of profiles; an error's type is the provider's status, or the outcome.
func (g *genAI) attempt(e schemas.Event) {
	provider, fault := g.provider(e.Backend), ""
	switch {
	case e.Status >= 400:
		fault = code(e.Status)
	case e.Outcome != schemas.OutcomeCompleted:
		fault = e.Outcome
	}
	g.duration.WithLabelValues(operation, provider, e.Model, fault).Observe(seconds(e.DurationMS))
	if e.Usage == nil {
		return
	}
	for kind, n := range map[string]*int64{"input": e.Usage.Input, "output": e.Usage.Output} {
		if n != nil {
			g.tokens.WithLabelValues(operation, provider, e.Model, kind).Observe(float64(*n))
		}
	}
}

// ProviderName is the name that the GenAI conventions give to what a dialect speaks to: an OpenAI-compatible server counts as
// openai, which is what the conventions say of it.
func ProviderName(dialect string) string {
	if dialect == "gemini" {
		return "gcp.gemini"
	}
	return dialect
}
