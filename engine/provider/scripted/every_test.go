package scripted_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"emend/engine/provider"
	"emend/engine/provider/scripted"
)

// every runs a test on each wire, in process, in a bubble of its own.
func every(t *testing.T, script string, f func(t *testing.T, s *scripted.Server, client *provider.Client, ep *provider.Endpoint)) {
	t.Helper()
	for _, speaker := range speakers {
		t.Run(speaker.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := server(t, script)
				f(t, s, provider.NewClient(provider.ClientOptions{}), &provider.Endpoint{Backend: "mock", Dialect: speaker.dialect,
					Options: speaker.options, URL: "http://scripted.invalid" + speaker.base, Transport: s.Transport()})
			})
		})
	}
}

func TestEveryWireBoundsConcurrency(t *testing.T) {
	every(t, "latency: 1s\nconcurrency: 2", func(t *testing.T, s *scripted.Server, client *provider.Client, ep *provider.Endpoint) {
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if _, err := client.Do(t.Context(), ep, request()); err != nil {
					if pe, _ := provider.AsError(err); pe.Status != http.StatusTooManyRequests || pe.Account || pe.Permanent {
						t.Errorf("got %v", err)
					}
				}
			})
		}
		all.Wait()
		if got := s.Stats(); got.MaxConcurrent != 2 || got.ByOutcome["answer"] != 2 || got.ByOutcome["over_concurrency"] != 3 {
			t.Errorf("stats %+v", got)
		}
	})
}

func TestEveryWireWaitsAndHonoursTheCaller(t *testing.T) {
	every(t, "latency: 2s", func(t *testing.T, s *scripted.Server, client *provider.Client, ep *provider.Endpoint) {
		began := time.Now()
		if _, err := client.Do(t.Context(), ep, request()); err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := client.Do(ctx, ep, request()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		ep.Timeout = time.Second
		_, err := client.Do(t.Context(), ep, request())
		if pe, ok := provider.AsError(err); !ok || pe.Kind != provider.KindTimeout {
			t.Errorf("got %v", err)
		}
		if got := s.Stats(); got.ByOutcome["cancelled"] != 2 || got.Concurrent != 0 {
			t.Errorf("stats %+v", got)
		}
	})
}

func TestEveryWireCountsItsOutcomes(t *testing.T) {
	script := `default: {then: cycle, replies: [{text: a}, {refusal: b}, {null_content: true}, {text: c, malformed: true}, {body: d}, {error_code: e}, {drop: true}, {status: 418}]}`
	every(t, script, func(t *testing.T, s *scripted.Server, client *provider.Client, ep *provider.Endpoint) {
		for range 8 {
			_, _ = client.Do(t.Context(), ep, request())
		}
		got := s.Stats()
		for _, outcome := range []string{"answer", "refusal", "null_content", "malformed", "raw", "error_body", "dropped", "status 418"} {
			if got.ByOutcome[outcome] != 1 {
				t.Errorf("%s: %d times", outcome, got.ByOutcome[outcome])
			}
		}
		if got.Calls != 8 || got.ByModel["m"] != 8 || got.Conversations != 1 {
			t.Errorf("stats %+v", got)
		}
	})
}

// TestEveryWireSeesWhatAScriptMatches: a rule looks at the system prompt, at every message and at the model, wherever the
// wire puts them.
func TestEveryWireSeesWhatAScriptMatches(t *testing.T) {
	script := `
rules:
  - match: {contains: systemic, model: big}
    replies: [{text: by system and model}]
  - match: {contains: mended}
    replies: [{text: by a later turn}]
default: {replies: [{text: by nothing}]}`
	every(t, script, func(t *testing.T, _ *scripted.Server, client *provider.Client, ep *provider.Endpoint) {
		system, turn := request(), request()
		system.Model, system.Messages[0].Content = "big", "a systemic word"
		turn.Messages = append(turn.Messages, turn.Messages[1], turn.Messages[1])
		turn.Messages[2].Role, turn.Messages[2].Content = "assistant", "was mended"
		for want, r := range map[string]*provider.Request{"by system and model": system, "by a later turn": turn, "by nothing": request()} {
			if resp, err := client.Do(t.Context(), ep, r); err != nil || resp.Text != want {
				t.Errorf("want %s, got %+v, %v", want, resp, err)
			}
		}
	})
}

// TestTheLargestRequest is refused in the wire's own form, and read no further.
func TestTheLargestRequest(t *testing.T) {
	body := `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("x", 64<<20) + `"}]}`
	for path, form := range map[string]string{"/v1/messages": `{"type":"error"`, "/api/chat": `{"error":"`} {
		w := httptest.NewRecorder()
		server(t, "").ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
		if w.Code != http.StatusBadRequest || !strings.HasPrefix(w.Body.String(), form) || !strings.Contains(w.Body.String(), "67108864 bytes") {
			t.Errorf("%s: %d %.80s", path, w.Code, w.Body)
		}
	}
}
