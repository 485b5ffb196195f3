// Command pipelines measures what a pipeline costs beside plain runs: the same number of runs once published one by one and
// once as the jobs of one pipeline run, in turn, on one worker and an instant model; then a pipeline over four workers with a
// model that takes 50 ms, against the time that its permits allow. Server, model and workers are processes of their own.
// `make pipelines` runs it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"emend/consumer"
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
	return errors.Join(b.overhead(), b.scaling(), b.memory())
}

// overhead compares plain runs with jobs: by the clock, and by all processors' time, which a busy machine does not blur.
func (b *bed) overhead() error {
	if err := b.begin("overhead", "0ms", 64, 1); err != nil {
		return err
	}
	defer b.end()
	fmt.Printf("one worker, %d runs each, instant model, 64 permits, in turn; CPU is that of server, model, worker and requester\n"+
		"  plain runs           jobs                 a job beside a run\n", *jobs)
	var clock, cpu []float64
	for i := range *pairs + 1 {
		plain, plainCPU, err := b.measured(func() (time.Duration, error) { return b.plain(i) })
		if err != nil {
			return err
		}
		piped, pipedCPU, err := b.measured(func() (time.Duration, error) { return b.pipeline(fmt.Sprint("pipe", i), *jobs) })
		if err != nil {
			return err
		}
		if i == 0 {
			continue // the first pair warms up
		}
		clock, cpu = append(clock, piped/plain), append(cpu, pipedCPU/plainCPU)
		fmt.Printf("  %5.0f/s %.3f ms   %5.0f/s %.3f ms   %.2f by the clock, %.2f in CPU\n", 1000/plain, plainCPU, 1000/piped, pipedCPU, piped/plain, pipedCPU/plainCPU)
	}
	if len(clock) > 0 {
		slices.Sort(clock)
		slices.Sort(cpu)
		fmt.Printf("median %.2f by the clock, %.2f in CPU (the goal is 1.3)\n\n", clock[len(clock)/2], cpu[len(cpu)/2])
	}
	return nil
}

// measured are the milliseconds that one run took, by the clock and on processors.
func (b *bed) measured(do func() (time.Duration, error)) (clock, cpu float64, err error) {
	before := b.cpu()
	took, err := do()
	each := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) / float64(*jobs) }
	return each(took), each(b.cpu() - before), err
}

// scaling runs a pipeline over four workers.
func (b *bed) scaling() error {
	if err := b.begin("scaling", "50ms", *permits, workers); err != nil {
		return err
	}
	defer b.end()
	if _, err := b.pipeline("warm", workers**permits*4); err != nil {
		return err
	}
	*jobs = *chunks
	plain, err := b.plain(0)
	if err != nil {
		return err
	}
	took, err := b.pipeline("scaled", *chunks)
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
	if _, err := b.pipeline("small", 500); err != nil {
		return err
	}
	before := b.workers[0].peak()
	took, err := b.pipeline("large", *large)
	if err != nil {
		return err
	}
	fmt.Printf("%d chunks in %.1f s; the worker's peak went from %d to %d MiB: %d MiB for the pipeline (the goal is 64)\n", *large, took.Seconds(), before, b.workers[0].peak(),
		b.workers[0].peak()-before)
	return nil
}

// plain publishes runs one by one and awaits the last result.
func (b *bed) plain(i int) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	sub, err := b.nc.SubscribeSync(b.space + ".event.default.*.finished")
	if err != nil {
		return 0, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	_ = sub.SetPendingLimits(-1, -1)
	began := time.Now()
	for n := range *jobs {
		body := fmt.Appendf(nil, `{"prompt":"extract@1","inputs":{"chunk":%q}}`, line(i, n))
		if _, err := b.js.PublishAsync(fmt.Sprintf("%s.run.model.default.plain%d-%d", b.space, i, n), body); err != nil {
			return 0, err
		}
	}
	for range *jobs {
		if _, err := sub.NextMsgWithContext(ctx); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

func line(i, n int) string {
	return fmt.Sprintf("%q\n", fmt.Sprintf("%d %d %s", i, n, strings.Repeat("a line of an invoice, ", 18)))
}

// pipeline runs one pipeline over n lines.
func (b *bed) pipeline(id string, n int) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var text strings.Builder
	for i := range n {
		text.WriteString(line(len(id), i))
	}
	document, err := json.Marshal(text.String())
	if err != nil {
		return 0, err
	}
	client, err := consumer.NewClient(b.nc, b.space, "")
	if err != nil {
		return 0, err
	}
	began := time.Now()
	r, err := client.RunPipeline(ctx, "digest", consumer.Key{Queue: "default", ID: id}, schemas.PipelineRequest{Inputs: map[string]json.RawMessage{"document": document}}, nil)
	if err != nil {
		return 0, err
	}
	if r.Status != schemas.StatusSucceeded || r.Counts.Calls != n {
		return 0, fmt.Errorf("pipeline run %s: %s, %d calls, %+v", id, r.Status, r.Counts.Calls, r.Error)
	}
	return time.Since(began), nil
}
