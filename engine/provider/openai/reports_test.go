package openai_test

import (
	"net/http"
	"strings"
	"testing"

	"emend/engine/provider"
	"emend/engine/provider/openai"
	"emend/schemas"
)

// Replies that broke other clients, as their users reported them, and what they must come to here.
var reports = []struct {
	name   string
	status int
	media  string
	body   string
	kind   provider.Kind
	text   string
	says   string
	tokens int64 // output tokens, -1 for none
}{
	{"a refusal is no object to validate", 200, "", `{"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"refusal":"I cannot help with this."},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}}`,
		provider.KindRefused, "", "refusal", 4},
	{"no choices keeps the usage", 200, "", `{"id":"c1","object":"chat.completion","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":0,"total_tokens":5}}`,
		provider.KindMalformed, "", "choices is empty", 0},
	{"choices missing", 200, "", `{"id":"c1","object":"chat.completion"}`, provider.KindMalformed, "", "choices is missing", -1},
	{"choices null under an auth failure", 200, "", `{"id":"c1","choices":null,"error":{"message":"auth","code":401}}`, provider.KindMalformed, "", "error is set (401)", -1},
	{"the answer in reasoning_content", 200, "", `{"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"reasoning_content":"{\"name\":\"A\",\"age\":28}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}}`,
		provider.KindMalformed, "", "content is null; reasoning_content is populated instead", 4},
	{"null content", 200, "", `{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":null},"finish_reason":"stop"}],"usage":{"completion_tokens":4}}`,
		provider.KindMalformed, "", "content is null", 4},
	{"empty and parsed null is a candidate", 200, "", `{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":"","refusal":null,"parsed":null},"finish_reason":"stop"}],"usage":{"completion_tokens":4}}`,
		"", "", "", 4},
	{"cut tool calls", 200, "", `{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"save","arguments":"{\"text\":\"abc"}}]},"finish_reason":"tool_calls"}],"usage":{"completion_tokens":4}}`,
		provider.KindMalformed, "", "content is null; tool_calls is populated instead", 4},
	{"an event stream that nobody asked for", 200, "text/event-stream", "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\ndata: [DONE]\n\n",
		provider.KindMalformed, "", "text/event-stream", -1},
	{"529", 529, "", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_x"}`, provider.KindStatus, "", "529 overloaded_error", -1},
	{"a lone surrogate escaped twice is only text", 200, "", `{"choices":[{"message":{"content":"{\"t\":\"\\ud82c\"}"}}],"usage":{"completion_tokens":4}}`, "", `{"t":"\ud82c"}`, "", 4},
	{"short texts do not panic", 200, "", `{"choices":[{"message":{"content":"{}"}}],"usage":{"completion_tokens":1}}`, "", "{}", "", 1},
}

func TestReports(t *testing.T) {
	for _, c := range reports {
		t.Run(c.name, func(t *testing.T) {
			r := &provider.Reply{Status: c.status, Header: http.Header{"Content-Type": {c.media}}, Body: []byte(c.body)}
			resp, err := openai.New().Read(&provider.Endpoint{Backend: "b"}, r)
			var tokens *schemas.Tokens
			if pe, ok := provider.AsError(err); ok {
				tokens = pe.Tokens
				if pe.Kind != c.kind || !strings.Contains(pe.Error(), c.says) {
					t.Errorf("got %v", pe)
				}
			} else {
				tokens = resp.Tokens
				if c.kind != "" || resp.Text != c.text {
					t.Errorf("got %+v", resp)
				}
			}
			switch {
			case c.tokens < 0 && tokens != nil, c.tokens >= 0 && (tokens == nil || tokens.Output == nil || *tokens.Output != c.tokens):
				t.Errorf("tokens %+v, want output %d", tokens, c.tokens)
			}
		})
	}
}

// TestReportS01: strict mode refused a schema with an optional field. It goes out as it is, and not as strict; nothing is made
// required or nullable for the wire.
func TestReportS01(t *testing.T) {
	const schema = `{"type": "object", "properties": {"name": {"type": "string"}, "roles": {"type": "array", "items": {"type": "string"}}}, "required": ["name"], "additionalProperties": false}`
	r := ask("q")
	r.Schema = &provider.Schema{Name: "out", Bytes: []byte(schema)}
	got, err := build(nil, r)
	if err != nil || !strings.Contains(got, `"strict":false,"schema":`+schema+`}`) {
		t.Errorf("got %s, %v", got, err)
	}
	carried := openai.Carry(nil, r.Schema.Bytes)
	if carried.Whole || len(carried.Weakened) != 1 || carried.Weakened[0] != "at /properties/roles: is not in required" {
		t.Errorf("got %+v", carried)
	}
}

// TestACandidateComesBackWhole: what a model wrote goes out again in a correction, whatever it was.
func TestACandidateComesBackWhole(t *testing.T) {
	for _, text := range []string{`{"t":"\ud82c"}`, "```json\n{}\n```", "\u2028<&>\x00", strings.Repeat(`"\`, 500)} {
		r := ask("q")
		r.Messages = append(r.Messages, schemas.Message{Role: "assistant", Content: text}, schemas.Message{Role: "user", Content: "Mend it."})
		got, err := build(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		body, ok := provider.Parse([]byte(got))
		if !ok {
			t.Fatalf("%q makes %q", text, got)
		}
		var echoed string
		for m := range body.Get("messages").Elements() {
			if role, _ := m.Get("role").Text(); role == "assistant" {
				echoed, _ = m.Get("content").Text()
			}
		}
		if echoed != text {
			t.Errorf("%q came back as %q", text, echoed)
		}
	}
}
