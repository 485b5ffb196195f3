package anthropic_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"emend/engine/provider"
	"emend/engine/provider/anthropic"
	pt "emend/engine/provider/providertest"
)

func read(asked provider.Asked, status int, body string) (*provider.Response, error) {
	return anthropic.New().Read(&provider.Endpoint{Backend: "b"}, &provider.Reply{Status: status, Header: http.Header{}, Body: []byte(body), Asked: asked})
}

var forced = provider.Asked{Native: true, Tool: "answer"}

func TestReadCandidates(t *testing.T) {
	thinking := `{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"x"},`
	for name, c := range map[string]struct {
		asked         provider.Asked
		body          string
		text          string
		finish, words string
		arguments     bool
	}{
		"thinking is skipped": {provider.Asked{}, reply(`[`+thinking+`{"type":"text","text":"x"}]`, `"end_turn"`, "").Body, "x", "stop", "end_turn", false},
		"stop sequence":       {provider.Asked{}, reply(text("x"), `"stop_sequence"`, "").Body, "x", "stop", "stop_sequence", false},
		"window exceeded":     {provider.Asked{}, reply(text("x"), `"model_context_window_exceeded"`, "").Body, "x", "length", "model_context_window_exceeded", false},
		"unknown block":       {provider.Asked{}, reply(`[{"type":"server_tool_use","name":"n","input":{}},{"type":"text","text":"x"}]`, `"end_turn"`, "").Body, "x", "stop", "end_turn", false},
		"arguments as they came": {forced, reply(`[`+thinking+`{"type":"text","text":"Here."},{"type":"tool_use","id":"t","name":"answer","input":{"b": 1.50,"a":"\u00e9"}}]`, `"tool_use"`, "").Body,
			`{"b": 1.50,"a":"\u00e9"}`, "tool", "tool_use", true},
		"cut arguments":           {forced, reply(`[{"type":"tool_use","name":"answer","input":{}}]`, `"max_tokens"`, "").Body, `{}`, "length", "max_tokens", true},
		"text instead of a tool":  {forced, reply(text("{}"), `"end_turn"`, "").Body, `{}`, "stop", "end_turn", false},
		"another tool beside":     {forced, reply(`[{"type":"tool_use","name":"other","input":{"x":1}},{"type":"text","text":"x"}]`, `"tool_use"`, "").Body, "x", "tool", "tool_use", false},
		"an unforced tool beside": {provider.Asked{}, reply(`[{"type":"tool_use","name":"answer","input":{"x":1}},{"type":"text","text":"x"}]`, `"tool_use"`, "").Body, "x", "tool", "tool_use", false},
		"silence":                 {provider.Asked{}, reply(`[]`, `"end_turn"`, "").Body, "", "stop", "end_turn", false},
		"stopped at once":         {forced, reply(`[]`, `"stop_sequence"`, "").Body, "", "stop", "stop_sequence", false},
		"odd model":               {provider.Asked{}, `{"model":7,"content":[{"type":"text","text":"x"}]}`, "x", "", "", false},
	} {
		resp, err := read(c.asked, 200, c.body)
		if err != nil || resp.Text != c.text || resp.Finish != c.finish || resp.ProviderFinish != c.words || resp.Arguments != c.arguments {
			t.Errorf("%s: %+v, %v", name, resp, err)
		}
	}
}

