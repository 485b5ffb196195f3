// Command pipelines measures what a pipeline costs beside plain runs: the same number of runs once asked for one by one and once
// as the jobs of one pipeline run, in turn, on one worker and an instant model, without reuse and with it; then a pipeline over
// four workers with a model that takes 50 ms, against the time that its permits allow; then a coordinator's memory. Model and
// workers are processes of their own; server and requester share one. `make pipelines` runs it.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"emend/schemas"
)

var (
	jobs    = flag.Int("jobs", 2000, "jobs of a comparison")
	pairs   = flag.Int("pairs", 5, "comparisons")
	chunks  = flag.Int("chunks", 1000, "chunks over four workers")
	permits = flag.Int("permits", 4, "permits of each of the four workers")
	large   = flag.Int("large", 10000, "chunks of the pipeline whose coordinator's memory is measured")
)

const workers = 4

func main() {
	flag.Parse()
	if err := bench(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench() error {
	dir, err := os.MkdirTemp("", "emend-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b := &bed{dir: dir, bin: filepath.Join(dir, "emend")}
	defer b.close()
	if text, err := exec.Command("go", "build", "-trimpath", "-o", b.bin, "emend/cmd/emend").CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, text)
	}
	return errors.Join(b.overhead(schemas.ReuseNone), b.overhead(schemas.ReuseAuto), b.scaling(), b.memory())
}

// side is what one way of running things cost, a run or a job.
type side struct {
	clock time.Duration
	cpu   usage
}

// overhead compares plain runs with jobs: by the clock, and by all processors' time, which a busy machine does not blur. Who goes
// first changes from pair to pair. No output is there to be reused: under auto each is looked for in vain, and kept.
func (b *bed) overhead(reuse string) error {
	if err := b.begin("overhead-"+reuse, "0ms", 64, 1); err != nil {
		return err
	}
	defer b.end()
	fmt.Printf("reuse: %s; one worker, %d runs each, instant model, 64 permits, in turn; ms of CPU a run: all (server and requester, worker, model)\n"+
		"  plain runs                               jobs                                     a job beside a run\n", reuse, *jobs)
	var clock, cpu []float64
	for i := range *pairs + 1 {
		plain, piped, err := b.pair(i, reuse)
		if err != nil {
			return err
		}
		if i == 0 {
			continue // the first pair warms up
		}
		byClock, inCPU := ratio(piped.clock, plain.clock), ratio(piped.cpu.all(), plain.cpu.all())
		clock, cpu = append(clock, byClock), append(cpu, inCPU)
		fmt.Printf("  %s   %s   %.2f by the clock, %.2f in CPU\n", plain, piped, byClock, inCPU)
	}
	if len(clock) > 0 {
		slices.Sort(clock)
		slices.Sort(cpu)
		fmt.Printf("median %.2f by the clock, %.2f in CPU (the goal is 1.3)\n\n", clock[len(clock)/2], cpu[len(cpu)/2])
	}
	return nil
}

// pair measures as many plain runs as jobs, on texts of one size.
func (b *bed) pair(i int, reuse string) (plain, piped side, err error) {
	name := fmt.Sprintf("pair%d", i)
	asPlain := func() (err error) {
		of := texts(name+" a", *jobs)
		plain, err = b.measured(func() (time.Duration, error) { return b.plain(of) })
		return err
	}
	asJobs := func() (err error) {
		of := texts(name+" b", *jobs)
		piped, err = b.measured(func() (time.Duration, error) { return b.pipeline(name, of, reuse) })
		return err
	}
	if i%2 == 1 {
		asPlain, asJobs = asJobs, asPlain
	}
	return plain, piped, cmp.Or(asPlain(), asJobs())
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// String is one line of the table.
func (s side) String() string {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) / float64(*jobs) }
	return fmt.Sprintf("%5.0f/s %.3f (%.3f, %.3f, %.3f)", 1000/ms(s.clock), ms(s.cpu.all()), ms(s.cpu.server), ms(s.cpu.worker), ms(s.cpu.model))
}

// measured is what something took.
func (b *bed) measured(do func() (time.Duration, error)) (side, error) {
	before := b.cpu()
	took, err := do()
	return side{took, b.cpu().less(before)}, err
}

// scaling runs a pipeline over four workers.
func (b *bed) scaling() error {
	if err := b.begin("scaling", "50ms", *permits, workers); err != nil {
		return err
	}
	defer b.end()
	if _, err := b.pipeline("warm", texts("warm", workers**permits*4), schemas.ReuseNone); err != nil {
		return err
	}
	plain, err := b.plain(texts("plain", *chunks))
	if err != nil {
		return err
	}
	took, err := b.pipeline("scaled", texts("scaled", *chunks), schemas.ReuseNone)
	if err != nil {
		return err
	}
	ideal := time.Duration(math.Ceil(float64(*chunks)/float64(workers**permits))) * 50 * time.Millisecond
	fmt.Printf("%d chunks over %d workers with %d permits each, a model of 50 ms: %.2f s, ideal %.2f s: %.2f of it (the goal is 0.9); as many plain runs: %.2f s\n\n",
		*chunks, workers, *permits, took.Seconds(), ideal.Seconds(), ideal.Seconds()/took.Seconds(), plain.Seconds())
	return nil
}

// memory is what a worker that coordinates a large pipeline, and runs its jobs too, has beyond one that did small ones.
func (b *bed) memory() error {
	if err := b.begin("memory", "0ms", 16, 1); err != nil {
		return err
	}
	defer b.end()
	if _, err := b.pipeline("small", texts("small", 500), schemas.ReuseNone); err != nil {
		return err
	}
	before := b.workers[0].peak()
	took, err := b.pipeline("large", texts("large", *large), schemas.ReuseNone)
	if err != nil {
		return err
	}
	fmt.Printf("%d chunks in %.1f s; the worker's peak went from %d to %d MiB: %d MiB for the pipeline (the goal is 64)\n", *large, took.Seconds(), before, b.workers[0].peak(),
		b.workers[0].peak()-before)
	return nil
}
