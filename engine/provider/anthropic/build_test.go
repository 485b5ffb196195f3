package anthropic_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"emend/engine/provider"
	"emend/engine/provider/anthropic"
	"emend/schemas"
)

func build(options map[string]any, r *provider.Request) (*provider.Wire, error) {
	return anthropic.New().Build(&provider.Endpoint{Backend: "b", Options: options}, r)
}

func ask(messages ...schemas.Message) *provider.Request {
	return &provider.Request{Model: "m", Messages: messages}
}

func user(text string) schemas.Message {
	return schemas.Message{Role: schemas.RoleUser, Content: text}
}

const schema = `{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}},"required":["b","a"],"additionalProperties":false}`

func with(r *provider.Request, change func(*provider.Request)) *provider.Request {
	change(r)
	return r
}

func native(r *provider.Request) {
	r.Schema = &provider.Schema{Name: "answer", Bytes: json.RawMessage(schema)}
}

func TestBuild(t *testing.T) {
	const q = `"messages":[{"role":"user","content":"q"}]`
	system := schemas.Message{Role: schemas.RoleSystem, Content: "s"}
	developer := schemas.Message{Role: schemas.RoleDeveloper, Content: "d"}
	answer := schemas.Message{Role: schemas.RoleAssistant, Content: "a"}
	for name, c := range map[string]struct {
		options map[string]any
		request *provider.Request
		body    string
	}{
		"least":                     {nil, ask(user("q")), `{"model":"m","max_tokens":4096,` + q + `,"stream":false}`},
		"max_tokens of the backend": {map[string]any{"max_tokens": json.Number("99")}, ask(user("q")), `{"model":"m","max_tokens":99,` + q + `,"stream":false}`},
		"settings": {map[string]any{"max_tokens": 99}, with(ask(user("q")), func(r *provider.Request) {
			r.Settings = schemas.Settings{MaxOutputTokens: new(int64(7)), Temperature: new(0.0), TopP: new(0.5), Stop: []string{"x"}, Seed: new(int64(1)),
				FrequencyPenalty: new(1.0), ReasoningEffort: new("low")}
			r.Session = "s-9"
		}), `{"model":"m","max_tokens":7,"temperature":0,"top_p":0.5,"stop_sequences":["x"],"metadata":{"user_id":"s-9"},` + q + `,"output_config":{"effort":"low"},"stream":false}`},
		"no session": {map[string]any{"session": "none"}, with(ask(user("q")), func(r *provider.Request) { r.Session = "s" }), `{"model":"m","max_tokens":4096,` + q + `,"stream":false}`},
		"system":     {nil, ask(system, user("q")), `{"model":"m","max_tokens":4096,"system":"s",` + q + `,"stream":false}`},
		"systems":    {nil, ask(system, user("q"), developer), `{"model":"m","max_tokens":4096,"system":[{"type":"text","text":"s"},{"type":"text","text":"d"}],` + q + `,"stream":false}`},
		"turns": {nil, ask(user("q"), user("r"), answer, user(" \n"), answer, user("z")),
			`{"model":"m","max_tokens":4096,"messages":[{"role":"user","content":[{"type":"text","text":"q"},{"type":"text","text":"r"}]},` +
				`{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"a"}]},{"role":"user","content":"z"}],"stream":false}`},
		"body": {map[string]any{"body": map[string]any{"top_k": json.Number("40"), "thinking": map[string]any{"type": "adaptive"}}}, ask(user("q")),
			`{"model":"m","max_tokens":4096,` + q + `,"thinking":{"type":"adaptive"},"top_k":40,"stream":false}`},
		"native": {nil, with(ask(user("q")), native),
			`{"model":"m","max_tokens":4096,` + q + `,"output_config":{"format":{"type":"json_schema","schema":` + schema + `}},"stream":false}`},
		"no effort":        {nil, with(ask(user("q")), func(r *provider.Request) { r.Settings.ReasoningEffort = new("none") }), `{"model":"m","max_tokens":4096,` + q + `,"stream":false}`},
		"the least effort": {nil, with(ask(user("q")), func(r *provider.Request) { r.Settings.ReasoningEffort = new("minimal") }), `{"model":"m","max_tokens":4096,` + q + `,"output_config":{"effort":"low"},"stream":false}`},
		"native with effort": {nil, with(with(ask(user("q")), native), func(r *provider.Request) { r.Settings.ReasoningEffort = new("high") }),
			`{"model":"m","max_tokens":4096,` + q + `,"output_config":{"effort":"high","format":{"type":"json_schema","schema":` + schema + `}},"stream":false}`},
		"output_format": {map[string]any{"native_form": "output_format"}, with(ask(user("q")), native),
			`{"model":"m","max_tokens":4096,` + q + `,"output_format":{"type":"json_schema","schema":` + schema + `},"stream":false}`},
		"tool":        {map[string]any{"native_form": "tool"}, with(ask(user("q")), native), tool(q)},
		"second form": {map[string]any{"native_fallback": "tool"}, with(with(ask(user("q")), native), func(r *provider.Request) { r.Fallback = true }), tool(q)},
		"not carried": {nil, with(ask(user("q")), func(r *provider.Request) { r.Schema = &provider.Schema{Bytes: json.RawMessage(`{}`)} }), `{"model":"m","max_tokens":4096,` + q + `,"stream":false}`},
	} {
		wire, err := build(c.options, c.request)
		if err != nil || string(wire.Body) != c.body {
			t.Errorf("%s: %v\ngot  %s\nwant %s", name, err, wire.Body, c.body)
		}
	}
}

