package gemini_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"emend/engine/provider"
	"emend/engine/provider/gemini"
)

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// through makes one call through the client and answers it.
func through(t *testing.T, r *provider.Request, status int, header http.Header, body string, change ...func(*provider.Endpoint)) (*http.Request, *provider.Error) {
	t.Helper()
	var sent *http.Request
	ep := &provider.Endpoint{Backend: "b", Dialect: gemini.New(), URL: "https://generativelanguage.invalid/v1beta?a=1",
		Key: func(context.Context) (string, error) { return "planted-key", nil }}
	ep.Transport = tripper(func(r *http.Request) (*http.Response, error) {
		sent = r
		return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}, nil
	})
	for _, c := range change {
		c(ep)
	}
	_, err := provider.NewClient(provider.ClientOptions{}).Do(t.Context(), ep, r)
	pe, _ := provider.AsError(err)
	return sent, pe
}

const answered = `{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}]}`

func TestTheKeyGoesInAHeaderOfItsOwn(t *testing.T) {
	r, pe := through(t, ask("q"), 200, http.Header{}, answered)
	if pe != nil || r.Header.Get("x-goog-api-key") != "planted-key" || r.Header.Get("Authorization") != "" || strings.Contains(r.URL.String(), "planted") {
		t.Errorf("%v, sent %s with %v", pe, r.URL, r.Header)
	}
	r, pe = through(t, ask("q"), 200, http.Header{}, answered, func(ep *provider.Endpoint) { ep.KeyHeader = "X-Gateway-Key" })
	if pe != nil || r.Header.Get("X-Gateway-Key") != "planted-key" || r.Header.Get("x-goog-api-key") != "" {
		t.Errorf("%v, sent %v", pe, r.Header)
	}
}

func TestTheModelIsPartOfThePath(t *testing.T) {
	for model, want := range map[string]string{
		"gemini-2.5-flash": "/v1beta/models/gemini-2.5-flash:generateContent?a=1",
		"my model?":        "/v1beta/models/my%20model%3F:generateContent?a=1",
		"tunedModels/x#1":  "/v1beta/tunedModels/x%231:generateContent?a=1",
	} {
		ask := ask("q")
		ask.Model = model
		if r, pe := through(t, ask, 200, http.Header{}, answered); pe != nil || r.URL.RequestURI() != want || r.Method != http.MethodPost {
			t.Errorf("%s: %v, %s %s", model, pe, r.Method, r.URL.RequestURI())
		}
	}
}

// TestAHeaderWinsOverDetails: the wait of the header, which a gateway may add, is the one that counts.
func TestAHeaderWinsOverDetails(t *testing.T) {
	const body = `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"36s"}]}}`
	for header, want := range map[string]time.Duration{"": 36 * time.Second, "2": 2 * time.Second, "soon": 36 * time.Second} {
		h := http.Header{}
		if header != "" {
			h.Set("Retry-After", header)
		}
		_, pe := through(t, ask("q"), 429, h, body)
		if pe == nil || pe.RetryAfter != want || !pe.HasRetryAfter || pe.Permanent {
			t.Errorf("%q: got %+v", header, pe)
		}
	}
}
