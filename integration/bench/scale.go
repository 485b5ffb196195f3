package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// cases are what -scale can name, in their order.
var cases = []string{"workers", "backlog", "replicas", "backends", "inflight"}

// slowModel is the model of the scale figures.
const slowModel = 200 * time.Millisecond

// loads are those of a case.
func loads(name string) (out []load) {
	base := load{workers: 1, backends: 1, places: concurrency, delay: slowModel, runs: 3000}
	with := func(name string, change func(*load)) {
		l := base
		l.name = name
		change(&l)
		out = append(out, l)
	}
	switch name {
	case "workers":
		for _, n := range []int{1, 2, 4, 8} {
			with(fmt.Sprintf("workers-%d", n), func(l *load) { l.workers, l.runs, l.beside = n, n*l.runs, true })
		}
	case "backlog":
		for _, n := range []int{1_000, 1_000_000} {
			with(fmt.Sprintf("backlog-%d", n), func(l *load) { l.delay, l.runs, l.backlog, l.beside = time.Millisecond, 10_000, n, true })
		}
	case "replicas":
		for _, n := range []int{1, clusterSize} {
			with(fmt.Sprintf("replicas-%d", n), func(l *load) { l.replicas = n })
		}
	case "backends":
		with("backends-4", func(l *load) { l.backends, l.places, l.runs = 4, concurrency/4, 6000 })
	}
	return out
}

// scales is build/scale.json.
type scales struct {
	Machine string    `json:"machine"`
	At      time.Time `json:"at"`
	Loads   []moved   `json:"loads"`
	Held    *held     `json:"held,omitempty"`
}

// scale runs the named cases, comma separated.
func scale(names, path string) error {
	out := scales{Machine: machine(), At: time.Now().UTC().Truncate(time.Second)}
	chosen := strings.Split(names, ",")
	for _, name := range chosen {
		if !slices.Contains(cases, name) {
			return fmt.Errorf("-scale %s: there are %s", name, strings.Join(cases, ", "))
		}
	}
	fmt.Printf("%s\nmodel of %s, concurrency %d a worker\n\n%-22s %10s %10s %12s %14s %13s\n", out.Machine, slowModel, concurrency, "", "runs/s", "RSS MiB", "least share", "server CPU ms", "CPU ms a run")
	for _, name := range chosen {
		if err := out.measure(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	b, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, append(b, '\n'), 0o644))
}

// measure runs one case on a bed of its own.
func (s *scales) measure(name string) error {
	server := "server"
	if name == "replicas" {
		server = "cluster"
	}
	b, err := newBedOn(server, released)
	if err != nil {
		return err
	}
	defer b.close()
	if name == "inflight" {
		h, err := b.hold(load{name: name, workers: 1, backends: 1, places: 10_000, runs: 10_000, delay: 20 * time.Second})
		if err != nil {
			return err
		}
		s.Held = &h
		fmt.Println(h.text())
		return nil
	}
	for _, l := range loads(name) {
		puts := []func(load) (moved, error){b.move}
		if l.beside {
			puts = append(puts, b.bare)
		}
		for _, put := range puts {
			m, err := put(l)
			if err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
			s.Loads = append(s.Loads, m)
			fmt.Printf("%-22s %10.0f %10.1f %12.2f %14.3f %13.3f\n", m.Name, m.Rate, m.RSS, m.Share, m.Server, m.CPU)
		}
	}
	return nil
}

func (h held) text() string {
	return fmt.Sprintf("%d runs under way in one process: %.1f MiB (idle %.1f), %.1f KiB and %.2f goroutines a run, %d threads",
		h.Runs, h.Held, h.Idle, h.KiBPerRun, h.GoroutinesPerRun, h.Threads)
}
