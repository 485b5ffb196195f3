package gemini_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"emend/engine/provider"
	"emend/engine/provider/gemini"
	"emend/schemas"
)

func build(options map[string]any, r *provider.Request) (string, error) {
	w, err := gemini.New().Build(&provider.Endpoint{Backend: "b", Options: options}, r)
	if err != nil {
		return "", err
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
	want := `{"contents":[{"role":"user","parts":[{"text":"<a> & \"b\""}]}]}`
	if err != nil || got != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

func TestBuildSendsZeroes(t *testing.T) {
	r := ask("q")
	r.Settings = schemas.Settings{Temperature: new(0.0), TopP: new(1.0), MaxOutputTokens: new(int64(0)), Seed: new(int64(-3)), Stop: []string{"a"},
		FrequencyPenalty: new(-0.5), PresencePenalty: new(1e-9), ReasoningEffort: new("low")}
	got, err := build(nil, r)
	want := `{"contents":[{"role":"user","parts":[{"text":"q"}]}],"generationConfig":{"temperature":0,"topP":1,"maxOutputTokens":0,"seed":-3,"stopSequences":["a"],` +
		`"frequencyPenalty":-0.5,"presencePenalty":1e-09,"thinkingConfig":{"thinkingLevel":"LOW"}}}`
	if err != nil || got != want || !json.Valid([]byte(got)) {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

func TestBuildMessages(t *testing.T) {
	r := &provider.Request{Model: "m", Messages: []schemas.Message{{Role: "system", Content: "s"}, {Role: "user", Content: "q"},
		{Role: "assistant", Content: "a"}, {Role: "developer", Content: "d"}, {Role: "user", Parts: json.RawMessage(
			`[{"type":"text","text":"<p>"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},{"type":"image_url","image_url":{"url":"https://h/x"}}]`)}}}
	got, err := build(nil, r)
	want := `{"systemInstruction":{"parts":[{"text":"s"},{"text":"d"}]},"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"a"}]},` +
		`{"role":"user","parts":[{"text":"<p>"},{"inlineData":{"mimeType":"image/png","data":"AA=="}},{"fileData":{"fileUri":"https://h/x"}}]}]}`
	if err != nil || got != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

func TestBuildSchema(t *testing.T) {
	r := ask("q")
	r.Schema = &provider.Schema{Name: "out", Bytes: json.RawMessage(`{"type":"object","properties":{"z":{"type":"string","minLength":2},"a":{}},"required":["z"]}`)}
	got, err := build(nil, r)
	want := `{"contents":[{"role":"user","parts":[{"text":"q"}]}],"generationConfig":{"responseMimeType":"application/json",` +
		`"responseJsonSchema":{"type":"object","properties":{"z":{"type":"string"},"a":{}},"required":["z"]}}}`
	if err != nil || got != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

func TestBuildPath(t *testing.T) {
	for model, want := range map[string]string{
		"gemini-2.5-flash": "/models/gemini-2.5-flash:generateContent", "models/m": "/models/m:generateContent",
		"tunedModels/my model": "/tunedModels/my%20model:generateContent", "m?key=x": "/models/m%3Fkey=x:generateContent",
		"projects/p/endpoints/7": "/projects/p/endpoints/7:generateContent", "../x": "", "a//b": "", "a/./b": "", "/a": "",
	} {
		r := ask("q")
		r.Model = model
		w, err := gemini.New().Build(&provider.Endpoint{}, r)
		switch {
		case want == "":
			if err == nil || !strings.Contains(err.Error(), "no resource name") {
				t.Errorf("%s: got %+v, %v", model, w, err)
			}
		case err != nil || w.Path != want || w.KeyHeader != "X-Goog-Api-Key":
			t.Errorf("%s: got %+v, %v", model, w, err)
		}
	}
}

func TestBuildOptions(t *testing.T) {
	r := ask("q")
	r.Settings.ReasoningEffort = new("medium")
	none, xhigh := ask("q"), ask("q")
	none.Settings.ReasoningEffort, xhigh.Settings.ReasoningEffort = new("none"), new("xhigh")
	cases := map[string]struct {
		options map[string]any
		r       *provider.Request
		want    string
	}{
		"level":    {nil, r, `"thinkingConfig":{"thinkingLevel":"MEDIUM"}`},
		"highest":  {nil, xhigh, `"thinkingConfig":{"thinkingLevel":"HIGH"}`},
		"budget":   {map[string]any{"thinking": "budget"}, r, `"thinkingConfig":{"thinkingBudget":8192}`},
		"off":      {nil, none, `"thinkingConfig":{"thinkingBudget":0}`},
		"not sent": {map[string]any{"thinking": "none"}, r, `"generationConfig":{}`},
		"cached":   {map[string]any{"cached_content": "cachedContents/abc"}, r, `,"cachedContent":"cachedContents/abc"`},
		"body":     {map[string]any{"body": map[string]any{"safetySettings": []any{map[string]any{"category": "C"}}}}, r, `,"safetySettings":[{"category":"C"}]}`},
		"config":   {map[string]any{"generation_config": map[string]any{"topK": 40}}, ask("q"), `"generationConfig":{"topK":40}}`},
	}
	for name, c := range cases {
		if err := gemini.CheckOptions(c.options); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got, err := build(c.options, c.r)
		if err != nil || !strings.Contains(got, c.want) || !json.Valid([]byte(got)) {
			t.Errorf("%s: got %s, %v; want %s in it", name, got, err, c.want)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	odd := ask("q")
	odd.Messages[0].Parts = json.RawMessage(`[{"type":"text","text":"x"},{"type":"input_audio"}]`)
	system := ask("q")
	system.Messages = append([]schemas.Message{{Role: "system", Parts: json.RawMessage(`[7]`)}}, system.Messages...)
	alone, schema := ask("q"), ask("q")
	alone.Messages[0].Role = "developer"
	schema.Schema = &provider.Schema{Bytes: json.RawMessage(`[]`)}
	for want, r := range map[string]*provider.Request{
		"messages[0].content[1].type is not": odd,
		"messages[0].content[0].type":        system,
		"only system messages":               alone,
		"schema cannot go out: at the root":  schema,
		"model is empty":                     {},
	} {
		if got, err := build(nil, r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %s, %v; want an error with %q", got, err, want)
		}
	}
	for _, name := range []string{"body", "generation_config"} {
		if got, err := build(map[string]any{name: map[string]any{"x": math.NaN()}}, ask("q")); err == nil {
			t.Errorf("%s without a JSON form became %s", name, got)
		}
	}
}

func TestCheckOptions(t *testing.T) {
	err := gemini.CheckOptions(map[string]any{"session": "x", "cached_content": "", "thinking": "much", "body": map[string]any{"contents": 1},
		"generation_config": map[string]any{"responseJsonSchema": 1}})
	for _, want := range []string{"options.session: dialect gemini has no such option; it has thinking,", "options.cached_content: must be the name",
		"options.thinking: must be one of level, budget, none", "options.body: contents is a member", "options.generation_config: responseJsonSchema is a member"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	for _, o := range gemini.Options() {
		if o.Doc == "" || strings.Contains(o.Doc, "\n") {
			t.Errorf("option %s has no one-line doc", o.Name)
		}
	}
}