func TestReadMalformed(t *testing.T) {
	for name, c := range map[string]struct{ body, reason, code string }{
		"unfinished turn":   {reply(text("x"), `"pause_turn"`, "").Body, "stop_reason is pause_turn", ""},
		"no arguments":      {`{"content":[{"type":"tool_use","name":"answer"}]}`, "content[0].input is missing", ""},
		"null arguments":    {`{"content":[{"type":"text","text":"x"},{"type":"tool_use","name":"answer","input":null}]}`, "content[1].input is null", ""},
		"a block of text":   {`{"content":["x"]}`, "content[0] is a string", ""},
		"content is text":   {`{"content":"x"}`, "content is a string", ""},
		"cut before a word": {reply(`[]`, `"max_tokens"`, "").Body, "content is empty; the token limit", ""},
		"no stop reason":    {reply(`[]`, "", "").Body, "content is empty", ""},
		"ended in thought":  {reply(`[{"type":"thinking","thinking":"hm"}]`, `"end_turn"`, "").Body, "thinking stands there instead", ""},
		"cut in thought":    {reply(`[{"type":"thinking","thinking":"hm"}]`, `"max_tokens"`, "").Body, "no text block; thinking stands there instead; the token limit", ""},
		"odd block":         {`{"content":[{"type":"planted words"},{"type":7},{"type":"thinking"}]}`, "a block of odd type stands there instead; thinking", ""},
		"error beside":      {`{"error":{"type":"overloaded_error"},"content":[{"type":"text","text":"x"}]}`, "error is set (overloaded_error)", "overloaded_error"},
		"error in a 200":    {`{"type":"error","error":{"details":{"error_code":"e1"},"type":"t"}}`, "error is set (e1)", "e1"},
		"an OpenAI answer":  {`{"choices":[{"message":{"content":"x"}}]}`, "content is missing", ""},
	} {
		resp, err := read(forced, 200, c.body)
		pe, ok := provider.AsError(err)
		if !ok || resp != nil || pe.Kind != provider.KindMalformed || pe.Code != c.code || !strings.Contains(pe.Reason, c.reason) || strings.Contains(pe.Error(), "planted") {
			t.Errorf("%s: %+v, %v", name, resp, err)
		}
	}
}

func TestReadRefusal(t *testing.T) {
	for body, detail := range map[string]string{
		`{"content":[],"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"why"}}`: "why",
		`{"content":null,"stop_reason":"refusal","usage":{"input_tokens":3}}`:                                             "",
		reply(text("No."), `"refusal"`, "").Body:                                                                          "No.",
	} {
		_, err := read(provider.Asked{}, 200, body)
		pe, ok := provider.AsError(err)
		if !ok || pe.Kind != provider.KindRefused || pe.Detail != detail || strings.Contains(body, "cyber") != (pe.Code == "cyber") {
			t.Errorf("%s: %+v", body, pe)
		}
	}
}

