package ollama_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"emend/engine/provider"
	"emend/engine/provider/ollama"
	"emend/schemas"
)

func build(options map[string]any, r *provider.Request) (string, error) {
	w, err := ollama.New().Build(&provider.Endpoint{Backend: "b", Options: options}, r)
	if err != nil {
		return "", err
	}
	if w.Path != "/api/chat" || w.KeyHeader != "" || w.Native != (r.Schema != nil) {
		return "", provider.Malformed(&provider.Reply{}, nil, w.Path)
	}
	return string(w.Body), nil
}

func ask(text string) *provider.Request {
	return &provider.Request{Model: "m", Messages: []schemas.Message{{Role: "user", Content: text}}}
}

func TestBuildLeavesOutWhatIsNotSet(t *testing.T) {
	r := ask(`<a> & "b"`)
	r.Session, r.Messages[0].Cache = "s-9", "5m"
	got, err := build(nil, r)
	want := `{"model":"m","messages":[{"role":"user","content":"<a> & \"b\""}],"stream":false}`
	if err != nil || got != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

func TestBuildSendsZeroes(t *testing.T) {
	r := ask("q")
	r.Settings = schemas.Settings{Temperature: new(0.0), TopP: new(1.0), MaxOutputTokens: new(int64(0)), Seed: new(int64(-3)), Stop: []string{},
		FrequencyPenalty: new(-0.5), PresencePenalty: new(1e-9), ReasoningEffort: new("none")}
	got, err := build(nil, r)
	want := `{"model":"m","messages":[{"role":"user","content":"q"}],"options":{"temperature":0,"top_p":1,"num_predict":0,"seed":-3,"stop":[],` +
		`"frequency_penalty":-0.5,"presence_penalty":1e-09},"think":false,"stream":false}`
	if err != nil || got != want || !json.Valid([]byte(got)) {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

func TestBuildMessages(t *testing.T) {
	r := &provider.Request{Model: "m", Messages: []schemas.Message{{Role: "system", Content: "s"}, {Role: "developer", Content: "d"},
		{Role: "user", Parts: json.RawMessage(`[{"type":"text","text":"<p>"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},{"type":"text","text":"q"}]`)},
		{Role: "assistant", Content: "a"}, {Role: "user", Parts: json.RawMessage(`[]`)}}}
	got, err := build(nil, r)
	want := `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"system","content":"d"},{"role":"user","content":"<p>\nq","images":["AA=="]},` +
		`{"role":"assistant","content":"a"},{"role":"user","content":""}],"stream":false}`
	if err != nil || got != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

func TestBuildSchema(t *testing.T) {
	r := ask("q")
	r.Schema = &provider.Schema{Name: "out", Bytes: json.RawMessage(`{"type":"object","properties":{"z":{"type":"string","pattern":"x"},"a":{"type":"null"}},"required":["z"]}`)}
	got, err := build(nil, r)
	want := `{"model":"m","messages":[{"role":"user","content":"q"}],` +
		`"format":{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"null"}},"required":["z"]},"stream":false}`
	if err != nil || got != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

func TestBuildOptions(t *testing.T) {
	effort := func(word string) *provider.Request {
		r := ask("q")
		r.Settings.ReasoningEffort = new(word)
		return r
	}
	cases := map[string]struct {
		options map[string]any
		r       *provider.Request
		want    string
	}{
		"effort":            {nil, effort("xhigh"), `}],"think":"high","stream":false}`},
		"effort and never":  {map[string]any{"think": "never"}, effort("low"), `}],"think":false,"stream":false}`},
		"never":             {map[string]any{"think": "never"}, ask("q"), `}],"think":false,"stream":false}`},
		"always":            {map[string]any{"think": "always"}, ask("q"), `}],"think":true,"stream":false}`},
		"always, so much":   {map[string]any{"think": "always"}, effort("minimal"), `}],"think":"low","stream":false}`},
		"duration":          {map[string]any{"keep_alive": "10m"}, ask("q"), `}],"keep_alive":"10m","stream":false}`},
		"seconds":           {map[string]any{"keep_alive": -1}, ask("q"), `}],"keep_alive":-1,"stream":false}`},
		"seconds of a file": {map[string]any{"keep_alive": json.Number("30")}, ask("q"), `}],"keep_alive":30,"stream":false}`},
		"seconds of JSON":   {map[string]any{"keep_alive": 30.0}, ask("q"), `}],"keep_alive":30,"stream":false}`},
		"parameters":        {map[string]any{"parameters": map[string]any{"num_ctx": 8192}}, ask("q"), `}],"options":{"num_ctx":8192},"stream":false}`},
		"body":              {map[string]any{"body": map[string]any{"truncate": false}}, ask("q"), `}],"truncate":false,"stream":false}`},
	}
	for name, c := range cases {
		if err := ollama.CheckOptions(c.options); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got, err := build(c.options, c.r)
		if err != nil || !strings.Contains(got, c.want) || !json.Valid([]byte(got)) {
			t.Errorf("%s: got %s, %v; want %s in it", name, got, err, c.want)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	parts := func(raw string) *provider.Request {
		return &provider.Request{Model: "m", Messages: []schemas.Message{{Role: "user", Parts: json.RawMessage(raw)}}}
	}
	schema := ask("q")
	schema.Schema = &provider.Schema{Bytes: json.RawMessage(`[]`)}
	for want, r := range map[string]*provider.Request{
		"messages[0].content[0].type is not":                 parts(`[{"type":"input_audio"}]`),
		"messages[0].content[1] is an address":               parts(`[{"type":"text","text":""},{"type":"image_url","image_url":{"url":"https://h/x"}}]`),
		"messages[0].content[0] is no image":                 parts(`[{"type":"file","file":{"file_data":"data:application/pdf;base64,AA"}}]`),
		"schema cannot go out: at the root: the schema is n": schema,
		"model is empty": {},
	} {
		if got, err := build(nil, r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %s, %v; want an error with %q", got, err, want)
		}
	}
	for name, v := range map[string]any{"body": map[string]any{"x": math.NaN()}, "parameters": map[string]any{"x": math.NaN()}, "keep_alive": true} {
		if got, err := build(map[string]any{name: v}, ask("q")); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("option %s made %s, %v", name, got, err)
		}
	}
}

func TestCheckOptions(t *testing.T) {
	err := ollama.CheckOptions(map[string]any{"session": "x", "keep_alive": "long", "think": true, "body": map[string]any{"stream": true},
		"parameters": map[string]any{"temperature": 1}})
	for _, want := range []string{"options.session: dialect ollama has no such option; it has keep_alive,", "options.keep_alive: must be a duration such as 10m",
		"options.think: must be one of effort, never, always", "options.body: stream is a member", "options.parameters: temperature is a member"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	for _, v := range []any{1.5, nil, true, "", json.Number("1.5")} {
		if ollama.CheckOptions(map[string]any{"keep_alive": v}) == nil {
			t.Errorf("keep_alive %v was accepted", v)
		}
	}
	for _, o := range ollama.Options() {
		if o.Doc == "" || strings.Contains(o.Doc, "\n") {
			t.Errorf("option %s has no one-line doc", o.Name)
		}
	}
}
