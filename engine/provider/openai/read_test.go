package openai_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"emend/engine/provider"
	"emend/engine/provider/openai"
)

func read(options map[string]any, status int, body string) (*provider.Response, error) {
	ep := &provider.Endpoint{Backend: "b", Options: options}
	return openai.New().Read(ep, &provider.Reply{Status: status, Header: http.Header{}, Body: []byte(body)})
}

func TestReadMalformed(t *testing.T) {
	cases := map[string]struct{ body, reason, code string }{
		"message missing":      {`{"choices":[{}]}`, "choices[0].message is missing", ""},
		"message is text":      {`{"choices":[{"message":"hi"}]}`, "choices[0].message is a string", ""},
		"choice is a number":   {`{"choices":[7]}`, "choices[0].message is missing", ""},
		"choices is an object": {`{"choices":{"0":{"message":{"content":"x"}}}}`, "choices is an object", ""},
		"names match exactly":  {`{"choices":[{"message":{"content":null,"Content":"x"}}]}`, "content is null", ""},
		"error beside answer":  {`{"error":{"code":502},"choices":[{"message":{"content":"x"}}]}`, "error is set (502)", "502"},
		"error is text":        {`{"error":"planted"}`, "error is set", ""},
		"error of a choice":    {`{"choices":[{"message":{"content":"x"},"error":{"code":"upstream"}}]}`, "choices[0].error is set (upstream)", "upstream"},
		"finish is error":      {`{"choices":[{"message":{"content":"x"},"finish_reason":"error"}]}`, "finish_reason is error", ""},
		"cut while thinking":   {`{"choices":[{"message":{"content":null,"reasoning":"hm"},"finish_reason":"length"}]}`, "content is null; reasoning is populated instead; the token limit", ""},
		"empty tool calls":     {`{"choices":[{"message":{"content":null,"tool_calls":[],"reasoning":""}}]}`, "content is null", ""},
		"R08":                  {`{"id":"c1","choices":null,"error":{"message":"auth","code":401}}`, "error is set (401)", "401"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			resp, err := read(nil, 200, c.body)
			pe, ok := provider.AsError(err)
			if !ok || resp != nil || pe.Kind != provider.KindMalformed || pe.Status != 200 || pe.Code != c.code {
				t.Fatalf("got %+v, %v", resp, err)
			}
			if !strings.Contains(pe.Reason, c.reason) || strings.Contains(pe.Error(), "planted") {
				t.Errorf("reason %q, want %q in it", pe.Reason, c.reason)
			}
		})
	}
}

func TestReadTolerates(t *testing.T) {
	for name, body := range map[string]string{
		"null error":      `{"error":null,"choices":[{"message":{"content":"x"}}]}`,
		"empty error":     `{"error":{},"choices":[{"message":{"content":"x"}}]}`,
		"blank refusal":   `{"choices":[{"message":{"content":"x","refusal":" "}}]}`,
		"odd model":       `{"model":7,"choices":[{"message":{"content":"x"}}]}`,
		"odd finish":      `{"choices":[{"message":{"content":"x"},"finish_reason":{"a":1}}]}`,
		"last name wins":  `{"choices":[{"message":{"content":null,"content":"x"}}]}`,
		"escaped name":    `{"choices":[{"message":{"c\u006fntent":"x"}}]}`,
		"several choices": `{"choices":[{"message":{"content":"x"}},{"message":{"content":"y"}}]}`,
		"odd usage":       `{"usage":[1],"choices":[{"message":{"content":"x"}}]}`,
	} {
		if resp, err := read(nil, 200, body); err != nil || resp.Text != "x" || resp.Tokens != nil {
			t.Errorf("%s: got %+v, %v", name, resp, err)
		}
	}
}

