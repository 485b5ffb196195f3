package providertest

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"emend/engine/provider"
)

// drained wraps a handler that outlives its caller: the server notices that the caller left only once the request has
// been read.
func drained(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		h(w, r)
	}
}

func (s Subject) connection(t *testing.T) {
	t.Run("refused", s.refused)
	t.Run("dropped before the reply", func(t *testing.T) {
		client, ep := s.serve(t, drained(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
		s.checkTransport(t, fails(t, client, ep), false)
	})
	t.Run("dropped within the reply", func(t *testing.T) {
		client, ep := s.serve(t, drained(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"half":`)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}))
		s.checkTransport(t, fails(t, client, ep), false)
	})
	t.Run("untrusted certificate", func(t *testing.T) {
		server := httptest.NewUnstartedServer(s.Fixtures[Candidate])
		server.Config.ErrorLog = quiet
		server.StartTLS()
		t.Cleanup(server.Close)
		s.checkTransport(t, fails(t, provider.NewClient(provider.ClientOptions{}), s.endpoint(server.URL)), true)
	})
	t.Run("redirect", s.redirect)
}

func (s Subject) refused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + listener.Addr().String()
	_ = listener.Close()
	s.checkTransport(t, fails(t, provider.NewClient(provider.ClientOptions{}), s.endpoint(url)), true)
}

func (s Subject) checkTransport(t *testing.T, pe *provider.Error, notSent bool) {
	t.Helper()
	if pe.Kind != provider.KindTransport || pe.NotSent != notSent || pe.Reason == "" || pe.Billed() == notSent {
		t.Errorf("got %v, not sent %v, billed %v; want transport, not sent %v", pe, pe.NotSent, pe.Billed(), notSent)
	}
}

func (s Subject) redirect(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		elsewhere.Add(1)
		s.Fixtures[Candidate].ServeHTTP(w, r)
	}))
	t.Cleanup(other.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		client, ep := s.serve(t, drained(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/v1?token=planted", status)
		}))
		ep.Key = func(context.Context) (string, error) { return "planted-key", nil }
		pe := fails(t, client, ep)
		if pe.Kind != provider.KindStatus || pe.Status != status || !strings.Contains(pe.Reason, "redirects are not followed") {
			t.Errorf("%d: got %v", status, pe)
		}
		if strings.Contains(pe.Error(), "planted") {
			t.Errorf("%d: %q repeats the location", status, pe.Error())
		}
	}
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("%d requests went to where a redirect pointed", n)
	}
}

// hanging answers nothing, or the beginning of a body, until its caller leaves; left is closed then.
func hanging(begin string) (h http.HandlerFunc, left chan struct{}) {
	left = make(chan struct{})
	return drained(func(w http.ResponseWriter, r *http.Request) {
		defer close(left)
		if begin != "" {
			_, _ = io.WriteString(w, begin)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}), left
}

func (s Subject) time(t *testing.T) {
	for name, begin := range map[string]string{"no reply": "", "stalled body": `{"half":`} {
		t.Run(name, func(t *testing.T) {
			h, left := hanging(begin)
			client, ep := s.serve(t, h)
			ep.Timeout = 50 * time.Millisecond
			pe := fails(t, client, ep)
			if pe.Kind != provider.KindTimeout || pe.NotSent || errors.Is(pe, context.DeadlineExceeded) {
				t.Errorf("got %v, not sent %v", pe, pe.NotSent)
			}
			<-left
		})
		t.Run(name+", caller cancels", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			h, left := hanging(begin)
			client, ep := s.serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { cancel(); h(w, r) }))
			s.checkStopped(t, ctx, client, ep, context.Canceled)
			<-left
		})
		t.Run(name+", caller's deadline", func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			h, left := hanging(begin)
			client, ep := s.serve(t, h)
			s.checkStopped(t, ctx, client, ep, context.DeadlineExceeded)
			<-left
		})
	}
}

func (s Subject) checkStopped(t *testing.T, ctx context.Context, client *provider.Client, ep *provider.Endpoint, want error) {
	t.Helper()
	resp, err := client.Do(ctx, ep, request())
	if pe, ok := provider.AsError(err); resp != nil || !errors.Is(err, want) || ok {
		t.Errorf("got %v, %v (%+v), want an error that is %v and no *provider.Error", resp, err, pe, want)
	}
}

func (s Subject) body(t *testing.T) {
	big := Fixture{Body: strings.Repeat(" ", 1<<20) + "{}"}
	t.Run("over the limit", func(t *testing.T) {
		client, ep := s.serve(t, big)
		ep.MaxBody = 1 << 16
		if pe := fails(t, client, ep); pe.Kind != provider.KindMalformed || !strings.Contains(pe.Reason, "limit of 65536 bytes") {
			t.Errorf("got %v", pe)
		}
	})
	t.Run("error over the limit", func(t *testing.T) {
		client, ep := s.serve(t, Fixture{Status: 503, Body: big.Body})
		ep.MaxBody = 1 << 16
		if pe := fails(t, client, ep); pe.Kind != provider.KindStatus || pe.Status != 503 {
			t.Errorf("got %v", pe)
		}
	})
	t.Run("gzip", func(t *testing.T) { s.gzip(t, nil) })
	t.Run("gzip asked for by the operator", func(t *testing.T) { s.gzip(t, http.Header{"Accept-Encoding": {"gzip"}}) })
	t.Run("gzip over the limit", func(t *testing.T) {
		client, ep := s.serve(t, zipped(t, big))
		ep.MaxBody = 1 << 16
		if pe := fails(t, client, ep); pe.Kind != provider.KindMalformed || !strings.Contains(pe.Reason, "limit") {
			t.Errorf("got %v", pe)
		}
	})
	t.Run("not gzip", func(t *testing.T) {
		client, ep := s.serve(t, Fixture{Header: map[string]string{"Content-Encoding": "gzip"}, Body: strings.Repeat("planted ", 10)})
		if pe := fails(t, client, ep); pe.Kind != provider.KindMalformed || !strings.Contains(pe.Reason, "gzip") {
			t.Errorf("got %v", pe)
		}
	})
	t.Run("unknown encoding", func(t *testing.T) {
		client, ep := s.serve(t, Fixture{Header: map[string]string{"Content-Encoding": "br"}, Body: "?"})
		if pe := fails(t, client, ep); pe.Kind != provider.KindMalformed || !strings.Contains(pe.Reason, "encoding") {
			t.Errorf("got %v", pe)
		}
	})
}

func (s Subject) gzip(t *testing.T, header http.Header) {
	client, ep := s.serve(t, zipped(t, s.Fixtures[Candidate]))
	ep.Header = header
	resp, err := client.Do(t.Context(), ep, request())
	if err != nil || resp.Text != Text {
		t.Errorf("got %+v, %v", resp, err)
	}
}

// zipped serves what f serves, compressed, to a caller that accepts it.
func zipped(t *testing.T, f Fixture) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			t.Error("the client does not accept gzip")
		}
		plain := httptest.NewRecorder()
		f.ServeHTTP(plain, r)
		var buf bytes.Buffer
		zw := gzip.NewWriter(&buf)
		_, _ = zw.Write(plain.Body.Bytes())
		_ = zw.Close()
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(buf.Bytes())
	})
}
