package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"emend/engine/provider"
	"emend/engine/provider/openai"
	"emend/engine/provider/scripted"
	"emend/schemas"
)

func server(t *testing.T, text string) *scripted.Server {
	t.Helper()
	s, err := scripted.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Handler()
}

// player asks a server in process.
type player struct {
	client *provider.Client
	ep     *provider.Endpoint
}

func play(s *scripted.Server) player {
	return player{provider.NewClient(provider.ClientOptions{}),
		&provider.Endpoint{Backend: "mock", Dialect: openai.New(), URL: "http://scripted.invalid/v1", Transport: s.Transport()}}
}

func (p player) ask(ctx context.Context, model string, texts ...string) (*provider.Response, error) {
	r := &provider.Request{Model: model}
	for i, text := range texts {
		r.Messages = append(r.Messages, schemas.Message{Role: []string{"user", "assistant"}[i%2], Content: text})
	}
	return p.client.Do(ctx, p.ep, r)
}

func TestEmptyScriptAnswersOK(t *testing.T) {
	s := server(t, "")
	resp, err := play(s).ask(t.Context(), "m", "question")
	if err != nil || resp.Text != `{"ok":true}` || resp.Model != "m" || *resp.Tokens.Input != 2 || *resp.Tokens.Output != 3 {
		t.Errorf("got %+v, %v", resp, err)
	}
	if got := s.Stats(); got.Calls != 1 || got.ByOutcome["answer"] != 1 || got.ByModel["m"] != 1 || got.MaxConcurrent != 1 || got.Concurrent != 0 || got.Conversations != 1 {
		t.Errorf("stats %+v", got)
	}
}

func TestConversationsGoOnAndDoNotMix(t *testing.T) {
	p := play(server(t, `
rules:
  - match: {contains: cycle}
    replies: [{text: x}, {text: y}]
    then: cycle
  - match: {model: m}
    replies: [{text: bad}, {json: {good: 1}}]
default: {replies: [{echo: true}]}`))
	steps := []struct {
		model string
		texts []string
		want  string
	}{
		{"m", []string{"a"}, "bad"},
		{"m", []string{"b"}, "bad"},
		{"m", []string{"a", "bad", "mend it"}, `{"good":1}`},
		{"m", []string{"a"}, `{"good":1}`},
		{"m", []string{"b"}, `{"good":1}`},
		{"m", []string{"cycle"}, "x"}, {"m", []string{"cycle"}, "y"}, {"m", []string{"cycle"}, "x"},
		{"other", []string{"a", "b", "<last>"}, "<last>"},
	}
	for i, step := range steps {
		if resp, err := p.ask(t.Context(), step.model, step.texts...); err != nil || resp.Text != step.want {
			t.Errorf("step %d: got %+v, %v; want %q", i, resp, err, step.want)
		}
	}
}

func TestFaults(t *testing.T) {
	cases := map[string]struct {
		reply string
		kind  provider.Kind
		check func(*provider.Error) bool
	}{
		"status": {`{status: 429, retry_after: "1.5"}`, provider.KindStatus, func(e *provider.Error) bool {
			return e.RetryAfter == 1500*time.Millisecond && e.Code == "rate_limit_exceeded"
		}},
		"quota":        {`{status: 429, error_code: insufficient_quota}`, provider.KindStatus, func(e *provider.Error) bool { return e.Account && e.Permanent }},
		"header":       {`{status: 503, headers: {x-should-retry: "false"}}`, provider.KindStatus, func(e *provider.Error) bool { return e.Permanent }},
		"error body":   {`{error_code: broken}`, provider.KindMalformed, func(e *provider.Error) bool { return e.Code == "broken" && e.Status == 200 }},
		"malformed":    {`{text: hi, malformed: true}`, provider.KindMalformed, func(e *provider.Error) bool { return strings.Contains(e.Reason, "not JSON") }},
		"raw":          {`{body: "<html>", headers: {content-type: text/html}}`, provider.KindMalformed, func(e *provider.Error) bool { return strings.Contains(e.Reason, "HTML") }},
		"empty":        {`{body: ""}`, provider.KindMalformed, func(e *provider.Error) bool { return strings.Contains(e.Reason, "empty") }},
		"null":         {`{null_content: true}`, provider.KindMalformed, func(e *provider.Error) bool { return strings.Contains(e.Reason, "content is null") && e.Tokens != nil }},
		"refusal":      {`{refusal: "I will not."}`, provider.KindRefused, func(e *provider.Error) bool { return e.Detail == "I will not." }},
		"filter":       {`{text: hi, finish: content_filter}`, provider.KindFiltered, func(*provider.Error) bool { return true }},
		"drop":         {`{drop: true}`, provider.KindTransport, func(e *provider.Error) bool { return errors.Is(e, scripted.ErrDropped) && !e.NotSent }},
		"own time out": {`{delay: 1h}`, provider.KindTimeout, func(*provider.Error) bool { return true }},
	}
	for name, c := range cases {
		synctest.Test(t, func(t *testing.T) {
			p := play(server(t, "default: {replies: ["+c.reply+"]}"))
			p.ep.Timeout = time.Minute
			_, err := p.ask(t.Context(), "m", "q")
			if pe, ok := provider.AsError(err); !ok || pe.Kind != c.kind || !c.check(pe) {
				t.Errorf("%s: got %+v, %v", name, pe, err)
			}
		})
	}
}

