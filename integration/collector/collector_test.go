// Package collector holds the test of traces against a real OpenTelemetry collector's receiver; a module of its own, so that the
// collector is no dependency of the program.
package collector

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

// patience bounds every wait.
const patience = 60 * time.Second

// The requester's span: what it sends as its traceparent.
const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	spanID  = "b7ad6b7169203331"
)

// receive starts the collector's OTLP receiver and returns its URL and what it received.
func receive(t *testing.T) (url string, sink *consumertest.TracesSink) {
	t.Helper()
	for try := 0; ; try++ {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := l.Addr().String()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		f := otlpreceiver.NewFactory()
		cfg := f.CreateDefaultConfig()
		err = confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{"http": map[string]any{"endpoint": address}}}).Unmarshal(cfg)
		if err != nil {
			t.Fatal(err)
		}
		sink = new(consumertest.TracesSink)
		r, err := f.CreateTraces(t.Context(), receivertest.NewNopSettings(f.Type()), cfg, sink)
		if err != nil {
			t.Fatal(err)
		}
		if err = r.Start(context.WithoutCancel(t.Context()), componenttest.NewNopHost()); err == nil {
			t.Cleanup(func() { _ = r.Shutdown(context.Background()) })
			return "http://" + address, sink
		}
		if try == 5 {
			t.Fatal(err)
		}
	}
}

// model answers wrong once a run, then right, and keeps the trace contexts that it was called with.
type model struct {
	mu      sync.Mutex
	calls   int
	parents []string
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	m.parents = append(m.parents, r.Header.Get("traceparent"))
	text := "no json"
	if m.calls%2 == 0 {
		text = "{}"
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"model": "m", "choices": []any{map[string]any{"message": map[string]any{"content": text}, "finish_reason": "stop"}},
		"usage": map[string]any{"prompt_tokens": 10, "completion_tokens": 5}})
}

// program builds emend once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "emend-collector")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "emend")
	c := exec.Command("go", "build", "-o", path, "./cmd/emend")
	c.Dir = "../.."
	out, err := c.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := program(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// serve runs `emend serve` until the function that it returns is called, which waits for its end.
func serve(t *testing.T, config string) (nc *nats.Conn, stop func(), logged func() string) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "emend.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(path, "serve", "--dir", dir, "--embedded", "--port", "0")
	c.Env = append(os.Environ(), "OTEL_BSP_SCHEDULE_DELAY=100")
	stderr, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	urls := make(chan string, 1)
	var mu sync.Mutex
	var log strings.Builder
	read := make(chan struct{})
	go func() {
		defer close(read)
		url := ""
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			mu.Lock()
			log.WriteString(lines.Text() + "\n")
			mu.Unlock()
			if u := regexp.MustCompile(`nats://[0-9.:]+`).FindString(lines.Text()); u != "" {
				url = u
			}
			if strings.Contains(lines.Text(), `"serving"`) {
				urls <- url
			}
		}
	}()
	stop = sync.OnceFunc(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		<-read
		if err := c.Wait(); err != nil {
			t.Errorf("the worker ended with %v", err)
		}
	})
	t.Cleanup(stop)
	select {
	case url := <-urls:
		if nc, err = nats.Connect(url); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
	case <-time.After(patience):
		t.Fatalf("the worker does not serve:\n%s", log.String())
	}
	return nc, stop, func() string { mu.Lock(); defer mu.Unlock(); return log.String() }
}

func config(endpoint, model, more string) string {
	return fmt.Sprintf("backends: {b: {dialect: openai, url: '%s/v1'}}\nprofiles: {p: {backend: b, model: m}}\ntraces: {endpoint: '%s'%s}\n", model, endpoint, more)
}

// ask makes one run of two calls and waits for its result.
func ask(t *testing.T, nc *nats.Conn, header nats.Header) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	m, err := nc.RequestMsgWithContext(ctx, &nats.Msg{Subject: "emend.ask.b.default", Header: header,
		Data: []byte(`{"messages":[{"role":"user","content":"SECRET-PROMPT"}],"output":{"mode":"json","repair_attempts":1}}`)})
	if err != nil || m.Header.Get("Emend-Status") != "succeeded" {
		t.Fatalf("%v %s", err, m.Data)
	}
}

// span is one that the collector received.
type span struct {
	ptrace.Span
	service string
}

