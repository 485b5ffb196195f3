package provider

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
)

// trace notes whether a connection was ever handed to the request: before that, not a byte of it can have left.
type trace struct {
	plain bool // the transport is net/http's own, which reports every connection
	got   atomic.Bool
	hooks httptrace.ClientTrace
}

func (t *trace) watch(ctx context.Context) context.Context {
	t.hooks.GotConn = func(httptrace.GotConnInfo) { t.got.Store(true) }
	return httptrace.WithClientTrace(ctx, &t.hooks)
}

// exchange sends the request and reads the whole reply within the endpoint's bound.
func (c *Client) exchange(k *call, wire *Wire) (*Reply, error) {
	if err := k.resolveKey(); err != nil {
		return nil, err
	}
	transport := c.transport
	if k.ep.Transport != nil {
		transport = k.ep.Transport
	}
	plain, ok := transport.(*http.Transport)
	if k.trace.plain = ok; ok {
		c.pools.LoadOrStore(plain, struct{}{})
	}
	req, err := k.request(k.trace.watch(k.limit), &c.urls, wire)
	if err != nil {
		return nil, err
	}
	// RoundTrip, not http.Client: a redirect would carry the credential and the conversation elsewhere.
	resp, err := transport.RoundTrip(req)
	switch {
	case err != nil:
		return nil, k.sendFailure(req.URL.Host, err)
	case resp == nil || resp.Body == nil:
		return nil, &Error{Kind: KindTransport, Backend: k.ep.Backend, Reason: "the transport returned no response"}
	}
	return k.reply(resp)
}

// reply reads the body. A status other than 2xx stands whatever becomes of its body, unless the time is up.
func (k *call) reply(resp *http.Response) (*Reply, error) {
	defer k.guard(resp)()
	r := &Reply{Status: resp.StatusCode, Header: resp.Header}
	body, err := k.read(resp)
	if err == nil {
		r.Body = body
		return r, nil
	}
	if stop := k.interrupted(); stop != nil {
		return nil, stop
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return r, nil
	}
	return nil, k.bodyFailure(r, len(body), err)
}

// guard returns what closes the body. Under a custom transport the body also closes when the call's time is up, since
// only net/http's own promises that a read ends with the context.
func (k *call) guard(resp *http.Response) func() {
	closeBody := func() { _ = resp.Body.Close() }
	if k.trace.plain {
		return closeBody
	}
	closed := make(chan struct{})
	stop := context.AfterFunc(k.limit, func() { closeBody(); close(closed) })
	return func() {
		if !stop() {
			<-closed
		}
		closeBody()
	}
}

var (
	errOverLimit = errors.New("over the limit")
	errEncoding  = errors.New("unknown content encoding")
)

func (k *call) read(resp *http.Response) ([]byte, error) {
	limit := k.ep.MaxBody
	if limit <= 0 {
		limit = DefaultMaxBody
	}
	switch encoding := strings.ToLower(resp.Header.Get("Content-Encoding")); {
	case resp.Uncompressed || encoding == "" || encoding == "identity":
		return readAll(resp.Body, limit, resp.ContentLength)
	case encoding == "gzip" || encoding == "x-gzip":
		zr, err := gzip.NewReader(resp.Body)
		if err == io.EOF {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return readAll(zr, limit, 0)
	}
	return nil, errEncoding
}

// bodies are used again for replies that were read into a Response. A large one is not kept.
var bodies = sync.Pool{New: func() any { return new(make([]byte, 0, leastBody)) }}

const leastBody, keptBody, mostAnnounced = 2 << 10, 64 << 10, 256 << 10

func release(body []byte) {
	if cap(body) >= leastBody && cap(body) <= keptBody {
		bodies.Put(&body)
	}
}

// readAll reads at most limit bytes; one more is errOverLimit. A reply that announces its length costs at most one allocation,
// but an announcement alone never makes it a large one.
func readAll(r io.Reader, limit, announced int64) ([]byte, error) {
	var buf []byte
	if announced < leastBody {
		buf = (*bodies.Get().(*[]byte))[:0]
	} else {
		buf = make([]byte, 0, min(announced+1, mostAnnounced))
	}
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return nil, errOverLimit
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return buf, err
		}
	}
}

// bodyFailure says what became of the body of a 2xx.
func (k *call) bodyFailure(r *Reply, n int, err error) *Error {
	e := &Error{Kind: KindMalformed, Backend: k.ep.Backend, Status: r.Status}
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	switch {
	case errors.Is(err, errOverLimit):
		limit := k.ep.MaxBody
		if limit <= 0 {
			limit = DefaultMaxBody
		}
		e.Reason = fmt.Sprintf("the reply is over the backend's limit of %d bytes", limit)
	case errors.Is(err, errEncoding):
		e.Reason = "the reply has a content encoding that was not asked for and is not gzip"
	case corrupt || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum):
		e.Reason = "the reply says that it is gzip and is not"
	default:
		e.Kind, e.Status, e.cause = KindTransport, 0, harmless(err)
		e.Reason = fmt.Sprintf("the connection ended after %d bytes of an unfinished reply", n)
	}
	return e
}
