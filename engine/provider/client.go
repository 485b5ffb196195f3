package provider

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// traceparent is the key of a context's trace context.
type traceparent struct{}

// WithTraceparent has calls under the context carry a W3C traceparent header.
func WithTraceparent(ctx context.Context, parent string) context.Context {
	return context.WithValue(ctx, traceparent{}, parent)
}

// DefaultMaxBody bounds a reply when the endpoint names no bound.
const DefaultMaxBody = 16 << 20

// ClientOptions configure a Client; the zero value is ready to use.
type ClientOptions struct {
	// MaxIdlePerHost is how many idle connections are kept to one host: the permits of the busiest backend; 0 means 64.
	MaxIdlePerHost int
	// Transport replaces the client's own for every endpoint that brings none. It must honour the request's context.
	Transport http.RoundTripper
	// Now is the clock for a Retry-After date; nil means time.Now.
	Now func() time.Time
}

// Client is the one HTTP client. It makes exactly one call per Do, follows no redirect, retries nothing and leaves no
// goroutine behind but those of idle connections. It is safe for concurrent use.
type Client struct {
	transport http.RoundTripper
	now       func() time.Time
	// pools are the *http.Transport that calls went through, so that CloseIdle finds those of endpoints.
	pools sync.Map
	urls  targets
}

// NewClient returns a client with its own connection pool.
func NewClient(o ClientOptions) *Client {
	if o.Transport == nil {
		o.Transport = NewTransport(TransportOptions{MaxIdlePerHost: o.MaxIdlePerHost})
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Client{transport: o.Transport, now: o.Now}
}

// CloseIdle closes the idle connections of the client's transport and of every endpoint's own that it called through.
// Calls under way are not touched.
func (c *Client) CloseIdle() {
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
	c.pools.Range(func(t, _ any) bool {
		t.(*http.Transport).CloseIdleConnections()
		return true
	})
}

// Do makes one call. Its error is a *Error, or one that matches context.Canceled or context.DeadlineExceeded when the
// caller's context ended: that is never the endpoint's own Timeout, which is a *Error of kind timeout.
func (c *Client) Do(ctx context.Context, ep *Endpoint, req *Request) (*Response, error) {
	k := &call{caller: ctx, limit: ctx, ep: ep}
	if ctx.Err() != nil {
		return nil, k.interrupted()
	}
	wire, err := k.build(req)
	if err != nil {
		return nil, err
	}
	if ep.Timeout > 0 {
		limit, cancel := context.WithTimeout(ctx, ep.Timeout)
		defer cancel()
		k.limit = limit
	}
	reply, err := c.exchange(k, wire)
	if err != nil {
		return nil, k.scrub(err)
	}
	reply.Asked = wire.Asked
	resp, err := ep.Dialect.Read(ep, reply)
	if err != nil || resp == nil {
		return nil, k.scrub(k.annotate(err, reply, c.now()))
	}
	release(reply.Body) // a Response holds no part of it, only strings
	resp.Hold = hold(reply.Header, c.now())
	resp.Model = k.clean(cut(resp.Model, modelLimit))
	return resp, nil
}

// modelLimit bounds the model's name that a reply reports, in bytes: a result and its events repeat it.
const modelLimit = 256

// call is the state of one Do.
type call struct {
	caller context.Context // the caller's own end
	limit  context.Context // caller, bounded by the endpoint's Timeout
	ep     *Endpoint
	key    string
	trace  trace
	body   bytes.Reader
}

func (k *call) build(req *Request) (*Wire, error) {
	if k.ep.Dialect == nil {
		return nil, &Error{Kind: KindInvalid, Backend: k.ep.Backend, Reason: "the endpoint has no dialect"}
	}
	wire, err := k.ep.Dialect.Build(k.ep, req)
	if err == nil {
		return wire, nil
	}
	if pe, ok := AsError(err); ok {
		pe.Backend = k.ep.Backend
		return nil, pe
	}
	return nil, &Error{Kind: KindInvalid, Backend: k.ep.Backend, Reason: err.Error(), cause: err}
}

// resolveKey asks for the credential now, not when the run was prepared. A key that cannot be had is the backend's
// fault, not the run's.
func (k *call) resolveKey() error {
	if k.ep.Key == nil {
		return nil
	}
	key, err := k.ep.Key(k.limit)
	if err != nil {
		if stop := k.interrupted(); stop != nil {
			return stop
		}
		return k.unsent("the key cannot be had: "+err.Error(), true)
	}
	// A space at an end is no part of a key; left in, it would make a key with a scheme of its own of it.
	k.key = strings.Trim(key, " ")
	switch {
	case strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return k.unsent("the key holds a control character, perhaps a line break: no header can carry it", true)
	case k.key == "" && key != "":
		return k.unsent("the key is blank", true)
	}
	return nil
}

func (k *call) unsent(reason string, account bool) *Error {
	return &Error{Kind: KindTransport, Backend: k.ep.Backend, Reason: reason, NotSent: true, Account: account}
}

// request makes the HTTP request: the dialect's headers, then the operator's, then the credential.
func (k *call) request(ctx context.Context, urls *targets, wire *Wire) (*http.Request, error) {
	u, err := urls.of(k.ep.URL, wire.Path)
	if err != nil {
		return nil, &Error{Kind: KindInvalid, Backend: k.ep.Backend, Account: true, Reason: "the backend's url is not an http or https URL"}
	}
	k.body.Reset(wire.Body)
	r := &http.Request{Method: http.MethodPost, URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: k.headers(wire, u), ContentLength: int64(len(wire.Body)), Body: io.NopCloser(&k.body),
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(wire.Body)), nil }}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	return r.WithContext(ctx), nil
}