func TestReadJoin(t *testing.T) {
	join := map[string]any{"content_parts": "join"}
	for body, want := range map[string]bool{
		`[{"type":"text","text":"x"}]`:                      true,
		`[{"type":"text","text":"x"},{"type":"image_url"}]`: false,
		`[{"type":"text"}]`:                                 false,
		`[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"x"}]`: true,
		`[{"type":"thinking","thinking":[{"type":"text","text":"x"}]}]`:                             false,
		`[]`:                         false,
		`["x"]`:                      false,
		`{"type":"text","text":"x"}`: false,
		`null`:                       false,
		`[{"type":"refusal","refusal":"no"},{"type":"text","text":"x"}]`:      false,
		`[{"type":"text","text":""},{"type":"text","text":"x","extra":[1]} ]`: true,
	} {
		resp, err := read(join, 200, `{"choices":[{"message":{"content":`+body+`}}]}`)
		if (err == nil) != want || want && resp.Text != "x" {
			t.Errorf("%s: got %+v, %v", body, resp, err)
		}
	}
}

// TestReadJoinSaysWhy: the error does not recommend an option that is set.
func TestReadJoinSaysWhy(t *testing.T) {
	const body = `{"choices":[{"message":{"content":[{"type":"image_url"}]}}]}`
	for _, join := range []bool{false, true} {
		var options map[string]any
		if join {
			options = map[string]any{"content_parts": "join"}
		}
		_, err := read(options, 200, body)
		if pe, ok := provider.AsError(err); !ok || strings.Contains(pe.Reason, "content_parts: join") == join || strings.Contains(pe.Reason, "not text alone") != join {
			t.Errorf("join %v: %v", join, err)
		}
	}
}

// TestReadFilteredStatus: a filter that answers with a status is a filter, and closes no gate.
func TestReadFilteredStatus(t *testing.T) {
	for body, status := range map[string]int{
		`{"error":{"code":"content_filter","message":"planted schema","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`: 400,
		`{"error":{"code":null,"message":"m","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`:                                       400,
		`{"error":{"code":"content_policy_violation","message":"m"}}`:                                                                      400,
		`{"error":{"code":403,"message":"m","metadata":{"reasons":["violence"],"flagged_input":"planted","provider_name":"OpenAI"}}}`:      403,
	} {
		r := &provider.Reply{Status: status, Body: []byte(body), Asked: provider.Asked{Native: true}}
		_, err := openai.New().Read(&provider.Endpoint{Backend: "b"}, r)
		pe, ok := provider.AsError(err)
		if !ok || pe.Kind != provider.KindFiltered || pe.Status != status || pe.Account || !pe.Permanent || pe.Schema || strings.Contains(pe.Error(), "planted") {
			t.Errorf("%s: got %+v", body, err)
		}
	}
	if _, err := read(nil, 500, `{"error":{"code":"content_filter"}}`); err.(*provider.Error).Kind != provider.KindStatus {
		t.Errorf("a 500 became %v", err)
	}
}

