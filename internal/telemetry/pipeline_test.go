package telemetry

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"emend/schemas"
)

// A pipeline run is counted under its name; what is told of its stages is no stage attempt.
func TestPipelinesAreCounted(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	m := NewMetrics(r)
	m.Count(schemas.Event{Kind: schemas.EventStage, Queue: "q", Pipeline: "digest@1", Stage: schemas.StageExtract, Lane: "a", Outcome: "running", Jobs: &schemas.JobCounts{Total: 2}})
	m.Count(schemas.Event{Kind: schemas.EventFinished, Queue: "q", Pipeline: "digest@1", Outcome: schemas.StatusSucceeded})
	text, err := gathered(r)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, `prompt="digest@1"`) || strings.Contains(text, "emend_stage_attempts_total{") {
		t.Errorf("%s", text)
	}
}
