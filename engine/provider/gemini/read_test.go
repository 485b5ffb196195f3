package gemini_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"emend/engine/provider"
	"emend/engine/provider/gemini"
)

func read(status int, body string) (*provider.Response, error) {
	return gemini.New().Read(&provider.Endpoint{Backend: "b"}, &provider.Reply{Status: status, Header: http.Header{}, Body: []byte(body)})
}

func TestReadFaults(t *testing.T) {
	cases := map[string]struct {
		body, reason string
		kind         provider.Kind
	}{
		"candidates is an object": {`{"candidates":{"0":{}}}`, "candidates is an object", provider.KindMalformed},
		"candidate is a number":   {`{"candidates":[7]}`, "parts holds no text", provider.KindMalformed},
		"content is text":         {`{"candidates":[{"content":"planted"}]}`, "candidates[0].content is a string", provider.KindMalformed},
		"parts is text":           {`{"candidates":[{"content":{"parts":"planted"}}]}`, "candidates[0].content.parts is a string", provider.KindMalformed},
		"no parts, odd stop":      {`{"candidates":[{"content":{},"finishReason":"OTHER"}]}`, "parts holds no text", provider.KindMalformed},
		"no parts, no stop":       {`{"candidates":[{"content":{"parts":null}}]}`, "parts holds no text", provider.KindMalformed},
		"text of another type":    {`{"candidates":[{"content":{"parts":[{"text":"a"},{"text":[]}]}}]}`, "parts[1].text is an array", provider.KindMalformed},
		"call at the limit":       {`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}}]},"finishReason":"MAX_TOKENS"}]}`, "functionCall is populated", provider.KindMalformed},
		"error beside an answer":  {`{"error":{"code":503,"status":"UNAVAILABLE"},"candidates":[{"content":{"parts":[{"text":"x"}]}}]}`, "error is set (UNAVAILABLE)", provider.KindMalformed},
		"blocked":                 {`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`, "promptFeedback.blockReason is PROHIBITED_CONTENT", provider.KindFiltered},
		"blocked oddly":           {`{"promptFeedback":{"blockReason":"planted words"},"candidates":[]}`, "promptFeedback.blockReason is other", provider.KindFiltered},
		"image policy":            {`{"candidates":[{"finishReason":"IMAGE_RECITATION"}]}`, "finishReason is IMAGE_RECITATION", provider.KindFiltered},
	}
	for name, c := range cases {
		resp, err := read(200, c.body)
		pe, ok := provider.AsError(err)
		if !ok || resp != nil || pe.Kind != c.kind || pe.Status != 200 || !strings.Contains(pe.Reason, c.reason) || strings.Contains(pe.Error(), "planted") {
			t.Errorf("%s: got %+v, %v", name, resp, err)
		}
	}
}

func TestReadTolerates(t *testing.T) {
	for name, body := range map[string]string{
		"null error":          `{"error":null,"candidates":[{"content":{"parts":[{"text":"x"}]}}]}`,
		"feedback of ratings": `{"promptFeedback":{"safetyRatings":[]},"candidates":[{"content":{"parts":[{"text":"x"}]}}]}`,
		"odd feedback":        `{"promptFeedback":7,"candidates":[{"content":{"parts":[{"text":"x"}]}}]}`,
		"thought is false":    `{"candidates":[{"content":{"parts":[{"text":"x","thought":false}]}}]}`,
		"thought and call":    `{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"x"},{"functionCall":{"name":"f"}},{"thoughtSignature":"s"}]}}]}`,
		"three parts":         `{"candidates":[{"content":{"parts":[{"text":""},{"text":"x"},{"text":""}]}}]}`,
		"several candidates":  `{"candidates":[{"content":{"parts":[{"text":"x"}]}},{"finishReason":"SAFETY"}]}`,
		"odd usage":           `{"usageMetadata":[1],"modelVersion":7,"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":{"a":1}}]}`,
	} {
		if resp, err := read(200, body); err != nil || resp.Text != "x" || resp.Tokens != nil {
			t.Errorf("%s: got %+v, %v", name, resp, err)
		}
	}
}

func TestReadAnEmptyAnswer(t *testing.T) {
	for body, finish := range map[string]string{
		`{"candidates":[{"finishReason":"STOP"}]}`:                                                                            provider.FinishStop,
		`{"candidates":[{"content":{"role":"model"},"finishReason":"MAX_TOKENS"}]}`:                                           provider.FinishLength,
		`{"candidates":[{"content":{"parts":[]},"finishReason":"MAX_TOKENS"}]}`:                                               provider.FinishLength,
		`{"candidates":[{"content":{"parts":[{"text":"hm","thought":true}]},"finishReason":"MAX_TOKENS"}],"modelVersion":""}`: provider.FinishLength,
	} {
		if resp, err := read(200, body); err != nil || resp.Text != "" || resp.Finish != finish {
			t.Errorf("%s: got %+v, %v", body, resp, err)
		}
	}
}

func TestReadUsage(t *testing.T) {
	const answer = `"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}],"modelVersion":"m-001"`
	for given, want := range map[string]string{
		`{"promptTokenCount":20,"cachedContentTokenCount":8,"candidatesTokenCount":9,"thoughtsTokenCount":4,"toolUsePromptTokenCount":1,"totalTokenCount":34,` +
			`"promptTokensDetails":[{"modality":"TEXT","tokenCount":20}]}`: `{"input_tokens":20,"output_tokens":13,"cached_tokens":8,"reasoning_tokens":4,"other":{"toolUsePromptTokenCount":1}}`,
		`{"promptTokenCount":5,"thoughtsTokenCount":4}`: `{"input_tokens":5,"output_tokens":4,"reasoning_tokens":4}`,
		`{"promptTokenCount":5}`:                        `{"input_tokens":5}`,
		`{"totalTokenCount":5}`:                         `null`,
	} {
		resp, err := read(200, `{`+answer+`,"usageMetadata":`+given+`}`)
		if err != nil || resp.Model != "m-001" || resp.ProviderFinish != "STOP" {
			t.Fatalf("got %+v, %v", resp, err)
		}
		if got, err := json.Marshal(resp.Tokens); err != nil || string(got) != want {
			t.Errorf("%s\ngot  %s\nwant %s", given, got, want)
		}
	}
}

// FuzzRead: no body makes Read panic, and only an explicit string, or nothing at all beside a stop, is a candidate.
func FuzzRead(f *testing.F) {
	for _, fixture := range fixtures() {
		f.Add(200, []byte(fixture.Body))
	}
	f.Add(429, []byte(`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"x.RetryInfo","retryDelay":"1.5s"},{"@type":"x.QuotaFailure","violations":[{}]},7]}}`))
	f.Add(400, []byte(`{"error":{"message":"a.b: c","details":[{"@type":"x/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		resp, err := gemini.New().Read(&provider.Endpoint{Backend: "b"}, &provider.Reply{Status: status, Body: body, Asked: provider.Asked{Native: true}})
		if (resp == nil) == (err == nil) {
			t.Fatalf("got %+v and %v", resp, err)
		}
		if _, ok := provider.AsError(err); err != nil && !ok {
			t.Fatalf("%T is no *provider.Error", err)
		}
		if resp != nil && resp.Text == "" && resp.Finish != provider.FinishStop && resp.Finish != provider.FinishLength && !strings.Contains(string(body), `""`) {
			t.Errorf("%s gave an empty candidate", body)
		}
	})
}
