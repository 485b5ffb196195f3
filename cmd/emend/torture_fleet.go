package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// fleet is the worker processes of a torture.
type fleet struct {
	r       *rack
	program string
	workers []*exec.Cmd
	started int
	// What was done to them, and their memory in MiB together, now and then.
	kills, drains int
	memory        []int64
	once          sync.Once
}

// newFleet starts the workers: this very program.
func newFleet(r *rack) (*fleet, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	f := &fleet{r: r, program: program}
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
	args := []string{"serve", "--dir", f.r.dir, "--space", f.r.names.Space(), "--worker-id", fmt.Sprintf("w-%d", f.started), "--log-level", "error"}
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
		f.workers = append(f.workers, c)
	} else {
		f.workers[place] = c
	}
	return nil
}

// harm kills and drains workers in turn until ctx is done, and starts others in their places.
func (f *fleet) harm(ctx context.Context) {
	if f.r.o.kill <= 0 {
		<-ctx.Done()
		return
	}
	for n := 0; ; n++ {
		if pause(ctx, f.r.o.kill); ctx.Err() != nil {
			return
		}
		f.memory = append(f.memory, f.resident())
		place := n % len(f.workers)
		victim := f.workers[place]
		if n%2 == 0 {
			f.kills++
			_ = victim.Process.Kill()
		} else {
			f.drains++
			_ = victim.Process.Signal(syscall.SIGTERM)
		}
		_ = victim.Wait()
		if err := f.start(place); err != nil {
			return
		}
	}
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

// resident is the memory of all workers in MiB, 0 where the system does not tell.
func (f *fleet) resident() int64 {
	var sum int64
	for _, c := range f.workers {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Process.Pid))
		if err != nil {
			continue
		}
		sum += kib(text)
	}
	return sum / 1024
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
