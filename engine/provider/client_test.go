package provider_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"emend/engine/provider"
	"emend/engine/provider/openai"
	"emend/engine/provider/providertest"
	"emend/schemas"
)

const answer = `{"choices":[{"message":{"content":"hi"}}]}`

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func reply(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}

func endpoint() *provider.Endpoint {
	return &provider.Endpoint{Backend: "b", Dialect: openai.New(), URL: "http://model.invalid/v1"}
}

func ask() *provider.Request {
	return &provider.Request{Model: "m", Messages: []schemas.Message{{Role: "user", Content: "q"}}}
}

// over makes one call over a transport.
func over(ctx context.Context, rt roundTrip, change ...func(*provider.Endpoint)) (*provider.Response, error) {
	ep := endpoint()
	ep.Transport = rt
	for _, c := range change {
		c(ep)
	}
	return provider.NewClient(provider.ClientOptions{}).Do(ctx, ep, ask())
}

func TestRequestOnTheWire(t *testing.T) {
	var got *http.Request
	rt := roundTrip(func(r *http.Request) (*http.Response, error) {
		got = r
		return reply(200, answer), nil
	})
	key := func(context.Context) (string, error) { return "k", nil }
	cases := map[string]struct {
		change func(*provider.Endpoint)
		check  func(*http.Request) bool
	}{
		"path":   {func(*provider.Endpoint) {}, func(r *http.Request) bool { return r.URL.String() == "http://model.invalid/v1/chat/completions" }},
		"query":  {func(e *provider.Endpoint) { e.URL += "/?v=1" }, func(r *http.Request) bool { return r.URL.RequestURI() == "/v1/chat/completions?v=1" }},
		"bearer": {func(e *provider.Endpoint) { e.Key = key }, func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer k" }},
		"key header": {func(e *provider.Endpoint) { e.Key, e.KeyHeader = key, "api-key" }, func(r *http.Request) bool {
			return r.Header.Get("Api-Key") == "k" && r.Header.Get("Authorization") == ""
		}},
		"named bearer": {func(e *provider.Endpoint) { e.Key, e.KeyHeader = key, "authorization" }, func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer k" }},
		"own scheme": {func(e *provider.Endpoint) {
			e.Key = func(context.Context) (string, error) { return "Basic eA==", nil }
		}, func(r *http.Request) bool { return r.Header.Get("Authorization") == "Basic eA==" }},
		"key and spaces": {func(e *provider.Endpoint) {
			e.Key = func(context.Context) (string, error) { return " k ", nil }
		}, func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer k" }},
		"key wins":  {func(e *provider.Endpoint) { e.Key, e.Header = key, http.Header{"Authorization": {"x"}} }, func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer k" }},
		"empty key": {func(e *provider.Endpoint) { e.Key = func(context.Context) (string, error) { return "", nil } }, func(r *http.Request) bool { return r.Header["Authorization"] == nil }},
		"userinfo":  {func(e *provider.Endpoint) { e.URL = "http://u:p@model.invalid" }, func(r *http.Request) bool { u, p, _ := r.BasicAuth(); return u == "u" && p == "p" }},
		"headers":   {func(e *provider.Endpoint) { e.Header = http.Header{"user-agent": {"x"}, "Host": {"h"}} }, func(r *http.Request) bool { return r.UserAgent() == "x" && r.Host == "h" }},
		"json": {func(*provider.Endpoint) {}, func(r *http.Request) bool {
			return r.Header.Get("Content-Type") == "application/json" && r.ContentLength > 0
		}},
	}
	for name, c := range cases {
		if _, err := over(t.Context(), rt, c.change); err != nil || !c.check(got) {
			t.Errorf("%s: %v, sent to %s with %v", name, err, got.URL, got.Header)
		}
	}
}

// TestTheReportedModelIsBounded: a result repeats it, so it holds neither a novel nor the key.
func TestTheReportedModelIsBounded(t *testing.T) {
	for model, want := range map[string]string{"m-1": "m-1", "x planted-key": "x [key]", strings.Repeat("é", 200): strings.Repeat("é", 128)} {
		rt := roundTrip(func(*http.Request) (*http.Response, error) {
			return reply(200, `{"model":"`+model+`",`+answer[1:]), nil
		})
		resp, err := over(t.Context(), rt, func(e *provider.Endpoint) {
			e.Key = func(context.Context) (string, error) { return "planted-key", nil }
		})
		if err != nil || resp.Model != want {
			t.Errorf("%q was reported as %+v, %v", model, resp, err)
		}
	}
}

func TestFaultsBeforeTheCall(t *testing.T) {
	rt := roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("must not be called") })
	key := func(k string, err error) func(*provider.Endpoint) {
		return func(e *provider.Endpoint) { e.Key = func(context.Context) (string, error) { return k, err } }
	}
	cases := map[string]struct {
		change  func(*provider.Endpoint)
		kind    provider.Kind
		account bool
		says    string
	}{
		"no dialect": {func(e *provider.Endpoint) { e.Dialect = nil }, provider.KindInvalid, false, "no dialect"},
		"no url":     {func(e *provider.Endpoint) { e.URL = "" }, provider.KindInvalid, true, "url"},
		"bad url":    {func(e *provider.Endpoint) { e.URL = "ftp://planted:planted@x" }, provider.KindInvalid, true, "url"},
		"odd url":    {func(e *provider.Endpoint) { e.URL = "http://planted\x7f" }, provider.KindInvalid, true, "url"},
		"no key":     {key("", errors.New("KEY is not set")), provider.KindTransport, true, "KEY is not set"},
		"blank key":  {key("  ", nil), provider.KindTransport, true, "the key is blank"},
		"odd key":    {key("planted\n", nil), provider.KindTransport, true, "control character"},
	}
	for name, c := range cases {
		_, err := over(t.Context(), rt, c.change)
		pe, ok := provider.AsError(err)
		if !ok || pe.Kind != c.kind || pe.Account != c.account || pe.Billed() || !strings.Contains(pe.Error(), c.says) || strings.Contains(pe.Error(), "planted") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestTransportErrorsTellNothing(t *testing.T) {
	secret := &url.Error{Op: "Post", URL: "http://u:planted@x/?key=planted", Err: io.ErrUnexpectedEOF}
	_, err := over(t.Context(), func(*http.Request) (*http.Response, error) { return nil, secret })
	pe, _ := provider.AsError(err)
	if pe.Kind != provider.KindTransport || pe.NotSent || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %+v", pe)
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if strings.Contains(e.Error(), "planted") {
			t.Errorf("%q", e)
		}
	}
	// A transport that gives up by itself must not look like the caller's cancellation.
	_, err = over(t.Context(), func(*http.Request) (*http.Response, error) { return nil, fmt.Errorf("x: %w", context.Canceled) })
	if pe, ok := provider.AsError(err); !ok || pe.Kind != provider.KindTransport || errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	_, err = over(t.Context(), func(*http.Request) (*http.Response, error) { return nil, nil })
	if pe, ok := provider.AsError(err); !ok || pe.Kind != provider.KindTransport {
		t.Errorf("got %v", err)
	}
	_, err = over(t.Context(), func(*http.Request) (*http.Response, error) {
		return nil, &provider.Error{Kind: provider.KindTransport, Reason: "mine", NotSent: true}
	})
	if pe, ok := provider.AsError(err); !ok || pe.Reason != "mine" || pe.Backend != "b" {
		t.Errorf("got %v", err)
	}
}

func TestACallThatEndedIsNotMade(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := over(ctx, func(*http.Request) (*http.Response, error) { panic("called") })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestClientTransportIsTheDefault(t *testing.T) {
	var calls atomic.Int64
	c := provider.NewClient(provider.ClientOptions{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		calls.Add(1)
		return reply(200, answer), nil
	})})
	c.CloseIdle()
	if _, err := c.Do(t.Context(), endpoint(), ask()); err != nil || calls.Load() != 1 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
}

// stalling is a body that only Close ends, whatever the context says.
type stalling struct {
	closed chan struct{}
	once   *sync.Once
}

func (s stalling) Read([]byte) (int, error) { <-s.closed; return 0, io.ErrClosedPipe }
func (s stalling) Close() error             { s.once.Do(func() { close(s.closed) }); return nil }

// TestNoGoroutineSurvives: a synctest bubble ends only when all goroutines in it did.
func TestNoGoroutineSurvives(t *testing.T) {
	stall := func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: stalling{make(chan struct{}), new(sync.Once)}}, nil
	}
	hang := func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	for name, rt := range map[string]roundTrip{"stalled body": stall, "no reply": hang} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			_, err := over(t.Context(), rt, func(e *provider.Endpoint) { e.Timeout = time.Minute })
			pe, ok := provider.AsError(err)
			if !ok || pe.Kind != provider.KindTimeout || time.Since(began) != time.Minute || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: got %v after %s", name, err, time.Since(began))
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := over(ctx, rt, func(e *provider.Endpoint) { e.Timeout = time.Minute }); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: got %v", name, err)
			}
		})
	}
}