func tool(messages string) string {
	return `{"model":"m","max_tokens":4096,` + messages + `,"tools":[{"name":"answer","description":"Gives the answer.","input_schema":` + schema +
		`}],"tool_choice":{"type":"tool","name":"answer","disable_parallel_tool_use":true},"stream":false}`
}

func TestHeadersAndWhatWasAsked(t *testing.T) {
	for name, c := range map[string]struct {
		options map[string]any
		change  func(*provider.Request)
		version string
		beta    string
		asked   provider.Asked
	}{
		"plain":         {nil, func(*provider.Request) {}, "2023-06-01", "", provider.Asked{}},
		"version":       {map[string]any{"version": "2026-10-21"}, native, "2026-10-21", "", provider.Asked{Native: true}},
		"beta":          {map[string]any{"native_form": "output_format", "native_fallback": "tool"}, native, "2023-06-01", anthropic.Beta, provider.Asked{Native: true, Fallback: true}},
		"beta unasked":  {map[string]any{"native_form": "output_format"}, func(*provider.Request) {}, "2023-06-01", "", provider.Asked{}},
		"tool":          {map[string]any{"native_form": "tool", "native_fallback": "tool"}, native, "2023-06-01", "", provider.Asked{Native: true, Tool: "answer"}},
		"may fall back": {map[string]any{"native_fallback": "tool"}, native, "2023-06-01", "", provider.Asked{Native: true, Fallback: true}},
		"fell back":     {map[string]any{"native_fallback": "tool"}, func(r *provider.Request) { native(r); r.Fallback = true }, "2023-06-01", "", provider.Asked{Native: true, Tool: "answer"}},
		"no tool for it": {map[string]any{"native_fallback": "tool"}, func(r *provider.Request) {
			r.Schema = &provider.Schema{Bytes: json.RawMessage(`{"$ref":"#/$defs/a","$defs":{"a":` + schema + `}}`)}
		}, "2023-06-01", "", provider.Asked{Native: true}},
	} {
		wire, err := build(c.options, with(ask(user("q")), c.change))
		if err != nil {
			t.Fatal(name, err)
		}
		if wire.Path != "/messages" || wire.KeyHeader != "X-Api-Key" || wire.Header.Get("Anthropic-Version") != c.version ||
			wire.Header.Get("Anthropic-Beta") != c.beta || wire.Asked != c.asked {
			t.Errorf("%s: %+v", name, wire)
		}
	}
}

func cachedMessage(role, text, cache string) schemas.Message {
	return schemas.Message{Role: role, Content: text, Cache: cache}
}

