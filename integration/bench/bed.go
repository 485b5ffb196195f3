package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/internal/devnats"
)

// bed is what both workers run on: a server, a model and a folder, each process started and stopped here.
type bed struct {
	dir, bin     string
	nats, model  string
	server, mock *process
	nc           *nats.Conn
	js           jetstream.JetStream
}

// how the program is built.
type how struct{ flags, env []string }

// released is as `make build` does it: what is measured is what users run.
var released = how{flags: []string{"-trimpath", "-tags", "grpcnotrace", "-ldflags", "-s -w"}, env: []string{"CGO_ENABLED=0"}}

func newBed(h how) (*bed, error) { return newBedOn("server", h) }

// newBedOn starts what mode names: one server, or a cluster.
func newBedOn(mode string, h how) (_ *bed, err error) {
	dir, err := os.MkdirTemp("", "emend-bench-")
	if err != nil {
		return nil, err
	}
	b := &bed{dir: dir, bin: filepath.Join(dir, "emend")}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if err := b.build(h); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if b.server, b.nats, err = beginTelling(exec.Command(self, "-mode", mode), "server"); err != nil {
		return nil, err
	}
	script := filepath.Join(dir, "model.yaml")
	if err := os.WriteFile(script, []byte("default: {replies: [{json: {number: A-1043, total: 56.75, pad: \""+strings.Repeat("x", 400)+"\"}}]}\n"), 0o644); err != nil {
		return nil, err
	}
	if b.mock, b.model, err = beginTelling(exec.Command(b.bin, "mock", "--listen", "127.0.0.1:0", "--script", script), "model"); err != nil {
		return nil, err
	}
	if b.nc, err = nats.Connect(b.nats); err != nil {
		return nil, err
	}
	b.js, err = jetstream.New(b.nc)
	return b, err
}

// build makes the program. Under -profile an overlay links the hook into it.
func (b *bed) build(h how) error {
	args := append([]string{"build", "-o", b.bin}, h.flags...)
	if *profile != "" {
		overlay, err := b.overlay()
		if err != nil {
			return err
		}
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.Command("go", append(args, program)...)
	cmd.Env = append(os.Environ(), h.env...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, text)
	}
	return nil
}

const program = "emend/cmd/emend"

// overlay is a file for `go build -overlay`: one more source of the program, which imports the hook.
func (b *bed) overlay() (string, error) {
	at, err := exec.Command("go", "list", "-f", "{{.Dir}}", program).Output()
	if err != nil {
		return "", fmt.Errorf("where is %s: %w", program, err)
	}
	source, list := filepath.Join(b.dir, "hook.go"), filepath.Join(b.dir, "overlay.json")
	return list, errors.Join(os.WriteFile(source, []byte("package main\n\nimport _ \"emend/integration/bench/hook\"\n"), 0o644),
		os.WriteFile(list, fmt.Appendf(nil, `{"Replace":{%q:%q}}`, filepath.Join(strings.TrimSpace(string(at)), "bench_hook.go"), source), 0o644))
}

func (b *bed) close() {
	if b.nc != nil {
		b.nc.Close()
	}
	for _, p := range []*process{b.mock, b.server} {
		if p == nil || p.cmd.ProcessState != nil {
			continue
		}
		if err := p.end(); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	}
	_ = os.RemoveAll(b.dir)
}

// serveOne is a nats-server with all defaults.
func serveOne() error {
	stop := stopped()
	s, err := devnats.Start(devnats.Options{})
	if err != nil {
		return err
	}
	defer s.Stop()
	fmt.Println(s.URL())
	<-stop
	return nil
}

// publish queues the requests of one measurement.
func (b *bed) publish(w *worker, n int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for i := range n {
		if _, err := b.js.PublishAsync(w.subject(fmt.Sprintf("r%d", i)), w.body); err != nil {
			return err
		}
		if i%1000 == 999 { // the client lets so many be without an answer
			<-b.js.PublishAsyncComplete()
		}
	}
	select {
	case <-b.js.PublishAsyncComplete():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *bed) drop(streams ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var errs []error
	for _, s := range streams {
		errs = append(errs, b.js.DeleteStream(ctx, s))
	}
	return errors.Join(errs...)
}