func TestTruncateAndUsage(t *testing.T) {
	p := play(server(t, `default: {replies: [{text: "aé🙂", truncate: 4}, {text: hi, usage: none}, {text: hi, usage: {output: 0, cached: 5}, finish: tool_calls}]}`))
	resp, err := p.ask(t.Context(), "m", "q")
	if err != nil || resp.Text != "aé" || resp.Finish != provider.FinishLength {
		t.Errorf("got %+v, %v", resp, err)
	}
	if resp, err = p.ask(t.Context(), "m", "q"); err != nil || resp.Tokens != nil {
		t.Errorf("got %+v, %v", resp, err)
	}
	resp, err = p.ask(t.Context(), "m", "q")
	if err != nil || resp.Tokens.Input != nil || *resp.Tokens.Output != 0 || *resp.Tokens.Cached != 5 || resp.Finish != provider.FinishTool {
		t.Errorf("got %+v, %v", resp, err)
	}
}

func TestDelayHonoursTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := server(t, "latency: 2s\nconcurrency: 2\nrules: [{match: {contains: fast}, replies: [{text: f, delay: 0s}]}]")
		p := play(s)
		began := time.Now()
		if _, err := p.ask(t.Context(), "m", "q"); err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		if _, err := p.ask(t.Context(), "m", "fast"); err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.ask(ctx, "m", "q"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		if got := s.Stats(); got.ByOutcome["cancelled"] != 1 || got.Concurrent != 0 {
			t.Errorf("stats %+v", got)
		}
	})
}

func TestConcurrencyIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := server(t, "latency: 1s\nconcurrency: 3")
		p := play(s)
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if _, err := p.ask(t.Context(), "m", "q"); err != nil {
					if pe, _ := provider.AsError(err); pe.Status != http.StatusTooManyRequests {
						t.Errorf("got %v", err)
					}
				}
			})
		}
		all.Wait()
		got := s.Stats()
		if got.MaxConcurrent != 3 || got.ByOutcome["answer"] != 3 || got.ByOutcome["over_concurrency"] != 7 || got.Calls != 10 {
			t.Errorf("stats %+v", got)
		}
	})
}

func TestOverHTTP(t *testing.T) {
	s := server(t, "models: [one]\ndefault: {replies: [{text: '<hi>'}, {drop: true}]}")
	web := httptest.NewServer(s)
	defer web.Close()
	p := play(s)
	p.ep.Transport, p.ep.URL = nil, web.URL+"/v1"
	defer p.client.CloseIdle()
	if resp, err := p.ask(t.Context(), "m", "q"); err != nil || resp.Text != "<hi>" {
		t.Errorf("got %+v, %v", resp, err)
	}
	_, err := p.ask(t.Context(), "m", "q")
	if pe, ok := provider.AsError(err); !ok || pe.Kind != provider.KindTransport {
		t.Errorf("got %v", err)
	}
	if got := get(t, web.URL+"/v1/models", http.StatusOK); got != `{"data":[{"id":"one","object":"model"}],"object":"list"}` {
		t.Errorf("models %s", got)
	}
	var stats scripted.Stats
	if err := json.Unmarshal([]byte(get(t, web.URL+"/stats", http.StatusOK)), &stats); err != nil || stats.Calls != 2 || stats.ByOutcome["dropped"] != 1 {
		t.Errorf("stats %+v, %v", stats, err)
	}
	if got := get(t, web.URL+"/v1/chat/completions", http.StatusNotFound); !strings.Contains(got, "not_found") {
		t.Errorf("got %s", got)
	}
}

func get(t *testing.T, url string, status int) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		t.Errorf("%s: %d, %v", url, resp.StatusCode, err)
	}
	return string(body)
}

func TestInvalidRequests(t *testing.T) {
	s := server(t, "")
	for _, body := range []string{"", "{", "[]", `{"messages":[{}]}`, `{"model":"m"}`, `{"model":"m","messages":"x"}`} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body)))
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "invalid_request_error") {
			t.Errorf("%q: %d %s", body, w.Code, w.Body)
		}
	}
	if got := s.Stats(); got.ByOutcome["invalid_request"] != 6 || got.Concurrent != 0 {
		t.Errorf("stats %+v", got)
	}
}

func TestModelsOfRulesAndBoundedStats(t *testing.T) {
	s := server(t, "rules: [{match: {model: a}, replies: [{}]}, {match: {model: a}, replies: [{}]}]")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/models", nil))
	if got := w.Body.String(); !strings.Contains(got, `[{"id":"a","object":"model"}]`) {
		t.Errorf("models %s", got)
	}
	p := play(s)
	for i := range 300 {
		if _, err := p.ask(t.Context(), strings.Repeat("x", i+1), "parts"); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Stats(); len(got.ByModel) != 257 || got.ByModel["(other)"] != 44 {
		t.Errorf("%d models, %d others", len(got.ByModel), got.ByModel["(other)"])
	}
}

func BenchmarkTransport(b *testing.B) {
	s, err := scripted.Parse(nil)
	if err != nil {
		b.Fatal(err)
	}
	p := play(s.Handler())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.ask(b.Context(), "m", "question"); err != nil {
			b.Fatal(err)
		}
	}
}
