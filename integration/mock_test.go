package integration

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"emend/engine/provider/scripted"
)

// holdMark in a request's text makes the mock wait with its answer until release is called.
const holdMark = "HOLD"

// pauseMark does the same until resume is called, and tells nobody.
const pauseMark = "PAUSE"

// script is what the mock answers: by a word of the conversation, else a short text.
const script = `
rules:
  - match: {contains: BUSY-ONCE}
    replies:
      - {status: 429, retry_after: "0.05", error_code: rate_limit_exceeded}
      - {json: {score: 1}}
  - match: {contains: MEND-ME}
    replies:
      - {text: '{"score": "one"}'}
      - {json: {score: 1}}
  - match: {contains: NEVER-RIGHT}
    replies: [{text: '{"score": "one"}'}]
  - match: {contains: STUCK-IN-REPAIR}
    replies:
      - {text: '{"score": "HOLD"}'}
      - {json: {score: 1}}
  - match: {contains: STUCK-IN-SECOND}
    replies:
      - {text: '{"score": "one"}', usage: {input: 10, output: 5}}
      - {text: '{"score": "HOLD"}', usage: {input: 10, output: 5}}
      - {json: {score: 1}, usage: {input: 10, output: 5}}
  - match: {contains: TAKES-LONG}
    replies: [{json: {score: 1}, delay: 9s}]
  - match: {contains: A-WHILE}
    replies: [{json: {score: 1}, delay: 100ms}]
  - match: {contains: BIG-NUMBER}
    replies: [{text: '1e1000001'}]
  - match: {contains: BAD-REQUEST}
    replies: [{status: 400, error_code: bad_parameter}]
  - match: {contains: ECHO}
    replies: [{echo: true}]
default: {replies: [{json: {score: 1}, usage: {input: 10, output: 5}}]}
`

// mock is an OpenAI-compatible server that can be put in trouble and can hold its answers back.
type mock struct {
	http     *httptest.Server
	scripted *scripted.Server
	calls    atomic.Int64
	// fault is the status that every call gets instead of an answer, 0 for none. faultText goes into its body.
	fault     atomic.Int64
	faultText string
	// headers go with a fault.
	headers http.Header
	// answer replaces the script for texts that hold its key.
	answers map[string]string
	// arrived tells of every call that is held, left of every held call whose caller went away.
	arrived, left chan string
	mu            sync.Mutex
	released      chan struct{}
	resumed       chan struct{}
	resume        func()
	keys          sync.Map
	// under counts the calls that came and are not answered yet, by their Authorization; most is how many there ever were
	// at once.
	under map[string]int
	most  int
	// room bounds the calls that are answered at once, 0 for no bound; what comes beside them gets 429 and is counted in refused.
	room, roomTaken, refused int
	// at is when each call came.
	at []time.Time
}

func newMock(t *testing.T) *mock {
	t.Helper()
	s, err := scripted.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	m := &mock{scripted: s.Handler(), arrived: make(chan string, 1024), left: make(chan string, 1024), released: make(chan struct{}),
		answers: map[string]string{}, under: map[string]int{}, resumed: make(chan struct{})}
	m.resume = sync.OnceFunc(func() { close(m.resumed) })
	m.http = httptest.NewServer(m)
	t.Cleanup(func() { m.release(); m.resume(); m.http.Close() })
	return m
}

// ServeHTTP holds, fails, or plays the script.
func (m *mock) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	m.keys.Store(r.Header.Get("Authorization"), true)
	defer m.enter(r.Header.Get("Authorization"))()
	if status := m.fault.Load(); status != 0 {
		m.refuse(w, int(status))
		return
	}
	leave, fits := m.squeeze()
	if !fits {
		m.refuse(w, http.StatusTooManyRequests)
		return
	}
	defer leave()
	if bytes.Contains(body, []byte(holdMark)) && !m.held(r, string(body)) {
		panic(http.ErrAbortHandler)
	}
	if bytes.Contains(body, []byte(pauseMark)) {
		select {
		case <-m.resumed:
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
	if text, ok := m.answer(string(body)); ok {
		m.say(w, text)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	m.scripted.ServeHTTP(w, r)
}

// refuse answers with an error.
func (m *mock) refuse(w http.ResponseWriter, status int) {
	maps.Copy(w.Header(), m.headers)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"error": {"message": %q, "code": "mock_trouble"}}`, m.faultText)
}

// squeeze takes a place of the room, until leave is called; fits is false when there is none.
func (m *mock) squeeze() (leave func(), fits bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.room > 0 && m.roomTaken >= m.room {
		m.refused++
		return nil, false
	}
	m.roomTaken++
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.roomTaken--
	}, true
}

// answer is that of the longest key that the conversation holds.
func (m *mock) answer(body string) (text string, ok bool) {
	best := ""
	for mark := range m.answers {
		if strings.Contains(body, mark) && len(mark) > len(best) {
			best = mark
		}
	}
	text, ok = m.answers[best]
	return text, ok
}

func (m *mock) say(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"choices": [{"message": {"role": "assistant", "content": %q}, "finish_reason": "stop"}]}`, text)
}

// held waits for the release; false if the caller went away before.
func (m *mock) held(r *http.Request, body string) bool {
	m.mu.Lock()
	released := m.released
	m.mu.Unlock()
	m.arrived <- body
	select {
	case <-released:
		return true
	case <-r.Context().Done():
		m.left <- body
		return false
	}
}

// enter counts a call until the function that it returns is called.
func (m *mock) enter(key string) (leave func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls.Add(1)
	m.at = append(m.at, time.Now())
	m.under[key]++
	all := 0
	for _, n := range m.under {
		all += n
	}
	m.most = max(m.most, all)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.under[key]--
	}
}

// open is the number of calls with an Authorization that are not answered yet.
func (m *mock) open(key string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.under[key]
}

// release lets all held calls, and those to come, through.
func (m *mock) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.released:
	default:
		close(m.released)
	}
}

// fail puts the backend in trouble with a status; 0 mends it.
func (m *mock) fail(status int) { m.fault.Store(int64(status)) }
