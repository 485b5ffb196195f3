//go:build foreign

package foreign

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"emend/engine/provider"
)

// after returns the rest of a line.
func after(line, mark string) string {
	_, rest, _ := strings.Cut(line, mark)
	return strings.TrimSpace(rest)
}

// verbatim are bodies that mock-llm sends as they are, each under a path of its own: what providers really answer and no
// mock of theirs does (providers.md).
var verbatim = []struct {
	dialect string
	status  int
	body    string
	want
}{
	{"openai", 200, `{"choices":[{"message":{"content":null,"refusal":"planted: no"},"finish_reason":"stop"}]}`, want{kind: provider.KindRefused, status: 200}},
	{"openai", 200, `{"choices":[{"message":{"content":[{"type":"text","text":"planted"}]},"finish_reason":"stop"}]}`, want{kind: provider.KindMalformed, status: 200}},
	{"openai", 200, `{"id":"c1","choices":null,"error":{"message":"planted","code":401}}`, want{kind: provider.KindMalformed, status: 200}},
	{"openai", 429, `{"error":{"message":"planted","type":"insufficient_quota","code":"insufficient_quota"}}`, want{kind: provider.KindStatus, status: 429, permanent: true, account: true}},
	{"anthropic", 200, `{"type":"message","content":[],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":0}}`, want{finish: provider.FinishStop, input: 1}},
	{"anthropic", 200, `{"type":"message","content":[],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`, want{kind: provider.KindMalformed, status: 200}},
	{"anthropic", 200, `{"type":"message","content":[{"type":"text","text":"planted"}],"stop_reason":"refusal"}`, want{kind: provider.KindRefused, status: 200}},
	{"anthropic", 200, `{"type":"message","content":[{"type":"text","text":"{}"}],"stop_reason":"model_context_window_exceeded"}`, want{text: "{}", finish: provider.FinishLength}},
	{"anthropic", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"planted","details":{"error_code":"enforced_spend_limit_reached"}}}`, want{kind: provider.KindStatus, status: 429, permanent: true, account: true}},
	{"anthropic", 529, `{"type":"error","error":{"type":"overloaded_error","message":"planted"}}`, want{kind: provider.KindStatus, status: 529}},
	{"gemini", 200, `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":3}}`, want{kind: provider.KindFiltered, status: 200}},
	{"gemini", 200, `{"candidates":[{"content":{"role":"model"},"finishReason":"MAX_TOKENS"}]}`, want{finish: provider.FinishLength}},
	{"gemini", 400, `{"error":{"code":400,"message":"planted","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`, want{kind: provider.KindStatus, status: 400, account: true}},
	{"gemini", 429, `{"error":{"code":429,"message":"planted","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"36.5s"}]}}`, want{kind: provider.KindStatus, status: 429, wait: 36500e6}},
	{"gemini", 429, `{"error":{"code":429,"message":"planted","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}}`, want{kind: provider.KindStatus, status: 429, permanent: true, account: true}},
	{"ollama", 200, `{"model":"m-1","message":{"role":"assistant","content":"planted"},"done":false}`, want{kind: provider.KindMalformed, status: 200}},
	{"ollama", 200, `{"model":"m-1","message":{"role":"assistant","content":"","thinking":"hm"},"done":true,"done_reason":"length","prompt_eval_count":5,"eval_count":2}`, want{finish: provider.FinishLength, input: 5, output: 2}},
	{"ollama", 500, `{"error":"invalid JSON schema in format"}`, want{kind: provider.KindStatus, status: 500, permanent: true}},
	{"ollama", 503, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`, want{kind: provider.KindStatus, status: 503}},
	{"ollama", 404, `{"error":"model \"planted\" not found, try pulling it first"}`, want{kind: provider.KindStatus, status: 404, account: true}},
}

// rule is one of mock-llm's: JSON is YAML.
type rule struct {
	Path     string `json:"path"`
	Method   string `json:"method"`
	Response struct {
		Status  int    `json:"status"`
		Content string `json:"content"`
	} `json:"response"`
}

// TestMockLLM runs the adapters against @dwmkerr/mock-llm, which sends verbatim bodies.
func TestMockLLM(t *testing.T) {
	var config struct {
		Rules []rule `json:"rules"`
	}
	for i, v := range verbatim {
		r := rule{Path: fmt.Sprintf("^/case-%d/", i), Method: "POST"}
		r.Response.Status, r.Response.Content = v.status, v.body
		config.Rules = append(config.Rules, r)
	}
	raw, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mock-llm.yaml")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	node(t, "server running on", "@dwmkerr/mock-llm/dist/main.js", []string{"--config", file}, "HOST=127.0.0.1", "PORT="+port)
	for i, v := range verbatim {
		resp, pe := call(t, v.dialect, fmt.Sprintf("http://127.0.0.1:%s/case-%d", port, i), "q", nil, nil)
		v.check(t, fmt.Sprintf("%s, %s", v.dialect, v.body), resp, pe)
	}
}
