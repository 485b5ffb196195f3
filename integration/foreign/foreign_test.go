//go:build foreign

// Package foreign lets clients that are not Emend's own use a real worker process, the official nats CLI and the official
// JavaScript client, and lets the dialects talk to mock servers that nobody here wrote. `make foreign` builds and installs
// what it needs. It fails when it cannot run; it never skips.
package foreign

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Bounds of the test's waits: generous, since two cores may be busy.
const (
	startWithin = 30 * time.Second
	stepWithin  = 60 * time.Second
)

// answer is what the tests read of a result.
type answer struct {
	ID     string          `json:"id"`
	Status string          `json:"status"`
	Output json.RawMessage `json:"output"`
	Counts struct{ Calls, Retries, Repairs, Corrections int }
	Error  struct{ Category string }
	State  string
}

func (a answer) want(t *testing.T, status, output string) {
	t.Helper()
	if a.Status != status || string(a.Output) != output {
		t.Fatalf("result is %s %s, want %s %s", a.Status, a.Output, status, output)
	}
}

func decode(t *testing.T, raw []byte) answer {
	t.Helper()
	var a answer
	if err := json.Unmarshal(bytes.TrimSpace(raw), &a); err != nil {
		t.Fatalf("not a result: %v\n%s", err, raw)
	}
	return a
}

// tool is the program that an environment variable names; make foreign sets both.
func tool(t *testing.T, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Fatalf("%s is not set: run `make foreign`", variable)
	}
	return path
}

// worker starts `emend serve --embedded` on a free port and returns its NATS address. At the end it is told to drain,
// and must exit 0.
func worker(t *testing.T) string {
	t.Helper()
	port := freePort(t)
	cmd := exec.Command(tool(t, "EMEND"), "serve", "--embedded", "--port", port, "--dir", "testdata/worker", "--store", t.TempDir(), "--worker-id", "foreign")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("the worker does not start: %v", err)
	}
	serving, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			t.Log(lines.Text())
			if strings.Contains(lines.Text(), `"serving"`) {
				close(serving)
			}
		}
		ended <- cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the worker did not drain: %v", err)
			}
		case <-time.After(stepWithin):
			_ = cmd.Process.Kill()
			t.Error("the worker does not end")
		}
	})
	select {
	case <-serving:
	case err := <-ended:
		ended <- err
		t.Fatalf("the worker ended: %v", err)
	case <-time.After(startWithin):
		t.Fatal("the worker does not serve")
	}
	return "nats://127.0.0.1:" + port
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// command makes a client's command line, apart from the contexts of whoever runs the test.
func command(ctx context.Context, t *testing.T, url, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, name, args...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "NATS_URL="+url, "HOME="+home, "XDG_CONFIG_HOME="+home)
	return cmd
}
