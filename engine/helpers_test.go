package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"emend/engine"
	"emend/engine/event"
	"emend/prompts"
	"emend/schemas"
)

// wire is an HTTP transport that answers from a list and keeps what was sent.
type wire struct {
	mu      sync.Mutex
	replies []reply
	bodies  [][]byte
	headers []http.Header
}

type reply struct {
	status int
	body   string
	header map[string]string
	do     func(*http.Request) error
}

// RoundTrip gives the next reply.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.bodies, w.headers = append(w.bodies, body), append(w.headers, r.Header)
	if len(w.replies) == 0 {
		w.mu.Unlock()
		return nil, fmt.Errorf("the test lists no reply for call %d", len(w.bodies))
	}
	next := w.replies[0]
	w.replies = w.replies[1:]
	w.mu.Unlock()
	if next.do != nil {
		if err := next.do(r); err != nil {
			return nil, err
		}
	}
	h := http.Header{"Content-Type": {"application/json"}}
	for k, v := range next.header {
		h.Set(k, v)
	}
	return &http.Response{StatusCode: next.status, Header: h, Body: io.NopCloser(bytes.NewReader([]byte(next.body))), Request: r}, nil
}

func (w *wire) calls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.bodies)
}

type sent struct {
	Model          string            `json:"model"`
	Messages       []schemas.Message `json:"messages"`
	Temperature    *float64          `json:"temperature"`
	ResponseFormat json.RawMessage   `json:"response_format"`
}

func (w *wire) sent(t *testing.T, i int) sent {
	t.Helper()
	var s sent
	if err := json.Unmarshal(w.bodies[i], &s); err != nil {
		t.Fatalf("call %d: %v", i, err)
	}
	return s
}

// says is a completion with usage in and out.
func says(text string, usage ...int) reply {
	quoted, _ := json.Marshal(text)
	u := ""
	if len(usage) == 2 {
		u = fmt.Sprintf(`,"usage":{"prompt_tokens":%d,"completion_tokens":%d}`, usage[0], usage[1])
	}
	return reply{status: 200, body: fmt.Sprintf(`{"model":"m-1","choices":[{"message":{"content":%s},"finish_reason":"stop"}]%s}`, quoted, u)}
}

func fails(status int, header ...string) reply {
	r := reply{status: status, body: `{"error":{"message":"SECRET PROVIDER TEXT","type":"e","code":"c"}}`, header: map[string]string{}}
	for i := 0; i+1 < len(header); i += 2 {
		r.header[header[i]] = header[i+1]
	}
	return r
}

const schemaA = `{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`

// definitions of the tests: one backend, one profile, prompts of each mode with a budget of 2.
func definitions(permits, admitted int) prompts.Definitions {
	temperature := 0.0
	d := prompts.Definitions{Config: prompts.Config{
		Backends: map[string]prompts.Backend{"b": {Dialect: "openai", URL: "http://model.test/v1", Permits: permits, Admitted: admitted}},
		Profiles: map[string]prompts.Profile{"p": {Backend: "b", Model: "m", Settings: schemas.Settings{Temperature: &temperature}}},
	}}
	for _, mode := range []string{schemas.ModeNone, schemas.ModeBasic, schemas.ModeJSON, schemas.ModeJSONSchema} {
		p := prompts.Prompt{ID: "in-" + nameOf(mode), Version: 1, Profile: "p", Inputs: map[string]prompts.Input{"q": {}},
			Messages: []prompts.Template{{Role: schemas.RoleSystem, Text: "be brief"}, {Role: schemas.RoleUser, Text: "Q: {{ .q }}"}},
			Output:   prompts.Output{Mode: mode}}
		if mode != schemas.ModeNone {
			p.Output.RepairAttempts = 2
		}
		if mode == schemas.ModeJSONSchema {
			p.Output.Schema.Inline = json.RawMessage(schemaA)
		}
		d.Prompts = append(d.Prompts, p)
	}
	return d
}

func nameOf(mode string) string {
	if mode == schemas.ModeJSONSchema {
		return "schema"
	}
	return mode
}

func newEngine(t *testing.T, w *wire, options ...engine.Option) *engine.Engine {
	t.Helper()
	return engineOver(t, definitions(2, 4), append([]engine.Option{engine.WithTransport(w)}, options...)...)
}

func engineOver(t *testing.T, d prompts.Definitions, options ...engine.Option) *engine.Engine {
	t.Helper()
	snap, err := prompts.NewSnapshot(d)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(snap, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func ask(mode string) engine.RunRequest {
	return engine.RunRequest{ID: "r", Prompt: "in-" + nameOf(mode), Inputs: map[string]any{"q": "why"}}
}

// collected keeps the events of a run.
type collected struct {
	mu     sync.Mutex
	events []event.Event
}

// Observe keeps e.
func (c *collected) Observe(_ context.Context, e event.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, e)
}

func (c *collected) kinds() []string {
	var out []string
	for _, e := range c.events {
		out = append(out, e.Kind())
	}
	return out
}

// idle fails the test when a gate still holds a place or a permit.
func idle(t *testing.T, e *engine.Engine) {
	t.Helper()
	if s := e.Gate("b").Stats(); s.PermitsInUse != 0 || s.AdmittedInUse != 0 || s.Waiting != 0 {
		t.Errorf("the gate still holds %+v", s)
	}
}
