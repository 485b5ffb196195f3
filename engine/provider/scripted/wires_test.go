package scripted_test

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"emend/engine/provider"
	"emend/engine/provider/anthropic"
	"emend/engine/provider/gemini"
	"emend/engine/provider/ollama"
	"emend/engine/provider/openai"
	"emend/engine/provider/scripted"
	"emend/schemas"
)

// speakers are the clients of the four wires, and where they find the mock.
var speakers = []struct {
	name, base string
	dialect    provider.Dialect
	options    map[string]any
}{
	{"openai", "/v1", openai.New(), nil},
	{"anthropic", "/v1", anthropic.New(), nil},
	{"anthropic with a tool", "/v1", anthropic.New(), map[string]any{"native_form": "tool"}},
	{"gemini", "/v1beta", gemini.New(), nil},
	{"ollama", "", ollama.New(), nil},
}

func TestBases(t *testing.T) {
	for _, b := range scripted.Bases("http://h:1") {
		for _, s := range speakers {
			if s.name == b.Dialect && b.URL != "http://h:1"+s.base {
				t.Errorf("%s is at %s", b.Dialect, b.URL)
			}
		}
	}
	if n := len(scripted.Bases("")); n != 4 {
		t.Errorf("%d bases", n)
	}
}

// came is what a call came to, in no wire's words.
type came struct {
	text, finish string
	kind         provider.Kind
	status       int
	wait         time.Duration
	input        int64
	output       int64
}

func of(resp *provider.Response, err error) came {
	var c came
	var tokens *schemas.Tokens
	if pe, ok := provider.AsError(err); ok {
		c.kind, c.status, c.wait, tokens = pe.Kind, pe.Status, pe.RetryAfter, pe.Tokens
	} else {
		c.text, c.finish, tokens = resp.Text, resp.Finish, resp.Tokens
	}
	if tokens != nil && tokens.Input != nil && tokens.Output != nil {
		c.input, c.output = *tokens.Input, *tokens.Output
	}
	return c
}

