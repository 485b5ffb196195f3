package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/internal/devnats"
)

// bed is what both workers run on: a server, a model and a folder, each process started and stopped here.
type bed struct {
	dir, bin, nats, model string
	others                []*exec.Cmd
	nc                    *nats.Conn
	js                    jetstream.JetStream
}

func newBed() (_ *bed, err error) {
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
	if text, err := exec.Command("go", "build", "-o", b.bin, "./cmd/emend").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build: %w\n%s", err, text)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if b.nats, err = b.start(self, "-mode", "server"); err != nil {
		return nil, err
	}
	script := filepath.Join(dir, "model.yaml")
	if err := os.WriteFile(script, []byte("default: {replies: [{json: {number: A-1043, total: 56.75, pad: \""+strings.Repeat("x", 400)+"\"}}]}\n"), 0o644); err != nil {
		return nil, err
	}
	if b.model, err = b.start(b.bin, "mock", "--listen", "127.0.0.1:0", "--script", script); err != nil {
		return nil, err
	}
	if b.nc, err = nats.Connect(b.nats); err != nil {
		return nil, err
	}
	b.js, err = jetstream.New(b.nc)
	return b, err
}

// start starts a process whose first line ends with its address: the mock's names the openai dialect before it.
func (b *bed) start(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	b.others = append(b.others, cmd)
	line, err := bufio.NewReader(pipe).ReadString('\n')
	words := strings.Fields(line)
	if len(words) == 0 {
		return "", errors.Join(fmt.Errorf("%s told no address", filepath.Base(name)), err)
	}
	return words[len(words)-1], nil
}

func (b *bed) close() {
	if b.nc != nil {
		b.nc.Close()
	}
	for _, c := range b.others {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	}
	_ = os.RemoveAll(b.dir)
}

func server() error {
	s, err := devnats.Start(devnats.Options{})
	if err != nil {
		return err
	}
	defer s.Stop()
	fmt.Println(s.URL())
	stop := make(chan os.Signal, 1)
	notify(stop)
	<-stop
	return nil
}

// measure times a worker from its start until n results are stored, then stops it and reads what it used.
func (b *bed) measure(results, subject string, cmd *exec.Cmd) (figures, error) {
	count, err := b.counter(results, subject)
	if err != nil {
		return figures{}, err
	}
	var log strings.Builder
	cmd.Stderr = &log
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return figures{}, err
	}
	took, err := count(began)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	err = errors.Join(err, cmd.Wait())
	if err != nil {
		return figures{}, fmt.Errorf("%w\n%s", err, log.String())
	}
	use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return figures{}, errors.New("no resource usage of the worker")
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return figures{CPU: cpu.Seconds() * 1000 / float64(*runs), Rate: float64(*runs) / took.Seconds(), RSS: float64(use.Maxrss) / 1024}, nil
}

// counter subscribes to what a worker publishes before it starts. The rate counts from the first result, so that the
// start of a process is in nobody's figure.
func (b *bed) counter(_, subject string) (func(time.Time) (time.Duration, error), error) {
	sub, err := b.nc.SubscribeSync(subject)
	if err != nil {
		return nil, err
	}
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return nil, err
	}
	return func(time.Time) (time.Duration, error) {
		defer func() { _ = sub.Unsubscribe() }()
		var first time.Time
		for range *runs {
			if _, err := sub.NextMsg(time.Minute); err != nil {
				return 0, fmt.Errorf("waiting for results: %w", err)
			}
			if first.IsZero() {
				first = time.Now()
			}
		}
		return time.Since(first), nil
	}, b.nc.Flush()
}

// publish queues the requests of one measurement.
func (b *bed) publish(subject func(int) string, body []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for i := range *runs {
		if _, err := b.js.PublishAsync(subject(i), body); err != nil {
			return err
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
