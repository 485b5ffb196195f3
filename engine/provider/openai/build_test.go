package openai_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"emend/engine/provider"
	"emend/engine/provider/openai"
	"emend/schemas"
)

func build(options map[string]any, r *provider.Request) (string, error) {
	w, err := openai.New().Build(&provider.Endpoint{Backend: "b", Options: options}, r)
	if err != nil {
		return "", err
	}
	return string(w.Body), nil
}

func ask(text string) *provider.Request {
	return &provider.Request{Model: "m", Messages: []schemas.Message{{Role: "user", Content: text}}}
}

func TestBuildLeavesOutWhatIsNotSet(t *testing.T) {
	got, err := build(nil, ask(`<a> & "b"`))
	want := `{"model":"m","messages":[{"role":"user","content":"<a> & \"b\""}],"stream":false}`
	if err != nil || got != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

func TestBuildSendsZeroes(t *testing.T) {
	r := ask("q")
	r.Settings = schemas.Settings{Temperature: new(0.0), TopP: new(1.0), MaxOutputTokens: new(int64(0)), Seed: new(int64(-3)), Stop: []string{},
		FrequencyPenalty: new(-0.5), PresencePenalty: new(1e-9), ReasoningEffort: new("none")}
	got, err := build(map[string]any{"max_tokens_field": "max_completion_tokens"}, r)
	want := `{"model":"m","messages":[{"role":"user","content":"q"}],"temperature":0,"top_p":1,"max_completion_tokens":0,"seed":-3,"stop":[],` +
		`"frequency_penalty":-0.5,"presence_penalty":1e-09,"reasoning_effort":"none","stream":false}`
	if err != nil || got != want || !json.Valid([]byte(got)) {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

func TestBuildKeepsPartsAndSchemaBytes(t *testing.T) {
	parts := `[ {"type" : "text", "text":"q"}, {"type":"image_url","image_url":{"url":"data:<>"}} ]`
	schema := "{ \"type\":\"object\",\n\t\"properties\":{\"z\":{\"type\":\"string\"},\"a\":{\"type\":\"string\"}},\"required\":[\"z\",\"a\"],\"additionalProperties\":false }"
	r := &provider.Request{Model: "m", Messages: []schemas.Message{{Role: "user", Parts: json.RawMessage(parts)}, {Role: "user", Content: "fix"}},
		Schema: &provider.Schema{Name: "inv_oice-1", Bytes: json.RawMessage(schema)}}
	got, err := build(nil, r)
	want := `{"model":"m","messages":[{"role":"user","content":` + parts + `},{"role":"user","content":"fix"}],` +
		`"response_format":{"type":"json_schema","json_schema":{"name":"inv_oice-1","strict":true,"schema":` + schema + `}},"stream":false}`
	if err != nil || got != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
	if got, _ = build(map[string]any{"strict": "never"}, r); !strings.Contains(got, `"strict":false`) {
		t.Errorf("strict: never sent %s", got)
	}
	r.Schema.Bytes = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)
	if got, _ = build(nil, r); !strings.Contains(got, `"strict":false,"schema":{"type":"object","properties":{"a":{"type":"string"}}}`) {
		t.Errorf("a schema outside the subset went out as %s", got)
	}
}

func TestBuildOptions(t *testing.T) {
	r := ask("q")
	r.Session = "s-9"
	r.Settings = schemas.Settings{Temperature: new(1.0), Seed: new(int64(7))}
	r.Messages = append([]schemas.Message{{Role: "developer", Content: "d", Cache: "5m"}}, r.Messages...)
	cases := map[string]struct {
		options map[string]any
		want    string
	}{
		"seed":               {nil, `,"seed":7,`},
		"seed of Mistral":    {map[string]any{"seed_field": "random_seed"}, `,"random_seed":7,`},
		"no seed":            {map[string]any{"seed_field": "none"}, `"temperature":1,"prompt_cache_key"`},
		"session by default": {nil, `"prompt_cache_key":"s-9"`},
		"session elsewhere":  {map[string]any{"session": "session_id"}, `"session_id":"s-9"`},
		"developer":          {nil, `{"role":"developer","content":"d"}`},
		"as system":          {map[string]any{"developer_role": "system"}, `{"role":"system","content":"d"}`},
		"cache":              {map[string]any{"cache": "cache_control"}, `{"role":"developer","content":[{"type":"text","text":"d","cache_control":{"type":"ephemeral","ttl":"5m"}}]}`},
		"body":               {map[string]any{"body": map[string]any{"z": 1, "provider": map[string]any{"require_parameters": true}}}, `,"provider":{"require_parameters":true},"z":1,"stream":false}`},
	}
	for name, c := range cases {
		if err := openai.CheckOptions(c.options); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got, err := build(c.options, r)
		if err != nil || !strings.Contains(got, c.want) || !json.Valid([]byte(got)) {
			t.Errorf("%s: got %s, %v; want %s in it", name, got, err, c.want)
		}
	}
	if got, _ := build(map[string]any{"session": "none"}, r); strings.Contains(got, "s-9") {
		t.Errorf("session: none sent %s", got)
	}
}

// TestALongSessionFitsItsField: a session id may have 256 bytes, OpenAI's own two fields take 64 characters.
func TestALongSessionFitsItsField(t *testing.T) {
	long := strings.Repeat("s", 65)
	const digest = "375a1f00946e079bda6820d494cf811c15f49604a484ae79e224398ef4db54c3"
	for field, ids := range map[string]map[string]string{
		"prompt_cache_key":  {strings.Repeat("é", 64): strings.Repeat("é", 64), long: digest},
		"safety_identifier": {long: digest},
		"session_id":        {long: long},
		"user":              {long: long},
	} {
		for id, want := range ids {
			r := ask("q")
			r.Session = id
			got, err := build(map[string]any{"session": field}, r)
			if err != nil || !strings.Contains(got, `"`+field+`":"`+want+`"`) {
				t.Errorf("%s of %d bytes: got %s, %v", field, len(id), got, err)
			}
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	user := []schemas.Message{{Role: "user", Content: "q"}}
	cases := map[string]*provider.Request{
		"model is empty":       {Messages: user},
		"messages is empty":    {Model: "m"},
		`messages[0].role`:     {Model: "m", Messages: []schemas.Message{{Role: "tool"}}},
		"messages[0].content":  {Model: "m", Messages: []schemas.Message{{Role: "user", Parts: json.RawMessage(`[{]`)}}},
		"array of parts":       {Model: "m", Messages: []schemas.Message{{Role: "user", Parts: json.RawMessage(`{}`)}}},
		"well-formed":          {Model: "m", Messages: []schemas.Message{{Role: "user", Parts: json.RawMessage("[\"\xff\"]")}}},
		"settings.top_p":       {Model: "m", Messages: user, Settings: schemas.Settings{TopP: new(math.NaN())}},
		"schema's name":        {Model: "m", Messages: user, Schema: &provider.Schema{Name: "a.b", Bytes: json.RawMessage(`{}`)}},
		"not an object in wel": {Model: "m", Messages: user, Schema: &provider.Schema{Name: "a", Bytes: json.RawMessage(`[]`)}},
	}
	for want, r := range cases {
		if got, err := build(nil, r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %s, %v; want an error with %q", got, err, want)
		}
	}
}

func TestCheckOptions(t *testing.T) {
	err := openai.CheckOptions(map[string]any{"sesion": "x", "cache": true, "strict": "always", "body": map[string]any{"model": "x"}})
	for _, want := range []string{"options.sesion: dialect openai has no such option; it has max_tokens_field, session,", "options.cache: must be one of none, cache_control",
		"options.strict: must be one of auto, never", "options.body: model is a member"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	for _, bad := range []any{"text", map[string]any{"f": math.Inf(1)}} {
		if openai.CheckOptions(map[string]any{"body": bad}) == nil {
			t.Errorf("body %v was accepted", bad)
		}
	}
	for _, o := range openai.Options() {
		if o.Doc == "" || strings.Contains(o.Doc, "\n") {
			t.Errorf("option %s has no one-line doc", o.Name)
		}
	}
}
