package telemetry

import (
	"io"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"emend/schemas"
)

// ofOneRun are the events of a run of one call.
var ofOneRun = []schemas.Event{
	{Kind: schemas.EventStarted, Backend: "b", Queue: "q", Prompt: "p@1"},
	{Kind: schemas.EventAttemptStarted, Backend: "b", Prompt: "p@1", WaitMS: new(int64(0))},
	{Kind: schemas.EventAttempt, Backend: "b", Model: "m", GenerationKind: "initial", Outcome: "completed", DurationMS: new(int64(20)), WaitMS: new(int64(0)), Usage: &schemas.Tokens{Input: new(int64(7)), Output: new(int64(3))}, Cost: new(schemas.USD(9))},
	{Kind: schemas.EventValidation, Prompt: "p@1", Outcome: "ok"},
	{Kind: schemas.EventFinished, Backend: "b", Queue: "q", Prompt: "p@1", Outcome: "succeeded", Totals: &schemas.Totals{TimingMS: schemas.Timing{Total: 1500}}},
}

// What a run costs by being counted, logged, and not traced: it must stay far below a tenth of what the run itself costs a worker,
// which is some hundreds of microseconds.
func BenchmarkARunIsCountedAndLogged(b *testing.B) {
	m, log := NewMetrics(prometheus.NewRegistry()), zerolog.New(io.Discard).With().Timestamp().Str("worker", "w-1").Logger()
	var traces *Traces
	b.ReportAllocs()
	for b.Loop() {
		r := traces.Begin(Delivered{Run: "a", Queue: "q", Taken: time.Time{}})
		for i := range ofOneRun {
			m.Count(ofOneRun[i])
			r.Count(&ofOneRun[i])
		}
		r.End()
		l := log.With().Str("run", "a").Str("queue", "q").Str("backend", "b").Uint64("delivery", 1).Logger()
		l.Info().Str("status", "succeeded").Int("calls", 1).Int64("total_ms", 20).Msg("run finished")
	}
}
