// Command bench measures what Emend costs beside the least a worker can do: a bare loop that pulls, POSTs, publishes the
// answer with a dedupe id and an awaited PubAck, and acks. Both work off the same number of queued requests, in turn,
// on the same nats-server and the same model, each in a process of its own; CPU and memory are the kernel's figures of
// that process. `make bench` runs it.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

var (
	runs  = flag.Int("runs", 10000, "requests a measurement")
	pairs = flag.Int("pairs", 5, "measurements of each, in turn")
	mode  = flag.String("mode", "", "internal: server or bare")
	addr  = flag.String("nats", "", "internal: server of the bare loop")
	model = flag.String("model", "", "internal: model of the bare loop")
	out   = flag.String("o", "build/bench.json", "where the figures go")
)

// concurrency of both workers.
const concurrency = 64

func main() {
	flag.Parse()
	var err error
	switch *mode {
	case "server":
		err = server()
	case "bare":
		err = bare(*addr, *model, *runs)
	default:
		err = bench()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// figures of one measurement.
type figures struct {
	CPU  float64 `json:"cpu_ms_per_run"`
	Rate float64 `json:"runs_per_s"`
	RSS  float64 `json:"rss_mib"`
}

type report struct {
	CPURatio  float64   `json:"cpu_ratio"`
	RunsRatio float64   `json:"runs_ratio"`
	RSS       float64   `json:"rss_mib"`
	Machine   string    `json:"machine"`
	Bare      []figures `json:"bare"`
	Emend     []figures `json:"emend"`
}

func bench() error {
	b, err := newBed()
	if err != nil {
		return err
	}
	defer b.close()
	r := report{Machine: machine()}
	fmt.Printf("%s\n%d runs of 0.5 KB a measurement, concurrency %d, instant model over loopback, schema verdict and all events on\n\n", r.Machine, *runs, concurrency)
	fmt.Printf("%-8s %14s %10s %10s\n", "", "CPU ms a run", "runs/s", "RSS MiB")
	for i := range *pairs {
		one, err := b.measureBare(i)
		if err != nil {
			return fmt.Errorf("bare loop: %w", err)
		}
		two, err := b.measureEmend(i)
		if err != nil {
			return fmt.Errorf("emend: %w", err)
		}
		r.Bare, r.Emend = append(r.Bare, one), append(r.Emend, two)
		fmt.Printf("%-8s %14.3f %10.0f %10.1f\n%-8s %14.3f %10.0f %10.1f\n", "bare", one.CPU, one.Rate, one.RSS, "emend", two.CPU, two.Rate, two.RSS)
	}
	r.CPURatio = median(r, func(bare, emend figures) float64 { return emend.CPU / bare.CPU })
	r.RunsRatio = median(r, func(bare, emend figures) float64 { return emend.Rate / bare.Rate })
	r.RSS = median(r, func(_, emend figures) float64 { return emend.RSS })
	fmt.Printf("\nmedian of %d pairs: CPU %.2fx, runs/s %.2fx, resident %.1f MiB\n", *pairs, r.CPURatio, r.RunsRatio, r.RSS)
	return write(r)
}

func median(r report, of func(bare, emend figures) float64) float64 {
	var v []float64
	for i := range r.Bare {
		v = append(v, of(r.Bare[i], r.Emend[i]))
	}
	slices.Sort(v)
	return v[len(v)/2]
}

func write(r report) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Dir(*out), 0o755), os.WriteFile(*out, append(b, '\n'), 0o644))
}

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
	return fmt.Sprintf("%s, %d cores, %s, %s", cpu, runtime.NumCPU(), runtime.Version(), time.Now().Format(time.DateOnly))
}
