// Package providertest is the conformance suite that every dialect runs. A dialect brings its wire's form of each reply
// shape; the suite drives the real client against them over loopback and knows what each must come to.
package providertest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"emend/engine/provider"
	"emend/schemas"
)

// Subject is a dialect under test.
type Subject struct {
	// New makes the dialect.
	New func() provider.Dialect
	// Options are the endpoint's.
	Options map[string]any
	// JoinOptions make the dialect join an answer in parts; nil if the wire always answers in parts.
	JoinOptions map[string]any
	// Carry is the dialect's; what it says goes out must go out.
	Carry provider.Carry
	// NoCodes says that the wire's error body has no code, only text.
	NoCodes bool
	// Fixtures hold the wire's form of every shape of Shapes.
	Fixtures map[Shape]Fixture
	// Fault renders the wire's error body.
	Fault func(status int, code, message string) string
}

// Fixture is one reply in a dialect's wire.
type Fixture struct {
	// Status is 200 if it is 0.
	Status int
	Header map[string]string
	Body   string
	// Handler replaces all of the above.
	Handler http.Handler
	// Names are words that the error's Reason must hold, such as the field at fault.
	Names []string
	// Impossible says why the wire cannot have the shape; nothing is run then.
	Impossible string
}

// Model is the model of every request.
const Model = "conformance-model"

// Run runs the suite.
func Run(t *testing.T, s Subject) {
	for _, name := range missing(s) {
		t.Errorf("shape %q has no fixture: add one, or say why it is impossible", name)
	}
	t.Run("shapes", s.shapes)
	t.Run("statuses", s.statuses)
	t.Run("retry after", s.retryAfter)
	t.Run("connection", s.connection)
	t.Run("time", s.time)
	t.Run("body", s.body)
	t.Run("secrets", s.secrets)
	t.Run("request", s.request)
}

// missing lists the shapes without a fixture, in the order of Shapes.
func missing(s Subject) []Shape {
	var out []Shape
	for _, shape := range Shapes() {
		f, ok := s.Fixtures[shape]
		if !ok || f.Handler == nil && f.Body == "" && f.Impossible == "" {
			out = append(out, shape)
		}
	}
	return out
}

// ServeHTTP serves the fixture. It reads the request first, so that a later end of the caller is noticed.
func (f Fixture) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.Handler != nil {
		f.Handler.ServeHTTP(w, r)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	for name, value := range f.Header {
		w.Header().Set(name, value)
	}
	if f.Status != 0 {
		w.WriteHeader(f.Status)
	}
	_, _ = io.WriteString(w, f.Body)
}

// endpoint returns an endpoint at url that no test waits for long.
func (s Subject) endpoint(url string) *provider.Endpoint {
	return &provider.Endpoint{Backend: "subject", Dialect: s.New(), URL: url + "/v1", Options: s.Options, Timeout: 20 * time.Second}
}

// serve starts a server and returns an endpoint at it and a client for it.
func (s Subject) serve(t *testing.T, h http.Handler) (*provider.Client, *provider.Endpoint) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	client := provider.NewClient(provider.ClientOptions{})
	t.Cleanup(client.CloseIdle)
	return client, s.endpoint(server.URL)
}

// request returns a small request, made anew for each call.
func request() *provider.Request {
	return &provider.Request{Model: Model, Messages: []schemas.Message{
		{Role: schemas.RoleSystem, Content: "Answer."}, {Role: schemas.RoleUser, Content: "What is it?"}}}
}

// fails makes one call and returns its *provider.Error.
func fails(t *testing.T, c *provider.Client, ep *provider.Endpoint) *provider.Error {
	t.Helper()
	resp, err := c.Do(t.Context(), ep, request())
	if err == nil {
		t.Fatalf("the call gave %+v, want an error", resp)
	}
	if resp != nil {
		t.Errorf("the call gave a response beside its error: %+v", resp)
	}
	pe, ok := provider.AsError(err)
	if !ok {
		t.Fatalf("error %T (%v) is no *provider.Error", err, err)
	}
	if pe.Backend != "subject" {
		t.Errorf("backend is %q in %v", pe.Backend, pe)
	}
	return pe
}