func spans(sink *consumertest.TracesSink) (out []span) {
	for _, td := range sink.AllTraces() {
		for _, rs := range td.ResourceSpans().All() {
			service, _ := rs.Resource().Attributes().Get("service.name")
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					out = append(out, span{s, service.Str()})
				}
			}
		}
	}
	return out
}

func (s span) attribute(name string) string {
	v, _ := s.Attributes().Get(name)
	return v.AsString()
}

// One trace from the requester's traceparent through queue wait, calls and verdicts to the result; the provider is told of it only
// because that is configured; nothing of the content is in it.
func TestOneTraceFromTheRequesterToTheResult(t *testing.T) {
	endpoint, sink := receive(t)
	m := &model{}
	srv := httptest.NewServer(m)
	defer srv.Close()
	nc, stop, logged := serve(t, config(endpoint, srv.URL, ", propagate: true"))
	ask(t, nc, nats.Header{"traceparent": {"00-" + traceID + "-" + spanID + "-01"}})
	stop()
	got := spans(sink)
	byName := map[string][]span{}
	for _, s := range got {
		byName[s.Name()] = append(byName[s.Name()], s)
		if s.TraceID().String() != traceID || s.service != "emend" {
			t.Errorf("%s is of trace %s, service %s", s.Name(), s.TraceID(), s.service)
		}
	}
	if len(byName["process emend.run.b.default"]) != 1 || len(byName["queue wait"]) != 1 || len(byName["chat m"]) != 2 || len(byName["judge"]) != 2 {
		t.Fatalf("%d spans: %v", len(got), byName)
	}
	root := byName["process emend.run.b.default"][0]
	if root.ParentSpanID().String() != spanID || root.Kind() != ptrace.SpanKindConsumer || root.attribute("emend.status") != "succeeded" || root.attribute("messaging.system") != "nats" || root.attribute("emend.repairs") != "1" {
		t.Errorf("%s %v %v", root.ParentSpanID(), root.Kind(), root.Attributes().AsRaw())
	}
	var parents []string
	for _, c := range byName["chat m"] {
		if c.ParentSpanID() != root.SpanID() || c.Kind() != ptrace.SpanKindClient || c.attribute("gen_ai.provider.name") != "openai" || c.attribute("gen_ai.request.model") != "m" || c.attribute("gen_ai.usage.output_tokens") != "5" {
			t.Errorf("%v", c.Attributes().AsRaw())
		}
		parents = append(parents, "00-"+traceID+"-"+c.SpanID().String()+"-01")
	}
	slices.Sort(parents)
	slices.Sort(m.parents)
	if !slices.Equal(parents, m.parents) {
		t.Errorf("the provider was told %v, the calls are %v", m.parents, parents)
	}
	if b, err := new(ptrace.JSONMarshaler).MarshalTraces(sink.AllTraces()[0]); err != nil || strings.Contains(string(b), "SECRET") {
		t.Errorf("%v: the trace holds content", err)
	}
	if !strings.Contains(logged(), `"trace":"`+traceID+`"`) {
		t.Errorf("the log does not name the trace:\n%s", logged())
	}
}

// Without a traceparent a run begins a trace of its own, as often as the ratio says; the provider is not told.
func TestRunsWithoutATrace(t *testing.T) {
	endpoint, sink := receive(t)
	m := &model{}
	srv := httptest.NewServer(m)
	defer srv.Close()
	nc, stop, _ := serve(t, config(endpoint, srv.URL, ""))
	ask(t, nc, nil)
	ask(t, nc, nats.Header{"traceparent": {"00-" + traceID + "-" + spanID + "-00"}}) // its requester does not sample it
	stop()
	traces := map[string]bool{}
	for _, s := range spans(sink) {
		traces[s.TraceID().String()] = true
	}
	if len(traces) != 1 || traces[traceID] || len(m.parents) != 4 || strings.Join(m.parents, "") != "" {
		t.Errorf("%v %v", traces, m.parents)
	}
	none, sink := receive(t)
	nc, stop, _ = serve(t, config(none, srv.URL, ", ratio: 0"))
	ask(t, nc, nil)
	stop()
	if n := sink.SpanCount(); n != 0 {
		t.Errorf("%d spans", n)
	}
}

// A receiver that is not there costs no run.
func TestAReceiverThatIsAway(t *testing.T) {
	srv := httptest.NewServer(&model{})
	defer srv.Close()
	nc, stop, _ := serve(t, config("http://127.0.0.1:1", srv.URL, ""))
	ask(t, nc, nil)
	stop()
}
