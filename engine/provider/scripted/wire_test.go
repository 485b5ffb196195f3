package scripted

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// post sends a body to a server and returns status and body.
func post(s *Server, body string) (*http.Response, string) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body)))
	return w.Result(), w.Body.String()
}

func mock(t *testing.T, text string) *Server {
	t.Helper()
	s, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Handler()
}

func TestWire(t *testing.T) {
	const q = `{"model":"m","messages":[{"role":"system","content":"abcde"},{"role":"user","content":[{"type":"text","text":"<q>"},{"type":"image_url"}]}]}`
	cases := map[string]struct {
		reply  string
		status int
		want   string
	}{
		"text":    {`{text: hi}`, 200, `{"id":"chatcmpl-1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`},
		"parts":   {`{echo: true, usage: none}`, 200, `{"id":"chatcmpl-1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"<q>"},"finish_reason":"stop"}]}`},
		"refusal": {`{refusal: "no", usage: {}}`, 200, `{"id":"chatcmpl-1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"refusal":"no"},"finish_reason":"stop"}],"usage":{}}`},
		"cached":  {`{text: "", usage: {input: 5, cached: 4}}`, 200, `{"id":"chatcmpl-1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"prompt_tokens_details":{"cached_tokens":4}}}`},
		"status":  {`{status: 500}`, 500, `{"error":{"message":"scripted","type":"server_error"}}`},
		"key":     {`{status: 401}`, 401, `{"error":{"message":"scripted","type":"invalid_request_error","code":"invalid_api_key"}}`},
		"code":    {`{status: 400, error_code: bad_schema}`, 400, `{"error":{"message":"scripted","type":"invalid_request_error","code":"bad_schema"}}`},
		"raw":     {`{status: 502, body: "<x>"}`, 502, `<x>`},
		"broken":  {`{text: hi, usage: none, malformed: true}`, 200, `{"id":"chatcmpl-1","object":"chat.completion","model":"m","choices":[{"in`},
	}
	for name, c := range cases {
		resp, got := post(mock(t, "default: {replies: ["+c.reply+"]}"), q)
		if resp.StatusCode != c.status || got != c.want && !(name == "broken" && strings.HasPrefix(got, c.want[:40]) && !strings.HasSuffix(got, "}")) {
			t.Errorf("%s: %d\ngot  %s\nwant %s", name, resp.StatusCode, got, c.want)
		}
	}
}

func TestHeaders(t *testing.T) {
	resp, _ := post(mock(t, `default: {replies: [{status: 429, retry_after: "2", headers: {retry-after-ms: "1500", content-type: text/plain}}]}`),
		`{"model":"m","messages":[{"role":"user","content":"q"}]}`)
	for name, want := range map[string]string{"Retry-After": "2", "Retry-After-Ms": "1500", "Content-Type": "text/plain"} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
}

// TestAConversation: what a retry or a correction adds does not change it, anything before that does.
func TestAConversation(t *testing.T) {
	of := func(body string) key {
		r, err := openaiWire.readRequest("", []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return r.conversation(&openaiWire, 0)
	}
	const base = `{"role":"system","content":"s"},{"role":"user","content":"q"}`
	first := of(`{"model":"m","messages":[` + base + `]}`)
	if got := of(`{"messages":[` + base + `,{"role":"assistant","content":"a"},{"role":"user","content":"mend"}],"temperature":1,"model":"m"}`); got != first {
		t.Error("a correction began another conversation")
	}
	for _, other := range []string{
		`{"model":"n","messages":[` + base + `]}`,
		`{"model":"m","messages":[{"role":"system","content":"t"},{"role":"user","content":"q"}]}`,
		`{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"r"}]}`,
		`{"model":"m","messages":[{"role":"developer","content":"s"},{"role":"user","content":"q"}]}`,
		`{"model":"m","messages":[{"role":"user","content":"q"}]}`,
		`{"model":"m","messages":[{"role":"system","content":"s q"}]}`,
	} {
		if of(other) == first {
			t.Errorf("%s is the same conversation", other)
		}
	}
}

func TestConversationsAreBounded(t *testing.T) {
	s := mock(t, "conversations: 3\ndefault: {replies: [{text: first}, {text: again}]}")
	ask := func(q string) string {
		_, body := post(s, `{"model":"m","messages":[{"role":"user","content":"`+q+`"}]}`)
		return body
	}
	for _, q := range []string{"a", "b", "c", "d"} {
		if !strings.Contains(ask(q), "first") {
			t.Errorf("%s did not begin anew", q)
		}
	}
	if !strings.Contains(ask("d"), "again") || !strings.Contains(ask("a"), "first") || s.Stats().Conversations != 3 {
		t.Errorf("stats %+v", s.Stats())
	}
}

// TestSameScriptSameReplies: two servers of one script do not share their turns.
func TestSameScriptSameReplies(t *testing.T) {
	script, err := Parse([]byte("default: {replies: [{text: a}, {status: 500}, {echo: true}], then: cycle}"))
	if err != nil {
		t.Fatal(err)
	}
	play := func() string {
		var all strings.Builder
		s := script.Handler()
		for range 5 {
			_, body := post(s, `{"model":"m","messages":[{"role":"user","content":"q"}]}`)
			all.WriteString(body)
		}
		return all.String()
	}
	if a, b := play(), play(); a != b {
		t.Errorf("got %s\nand %s", a, b)
	}
}

func TestTransportOfARequestWithoutABody(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/v1/models", nil)
	r.Body = nil
	resp, err := mock(t, "").Transport().RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 || !strings.Contains(string(body), "scripted") {
		t.Errorf("%d %s, %v", resp.StatusCode, body, err)
	}
}
