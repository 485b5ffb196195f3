package telemetry

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"gopkg.in/yaml.v3"

	"emend/capacity"
)

// gather has every metric of a worker.
func gather(t *testing.T) []*dto.MetricFamily {
	t.Helper()
	r := prometheus.NewRegistry()
	m := NewMetrics(r)
	NewGates(r, func() map[string]capacity.Stats { return map[string]capacity.Stats{"b": {}} })
	NewBacklogs(r, func() (*Backlog, error) { return &Backlog{Queues: []Queue{{Backend: "b", Queue: "q"}}}, nil })
	for _, e := range every {
		m.Count(e)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// labelsOf are the labels of every metric that a worker has, by the names under which Prometheus keeps it.
func labelsOf(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, f := range gather(t) {
		labels := []string{"namespace", "job", "instance"} // these come from the scrape
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		out[f.GetName()] = labels
		if f.GetMetric()[0].GetHistogram() != nil {
			out[f.GetName()+"_count"], out[f.GetName()+"_sum"], out[f.GetName()+"_bucket"] = labels, labels, append(slices.Clone(labels), "le")
		}
	}
	return out
}

// queries are those of the board and of the alert rules, by their titles.
func queries(t *testing.T) map[string]string {
	t.Helper()
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ RefID, Expr string }
		}
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	read(t, "../../deploy/grafana/emend.json", func(b []byte) error { return json.Unmarshal(b, &board) })
	read(t, "../../deploy/helm/emend/alerts.yaml", func(b []byte) error { return yaml.Unmarshal(b, &rules) })
	out := map[string]string{}
	for _, p := range board.Panels {
		for _, q := range p.Targets {
			out["panel "+p.Title+" "+q.RefID] = q.Expr
		}
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			out["alert "+r.Alert] = r.Expr
		}
	}
	return out
}

func read(t *testing.T, path string, into func([]byte) error) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = into(b)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// TestBoardAndAlertsAskForWhatThereIs: every metric and every label in a query of the board and of the rules is one that a
// worker really has, and every metric of a worker that people should see is asked for.
func TestBoardAndAlertsAskForWhatThereIs(t *testing.T) {
	have, asked := labelsOf(t), map[string]bool{}
	all := queries(t)
	if len(all) < 25 {
		t.Errorf("%d queries", len(all))
	}
	for title, q := range all {
		q = strings.NewReplacer("$__rate_interval", "5m", "$backend", ".*", "$queue", ".*").Replace(q)
		expr, err := metricsql.Parse(q)
		if err != nil {
			t.Errorf("%s: %v", title, err)
			continue
		}
		names, labels := used(expr)
		for _, n := range names {
			if have[n] == nil {
				t.Errorf("%s: no worker has a metric %s", title, n)
			}
			asked[n] = true
		}
		for _, l := range labels {
			if !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(have[n], l) }) {
				t.Errorf("%s: none of %v has a label %s", title, names, l)
			}
		}
	}
	for _, n := range []string{"emend_runs_total", "emend_findings_total", "emend_gate_phase", "emend_queue_oldest_seconds", "emend_cost_usd_total", "emend_run_seconds_bucket"} {
		if !asked[n] {
			t.Errorf("nobody asks for %s", n)
		}
	}
}

// used are the metrics and labels of a query.
func used(expr metricsql.Expr) (names, labels []string) {
	metricsql.VisitAll(expr, func(e metricsql.Expr) {
		switch e := e.(type) {
		case *metricsql.MetricExpr:
			for _, group := range e.LabelFilterss {
				for _, f := range group {
					if f.Label == "__name__" {
						names = append(names, f.Value)
					} else {
						labels = append(labels, f.Label)
					}
				}
			}
		case *metricsql.AggrFuncExpr:
			labels = append(labels, e.Modifier.Args...)
		case *metricsql.BinaryOpExpr:
			labels = append(labels, e.GroupModifier.Args...)
		}
	})
	return names, labels
}

var update = flag.Bool("update", false, "write docs/metrics.md anew")

const metricsHead = "# Metrics\n\nWhat `/metrics` of a worker tells (`emend serve --http`), beside the Go runtime's own; from the code: `make docs` writes this page. Labels are bounded:\n" +
	"names of your definitions, words of Emend, statuses and JSON Schema keywords. [A board and alert rules](../deploy/README.md) ask for them.\n\n| metric | kind | labels | what it tells |\n|---|---|---|---|\n"

func TestMetricsPageIsCurrent(t *testing.T) {
	const path = "../../docs/metrics.md"
	var b strings.Builder
	b.WriteString(metricsHead)
	for _, f := range gather(t) {
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, "`"+l.GetName()+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.GetName(), strings.ToLower(f.GetType().String()), strings.Join(labels, ", "), f.GetHelp())
	}
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(path); err != nil || string(have) != b.String() {
		t.Errorf("docs/metrics.md is not what the code says (%v): make docs", err)
	}
}