func TestConnectionsAreKept(t *testing.T) {
	const at = 8
	var opened atomic.Int64
	server := httptest.NewUnstartedServer(providertest.Fixture{Body: answer})
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	ep := endpoint()
	ep.URL = server.URL
	client := provider.NewClient(provider.ClientOptions{MaxIdlePerHost: at})
	defer client.CloseIdle()
	var all sync.WaitGroup
	for range at {
		all.Go(func() {
			for range 20 {
				if _, err := client.Do(t.Context(), ep, ask()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	// A dial that another caller's idle connection overtakes is not undone, so a few more than callers may open.
	if n := opened.Load(); n > 3*at {
		t.Errorf("%d connections for %d callers", n, at)
	}
}

func TestHTTP2(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/drop/chat/completions" {
			panic(http.ErrAbortHandler)
		}
		_, _ = fmt.Fprintf(w, `{"choices":[{"message":{"content":%q}}]}`, r.Proto)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	ep := endpoint()
	ep.Transport, ep.URL = server.Client().Transport, server.URL
	client := provider.NewClient(provider.ClientOptions{})
	if resp, err := client.Do(t.Context(), ep, ask()); err != nil || resp.Text != "HTTP/2.0" {
		t.Errorf("got %+v, %v", resp, err)
	}
	ep.URL += "/drop"
	_, err := client.Do(t.Context(), ep, ask())
	if pe, ok := provider.AsError(err); !ok || pe.Kind != provider.KindTransport || pe.NotSent {
		t.Errorf("a dropped stream gave %v", err)
	}
}

func TestErrorOfTheDialectIsKept(t *testing.T) {
	for name, d := range map[string]provider.Dialect{"plain error": odd{errors.New("planted")}, "neither": odd{}} {
		_, err := over(t.Context(), func(*http.Request) (*http.Response, error) { return reply(200, "{}"), nil }, func(e *provider.Endpoint) { e.Dialect = d })
		if pe, ok := provider.AsError(err); !ok || pe.Kind != provider.KindMalformed || strings.Contains(err.Error(), "planted") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// odd reads nothing.
type odd struct{ err error }

func (o odd) Build(*provider.Endpoint, *provider.Request) (*provider.Wire, error) {
	return &provider.Wire{Path: "/x?a=1", Body: []byte("{}"), Header: http.Header{"X-Odd": {"1"}}}, nil
}
func (o odd) Read(*provider.Endpoint, *provider.Reply) (*provider.Response, error) { return nil, o.err }

func BenchmarkDo(b *testing.B) {
	server := httptest.NewServer(providertest.Fixture{Body: answer})
	defer server.Close()
	ep := endpoint()
	ep.URL, ep.Timeout = server.URL, time.Minute
	client := provider.NewClient(provider.ClientOptions{})
	defer client.CloseIdle()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := client.Do(b.Context(), ep, ask()); err != nil {
			b.Fatal(err)
		}
	}
}
