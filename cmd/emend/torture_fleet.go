package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// fleet is the worker processes of a torture.
type fleet struct {
	r       *rack
	program string
	workers []*exec.Cmd
	ids     []string
	started int
	// What was done to them. killed are the ids of those that had no chance to tell their last.
	kills, drains int
	killed        map[string]bool
	// watched is where the first worker tells of itself; it is spared where there are others, and memory (MiB) and goroutines are
	// its own over time.
	watched            string
	memory, goroutines []int64
	once               sync.Once
}

// newFleet starts the workers: this very program.
func newFleet(r *rack) (*fleet, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	f := &fleet{r: r, program: program, killed: map[string]bool{}}
	if f.watched, err = freeAddress(); err != nil {
		return nil, err
	}
	for range r.o.workers {
		if err := f.start(len(f.workers)); err != nil {
			f.stop()
			return nil, err
		}
	}
	return f, nil
}

// start starts a worker in a place, the next free one or one whose worker is gone.
func (f *fleet) start(place int) error {
	f.started++
	args := []string{"serve", "--dir", f.r.dir, "--space", f.r.names.Space(), "--worker-id", workerID(f.started), "--log-level", "error"}
	if f.started == 1 {
		args = append(args, "--http", f.watched)
	}
	if f.r.cfg.Context != "" {
		args = append(args, "--context", f.r.cfg.Context)
	} else {
		args = append(args, "--nats", f.r.cfg.URL)
	}
	if f.r.cfg.Creds != "" {
		args = append(args, "--creds", f.r.cfg.Creds)
	}
	c := exec.Command(f.program, args...)
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		return fmt.Errorf("start a worker: %w", err)
	}
	if place == len(f.workers) {
		f.workers, f.ids = append(f.workers, c), append(f.ids, workerID(f.started))
	} else {
		f.workers[place], f.ids[place] = c, workerID(f.started)
	}
	return nil
}

func workerID(n int) string { return fmt.Sprintf("w-%d", n) }

// freeAddress is a port of loopback that nobody listens on now.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// harm kills and drains workers in turn until ctx is done, and starts others in their places. The first is spared, and
// watched, unless it is alone.
func (f *fleet) harm(ctx context.Context) {
	every := f.r.o.kill
	if every <= 0 {
		every = 5 * time.Second
	}
	spared := min(len(f.workers)-1, 1)
	for n := 0; ; n++ {
		if pause(ctx, every); ctx.Err() != nil {
			return
		}
		f.look(ctx)
		if f.r.o.kill <= 0 {
			continue
		}
		if err := f.hit(spared+n%(len(f.workers)-spared), n%2 == 0); err != nil {
			return
		}
	}
}

// hit kills or drains the worker in a place, and starts another there.
func (f *fleet) hit(place int, kill bool) error {
	victim := f.workers[place]
	if kill {
		f.kills++
		f.killed[f.ids[place]] = true
		_ = victim.Process.Kill()
	} else {
		f.drains++
		_ = victim.Process.Signal(syscall.SIGTERM)
	}
	_ = victim.Wait()
	return f.start(place)
}

// look notes what the watched worker uses; where the system or the worker does not tell, nothing.
func (f *fleet) look(ctx context.Context) {
	if len(f.workers) < 2 {
		return
	}
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", f.workers[0].Process.Pid)); err == nil {
		f.memory = append(f.memory, kib(text)/1024)
	}
	if n, err := goroutines(ctx, f.watched); err == nil {
		f.goroutines = append(f.goroutines, n)
	}
}

// goroutines reads how many a worker has from its metrics.
func goroutines(ctx context.Context, address string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "go_goroutines "); ok {
			return strconv.ParseInt(rest, 10, 64)
		}
	}
	return 0, errors.New("the metrics do not tell the goroutines")
}

// level says that what is used does not grow: over its second half no more than half as much again, and a little, as in its second
// quarter. Fewer than eight looks say nothing.
func level(looks []int64, little int64) bool {
	n := len(looks)
	return n < 8 || slices.Max(looks[n/2:]) <= slices.Max(looks[n/4:n/2])*3/2+little
}

// stop drains all workers and waits for them.
func (f *fleet) stop() {
	f.once.Do(func() {
		for _, c := range f.workers {
			_ = c.Process.Signal(syscall.SIGTERM)
		}
		for _, c := range f.workers {
			_ = c.Wait()
		}
	})
}

// kib reads VmRSS of a status file of the kernel.
func kib(status []byte) int64 {
	for line := range bytes.Lines(status) {
		if rest, ok := strings.CutPrefix(string(line), "VmRSS:"); ok {
			if n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64); err == nil {
				return n
			}
		}
	}
	return 0
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
