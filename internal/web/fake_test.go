package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"emend/internal/leak"
	"emend/schemas"
)

func TestMain(m *testing.M) { os.Exit(leak.Main(m, func() {})) }

// fake is a source whose every text that could be content says SECRET.
type fake struct {
	looks   atomic.Int64
	statusE error
	watched chan func(schemas.Event)
	mu      sync.Mutex
	did     []string
	filter  Filter
}

func newFake() *fake { return &fake{watched: make(chan func(schemas.Event), 1)} }

func (f *fake) note(s string) { f.mu.Lock(); defer f.mu.Unlock(); f.did = append(f.did, s) }

func (f *fake) acts() string { f.mu.Lock(); defer f.mu.Unlock(); return strings.Join(f.did, " ") }

func (f *fake) Status(context.Context) (any, Sample, error) {
	n := f.looks.Add(1)
	return map[string]int64{"look": n}, Sample{Results: uint64(n)}, f.statusE
}

func (f *fake) Runs(_ context.Context, q Filter) ([]Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.filter = q
	out := []Run{}
	for i := range q.Limit {
		out = append(out, Run{Queue: "default", ID: "r", Status: "succeeded", Place: uint64(100 - i)})
	}
	return out, nil
}

const secret = "SECRET"

func secretResult() *schemas.Result {
	text := secret
	return &schemas.Result{ID: "r1", Queue: "default", Status: "succeeded", Output: json.RawMessage(`"SECRET"`), OutputText: &text,
		Validation: &schemas.Validation{Mode: "json", NextCorrection: secret, Changed: []string{"/SECRET"}, Findings: []schemas.Finding{{Pointer: "/SECRET", Message: secret}},
			Validators: []schemas.Validator{{Name: "judge@1", Outcome: "rejected", Reasons: []schemas.Reason{{Code: "tone", Guidance: secret}}}}},
		Attempts: []schemas.Attempt{{Outcome: "completed", Content: &schemas.AttemptContent{Answer: &text, Appended: []schemas.Turn{{Role: "user", Content: secret}}}}},
		Review:   &schemas.Review{Decision: "approve", By: "ann", Note: secret}, Metadata: map[string]string{"tenant": secret},
		Pipeline: &schemas.PipelineReport{Pipeline: "digest@1", Chunks: 3, Rejections: []schemas.Rejection{{Stage: secret}}, Jobs: []schemas.JobReport{{}}}}
}

func (f *fake) Run(_ context.Context, _, id string) (*Detail, error) {
	switch id {
	case "none":
		return nil, ErrNotFound
	case "odd":
		return nil, &Refusal{errors.New("no such id")}
	case "nowhere":
		return nil, &Missing{errors.New("no such queue")}
	case "broken":
		return nil, errors.New("stream EMEND_RESULTS: no answer")
	}
	return &Detail{Result: secretResult(), Events: []schemas.Event{{Kind: "validation", Codes: []string{secret}, Findings: []schemas.EventFinding{{Pointer: "/score", Value: json.RawMessage(`"SECRET"`)}}}}}, nil
}

func (f *fake) Watch(_, _ string, fn func(schemas.Event)) (func(), error) {
	f.watched <- fn
	return func() { f.note("unwatched") }, nil
}

func (f *fake) Cancel(context.Context, string, string) (*schemas.CancelReply, error) {
	f.note("cancel")
	return &schemas.CancelReply{Cancelled: true}, nil
}

func (f *fake) Letters(context.Context, string, schemas.DeadQuery) (*schemas.DeadList, error) {
	return &schemas.DeadList{Letters: []schemas.DeadEntry{{ID: "r1", Reason: "invalid_request", Error: secret}}}, nil
}

func (f *fake) Letter(context.Context, string, string, uint64) (*schemas.DeadDetail, error) {
	return &schemas.DeadDetail{Request: json.RawMessage(`"SECRET"`)}, nil
}

func (f *fake) Replay(_ context.Context, _ string, r schemas.Replay) (*schemas.Replayed, error) {
	f.note("replay:" + r.ID)
	return &schemas.Replayed{ID: r.ID}, nil
}

func (f *fake) Purge(_ context.Context, _ string, p schemas.Purge) (int, error) {
	f.note("purge:" + p.ID)
	return 1, nil
}

func (f *fake) Reviews(context.Context, string, schemas.ReviewQuery) (*schemas.ReviewList, error) {
	return &schemas.ReviewList{Reviews: []schemas.ReviewEntry{{ID: "r1"}}}, nil
}

func (f *fake) Review(context.Context, string, string) (*schemas.ReviewDetail, error) {
	return &schemas.ReviewDetail{Candidate: secret}, nil
}

func (f *fake) Decide(_ context.Context, _ string, d schemas.Decision) (*schemas.Result, error) {
	f.note("decide:" + d.Decision)
	return secretResult(), nil
}

const token = "0123456789abcdef"

// asked sends a request to a page; who holds the token sends it along.
func asked(t *testing.T, p *Page, method, target, body string, with ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	r.Host = "127.0.0.1:8322"
	for i := 0; i+1 < len(with); i += 2 {
		if with[i] == "Host" {
			r.Host = with[i+1]
		}
		r.Header.Set(with[i], with[i+1])
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

func page(t *testing.T, f *fake, o Options) *Page {
	t.Helper()
	p := New(f, o)
	t.Cleanup(p.Close)
	return p
}

var bearer = []string{"Authorization", "Bearer " + token}

var _ http.Handler = (*Page)(nil)