func TestReadUsage(t *testing.T) {
	for in, want := range map[string]string{
		`{"input_tokens":20,"cache_read_input_tokens":8,"cache_creation_input_tokens":2,"output_tokens":9,"output_tokens_details":{"thinking_tokens":4},
			"cache_creation":{"ephemeral_5m_input_tokens":2},"service_tier":"standard","iterations":[1]}`: `{"input_tokens":30,"output_tokens":9,"cached_tokens":8,"cache_written_tokens":2,` +
			`"reasoning_tokens":4,"other":{"cache_creation.ephemeral_5m_input_tokens":2}}`,
		`{"cache_read_input_tokens":8,"output_tokens":9}`: `{"output_tokens":9,"cached_tokens":8}`,
		`{"input_tokens":5,"cache_read_input_tokens":0}`:  `{"input_tokens":5,"cached_tokens":0}`,
	} {
		resp, err := read(provider.Asked{}, 200, reply(text("x"), `"end_turn"`, in).Body)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(resp.Tokens); err != nil || string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestReadStatus(t *testing.T) {
	body := func(kind, message, more string) string {
		return `{"type":"error","error":{"type":"` + kind + `","message":"planted ` + message + `"` + more + `},"request_id":"req_1"}`
	}
	for _, c := range []struct {
		status             int
		body, code, reason string
		permanent, account bool
	}{
		{400, body("invalid_request_error", "x", ""), "invalid_request_error", "refused the request", true, false},
		{401, body("authentication_error", "x", ""), "authentication_error", "check the backend's key", false, true},
		{402, body("billing_error", "x", ""), "billing_error", "no credit", true, true},
		{403, body("permission_error", "x", ""), "permission_error", "may not use this model", false, true},
		{404, body("not_found_error", "model: x", ""), "not_found_error", "no such endpoint or model", false, true},
		{413, body("request_too_large", "x", ""), "request_too_large", "larger than the provider accepts", true, false},
		{429, body("rate_limit_error", "x", `,"details":null`), "rate_limit_error", "too many requests", false, false},
		{429, body("rate_limit_error", "x", `,"details":{"error_code":"enforced_spend_limit_reached"}`), "enforced_spend_limit_reached", "spend limit", true, true},
		{429, body("rate_limit_error", "This would exceed your monthly spend limit", ""), "rate_limit_error", "spend limit", true, true},
		{400, body("invalid_request_error", "Your credit balance is too low to access the API", ""), "invalid_request_error", "no credit", true, true},
		{400, body("invalid_request_error", "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.", ""), "invalid_request_error", "spend limit", true, true},
		{400, body("invalid_request_error", "prompt is too long: 200001 tokens", ""), "invalid_request_error", "longer than the model's context", true, false},
		{500, body("api_error", "credit balance is too low", ""), "api_error", "", false, false},
		{529, body("overloaded_error", "x", ""), "overloaded_error", "overloaded", false, false},
	} {
		_, err := read(provider.Asked{Native: true}, c.status, c.body)
		pe, _ := provider.AsError(err)
		if pe.Kind != provider.KindStatus || pe.Code != c.code || pe.Permanent != c.permanent || pe.Account != c.account || pe.Fallback || pe.Schema {
			t.Errorf("%d %s: %+v", c.status, c.body, pe)
		}
		if !strings.Contains(pe.Reason, c.reason) || strings.Contains(pe.Error(), "planted") {
			t.Errorf("%d: error %q, want %q in it", c.status, pe, c.reason)
		}
	}
}

func TestWhatTheAPISaysInWordsAlone(t *testing.T) {
	_, err := read(provider.Asked{}, 400, fault(400, "invalid_request_error", "Output blocked by content filtering policy"))
	if pe, _ := provider.AsError(err); pe == nil || pe.Kind != provider.KindFiltered || pe.Status != 400 {
		t.Errorf("got %+v", err)
	}
}

// TestASchemaThatIsTooLarge: worth one more attempt in the other form, if the backend allows it and it was not that form.
func TestASchemaThatIsTooLarge(t *testing.T) {
	first := provider.Asked{Native: true, Fallback: true}
	for message, fallback := range map[string]bool{
		"output_config.format.schema: Invalid schema: The compiled grammar is too large, which would cause performance issues.": true,
		"Schema is too complex for compilation.":   true,
		"Schema compilation timeout after 180 s":   true,
		"Grammar compilation timed out.":           true,
		"output_config.format.schema: no such key": false,
	} {
		for _, asked := range []provider.Asked{first, {Native: true}, forced} {
			_, err := read(asked, 400, fault(400, "invalid_request_error", message))
			pe, _ := provider.AsError(err)
			if !pe.Schema || !pe.Permanent || pe.Account || pe.Fallback != (fallback && asked == first) {
				t.Errorf("%q to %+v: %+v", message, asked, pe)
			}
		}
	}
	_, err := read(first, 503, fault(503, "api_error", "The compiled grammar is too large"))
	if pe, _ := provider.AsError(err); pe.Fallback {
		t.Error("a 503 asked for the other form")
	}
}

// FuzzRead: no body makes Read panic, and a candidate stands in the body.
func FuzzRead(f *testing.F) {
	for _, fixture := range fixtures() {
		f.Add(200, []byte(fixture.Body), "")
	}
	f.Add(200, []byte(`{"content":[{"type":"tool_use","name":"answer","input":{"a":1e5}}],"stop_reason":"tool_use"}`), "answer")
	f.Add(400, []byte(fault(400, pt.FaultCode, "grammar is too large")), "")
	f.Fuzz(func(t *testing.T, status int, body []byte, tool string) {
		r := &provider.Reply{Status: status, Body: body, Asked: provider.Asked{Tool: tool, Native: tool != "", Fallback: true}}
		resp, err := anthropic.New().Read(&provider.Endpoint{Backend: "b"}, r)
		if (resp == nil) == (err == nil) {
			t.Fatalf("got %+v and %v", resp, err)
		}
		if _, ok := provider.AsError(err); err != nil && !ok {
			t.Fatalf("%T is no *provider.Error", err)
		}
		if resp != nil && resp.Arguments && (tool == "" || !json.Valid([]byte(resp.Text)) || !strings.Contains(string(body), resp.Text)) {
			t.Fatalf("arguments %q of tool %q are not the body's", resp.Text, tool)
		}
	})
}
