package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// figures of one measurement of a worker. P50 and P99 are from publish to result of one request alone.
type figures struct {
	CPU    float64 `json:"cpu_ms_per_run"`
	Rate   float64 `json:"runs_per_s"`
	RSS    float64 `json:"rss_mib"`
	Server float64 `json:"server_cpu_ms_per_run"`
	Model  float64 `json:"model_cpu_ms_per_run"`
	P50    float64 `json:"alone_p50_ms"`
	P99    float64 `json:"alone_p99_ms"`
}

var heading = fmt.Sprintf("%-8s %13s %9s %9s %14s %13s %11s %11s", "", "CPU ms a run", "runs/s", "RSS MiB", "server CPU ms", "model CPU ms", "alone p50", "alone p99")

func (f figures) row(name string) string {
	return fmt.Sprintf("%-8s %13.3f %9.0f %9.1f %14.3f %13.3f %8.3f ms %8.3f ms", name, f.CPU, f.Rate, f.RSS, f.Server, f.Model, f.P50, f.P99)
}

// spread is the median of some values and how far they lie apart. What was not measured has no ratio and does not count.
type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

func spreadOf(v []float64) spread {
	v = slices.DeleteFunc(slices.Sorted(slices.Values(v)), func(f float64) bool { return math.IsNaN(f) || math.IsInf(f, 0) })
	if len(v) == 0 {
		return spread{}
	}
	return spread{Median: (v[(len(v)-1)/2] + v[len(v)/2]) / 2, Min: v[0], Max: v[len(v)-1]}
}

// report is build/bench.json. The four figures at its top are medians over the pairs.
type report struct {
	CPURatio     float64           `json:"cpu_ratio"`
	RunsRatio    float64           `json:"runs_ratio"`
	RSS          float64           `json:"rss_mib"`
	LatencyRatio float64           `json:"latency_ratio"`
	Spread       map[string]spread `json:"spread"`
	Machine      string            `json:"machine"`
	At           time.Time         `json:"at"`
	Bare         []figures         `json:"bare"`
	Emend        []figures         `json:"emend"`
}

// ratios are what a pair is compared in: Emend's figure over the bare loop's, but for the memory, which is Emend's.
var ratios = []struct {
	name, unit string
	of         func(bare, emend figures) float64
}{
	{"cpu_ratio", "x", func(a, b figures) float64 { return b.CPU / a.CPU }},
	{"runs_ratio", "x", func(a, b figures) float64 { return b.Rate / a.Rate }},
	{"rss_mib", " MiB", func(_, b figures) float64 { return b.RSS }},
	{"latency_ratio", "x", func(a, b figures) float64 { return b.P50 / a.P50 }},
	{"latency_p99_ratio", "x", func(a, b figures) float64 { return b.P99 / a.P99 }},
	{"server_cpu_ratio", "x", func(a, b figures) float64 { return b.Server / a.Server }},
}

// sum computes the ratios of each pair, and their medians.
func (r *report) sum() {
	r.Spread = map[string]spread{}
	for _, q := range ratios {
		var v []float64
		for i := range r.Bare {
			v = append(v, q.of(r.Bare[i], r.Emend[i]))
		}
		r.Spread[q.name] = spreadOf(v)
	}
	r.CPURatio, r.RunsRatio = r.Spread["cpu_ratio"].Median, r.Spread["runs_ratio"].Median
	r.RSS, r.LatencyRatio = r.Spread["rss_mib"].Median, r.Spread["latency_ratio"].Median
}

func (r *report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nmedian of %d pairs (lowest to highest)\n", len(r.Bare))
	for _, q := range ratios {
		s := r.Spread[q.name]
		fmt.Fprintf(&b, "  %-18s %6.2f%s (%.2f to %.2f)\n", q.name, s.Median, q.unit, s.Min, s.Max)
	}
	return b.String()
}

func (r *report) write(path string) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, append(b, '\n'), 0o644))
}

// machine is what the figures are of.
func machine() string {
	cpu := "unknown CPU"
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if name, ok := strings.CutPrefix(line, "model name"); ok {
				cpu = strings.TrimSpace(strings.TrimLeft(name, "\t :"))
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores, %s", cpu, runtime.NumCPU(), runtime.Version())
}
