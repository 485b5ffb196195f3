package scripted

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// ErrDropped is the transport error of a reply with drop: true.
var ErrDropped = errors.New("scripted: the connection was dropped")

// Transport plays the script in process, with a server of its own.
func (s *Script) Transport() http.RoundTripper { return s.Handler().Transport() }

// Transport returns a transport that plays in process what the server would over HTTP. It honours the request's context
// while it delays, starts no goroutine and works in a testing/synctest bubble.
func (s *Server) Transport() http.RoundTripper { return transport{s} }

type transport struct{ server *Server }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body := r.Body
	if body == nil {
		body = http.NoBody
	}
	defer func() { _ = body.Close() }()
	out, err := t.server.serve(r.Context(), r.Method, r.URL.Path, body)
	switch {
	case err != nil:
		return nil, err
	case out.drop:
		return nil, ErrDropped
	}
	return &http.Response{Status: http.StatusText(out.status), StatusCode: out.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: out.header, Body: io.NopCloser(bytes.NewReader(out.body)), ContentLength: int64(len(out.body)), Request: r}, nil
}
