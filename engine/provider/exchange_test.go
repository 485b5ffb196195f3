package provider

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"
)

func TestReadAll(t *testing.T) {
	text := strings.Repeat("x", 10_000)
	for _, announced := range []int64{-1, 0, 5, 10_000, 1 << 40} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(text), "bytewise": iotest.OneByteReader(strings.NewReader(text)),
			"with its end": iotest.DataErrReader(strings.NewReader(text))} {
			got, err := readAll(r, 10_000, announced)
			if err != nil || string(got) != text {
				t.Errorf("%s, announced %d: %d bytes, %v", name, announced, len(got), err)
			}
			if announced > 10_000 && cap(got) > 1<<20 {
				t.Errorf("an announcement alone made a buffer of %d", cap(got))
			}
		}
	}
	if got, err := readAll(strings.NewReader(text), 9_999, -1); !errors.Is(err, errOverLimit) || got != nil {
		t.Errorf("over the limit: %d bytes, %v", len(got), err)
	}
	broken := io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if got, err := readAll(broken, 100, -1); !errors.Is(err, io.ErrUnexpectedEOF) || len(got) != 3 {
		t.Errorf("broken: %d bytes, %v", len(got), err)
	}
}

// fixed is a transport under the client that always gives the same.
type fixed struct {
	resp *http.Response
	err  error
}

func (f fixed) RoundTrip(*http.Request) (*http.Response, error) { return f.resp, f.err }

// echo is a dialect whose candidate is the body.
type echo struct{}

func (echo) Build(*Endpoint, *Request) (*Wire, error) { return &Wire{Path: "/x"}, nil }
func (echo) Read(_ *Endpoint, r *Reply) (*Response, error) {
	if !r.OK() {
		return nil, StatusError(r)
	}
	return &Response{Text: string(r.Body)}, nil
}

func do(t *testing.T, rt http.RoundTripper, key string) (*Response, *Error) {
	t.Helper()
	ep := &Endpoint{Backend: "b", Dialect: echo{}, URL: "https://model.invalid:8443/v1?k=planted", Transport: rt, MaxBody: 1000,
		Key: func(context.Context) (string, error) { return key, nil }}
	resp, err := NewClient(ClientOptions{}).Do(t.Context(), ep, &Request{})
	if err == nil {
		return resp, nil
	}
	pe, ok := AsError(err)
	if !ok {
		t.Fatalf("%v is no *Error", err)
	}
	if strings.Contains(pe.Error(), "planted") {
		t.Errorf("%q tells a secret", pe)
	}
	return nil, pe
}

func zip(s string) string {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return buf.String()
}

func TestBodiesOfCustomTransports(t *testing.T) {
	cases := map[string]struct {
		status         int
		encoding, body string
		text           string
		kind           Kind
		says           string
	}{
		"plain":            {200, "", "hi", "hi", "", ""},
		"identity":         {200, "identity", "hi", "hi", "", ""},
		"gzip":             {200, "gzip", zip("hi"), "hi", "", ""},
		"x-gzip":           {200, "X-GZIP", zip("hi"), "hi", "", ""},
		"gzip of nothing":  {200, "gzip", zip(""), "", "", ""},
		"nothing, gzipped": {200, "gzip", "", "", "", ""},
		"cut gzip":         {200, "gzip", zip("hi")[:15], "", KindTransport, "unfinished reply"},
		"corrupt gzip":     {200, "gzip", zip("hi")[:10] + "planted planted", "", KindMalformed, "says that it is gzip"},
		"bad checksum":     {200, "gzip", zip("hi")[:len(zip("hi"))-8] + "12345678", "", KindMalformed, "says that it is gzip"},
		"gzip bomb":        {200, "gzip", zip(strings.Repeat("a", 1<<20)), "", KindMalformed, "over the backend's limit of 1000 bytes"},
		"brotli":           {200, "br", "x", "", KindMalformed, "content encoding"},
		"brotli fault":     {503, "br", "x", "", KindStatus, "503"},
		"corrupt fault":    {429, "gzip", "planted", "", KindStatus, "too many requests"},
	}
	for name, c := range cases {
		resp := &http.Response{StatusCode: c.status, Header: http.Header{"Content-Encoding": {c.encoding}}, Body: io.NopCloser(strings.NewReader(c.body))}
		got, pe := do(t, fixed{resp: resp}, "")
		switch {
		case c.kind == "" && (pe != nil || got.Text != c.text):
			t.Errorf("%s: got %+v, %v", name, got, pe)
		case c.kind != "" && (pe == nil || pe.Kind != c.kind || !strings.Contains(pe.Error(), c.says)):
			t.Errorf("%s: got %+v, %v", name, got, pe)
		}
	}
}