// targets remembers the URLs of calls, which are few. The zero value is ready.
type targets struct {
	known sync.Map
	n     atomic.Int64
}

// mostTargets bounds what is remembered: models may be part of a path.
const mostTargets = 256

// of is target, of which every call has its own copy.
func (t *targets) of(base, path string) (*url.URL, error) {
	key := [2]string{base, path}
	if u, ok := t.known.Load(key); ok {
		own := *u.(*url.URL)
		return &own, nil
	}
	u, err := target(base, path)
	if err == nil && t.n.Load() < mostTargets {
		own := *u
		t.known.Store(key, &own)
		t.n.Add(1)
	}
	return u, err
}

// target puts a wire's path below the base URL, whose query stays.
func target(base, path string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	if u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("scheme %q", u.Scheme)
	}
	path, query, _ := strings.Cut(path, "?")
	u.RawPath = strings.TrimSuffix(u.EscapedPath(), "/") + path
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return nil, err
	}
	switch {
	case u.RawQuery == "":
		u.RawQuery = query
	case query != "":
		u.RawQuery += "&" + query
	}
	return u, nil
}

// These are header values of every call; nobody writes to a header's values in place. A transport that is to ask for gzip itself
// makes one more map a call.
var typeJSON, agent, zipped = []string{"application/json"}, []string{"emend"}, []string{"gzip"}

func (k *call) headers(wire *Wire, u *url.URL) http.Header {
	h := http.Header{"Content-Type": typeJSON, "Accept": typeJSON, "User-Agent": agent, "Accept-Encoding": zipped}
	if parent, ok := k.caller.Value(traceparent{}).(string); ok {
		h["Traceparent"] = []string{parent}
	}
	for _, more := range []http.Header{wire.Header, k.ep.Header} {
		for name, values := range more {
			h[http.CanonicalHeaderKey(name)] = values
		}
	}
	keyHeader := cmp.Or(k.ep.KeyHeader, wire.KeyHeader)
	switch {
	case k.key != "" && keyHeader != "" && http.CanonicalHeaderKey(keyHeader) != "Authorization":
		h.Set(keyHeader, k.key)
	case strings.Contains(k.key, " "):
		h.Set("Authorization", k.key) // with a scheme of its own
	case k.key != "":
		h.Set("Authorization", "Bearer "+k.key)
	case u.User != nil && h.Get("Authorization") == "":
		password, _ := u.User.Password()
		basic := http.Request{Header: h}
		basic.SetBasicAuth(u.User.Username(), password)
	}
	return h
}
