package main

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// held is one worker with many slow runs under way.
type held struct {
	Runs int `json:"runs"`
	// Idle and Held are its resident memory without runs and with all of them.
	Idle float64 `json:"idle_mib"`
	Held float64 `json:"held_mib"`
	// KiBPerRun is the difference, by run; GoroutinesPerRun that of goroutines.
	KiBPerRun        float64 `json:"kib_per_run"`
	GoroutinesPerRun float64 `json:"goroutines_per_run"`
	Threads          int     `json:"threads"`
}

// hold puts runs under way all at once and looks at their worker while the model has every one of them.
func (b *bed) hold(l load) (h held, err error) {
	s, err := b.open(l)
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	ports, err := freePorts(1)
	if err != nil {
		return h, err
	}
	at := fmt.Sprintf("127.0.0.1:%d", ports[0])
	workers, err := s.serve("--http", at)
	if err != nil {
		return h, err
	}
	h, err = s.watch(workers[0], "http://"+at)
	return h, errors.Join(err, workers[0].end())
}

func (s *site) watch(p *process, url string) (h held, err error) {
	const inUse = `emend_permits_in_use{backend="b0"}`
	idle, err := reached(url, inUse, 0, s.delay)
	if err != nil {
		return h, err
	}
	if h.Idle, _, err = memory(p); err != nil {
		return h, err
	}
	sub, err := s.results()
	if err != nil {
		return h, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := s.queue(s.runs); err != nil {
		return h, err
	}
	full, err := reached(url, inUse, float64(s.runs), s.delay)
	if err != nil {
		return h, err
	}
	h.Runs = s.runs
	if h.Held, h.Threads, err = memory(p); err != nil {
		return h, err
	}
	h.KiBPerRun = (h.Held - h.Idle) * 1024 / float64(s.runs)
	h.GoroutinesPerRun = (full["go_goroutines"] - idle["go_goroutines"]) / float64(s.runs)
	if s.seen != nil {
		s.seen()
	}
	_, _, err = s.count(sub)
	return h, err
}

// reached scrapes a worker until a metric has a value, and returns all of that scrape.
func reached(url, name string, want float64, within time.Duration) (map[string]float64, error) {
	var last error
	for until := time.Now().Add(within + 30*time.Second); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		m, err := scrape(url + "/metrics")
		if got, ok := m[name]; ok && got == want {
			return m, nil
		}
		last = fmt.Errorf("%s is %v, waited for %v: %w", name, m[name], want, err)
	}
	return nil, last
}

func scrape(url string) (map[string]float64, error) {
	resp, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	out := map[string]float64{}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); ok && err == nil {
			out[name] = v
		}
	}
	return out, nil
}

// memory is what is resident of a process, in MiB, and its threads.
func memory(p *process) (rss float64, threads int, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(line, ":")
		n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
		switch name {
		case "VmRSS":
			rss = float64(n) / 1024
		case "Threads":
			threads = n
		}
	}
	return rss, threads, nil
}