func TestWhatProvesThatARequestNeverLeft(t *testing.T) {
	op := func(op string, err error) error { return &net.OpError{Op: op, Net: "tcp", Err: err} }
	cases := map[string]struct {
		err     error
		notSent bool
		says    string
	}{
		"refused":       {op("dial", os.NewSyscallError("connect", syscall.ECONNREFUSED)), true, "model.invalid:8443 refused the connection"},
		"unreachable":   {op("dial", syscall.ENETUNREACH), true, "no connection to model.invalid:8443"},
		"unresolved":    {op("dial", &net.DNSError{Err: "no such host", Name: "planted", IsNotFound: true}), true, "could not be resolved"},
		"untrusted":     {&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, true, "no secure connection"},
		"not TLS":       {tls.RecordHeaderError{Msg: "planted"}, true, "no secure connection"},
		"alert":         {op("remote error", tls.AlertError(116)), false, "ended before a reply"},
		"reset":         {op("read", syscall.ECONNRESET), false, "ended before a reply"},
		"broken pipe":   {op("write", syscall.EPIPE), false, "ended before a reply"},
		"end":           {io.EOF, false, "ended before a reply"},
		"socket's time": {op("read", os.ErrDeadlineExceeded), false, "ended before a reply"},
		"no words":      {errors.New("planted"), false, "ended before a reply"},
	}
	for name, c := range cases {
		_, pe := do(t, fixed{err: c.err}, "")
		if pe.Kind != KindTransport || pe.NotSent != c.notSent || pe.Billed() == c.notSent || !strings.Contains(pe.Error(), c.says) {
			t.Errorf("%s: got %v, not sent %v", name, pe, pe.NotSent)
		}
		if errors.Is(pe, context.DeadlineExceeded) || errors.Is(pe, context.Canceled) {
			t.Errorf("%s looks like the caller's end", name)
		}
	}
}

// TestATimeoutBeforeTheConnectionIsNotSent: net/http's own transport tells of connections, so even a timeout proves it.
func TestATimeoutBeforeTheConnectionIsNotSent(t *testing.T) {
	stuck := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	ep := &Endpoint{Backend: "b", Dialect: echo{}, URL: "http://model.invalid", Transport: stuck, Timeout: 20 * time.Millisecond}
	_, err := NewClient(ClientOptions{}).Do(t.Context(), ep, &Request{})
	pe, ok := AsError(err)
	if !ok || pe.Kind != KindTimeout || !pe.NotSent || pe.Billed() {
		t.Errorf("got %+v", err)
	}
}

// A secret header is as secret as the key, also when the credential is echoed without its scheme.
func TestSecretHeadersAreScrubbed(t *testing.T) {
	k := &call{ep: &Endpoint{Secrets: []string{"Bearer planted-token", "planted-tenant", "short"}}, key: "planted-key"}
	err := k.scrub(&Error{Code: "planted-token", Detail: "Bearer planted-token of planted-tenant", Reason: "planted-key, not planted-token: too short"})
	if pe, _ := AsError(err); pe.Code != "" || pe.Detail != "[key] of [key]" || pe.Reason != "[key], not [key]: too short" {
		t.Errorf("got %+v", pe)
	}
}

func TestTheKeyIsScrubbed(t *testing.T) {
	const key = "planted-key"
	body := `{"error":{"code":"planted-key","message":"wrong key planted-key!","param":"planted-key"}}`
	_, pe := do(t, fixed{resp: &http.Response{StatusCode: 400, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}}, key)
	if pe.Code != "" || pe.Detail != "wrong key [key]!" || pe.Reason != "the provider refused [key]" {
		t.Errorf("got %+v", pe)
	}
	body = strings.ReplaceAll(body, key, "model")
	_, pe = do(t, fixed{resp: &http.Response{StatusCode: 400, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}}, "model")
	if pe.Code != "model" || pe.Detail != "wrong key model!" || pe.Reason != "the provider refused model" {
		t.Errorf("a placeholder was taken out of words: %+v", pe)
	}
	k := &call{}
	if err := k.scrub(context.Canceled); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}

