package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		of   []float64
		want spread
	}{
		{nil, spread{}},
		{[]float64{3}, spread{3, 3, 3}},
		{[]float64{5, 1, 2}, spread{2, 1, 5}},
		{[]float64{4, 1, 2, 9}, spread{3, 1, 9}},
		{[]float64{math.NaN(), 2, math.Inf(1)}, spread{2, 2, 2}},
		{[]float64{math.NaN()}, spread{}},
	} {
		if got := spreadOf(c.of); got != c.want {
			t.Errorf("%v: %v, want %v", c.of, got, c.want)
		}
	}
}

// A ratio is taken within a pair: what the machine does meanwhile meets both of it.
func TestReport(t *testing.T) {
	r := report{Machine: "m",
		Bare:  []figures{{CPU: 1, Rate: 1000, RSS: 10, Server: 1, P50: 1, P99: 2}, {CPU: 2, Rate: 500, RSS: 10, Server: 2, P50: 2, P99: 4}, {CPU: 1, Rate: 1000, RSS: 10, Server: 1, P50: 1, P99: 1}},
		Emend: []figures{{CPU: 2, Rate: 800, RSS: 30, Server: 3, P50: 1.2, P99: 4}, {CPU: 4.2, Rate: 450, RSS: 32, Server: 6, P50: 2.6, P99: 4}, {CPU: 3, Rate: 500, RSS: 31, Server: 1, P50: 1.4, P99: 1}}}
	r.sum()
	for name, got := range map[string][2]float64{"cpu": {r.CPURatio, 2.1}, "runs": {r.RunsRatio, 0.8}, "rss": {r.RSS, 31}, "latency": {r.LatencyRatio, 1.3},
		"worst cpu": {r.Spread["cpu_ratio"].Max, 3}, "p99": {r.Spread["latency_p99_ratio"].Median, 1}, "server": {r.Spread["server_cpu_ratio"].Median, 3}} {
		if math.Abs(got[0]-got[1]) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got[0], got[1])
		}
	}
	if text := r.text(); !strings.Contains(text, "cpu_ratio            2.10x (2.00 to 3.00)") || !strings.Contains(text, "median of 3 pairs") {
		t.Error(text)
	}
}

// The issue names what stands at the top of the file.
func TestReportFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "bench.json")
	r := report{Bare: []figures{{CPU: 1, Rate: 1}}, Emend: []figures{{CPU: 2, Rate: 1, RSS: 3}}}
	r.sum()
	if err := r.write(path); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"cpu_ratio": 2, "runs_ratio": 1, "rss_mib": 3, "latency_ratio": 0} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
}

func TestRowFitsTheHeading(t *testing.T) {
	row := figures{CPU: 0.1, Rate: 7000, RSS: 20, Server: 0.1, Model: 0.1, P50: 0.2, P99: 0.4}.row("bare")
	if len(strings.Fields(row)) != 10 || !strings.HasPrefix(row, "bare ") || !strings.HasPrefix(heading, strings.Repeat(" ", 8)) {
		t.Errorf("%q under %q", row, heading)
	}
}

func TestMachineNamesItself(t *testing.T) {
	if m := machine(); !strings.Contains(m, "cores, go") {
		t.Error(m)
	}
}

func TestMillis(t *testing.T) {
	if got := millis(1500 * time.Microsecond); got != 1.5 {
		t.Error(got)
	}
}
