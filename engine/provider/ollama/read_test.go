package ollama_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"emend/engine/provider"
	"emend/engine/provider/ollama"
)

func read(status int, native bool, body string) (*provider.Response, error) {
	return ollama.New().Read(&provider.Endpoint{Backend: "b"}, &provider.Reply{Status: status, Header: http.Header{}, Body: []byte(body), Asked: provider.Asked{Native: native}})
}

func TestReadMalformed(t *testing.T) {
	for name, c := range map[string][2]string{
		"a piece of a stream":   {`{"message":{"content":"x"},"done":false}`, "done is not true"},
		"done is text":          {`{"message":{"content":"x"},"done":"true"}`, "done is not true"},
		"a stream":              {"{\"message\":{\"content\":\"x\"},\"done\":false}\n{\"message\":{\"content\":\"\"},\"done\":true}\n", "not JSON at byte"},
		"message is text":       {`{"message":"planted"}`, "message is a string"},
		"content in parts":      {`{"message":{"content":[{"type":"text","text":"planted"}]}}`, "message.content is an array"},
		"names match exactly":   {`{"message":{"Content":"planted"}}`, "message.content is missing"},
		"cut while thinking":    {`{"message":{"thinking":"planted"},"done_reason":"length"}`, "content is missing; thinking is populated instead; the token limit was reached"},
		"empty calls":           {`{"message":{"content":null,"tool_calls":[],"thinking":""}}`, "message.content is null"},
		"an error of an object": {`{"error":{"message":"planted"},"message":{"content":"x"}}`, "error is set"},
	} {
		resp, err := read(200, false, c[0])
		pe, ok := provider.AsError(err)
		if !ok || resp != nil || pe.Kind != provider.KindMalformed || pe.Status != 200 || !strings.Contains(pe.Reason, c[1]) || strings.Contains(pe.Error(), "planted") {
			t.Errorf("%s: got %+v, %v", name, resp, err)
		}
	}
}

func TestReadTolerates(t *testing.T) {
	for name, body := range map[string]string{
		"no done":         `{"message":{"content":"x"}}`,
		"null error":      `{"error":null,"message":{"content":"x"},"done":true}`,
		"empty error":     `{"error":"","message":{"content":"x"},"done":null}`,
		"tool calls":      `{"message":{"content":"x","tool_calls":[{"function":{"name":"f"}}]},"done":true}`,
		"thinking beside": `{"message":{"content":"x","thinking":"hm"},"done":true}`,
		"odd model":       `{"model":7,"message":{"content":"x"},"done_reason":{"a":1}}`,
		"last name wins":  `{"message":{"content":null,"content":"x"}}`,
	} {
		if resp, err := read(200, false, body); err != nil || resp.Text != "x" || resp.Tokens != nil {
			t.Errorf("%s: got %+v, %v", name, resp, err)
		}
	}
}

func TestReadAnswer(t *testing.T) {
	resp, err := read(200, true, completion(`"content":"x"`, `"load"`, usage).Body)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := json.Marshal(resp.Tokens)
	if err != nil || resp.Model != "m" || resp.Finish != provider.FinishOther || resp.ProviderFinish != "load" || string(tokens) != `{"input_tokens":12,"output_tokens":7}` {
		t.Errorf("got %+v, tokens %s, %v", resp, tokens, err)
	}
}

func TestReadStatus(t *testing.T) {
	for name, c := range map[string]struct {
		status                     int
		native                     bool
		text, reason, keyword      string
		permanent, account, schema bool
	}{
		"a bad schema":                 {500, true, `invalid JSON schema in format`, "refused the schema", "", true, false, true},
		"a bad schema, by its keyword": {500, true, `JSON schema conversion failed:\nUnrecognized schema: {\"minLength\":3}`, "for its minLength", "minLength", true, false, true},
		"a grammar that fails":         {400, true, `failed to parse grammar`, "refused the schema", "", true, false, true},
		"no context for the format":    {500, true, `Failed to create new sequence: unable to create sampling context`, "refused the schema", "", true, false, true},
		"the same without a schema":    {500, false, `unable to create sampling context`, "", "", false, false, false},
		"a dead runner":                {500, true, `model runner has unexpectedly stopped, this may be due to resource limitations`, "", "", false, false, false},
		"a full queue":                 {503, true, `server busy, please try again.  maximum pending requests exceeded`, "", "", false, false, false},
		"no such model":                {404, true, `model \"planted\" not found, try pulling it first`, "no such endpoint or model", "", false, true, false},
		"it cannot think":              {400, true, `\"planted\" does not support thinking`, "refused the request", "", true, false, false},
		"too long":                     {400, true, `prompt too long; exceeded max context length by 7 tokens`, "longer than the model's context", "", true, false, false},
		"no key":                       {401, true, `unauthorized`, "key was refused", "", false, true, false},
		"throttled":                    {429, true, `you have reached your hourly usage limit`, "too many requests", "", false, false, false},
	} {
		_, err := read(c.status, c.native, `{"error":"`+c.text+`"}`)
		pe, ok := provider.AsError(err)
		if !ok || pe.Kind != provider.KindStatus || pe.Status != c.status || pe.Code != "" || pe.Permanent != c.permanent || pe.Account != c.account ||
			pe.Schema != c.schema || pe.Keyword != c.keyword || !strings.Contains(pe.Reason, c.reason) || strings.Contains(pe.Error(), "planted") {
			t.Errorf("%s: got %+v", name, err)
		}
	}
}

// TestReportS10: a server that says that it enforces a schema and does not. The wire's reply is a candidate like any other;
// what is wrong with it is found here, by the judge.
func TestReportS10(t *testing.T) {
	resp, err := read(200, true, completion(`"content":"John is 15."`, `"stop"`, usage).Body)
	if err != nil || resp.Text != "John is 15." || resp.Finish != provider.FinishStop {
		t.Errorf("got %+v, %v", resp, err)
	}
}

// FuzzRead: no body makes Read panic, and only an explicit string is a candidate.
func FuzzRead(f *testing.F) {
	for _, fixture := range fixtures() {
		f.Add(200, []byte(fixture.Body))
	}
	f.Add(500, []byte(`{"error":"invalid JSON schema in format"}`))
	f.Add(400, []byte(`{"error":["exceeded context size"]}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		resp, err := ollama.New().Read(&provider.Endpoint{Backend: "b"}, &provider.Reply{Status: status, Body: body, Asked: provider.Asked{Native: true}})
		if (resp == nil) == (err == nil) {
			t.Fatalf("got %+v and %v", resp, err)
		}
		if _, ok := provider.AsError(err); err != nil && !ok {
			t.Fatalf("%T is no *provider.Error", err)
		}
		if resp != nil && resp.Text == "" && !strings.Contains(string(body), `""`) {
			t.Errorf("%s gave an empty candidate", body)
		}
	})
}