func TestTarget(t *testing.T) {
	for _, c := range [][3]string{
		{"https://h/v1", "/x", "https://h/v1/x"},
		{"https://h", "/x", "https://h/x"},
		{"https://h/v1/", "/x?b=2", "https://h/v1/x?b=2"},
		{"https://h/v1?a=1", "/x?b=2", "https://h/v1/x?a=1&b=2"},
		{"https://h/v1?a=1", "/models/m:generate", "https://h/v1/models/m:generate?a=1"},
		{"http://[::1]:80", "/x", "http://[::1]:80/x"},
		{"https://h/a%2Fb/", "/models/x%2F..%3Fy:z?b=2", "https://h/a%2Fb/models/x%2F..%3Fy:z?b=2"},
	} {
		u, err := target(c[0], c[1])
		if err != nil || u.String() != c[2] {
			t.Errorf("%s under %s: %v, %v; want %s", c[1], c[0], u, err, c[2])
		}
	}
	for _, bad := range []string{"", "h", "/v1", "ftp://h", "http://", "http://h:port", "unix:/x"} {
		if u, err := target(bad, "/x"); err == nil {
			t.Errorf("%q became %s", bad, u)
		}
	}
	if u, err := target("http://h", "/%zz"); err == nil {
		t.Errorf("an escape that is none became %s", u)
	}
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// own is a dialect whose provider has a header of its own for the key.
type own struct{}

func (own) Build(*Endpoint, *Request) (*Wire, error) { return &Wire{KeyHeader: "x-own-key"}, nil }

func (own) Read(*Endpoint, *Reply) (*Response, error) { return &Response{}, nil }

func TestADialectsKeyHeaderYieldsToTheEndpoints(t *testing.T) {
	for named, header := range map[string]string{"": "X-Own-Key", "api-key": "Api-Key"} {
		var got http.Header
		rt := tripper(func(r *http.Request) (*http.Response, error) {
			got = r.Header
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}, nil
		})
		ep := &Endpoint{Dialect: own{}, URL: "http://h", Transport: rt, KeyHeader: named, Key: func(context.Context) (string, error) { return "k", nil }}
		if _, err := NewClient(ClientOptions{}).Do(t.Context(), ep, &Request{}); err != nil || got.Get(header) != "k" || got.Get("Authorization") != "" {
			t.Errorf("%q: %v, sent %v", named, err, got)
		}
	}
}

func TestEnvelope(t *testing.T) {
	html := http.Header{"Content-Type": {"text/html; charset=x"}}
	for _, c := range []struct {
		header http.Header
		body   string
		says   string
	}{
		{nil, "\n", "the body is empty"},
		{nil, "event: x", "event stream (content type unnamed)"},
		{http.Header{"Content-Type": {"text/event-stream"}}, ": ping", "event stream (content type text/event-stream)"},
		{html, "planted", "HTML or XML (content type text/html)"},
		{nil, "\ufeff{}", "not JSON at byte 1 of 5"},
		{nil, `{"a":tru}`, "not JSON at byte 9 of 9"},
		{nil, `{"a":1`, "not JSON at byte 6 of 6"},
		{nil, `"planted"`, "the body is a string, not an object"},
		{http.Header{"Content-Type": {"a/b planted"}}, "?", "content type unnamed"},
	} {
		_, pe := Envelope(&Reply{Status: 200, Header: c.header, Body: []byte(c.body)})
		if pe == nil || !strings.Contains(pe.Reason, c.says) || strings.Contains(pe.Reason, "planted") {
			t.Errorf("%q: got %v, want %q", c.body, pe, c.says)
		}
	}
	if v, pe := Envelope(&Reply{Status: 200, Header: html, Body: []byte(" {} ")}); pe != nil || v.Kind() != Object {
		t.Errorf("JSON under another content type: %v", pe)
	}
}

// TestTargetsAreRemembered: calls to one place have equal URLs, each its own, and no more are remembered than a bound.
func TestTargetsAreRemembered(t *testing.T) {
	var known targets
	first, err := known.of("http://h/v1?k=1", "/chat")
	if err != nil {
		t.Fatal(err)
	}
	first.Path = "/spoilt"
	for range 2 {
		u, err := known.of("http://h/v1?k=1", "/chat")
		if err != nil || u.String() != "http://h/v1/chat?k=1" {
			t.Fatal(u, err)
		}
		u.Host = "spoilt"
	}
	for i := range 2 * mostTargets {
		path := fmt.Sprintf("/models/%d", i)
		if u, err := known.of("http://h", path); err != nil || u.String() != "http://h"+path {
			t.Fatal(u, err)
		}
		if _, err := known.of("ftp://h", path); err == nil {
			t.Fatal("ftp is called")
		}
	}
	if n := known.n.Load(); n != mostTargets {
		t.Errorf("%d are remembered", n)
	}
}
