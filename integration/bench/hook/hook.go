// Package hook lets bench take the profiles of a process: where Env names a folder, the process writes its CPU profile from its
// start on, and its heap, to that folder when it gets SIGUSR2. bench imports it, and links it into the program under -profile.
package hook

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"syscall"
)

// Env names the folder that the profiles go to. They are whole when Done is there.
const (
	Env  = "EMEND_BENCH_PROFILE"
	CPU  = "cpu.pprof"
	Heap = "heap.pprof"
	Done = "done"
)

func init() {
	if dir := os.Getenv(Env); dir != "" {
		if err := begin(dir); err != nil {
			fmt.Fprintln(os.Stderr, "profile:", err)
		}
	}
}

// begin starts the CPU profile; the goroutine ends it at the signal.
func begin(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	cpu, err := os.Create(filepath.Join(dir, CPU))
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return errors.Join(err, cpu.Close())
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGUSR2)
	go func() {
		<-stop
		pprof.StopCPUProfile()
		if err := errors.Join(cpu.Close(), heap(dir), os.WriteFile(filepath.Join(dir, Done), nil, 0o644)); err != nil {
			fmt.Fprintln(os.Stderr, "profile:", err)
		}
	}()
	return nil
}

// heap writes what is alive, and what was allocated since the start.
func heap(dir string) error {
	f, err := os.Create(filepath.Join(dir, Heap))
	if err != nil {
		return err
	}
	runtime.GC()
	return errors.Join(pprof.WriteHeapProfile(f), f.Close())
}
