package scripted

import (
	"context"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxRequest bounds a request's body.
const maxRequest = 64 << 20

// Server plays a script and counts. It serves the calls of four wires, told apart by the path of a POST, GET …/models and
// GET /stats, and is safe for concurrent use.
type Server struct {
	script   *Script
	fallback *Rule

	mu    sync.Mutex // guards all below
	turns *turns
	stats Stats
	now   int
}

// Outcomes that Stats counts besides "status 429" and the like.
const (
	OutcomeAnswer    = "answer"
	OutcomeRefusal   = "refusal"
	OutcomeNull      = "null_content"
	OutcomeMalformed = "malformed"
	OutcomeRaw       = "raw"
	OutcomeFault     = "error_body"
	OutcomeDropped   = "dropped"
	OutcomeCancelled = "cancelled" // the caller left during the delay
	OutcomeRejected  = "over_concurrency"
	OutcomeInvalid   = "invalid_request"
)

// Stats is what a server did.
type Stats struct {
	Calls int64 `json:"calls"`
	// ByOutcome counts ended calls.
	ByOutcome map[string]int64 `json:"by_outcome"`
	// ByModel counts calls; the 257th name and later ones count as "(other)".
	ByModel       map[string]int64 `json:"by_model"`
	Concurrent    int              `json:"concurrent"`
	MaxConcurrent int              `json:"max_concurrent"`
	Conversations int              `json:"conversations"`
}

// Handler returns a server with counters and conversations of its own.
func (s *Script) Handler() *Server {
	ok := `{"ok":true}`
	fallback := s.Default
	if fallback == nil {
		fallback = &Rule{Replies: []Reply{{Text: &ok}}}
	}
	size := s.Conversations
	if size == 0 {
		size = 16384
	}
	return &Server{script: s, fallback: fallback, turns: newTurns(size),
		stats: Stats{ByOutcome: map[string]int64{}, ByModel: map[string]int64{}}}
}

// Stats returns a copy of the counters.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.stats
	out.ByOutcome, out.ByModel = copied(s.stats.ByOutcome), copied(s.stats.ByModel)
	out.Concurrent, out.Conversations = s.now, s.turns.len()
	return out
}

func copied(m map[string]int64) map[string]int64 {
	out := make(map[string]int64, len(m))
	maps.Copy(out, m)
	return out
}

// output is a reply ready to send; drop ends the connection instead.
type output struct {
	status  int
	header  http.Header
	body    []byte
	drop    bool
	outcome string
	delay   time.Duration
}

// serve answers one request after its delay. Both ways in go through it, on the caller's own goroutine.
func (s *Server) serve(ctx context.Context, method, path string, body io.Reader) (output, error) {
	w := wireOf(path)
	switch {
	case w != nil && method == http.MethodPost:
		return s.complete(ctx, w, path, body)
	case path == "/stats" && method == http.MethodGet:
		return jsonOutput(http.StatusOK, s.Stats()), nil
	case strings.HasSuffix(path, "/models") && method == http.MethodGet:
		return jsonOutput(http.StatusOK, s.models()), nil
	}
	return openaiWire.faultOutput(fault{status: http.StatusNotFound, code: "not_found", message: notServed()}), nil
}

func notServed() string {
	var paths []string
	for _, w := range wires {
		paths = append(paths, w.path)
	}
	return "the mock serves POST " + strings.Join(paths, ", ") + ", GET /v1/models and GET /stats"
}

func (s *Server) complete(ctx context.Context, w *wire, path string, body io.Reader) (output, error) {
	raw, err := io.ReadAll(io.LimitReader(body, maxRequest+1))
	if err != nil {
		return output{}, err
	}
	req, err := w.readRequest(path, raw)
	if err != nil {
		s.refuse(OutcomeInvalid)
		return w.faultOutput(fault{status: http.StatusBadRequest, message: err.Error()}), nil
	}
	n, ok := s.begin(req)
	if !ok {
		return w.faultOutput(fault{status: http.StatusTooManyRequests, message: "more calls at once than the script's concurrency"}), nil
	}
	out := s.play(w, req, n)
	err = pause(ctx, out.delay)
	if err != nil {
		out.outcome = OutcomeCancelled
	}
	s.end(out.outcome)
	return out, err
}

// begin counts a call in and numbers it; false if there are too many at once.
func (s *Server) begin(req *request) (n int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Calls++
	model := req.model
	if _, known := s.stats.ByModel[model]; !known && len(s.stats.ByModel) >= 256 {
		model = "(other)"
	}
	s.stats.ByModel[model]++
	if s.script.Concurrency > 0 && s.now >= s.script.Concurrency {
		s.stats.ByOutcome[OutcomeRejected]++
		return 0, false
	}
	s.now++
	s.stats.MaxConcurrent = max(s.stats.MaxConcurrent, s.now)
	return s.stats.Calls, true
}

func (s *Server) end(outcome string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now--
	s.stats.ByOutcome[outcome]++
}

func (s *Server) refuse(outcome string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Calls++
	s.stats.ByOutcome[outcome]++
}

// play picks the reply of the first rule that matches and renders it.
func (s *Server) play(w *wire, req *request, n int64) output {
	rule, index := s.fallback, -1
	for i := range s.script.Rules {
		if s.script.Rules[i].matches(req) {
			rule, index = &s.script.Rules[i], i
			break
		}
	}
	s.mu.Lock()
	turn := s.turns.next(req.conversation(w, index))
	s.mu.Unlock()
	r := rule.reply(turn)
	out := w.render(r, req, n)
	out.delay = time.Duration(s.script.Latency)
	if r.Delay != nil {
		out.delay = time.Duration(*r.Delay)
	}
	return out
}

func (r *Rule) matches(req *request) bool {
	if r.Match.Model != "" && r.Match.Model != req.model {
		return false
	}
	return r.Match.Contains == "" || slices.ContainsFunc(req.messages, func(m message) bool { return strings.Contains(m.text, r.Match.Contains) })
}

func (r *Rule) reply(turn int) *Reply {
	if r.Then == "cycle" {
		return &r.Replies[turn%len(r.Replies)]
	}
	return &r.Replies[min(turn, len(r.Replies)-1)]
}

func (s *Server) models() any {
	type model struct {
		ID     string `json:"id"`
		Object string `json:"object"`
	}
	names := slices.Clone(s.script.Models)
	for _, r := range s.script.Rules {
		if len(s.script.Models) == 0 && r.Match.Model != "" && !slices.Contains(names, r.Match.Model) {
			names = append(names, r.Match.Model)
		}
	}
	if len(names) == 0 {
		names = []string{"scripted"}
	}
	list := make([]model, len(names))
	for i, name := range names {
		list[i] = model{ID: name, Object: "model"}
	}
	return map[string]any{"object": "list", "data": list}
}

// pause waits without a goroutine; it ends early with the context's error.
func pause(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ServeHTTP serves over HTTP. A dropped call aborts its connection.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out, err := s.serve(r.Context(), r.Method, r.URL.Path, r.Body)
	if err != nil || out.drop {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), out.header)
	w.Header().Set("Content-Length", strconv.Itoa(len(out.body)))
	w.WriteHeader(out.status)
	_, _ = w.Write(out.body)
}
