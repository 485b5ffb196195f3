package scripted

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// calls are the paths and smallest requests of the wires besides OpenAI's.
var calls = map[string][2]string{
	"anthropic": {"/v1/messages", `{"model":"m","max_tokens":9,"system":[{"type":"text","text":"abcd"}],"messages":[{"role":"user","content":[{"type":"text","text":"<q>"}]}]}`},
	"forced":    {"/v1/messages", `{"model":"m","tool_choice":{"type":"tool","name":"out"},"messages":[{"role":"user","content":"abcdefg"}]}`},
	"gemini":    {"/v1beta/models/m:generateContent", `{"systemInstruction":{"parts":[{"text":"abcd"}]},"contents":[{"role":"user","parts":[{"text":"<q>"}]},{"role":"model","parts":[]}]}`},
	"ollama":    {"/api/chat", `{"model":"m","messages":[{"role":"system","content":"abcd"},{"role":"user","content":"<q>"}],"stream":false}`},
}

func TestForms(t *testing.T) {
	for _, c := range []struct {
		wire, reply string
		status      int
		want        string
	}{
		{"anthropic", `{echo: true}`, 200, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"<q>"}],"stop_reason":"end_turn","usage":{"input_tokens":2,"output_tokens":1}}`},
		{"anthropic", `{text: x, usage: {input: 9, cached: 4}}`, 200, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":5,"cache_read_input_tokens":4}}`},
		{"anthropic", `{refusal: "No.", usage: none}`, 200, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"No."}],"stop_reason":"refusal"}`},
		{"anthropic", `{status: 529}`, 529, `{"type":"error","error":{"type":"overloaded_error","message":"scripted"},"request_id":"req_1"}`},
		{"anthropic", `{status: 429, error_code: enforced_spend_limit_reached}`, 429, `{"type":"error","error":{"type":"rate_limit_error","message":"scripted","details":{"error_code":"enforced_spend_limit_reached"}},"request_id":"req_1"}`},
		{"anthropic", `{status: 500}`, 500, `{"type":"error","error":{"type":"api_error","message":"scripted"},"request_id":"req_1"}`},
		{"forced", `{json: {a: 1.0}, usage: none}`, 200, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"out","input":{"a":1.0}}],"stop_reason":"tool_use"}`},
		{"forced", `{text: "[1]", usage: none}`, 200, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"[1]"}],"stop_reason":"end_turn"}`},
		{"gemini", `{text: x}`, 200, `{"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":"x"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":2,"candidatesTokenCount":1,"totalTokenCount":3},"modelVersion":"m","responseId":"r-1"}`},
		{"gemini", `{refusal: "No.", usage: none}`, 200, `{"candidates":[{"index":0,"finishReason":"PROHIBITED_CONTENT","finishMessage":"No."}],"modelVersion":"m","responseId":"r-1"}`},
		{"gemini", `{null_content: true, usage: {cached: 3}}`, 200, `{"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":null}]},"finishReason":"STOP"}],"usageMetadata":{"cachedContentTokenCount":3},"modelVersion":"m","responseId":"r-1"}`},
		{"gemini", `{status: 429, retry_after: "36.5"}`, 429, `{"error":{"code":429,"message":"scripted","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"36.5s"}]}}`},
		{"gemini", `{status: 503, retry_after: soon}`, 503, `{"error":{"code":503,"message":"scripted","status":"UNAVAILABLE"}}`},
		{"ollama", `{text: x}`, 200, `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"x"},"done":true,"done_reason":"stop","prompt_eval_count":2,"eval_count":1}`},
		{"ollama", `{refusal: "No.", finish: length, usage: none}`, 200, `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"No."},"done":true,"done_reason":"length"}`},
		{"ollama", `{status: 404}`, 404, `{"error":"model \"m\" not found, try pulling it first"}`},
		{"ollama", `{status: 503}`, 503, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`},
		{"ollama", `{status: 500, error_code: "invalid JSON schema in format"}`, 500, `{"error":"invalid JSON schema in format: scripted"}`},
	} {
		w := httptest.NewRecorder()
		mock(t, "default: {replies: ["+c.reply+"]}").ServeHTTP(w, httptest.NewRequest(http.MethodPost, calls[c.wire][0], strings.NewReader(calls[c.wire][1])))
		if w.Code != c.status || w.Body.String() != c.want {
			t.Errorf("%s, %s: %d\ngot  %s\nwant %s", c.wire, c.reply, w.Code, w.Body, c.want)
		}
	}
}

func TestInvalidRequestsOfEachWire(t *testing.T) {
	for path, c := range map[string]struct{ bodies, code string }{
		"/v1/messages":                     {`{"messages":[{}]} | {"model":"m"} | {"model":"m","messages":[]}`, `"invalid_request_error"`},
		"/v1beta/models/m:generateContent": {`{} | [] | {"contents":{}}`, `"INVALID_ARGUMENT"`},
		"/v1beta/models/:generateContent":  {`{"contents":[{"role":"user","parts":[]}]}`, `"INVALID_ARGUMENT"`},
		"/api/chat":                        {`{"model":7,"messages":[{}]} | {"model":"m"} | "x"`, `{"error":"`},
	} {
		for body := range strings.SplitSeq(c.bodies, " | ") {
			w := httptest.NewRecorder()
			s := mock(t, "")
			s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
			if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), c.code) || s.Stats().ByOutcome[OutcomeInvalid] != 1 {
				t.Errorf("%s %s: %d %s", path, body, w.Code, w.Body)
			}
		}
	}
}

func TestWhatIsNotServed(t *testing.T) {
	for _, r := range []*http.Request{httptest.NewRequest(http.MethodPost, "/v1/embeddings", nil), httptest.NewRequest(http.MethodGet, "/api/chat", nil)} {
		w := httptest.NewRecorder()
		mock(t, "").ServeHTTP(w, r)
		if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "POST /v1/chat/completions, /v1/messages, /v1beta/models/MODEL:generateContent, /api/chat, GET") {
			t.Errorf("%s %s: %d %s", r.Method, r.URL, w.Code, w.Body)
		}
	}
}

// FuzzRequest: no request of any wire makes the mock panic, and each gets an answer in JSON or a fault in its own form.
func FuzzRequest(f *testing.F) {
	for _, c := range calls {
		f.Add(c[0], []byte(c[1]))
	}
	f.Add("/v1/chat/completions", []byte(`{"model":"m","messages":[{"role":"user","content":[{}]}]}`))
	script, err := Parse([]byte("default: {replies: [{echo: true}, {status: 429, retry_after: '1'}]}"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path string, body []byte) {
		if wireOf(path) == nil {
			return
		}
		out, err := script.Handler().serve(t.Context(), http.MethodPost, path, strings.NewReader(string(body)))
		if err != nil || out.status != http.StatusOK && out.status != http.StatusBadRequest {
			t.Errorf("%d, %v", out.status, err)
		}
	})
}
