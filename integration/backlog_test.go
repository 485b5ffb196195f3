package integration

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"emend/internal/devnats"
)

// backlog is how many runs are queued beside the first thousand: `make backlog` has a million.
var backlog = flag.Int("backlog", 20_000, "how many runs TestBacklogCostsAWorkerNoMemory queues")

// resident is the memory of the process in KiB, as the system tells it.
func (p *process) resident() int {
	p.s.Helper()
	pid := strconv.Itoa(p.cmd.Process.Pid)
	if text, err := os.ReadFile(filepath.Join("/proc", pid, "status")); err == nil {
		_, rest, _ := strings.Cut(string(text), "VmRSS:")
		n, err := strconv.Atoi(strings.Fields(rest)[0])
		p.s.must(err)
		return n
	}
	out, err := exec.Command("ps", "-o", "rss=", "-p", pid).Output()
	p.s.must(err)
	n, err := strconv.Atoi(strings.TrimSpace(string(out)))
	p.s.must(err)
	return n
}

// heap is what this process, and with it the embedded server, has in use, in MiB.
func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// TestBacklogCostsAWorkerNoMemory: a worker that is full holds no more memory with many runs queued than with a thousand, and works
// on among them. What they cost the server, one subject a run, is logged: memory, and the time of a restart.
func TestBacklogCostsAWorkerNoMemory(t *testing.T) {
	s := newSite(t, devnats.Options{}, unkeyed, keyed)
	w := s.process("w")
	const first, worked, chunk = 1000, 500, 10_000
	before := heap()
	s.publishMany(first, func(i int) (id, text string) { return fmt.Sprint("first", i), body("rate", fmt.Sprint("PAUSE ", i)) })
	s.eventually("the worker is full", func() bool { return w.open() == 16 })
	few, began := w.resident(), time.Now()
	for at := 0; at < *backlog; at += chunk {
		s.publishMany(min(chunk, *backlog-at), func(i int) (id, text string) { return fmt.Sprint("r", at+i), body("rate", fmt.Sprint("text ", at+i)) })
	}
	stored, many, after := time.Since(began), w.resident(), heap()
	s.mock.resume()
	s.eventually("it works on", func() bool { return s.count(s.names.ResultsStream()) > worked })
	busy := w.resident()
	w.kill()
	restart := s.restarts()
	t.Logf("worker: %d MiB with %d queued, %d MiB with %d more, %d MiB at work among them", few>>10, first, many>>10, *backlog, busy>>10)
	t.Logf("server: %.0f MiB more in use for %d, %.0f bytes a run; stored in %v; %v from its start until it answered", after-before, *backlog,
		(after-before)*(1<<20)/float64(*backlog+first), stored, restart)
	if many > few+8<<10 {
		t.Errorf("%d KiB with %d queued, %d KiB with %d more", few, first, many, *backlog)
	}
}

// restarts stops the server, starts it again on what it stored, and returns how long that took until its streams answered.
func (s *site) restarts() time.Duration {
	s.Helper()
	store := filepath.Dir(s.server.Server().JetStreamConfig().StoreDir)
	queued := s.count(s.names.RunsStream())
	s.server.Stop()
	began := time.Now()
	again, err := devnats.Start(devnats.Options{StoreDir: store})
	s.must(err)
	s.Cleanup(again.Stop)
	s.server = again
	s.nc, s.js = s.connect()
	got := s.count(s.names.RunsStream())
	took := time.Since(began)
	if got == 0 || got > queued {
		s.Errorf("%d requests after the restart, %d before", got, queued)
	}
	return took
}