func TestReadUsage(t *testing.T) {
	resp, err := read(nil, 200, `{"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":20,"completion_tokens":9,"total_tokens":29,
		"prompt_tokens_details":{"cached_tokens":8,"cache_write_tokens":2,"audio_tokens":1},"completion_tokens_details":{"reasoning_tokens":4},
		"cost":0.00125,"is_byok":false,"cost_details":{"upstream":{"usd":1}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(resp.Tokens)
	want := `{"input_tokens":20,"output_tokens":9,"cached_tokens":8,"cache_written_tokens":2,"reasoning_tokens":4,` +
		`"other":{"cost":0.00125,"cost_details.upstream.usd":1,"prompt_tokens_details.audio_tokens":1}}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestReadStatus(t *testing.T) {
	cases := []struct {
		status             int
		body, code, reason string
		permanent, account bool
	}{
		{400, `{"error":{"message":"m","type":"invalid_request_error","param":"response_format","code":null}}`, "invalid_request_error", "refused response_format", true, false},
		{400, `{"error":{"message":"m","param":"planted words"}}`, "", "refused the request", true, false},
		{400, `{"error":{"message":"Generated JSON does not match the expected schema.","code":"json_validate_failed","failed_generation":"planted"}}`, "json_validate_failed", "withheld it", true, false},
		{403, `{"error":{"code":403,"message":"m","metadata":{}}}`, "403", "may not use", false, true},
		{400, `{"error":{"code":"model_not_found"}}`, "model_not_found", "does not know the model", true, true},
		{400, `{"error":{"message":"m","code":"model_decommissioned"}}`, "model_decommissioned", "no longer has the model", true, true},
		{400, `{"object":"error","message":"Invalid model: m","type":"invalid_model","param":null,"code":"1500"}`, "invalid_model", "does not know the model", true, true},
		{404, `{"object":"error","message":"m","type":"NotFoundError","code":404}`, "NotFoundError", "no such endpoint or model", false, true},
		{429, `{"error":{"type":"insufficient_quota","code":"rate_limit_exceeded"}}`, "insufficient_quota", "quota", true, true},
		{429, `{"error":{"type":"rate_limit_error","details":{"error_code":"enforced_spend_limit_reached"}}}`, "enforced_spend_limit_reached", "spend", true, true},
		{500, `{"error":"planted text"}`, "", "", false, false},
		{502, `{"error":{"code":502,"message":"m"}}`, "502", "", false, false},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_x"}`, "overloaded_error", "overloaded", false, false},
	}
	for _, c := range cases {
		_, err := read(nil, c.status, c.body)
		pe, _ := provider.AsError(err)
		if pe.Kind != provider.KindStatus || pe.Status != c.status || pe.Code != c.code || pe.Permanent != c.permanent || pe.Account != c.account {
			t.Errorf("%d %s: got %+v", c.status, c.body, pe)
		}
		if !strings.Contains(pe.Reason, c.reason) || strings.Contains(pe.Error(), "planted") {
			t.Errorf("%d: error %q, want %q in it", c.status, pe, c.reason)
		}
	}
	_, err := read(nil, 500, `{"error":{},"usage":{"prompt_tokens":3}}`)
	if pe, _ := provider.AsError(err); pe.Tokens == nil || *pe.Tokens.Input != 3 {
		t.Errorf("usage of a failed call is lost: %+v", pe)
	}
}

// FuzzRead: no body makes Read panic, and only an explicit string is a candidate.
func FuzzRead(f *testing.F) {
	for _, fixture := range fixtures() {
		f.Add(200, []byte(fixture.Body), false)
	}
	f.Add(200, []byte(`{"choices":[{"message":{"content":"a\ud83d\ude00\ud800\n"}}]}`), true)
	f.Add(503, []byte(`{"error":{"details":{"error_code":[]}}}`), true)
	f.Fuzz(func(t *testing.T, status int, body []byte, join bool) {
		options := map[string]any{}
		if join {
			options["content_parts"] = "join"
		}
		ep := &provider.Endpoint{Backend: "b", Options: options}
		resp, err := openai.New().Read(ep, &provider.Reply{Status: status, Body: body})
		if (resp == nil) == (err == nil) {
			t.Fatalf("got %+v and %v", resp, err)
		}
		if _, ok := provider.AsError(err); err != nil && !ok {
			t.Fatalf("%T is no *provider.Error", err)
		}
		if resp != nil {
			checkCandidate(t, body, resp.Text, join)
		}
	})
}

// checkCandidate reads the body by other means.
func checkCandidate(t *testing.T, body []byte, text string, join bool) {
	var v struct {
		Choices []map[string]json.RawMessage
	}
	if json.Unmarshal(body, &v) != nil || len(v.Choices) == 0 {
		return // encoding/json folds names, so its view of odd bodies may differ
	}
	var message map[string]json.RawMessage
	if json.Unmarshal(v.Choices[0]["message"], &message) != nil {
		return
	}
	var want any
	if err := json.Unmarshal(message["content"], &want); err != nil || want == nil {
		t.Fatalf("content %s became candidate %q", message["content"], text)
	}
	if s, ok := want.(string); ok && s != strings.ToValidUTF8(text, "\uFFFD") && !strings.Contains(s, "\uFFFD") {
		t.Fatalf("content %s became candidate %q", message["content"], text)
	} else if !ok && !join {
		t.Fatalf("content %s became candidate %q", message["content"], text)
	}
}