func request() *provider.Request {
	return &provider.Request{Model: "m", Messages: []schemas.Message{{Role: "system", Content: "s"}, {Role: "user", Content: "q"}},
		Schema: &provider.Schema{Name: "out", Bytes: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`)}}
}

// TestOneScriptForAllWires: the same script comes to the same on every wire, over HTTP and in process.
func TestOneScriptForAllWires(t *testing.T) {
	const usage = `, usage: {input: 12, output: 7, cached: 5}`
	cases := map[string]struct {
		reply  string
		want   came
		except map[string]came // by wire, where it has no such thing
	}{
		"json":    {`{json: {a: "<é>"}` + usage + `}`, came{text: `{"a":"<é>"}`, finish: provider.FinishStop, input: 12, output: 7}, map[string]came{"anthropic with a tool": {text: `{"a":"<é>"}`, finish: provider.FinishTool, input: 12, output: 7}}},
		"no json": {`{text: "hm"` + usage + `}`, came{text: "hm", finish: provider.FinishStop, input: 12, output: 7}, nil},
		"empty":   {`{text: ""` + usage + `}`, came{finish: provider.FinishStop, input: 12, output: 7}, nil},
		"cut":     {`{text: '{"a":"b"}', truncate: 4, usage: none}`, came{text: `{"a"`, finish: provider.FinishLength}, nil},
		"tool":    {`{text: "x", finish: tool_calls, usage: none}`, came{text: "x", finish: provider.FinishTool}, map[string]came{"ollama": {text: "x", finish: provider.FinishOther}}},
		"odd":     {`{text: "x", finish: bored, usage: none}`, came{text: "x", finish: provider.FinishOther}, nil},
		"refusal": {`{refusal: "No."` + usage + `}`, came{kind: provider.KindRefused, status: 200, input: 12, output: 7}, map[string]came{
			"gemini": {kind: provider.KindFiltered, status: 200, input: 12, output: 7}, "ollama": {text: "No.", finish: provider.FinishStop, input: 12, output: 7}}},
		"filter": {`{text: "x", finish: content_filter, usage: none}`, came{kind: provider.KindFiltered, status: 200}, map[string]came{
			"anthropic": {kind: provider.KindRefused, status: 200}, "anthropic with a tool": {kind: provider.KindRefused, status: 200}, "ollama": {text: "x", finish: provider.FinishOther}}},
		"null":      {`{null_content: true` + usage + `}`, came{kind: provider.KindMalformed, status: 200, input: 12, output: 7}, nil},
		"malformed": {`{text: "x", malformed: true}`, came{kind: provider.KindMalformed, status: 200}, nil},
		"fault":     {`{error_code: broken}`, came{kind: provider.KindMalformed, status: 200}, nil},
		"html":      {`{body: "<html>", headers: {content-type: text/html}}`, came{kind: provider.KindMalformed, status: 200}, nil},
		"busy":      {`{status: 429, retry_after: "1.5"}`, came{kind: provider.KindStatus, status: 429, wait: 1500 * time.Millisecond}, nil},
		"full":      {`{status: 503}`, came{kind: provider.KindStatus, status: 503}, nil},
		"bad":       {`{status: 400, error_code: bad_parameter}`, came{kind: provider.KindStatus, status: 400}, nil},
		"dropped":   {`{drop: true}`, came{kind: provider.KindTransport}, nil},
	}
	for name, c := range cases {
		script, err := scripted.Parse([]byte("default: {replies: [" + c.reply + "]}"))
		if err != nil {
			t.Fatal(name, err)
		}
		server := httptest.NewServer(script.Handler())
		t.Cleanup(server.Close)
		for _, s := range speakers {
			want, ok := c.except[s.name]
			if !ok {
				want = c.want
			}
			client := provider.NewClient(provider.ClientOptions{})
			ep := &provider.Endpoint{Backend: s.name, Dialect: s.dialect, Options: s.options, URL: server.URL + s.base}
			if got := of(client.Do(t.Context(), ep, request())); got != want {
				t.Errorf("%s on %s over HTTP:\ngot  %+v\nwant %+v", name, s.name, got, want)
			}
			ep.Transport = script.Transport()
			if got := of(client.Do(t.Context(), ep, request())); got != want {
				t.Errorf("%s on %s in process:\ngot  %+v\nwant %+v", name, s.name, got, want)
			}
			client.CloseIdle()
		}
	}
}

// TestFactsOfAStatusOnEveryWire: whose fault a status is, and whether waiting helps, is the same; Ollama's text has no code.
func TestFactsOfAStatusOnEveryWire(t *testing.T) {
	for reply, want := range map[string][2]bool{ // permanent, account
		`{status: 401}`: {false, true}, `{status: 404}`: {false, true}, `{status: 400}`: {true, false}, `{status: 500}`: {false, false},
		`{status: 429, error_code: insufficient_quota}`:     {true, true},
		`{status: 503, headers: {x-should-retry: "false"}}`: {true, false},
	} {
		s := server(t, "default: {replies: ["+reply+"]}")
		for _, speaker := range speakers {
			ep := &provider.Endpoint{Dialect: speaker.dialect, Options: speaker.options, URL: "http://h" + speaker.base, Transport: s.Transport()}
			_, err := provider.NewClient(provider.ClientOptions{}).Do(t.Context(), ep, request())
			pe, ok := provider.AsError(err)
			if speaker.name == "ollama" && reply == `{status: 429, error_code: insufficient_quota}` {
				want = [2]bool{}
			}
			if !ok || pe.Permanent != want[0] || pe.Account != want[1] {
				t.Errorf("%s on %s: got %+v, want permanent %v, account %v", reply, speaker.name, err, want[0], want[1])
			}
		}
	}
}

// TestWiresDoNotShareConversations: the same words on another wire are another conversation, since four backends may play
// the same prompt at one mock; on one wire a correction goes on.
func TestWiresDoNotShareConversations(t *testing.T) {
	s := server(t, `
rules:
  - match: {contains: q, model: m}
    replies: [{text: first}, {json: {a: x}}, {echo: true}]`)
	for _, speaker := range speakers {
		if speaker.options != nil {
			continue
		}
		client := provider.NewClient(provider.ClientOptions{})
		ep := &provider.Endpoint{Dialect: speaker.dialect, URL: "http://h" + speaker.base, Transport: s.Transport()}
		r := request()
		var got []string
		for _, more := range []string{"", "mend", "<again>"} {
			if more != "" {
				r.Messages = append(slices.Clone(request().Messages), schemas.Message{Role: "assistant", Content: "first"}, schemas.Message{Role: "user", Content: more})
			}
			resp, err := client.Do(t.Context(), ep, r)
			if err != nil || resp.Model != "m" {
				t.Fatalf("%s: %+v, %v", speaker.name, resp, err)
			}
			got = append(got, resp.Text)
		}
		if want := []string{"first", `{"a":"x"}`, "<again>"}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", speaker.name, got, want)
		}
	}
	if stats := s.Stats(); stats.Conversations != 4 || stats.Calls != 12 || stats.ByModel["m"] != 12 {
		t.Errorf("stats %+v", stats)
	}
}

// TestACorrectionBesideTheFirstMessageGoesOn: an answer that was cut is asked for anew by a second user message and no
// assistant turn. Anthropic's wire makes one turn of the two, which is the same conversation all the same.
func TestACorrectionBesideTheFirstMessageGoesOn(t *testing.T) {
	every(t, "default: {replies: [{text: first}, {echo: true}, {echo: true}]}", func(t *testing.T, s *scripted.Server, client *provider.Client, ep *provider.Endpoint) {
		r := request()
		for _, want := range []string{"first", "again", "once more"} {
			if want != "first" {
				r.Messages = append(slices.Clone(request().Messages), schemas.Message{Role: "user", Content: want})
			}
			if resp, err := client.Do(t.Context(), ep, r); err != nil || resp.Text != want {
				t.Errorf("got %+v, %v, want %q", resp, err, want)
			}
		}
		if n := s.Stats().Conversations; n != 1 {
			t.Errorf("%d conversations", n)
		}
	})
}
