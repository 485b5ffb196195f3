package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"emend/internal/devnats"
)

// Contexts of the nats CLI say where NATS is, to every command.
func TestContextsOfTheNATSCLI(t *testing.T) {
	srv, err := devnats.Start(devnats.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Stop)
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("HOME", home)
	write(t, filepath.Join(home, "nats/context/mine.json"), `{"url":"`+srv.URL()+`","description":"test"}`)
	dir := filepath.Join(t.TempDir(), "w")
	if r := emend(t, "", "init", dir); r.code != exitOK {
		t.Fatal(r.err)
	}
	if r := emend(t, "", "streams", "apply", "--dir", dir, "--context", "mine"); r.code != exitOK || !strings.Contains(r.out, "create stream EMEND_RUNS") {
		t.Errorf("%+v", r)
	}
	if r := emend(t, "", "streams", "plan", "--dir", dir, "--context", "nowhere"); r.code != exitFailed || !strings.Contains(r.err, "nowhere") {
		t.Errorf("%+v", r)
	}
}

func TestServeRunsAWorkerAgainstAServerAndDrains(t *testing.T) {
	srv, err := devnats.Start(devnats.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Stop)
	dir := filepath.Join(t.TempDir(), "w")
	if r := emend(t, "", "init", dir); r.code != exitOK {
		t.Fatal(r.err)
	}
	if r := emend(t, "", "serve", "--dir", dir, "--nats", srv.URL(), "--manage-streams=false"); r.code != exitFailed || !strings.Contains(r.err, "EMEND_RUNS") {
		t.Errorf("a worker that may not make streams says what is missing: %+v", r)
	}
	line := background(t, "serve", "--config", filepath.Join(dir, "emend.yaml"), "--nats", srv.URL())
	line(`"serving"`)
	if r := emend(t, "", "run", "--dir", dir, "--nats", srv.URL(), "extract-invoice", "document=invoice"); r.code != exitOK {
		t.Errorf("%+v", r)
	}
	log := line("run finished")
	if !strings.Contains(log, `"status":"succeeded"`) || strings.Contains(log, "A-1043") {
		t.Errorf("log line %s", log)
	}
}

// A worker that starts before its server waits for it, and says so once; one that is refused does not wait.
func TestServeWaitsForNATS(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	dir := filepath.Join(t.TempDir(), "w")
	if r := emend(t, "", "init", dir); r.code != exitOK {
		t.Fatal(r.err)
	}
	line := background(t, "serve", "--dir", dir, "--nats", fmt.Sprintf("nats://127.0.0.1:%d", port))
	line("NATS is not reachable; trying until it is")
	srv, err := devnats.Start(devnats.Options{Port: port})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Stop)
	line(`"serving"`)
	closed, err := devnats.Start(devnats.Options{Configure: func(o *server.Options) { o.Authorization = "a-token" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closed.Stop)
	if r := emend(t, "", "serve", "--dir", dir, "--nats", closed.URL()); r.code != exitFailed || !strings.Contains(r.err, "refused the credentials") {
		t.Errorf("refused: %+v", r)
	}
}

// Health and metrics: alive from the start, ready when it pulls, counting what it does.
func TestServeTellsHealthAndMetrics(t *testing.T) {
	srv, err := devnats.Start(devnats.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Stop)
	dir := filepath.Join(t.TempDir(), "w")
	if r := emend(t, "", "init", dir); r.code != exitOK {
		t.Fatal(r.err)
	}
	line := background(t, "serve", "--dir", dir, "--nats", srv.URL(), "--http", "127.0.0.1:0")
	address := regexp.MustCompile(`127\.0\.0\.1:[0-9]+`).FindString(line("health and metrics"))
	line(`"serving"`)
	get := func(path string) (int, string) {
		t.Helper()
		resp, err := http.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	if code, _ := get("/healthz"); code != http.StatusOK {
		t.Errorf("healthz %d", code)
	}
	if code, text := get("/readyz"); code != http.StatusOK {
		t.Errorf("readyz %d %s", code, text)
	}
	if r := emend(t, "", "run", "--dir", dir, "--nats", srv.URL(), "extract-invoice", "document=invoice"); r.code != exitOK {
		t.Fatalf("%+v", r)
	}
	line("run finished")
	_, text := get("/metrics")
	for _, want := range []string{`emend_runs_total{backend="rehearsal",category="",prompt="extract-invoice@1",queue="default",status="succeeded"} 1`,
		`emend_calls_total{backend="rehearsal",kind="repair",outcome="completed",status="",validator=""} 1`, `emend_gate_phase{backend="openai",phase="open"} 1`, "go_goroutines"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %s", want)
		}
	}
	srv.Stop()
	for end := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		if code, text := get("/readyz"); code == http.StatusServiceUnavailable && strings.Contains(text, "NATS is not reachable") {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it stays ready without NATS")
		}
	}
}

// A nats-server on a small disk takes the streams of the folder that init writes; what is too large for it is named.
func TestServeOnASmallServer(t *testing.T) {
	srv, err := devnats.Start(devnats.Options{Configure: func(o *server.Options) { o.JetStreamMaxStore = 10 << 30 }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Stop)
	dir := filepath.Join(t.TempDir(), "w")
	if r := emend(t, "", "init", dir); r.code != exitOK {
		t.Fatal(r.err)
	}
	config := filepath.Join(dir, "emend.yaml")
	small, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	write(t, config, strings.Replace(string(small), "runs_max: 5GiB", "runs_max: 50GiB", 1))
	if r := emend(t, "", "serve", "--dir", dir, "--nats", srv.URL()); r.code != exitFailed || !strings.Contains(r.err, "keep.runs_max") {
		t.Errorf("too large: %+v", r)
	}
	write(t, config, string(small))
	line := background(t, "serve", "--dir", dir, "--nats", srv.URL())
	line(`"serving"`)
}

// A seed that cannot be read is said so, with the file's name and nothing of what is in it.
func TestAnUnreadableNKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "w")
	if r := emend(t, "", "init", dir); r.code != exitOK {
		t.Fatal(r.err)
	}
	seed := filepath.Join(dir, "seed.nk")
	write(t, seed, "SUNOTASEED")
	yaml := filepath.Join(dir, "emend.yaml")
	text, err := os.ReadFile(yaml)
	if err != nil {
		t.Fatal(err)
	}
	write(t, yaml, string(text)+"\nnats: {nkey: "+seed+"}\n")
	r := emend(t, "", "streams", "plan", "--dir", dir)
	if r.code != exitFailed || !strings.Contains(r.err, "seed.nk holds no readable seed") || strings.Contains(r.err, "SUNOTASEED") {
		t.Errorf("%+v", r)
	}
}
