package gemini_test

import (
	"encoding/json"
	"strings"
	"testing"

	"emend/engine/provider"
	"emend/engine/provider/gemini"
)

// TestReports: replies that broke other clients, as their users reported them (shared/cases/reports.jsonl, by id), and what
// they must come to here.
func TestReports(t *testing.T) {
	cases := map[string]struct {
		body         string
		kind         provider.Kind
		text, finish string
		says         string
	}{
		"R13, the limit before any part": {`{"candidates":[{"finishReason":"MAX_TOKENS","content":{"role":"model"}}]}`, "", "", provider.FinishLength, ""},
		"R13, safety":                    {`{"candidates":[{"finishReason":"SAFETY"}]}`, provider.KindFiltered, "", "", "finishReason is SAFETY"},
		"R13, recitation":                {`{"candidates":[{"finishReason":"RECITATION","content":{}}]}`, provider.KindFiltered, "", "", "finishReason is RECITATION"},
		"R13, blocklist":                 {`{"candidates":[{"finishReason":"BLOCKLIST"}]}`, provider.KindFiltered, "", "", "finishReason is BLOCKLIST"},
		"R13, other":                     {`{"candidates":[{"finishReason":"OTHER"}]}`, provider.KindMalformed, "", "", "holds no text"},
		"R13, no candidates":             {`{"usageMetadata":{"promptTokenCount":3}}`, provider.KindMalformed, "", "", "candidates is missing"},
		"T06": {`{"candidates":[{"content":{"parts":[{"text":"Thinking about it","thought":true},{"text":"\n\n{\"a\":"}]},"finishReason":"STOP"}]}`,
			"", "\n\n{\"a\":", provider.FinishStop, ""},
	}
	for name, c := range cases {
		resp, err := read(200, c.body)
		if pe, ok := provider.AsError(err); ok {
			if pe.Kind != c.kind || !strings.Contains(pe.Error(), c.says) {
				t.Errorf("%s: got %v", name, pe)
			}
			continue
		}
		if c.kind != "" || resp.Text != c.text || resp.Finish != c.finish {
			t.Errorf("%s: got %+v, want kind %q", name, resp, c.kind)
		}
	}
}

// TestReportS13: a null in an enum made Gemini refuse the request.
func TestReportS13(t *testing.T) {
	const schema = `{"type":"object","properties":{"status":{"type":["string","null"],"enum":["pending","done",null]}},"required":["status"]}`
	got := gemini.Carry(nil, []byte(schema))
	want := strings.Replace(schema, `"done",null`, `"done"`, 1)
	if string(got.Schema) != want || !got.Whole {
		t.Errorf("got %+v", got)
	}
}

// TestACandidateComesBackWhole: what a model wrote goes out again in a correction, whatever it was.
func TestACandidateComesBackWhole(t *testing.T) {
	for _, text := range []string{`{"t":"\ud82c"}`, "```json\n{}\n```", "\u2028<&>\x00", strings.Repeat(`"\`, 500)} {
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := read(200, `{"candidates":[{"content":{"parts":[{"text":`+string(raw)+`}]},"finishReason":"STOP"}]}`)
		if err != nil || resp.Text != text {
			t.Fatalf("%q was read as %+v, %v", text, resp, err)
		}
		r := ask("q")
		r.Messages = append(r.Messages, r.Messages[0], r.Messages[0])
		r.Messages[1].Role, r.Messages[1].Content = "assistant", resp.Text
		got, err := build(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := provider.Parse([]byte(got))
		i := 0
		for m := range body.Get("contents").Elements() {
			if echoed, _ := m.Get("parts").First().Get("text").Text(); i == 1 && echoed != text {
				t.Errorf("%q came back as %q", text, echoed)
			}
			i++
		}
	}
}