func TestCacheMarks(t *testing.T) {
	mark := func(text, ttl string) string {
		return `{"type":"text","text":"` + text + `","cache_control":{"type":"ephemeral","ttl":"` + ttl + `"}}`
	}
	for name, c := range map[string]struct {
		options map[string]any
		in      []schemas.Message
		want    string
	}{
		"one": {nil, []schemas.Message{cachedMessage("user", "a", "90s"), user("b")},
			`"messages":[{"role":"user","content":[` + mark("a", "5m") + `,{"type":"text","text":"b"}]}]`},
		"none": {map[string]any{"cache": "none"}, []schemas.Message{cachedMessage("user", "a", "5m")}, `"messages":[{"role":"user","content":"a"}]`},
		"the last four": {nil, []schemas.Message{cachedMessage("system", "s", "5m"), cachedMessage("user", "a", "5m"), cachedMessage("user", "b", "5m"),
			cachedMessage("user", "c", "5m"), cachedMessage("user", "d", "5m")},
			`"system":"s","messages":[{"role":"user","content":[` + mark("a", "5m") + "," + mark("b", "5m") + "," + mark("c", "5m") + "," + mark("d", "5m") + `]}]`},
		"longer ones first": {nil, []schemas.Message{cachedMessage("user", "a", "5m"), cachedMessage("user", "b", "1h"), cachedMessage("user", "c", "5m"), cachedMessage("system", "s", "5m")},
			`"system":[` + mark("s", "1h") + `],"messages":[{"role":"user","content":[` + mark("a", "1h") + "," + mark("b", "1h") + "," + mark("c", "5m") + `]}]`},
	} {
		wire, err := build(c.options, ask(c.in...))
		if err != nil || !strings.Contains(string(wire.Body), c.want) {
			t.Errorf("%s: %v\ngot  %s\nwant %s", name, err, wire.Body, c.want)
		}
	}
}

func TestParts(t *testing.T) {
	in := `[{"type":"text","text":"é","cache_control":{"type":"ephemeral"}},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},
		{"type":"image_url","image_url":{"url":"https://h/x.png"}},{"type":"file","file":{"file_data":"data:application/pdf;base64,AA=="}},
		{"type":"document", "source":{"type":"url","url":"https://h/x.pdf"}}]`
	want := `"content":[{"type":"text","text":"é","cache_control":{"type":"ephemeral"}},` +
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}},{"type":"image","source":{"type":"url","url":"https://h/x.png"}},` +
		`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AA=="}},{"type":"document", "source":{"type":"url","url":"https://h/x.pdf"}}]`
	wire, err := build(nil, ask(schemas.Message{Role: "user", Parts: json.RawMessage(in)}))
	if err != nil || !strings.Contains(string(wire.Body), want) {
		t.Errorf("%v\ngot  %s\nwant %s", err, wire.Body, want)
	}
}

func TestBuildRefuses(t *testing.T) {
	parts := func(raw string) *provider.Request {
		return ask(user("q"), schemas.Message{Role: "user", Parts: json.RawMessage(raw)})
	}
	for want, r := range map[string]*provider.Request{
		"model is empty":                                    {Messages: []schemas.Message{user("q")}},
		"messages is empty":                                 {Model: "m"},
		"messages has no user message":                      ask(schemas.Message{Role: "system", Content: "s"}),
		"user message that says anything":                   ask(user(" \n\t")),
		`role is "robot"`:                                   ask(schemas.Message{Role: "robot", Content: "x"}),
		"settings.temperature":                              with(ask(user("q")), func(r *provider.Request) { r.Settings.Temperature = new(math.NaN()) }),
		"schema's name":                                     with(ask(user("q")), func(r *provider.Request) { r.Schema = &provider.Schema{Name: "a b", Bytes: []byte(schema)} }),
		"schema is not an object":                           with(ask(user("q")), func(r *provider.Request) { r.Schema = &provider.Schema{Name: "a", Bytes: []byte(`[]`)} }),
		"messages[1].content[1].image_url.url is not a URL": parts(`[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"x"}}]`),
		"messages[1].content[0] is neither an image nor a PDF file": parts(`[{"type":"file","file":{"file_data":"data:text/plain;base64,AA=="}}]`),
	} {
		if wire, err := build(nil, r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v; want an error with %q", wire, err, want)
		}
	}
}

func TestOptions(t *testing.T) {
	check := func(o map[string]any) error { return provider.CheckOptions("anthropic", anthropic.Options(), o) }
	if err := check(map[string]any{"version": "2023-06-01", "max_tokens": json.Number("8192"), "native_form": "tool", "session": "none",
		"body": map[string]any{"top_k": 3}}); err != nil {
		t.Error(err)
	}
	for want, o := range map[string]map[string]any{
		"options.version: must be a version such as":      {"version": "latest"},
		"options.max_tokens: must be a whole number from": {"max_tokens": json.Number("0")},
		"options.max_tokens":                              {"max_tokens": 1.5},
		"must be a whole number":                          {"max_tokens": "many"},
		"options.native_form: must be one of":             {"native_form": "strict"},
		"options.body: tools is a member":                 {"body": map[string]any{"tools": []any{}}},
	} {
		if err := check(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", o, err, want)
		}
	}
	for _, o := range anthropic.Options() {
		if o.Doc == "" || strings.Contains(o.Doc, "\n") {
			t.Errorf("option %s has no one-line doc", o.Name)
		}
	}
}
