package consumer

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// fleetConfig is the emend.yaml of tests with many runs: two backends, of which one may be in trouble.
const fleetConfig = `
backends:
  mock: {dialect: openai, url: "http://mock.invalid/v1", permits: 4, admitted: 8, call_timeout: 60s}
  other: {dialect: openai, url: "http://other.invalid/v1", permits: 4, admitted: 8, call_timeout: 60s}
queues:
  default: {weight: 4, in_flight: 64}
  team-a: {weight: 1, in_flight: 64}
profiles:
  fast: {backend: mock, model: small}
  elsewhere: {backend: other, model: small}
transient_retries: 0
drain_timeout: 100ms
keep: {runs_max: 1GiB}
`

const elsewhereRequest = `{"profile": "elsewhere", "messages": [{"role": "user", "content": "rate"}], "output": {"mode": "json"}}`

// calls is a transport that notes when each host was called, and answers as its function says; nil is a good answer.
type calls struct {
	mu     sync.Mutex
	at     map[string][]time.Time
	under  map[string]int
	most   map[string]int
	words  map[string]int
	answer func(r *http.Request, body string, n int) (*http.Response, error)
}

func newCalls(answer func(r *http.Request, body string, n int) (*http.Response, error)) *calls {
	return &calls{at: map[string][]time.Time{}, under: map[string]int{}, most: map[string]int{}, words: map[string]int{}, answer: answer}
}

// RoundTrip notes and answers; n is the number of the call at its host, from 1.
func (c *calls) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	host := r.URL.Hostname()
	c.mu.Lock()
	for _, word := range []string{"SLOW", "QUICK"} {
		if strings.Contains(string(body), word) {
			c.words[word]++
		}
	}
	c.at[host] = append(c.at[host], time.Now())
	n := len(c.at[host])
	c.under[host]++
	c.most[host] = max(c.most[host], c.under[host])
	c.mu.Unlock()
	defer func() { c.mu.Lock(); c.under[host]--; c.mu.Unlock() }()
	return c.answer(r, string(body), n)
}

// times are when a host was called.
func (c *calls) times(host string) []time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.at[host])
}

// newCalled is a rig of fleetConfig whose backends answer with a function.
func newCalled(t *testing.T, answer func(r *http.Request, body string, n int) (*http.Response, error)) (*rig, *calls) {
	t.Helper()
	r, c := newRig(t), newCalls(answer)
	r.yaml, r.transport = fleetConfig, c
	return r, c
}

// says is an answer with a status, a body and headers.
func says(r *http.Request, status int, body string, header http.Header) (*http.Response, error) {
	h := header.Clone()
	if h == nil {
		h = http.Header{}
	}
	h.Set("Content-Type", "application/json")
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// good is a completion.
func good(r *http.Request) (*http.Response, error) {
	return says(r, http.StatusOK, `{"choices": [{"message": {"content": "{\"score\": 1}"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}`, nil)
}

// refusedPort is what a dial to a port gives at which nobody listens.
func refusedPort() error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
}

// putMany stores n requests of a backend and queue, named by a prefix and a number.
func (p *place) putMany(backend, queue, prefix string, n int, body string) {
	p.Helper()
	js, err := jetstream.New(p.nc, jetstream.WithPublishAsyncMaxPending(256))
	p.must(err)
	var acks []jetstream.PubAckFuture
	for i := range n {
		ack, err := js.PublishAsync(p.names.Run(backend, queue, fmt.Sprint(prefix, i)), []byte(body), jetstream.WithStallWait(time.Minute))
		p.must(err)
		acks = append(acks, ack)
	}
	for _, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			p.Fatal(err)
		}
	}
}

// nap sleeps, as a backend does that takes its time, until the call is given up.
func nap(r *http.Request, d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}

// kept is the number of messages of a stream.
func (p *place) kept(stream string) int {
	p.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s, err := p.js.Stream(ctx, stream)
	p.must(err)
	return int(s.CachedInfo().State.Msgs)
}

// awaits looks every so often until what holds, for no longer than a span.
func awaits(t *testing.T, what string, every, span time.Duration, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(span); !holds(); time.Sleep(every) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, span)
		}
	}
}
