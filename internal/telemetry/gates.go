package telemetry

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"emend/capacity"
)

// Gates is a Prometheus collector of how gates stand at the moment of a scrape. read is called at each.
type Gates struct {
	read func() map[string]capacity.Stats
}

// NewGates makes the collector and registers it.
func NewGates(r prometheus.Registerer, read func() map[string]capacity.Stats) {
	r.MustRegister(&Gates{read})
}

var (
	gatePhase    = prometheus.NewDesc("emend_gate_phase", "1 for the phase that a gate is in: open, slow, closed or probing.", []string{"backend", "phase"}, nil)
	permitsInUse = prometheus.NewDesc("emend_permits_in_use", "Provider calls under way.", []string{"backend"}, nil)
	admitted     = prometheus.NewDesc("emend_admitted", "Runs that hold a place.", []string{"backend"}, nil)
	waiting      = prometheus.NewDesc("emend_waiting_for_permit", "Runs that wait for a permit.", []string{"backend"}, nil)
)

// Describe implements prometheus.Collector.
func (g *Gates) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{gatePhase, permitsInUse, admitted, waiting} {
		out <- d
	}
}

var phases = []capacity.Phase{capacity.Open, capacity.Slow, capacity.Closed, capacity.Probing}

// Collect implements prometheus.Collector.
func (g *Gates) Collect(out chan<- prometheus.Metric) {
	stats := g.read()
	for _, backend := range slices.Sorted(maps.Keys(stats)) {
		s := stats[backend]
		for _, p := range phases {
			is := 0.0
			if s.State.Phase == p {
				is = 1
			}
			out <- prometheus.MustNewConstMetric(gatePhase, prometheus.GaugeValue, is, backend, p.String())
		}
		for d, n := range map[*prometheus.Desc]int{permitsInUse: s.PermitsInUse, admitted: s.AdmittedInUse, waiting: s.Waiting} {
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), backend)
		}
	}
}
