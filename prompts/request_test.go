package prompts

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"emend/schemas"
)

func TestRefusedRequests(t *testing.T) {
	s := good(t)
	const doc = `"prompt":"extract-invoice","inputs":{"document":"x"}`
	const inline = `"messages":[{"role":"user","content":"x"}],"profile":"fast"`
	team := Origin{Queue: "team-a", Backend: "openai"}
	for _, c := range []struct {
		body  string
		from  Origin
		class Class
		want  []string
	}{
		{
			`{}`,
			carried,
			Malformed,
			[]string{"give prompt, or messages", "profile: is missing"},
		},
		{
			`{"prompt":"extract-invoice","inputs":{"document":"x"},"messages":[]}`,
			carried,
			Malformed,
			[]string{"messages: stand beside prompt"},
		},
		{
			`{"messages":[],"profile":"fast"}`,
			carried,
			Malformed,
			[]string{"messages: must hold at least one"},
		},
		{
			`{"messages":[{"role":"user","content":"x"}]}`,
			carried,
			Malformed,
			[]string{"profile: is missing: neither the prompt names one nor is there just one to choose (there are 2)"},
		},
		{
			`{"messages":[{"role":"user","content":"x"}]}`,
			Origin{Library: true},
			Malformed,
			[]string{"profile: is missing"},
		},
		{
			`{"prompt":"translate","inputs":{"text":"x"}}`,
			carried,
			Malformed,
			[]string{"profile: is missing"},
		},
		{
			`{"messages":[{"role":"user","content":"x"}],"inputs":{"a":1},"profile":"fast"}`,
			carried,
			Malformed,
			[]string{"inputs: belong to a prompt"},
		},
		{
			`{"prompt":"extract invoice"}`,
			carried,
			Malformed,
			[]string{"prompt: must be id or id@version"},
		},
		{
			`{"prompt":"extract-invoice@x"}`,
			carried,
			Malformed,
			[]string{"prompt: must be id or id@version"},
		},
		{
			`{"prompt":"extract-invoice@0"}`,
			carried,
			Malformed,
			[]string{"prompt: must be id or id@version"},
		},
		{
			`{"prompt":"extract-invoic"}`,
			carried,
			Unknown,
			[]string{`prompt: there is no prompt "extract-invoic"; did you mean extract-invoice?`},
		},
		{
			`{"prompt":"zzz","profile":"zzz"}`,
			carried,
			Unknown,
			[]string{
				`profile: there is no profile "zzz"`,
				`prompt: there is no prompt "zzz"`,
			},
		},
		{
			`{"prompt":"extract-invoice@3"}`,
			carried,
			Unknown,
			[]string{`prompt: prompt extract-invoice has no version "3"; the newest is 2`},
		},
		{
			`{` + doc + `,"profile":"fasd"}`,
			carried,
			Unknown,
			[]string{`profile: there is no profile "fasd"; did you mean fast?`},
		},
		{
			`{` + doc + `}`,
			Origin{Queue: "new", Backend: "openai"},
			Unknown,
			[]string{`there is no queue "new"`},
		},
		{
			`{"messages":[{"role":"user","content":"x"}]}`,
			Origin{Queue: "default", Backend: "new"},
			Unknown,
			[]string{`there is no backend "new"`},
		},
		{
			`{` + doc + `,"profile":"spread"}`,
			carried,
			Malformed,
			[]string{`profile: profile "spread" belongs to backend "router", but the request came for backend "openai"`},
		},
		{
			`{` + doc + `}`,
			Origin{Queue: "default", Backend: "router"},
			Malformed,
			[]string{`profile: profile "fast" belongs to backend "openai", but the request came for backend "router"`},
		},
		{
			`{"prompt":"extract-invoice"}`,
			carried,
			Malformed,
			[]string{"inputs.document: is missing: the prompt needs it"},
		},
		{
			`{"prompt":"extract-invoice","inputs":{"document":"x","documnt":1,"a b":2}}`,
			carried,
			Malformed,
			[]string{
				`inputs."a b": is no input of prompt extract-invoice@2`, "inputs.documnt: is no input of prompt extract-invoice@2; did you mean document?"},
		},
		{
			`{"prompt":"extract-invoice","inputs":{"document":"` + strings.Repeat("x", 200<<10+1) + `"}}`,
			carried,
			Malformed,
			[]string{"inputs.document: has 204801 bytes, allowed are 200KiB (204800)"},
		},
		{
			`{"prompt":"extract-invoice","inputs":{"document":"x","lines":"canary"}}`,
			carried,
			Malformed,
			[]string{"inputs.lines: must be an array or an object"},
		},
		{
			`{"messages":[{"role":"tool","content":"x"},{"role":"user","content":"x","cache":"soon"}],"append_messages":[{"role":"","content":"x"}],"profile":"fast"}`,
			carried,
			Malformed,
			[]string{
				"append_messages[0].role: must be one of developer, system, user, assistant", "messages[0].role: must be one of", "messages[1].cache: must be a duration"},
		},
		{
			`{` + inline + `,"output":{}}`,
			carried,
			Malformed,
			[]string{"output.mode: is missing; use one of none, basic, json, json_schema"},
		},
		{
			`{` + inline + `,"output":{"mode":"text"}}`,
			carried,
			Malformed,
			[]string{"output.mode: must be one of none, basic, json, json_schema"},
		},
		{
			`{` + inline + `,"output":{"mode":"json_schema"}}`,
			carried,
			Malformed,
			[]string{"output.schema: is missing"},
		},
		{
			`{` + inline + `,"output":{"mode":"json","schema":{}}}`,
			carried,
			Malformed,
			[]string{"output.schema: has no effect in mode json"},
		},
		{
			`{` + inline + `,"output":{"mode":"none","repair_attempts":1}}`,
			carried,
			Malformed,
			[]string{"output.repair_attempts: is 1, but mode none"},
		},
		{
			`{` + inline + `,"output":{"mode":"basic","repair_attempts":4}}`,
			carried,
			Malformed,
			[]string{"output.repair_attempts: is 4; it must be"},
		},
		{
			`{` + inline + `,"output":{"mode":"basic","repair_attempts":-1}}`,
			carried,
			Malformed,
			[]string{"output.repair_attempts: is -1; it must be"},
		},
		{
			`{` + inline + `,"output":{"mode":"json","duplicate_keys":"keep","on_exhausted":"wait"}}`,
			carried,
			Malformed,
			[]string{
				"output.duplicate_keys: must be one of", "output.on_exhausted: must be one of return, escalate, fail"},
		},
		{
			`{` + inline + `,"output":{"mode":"json_schema","schema":{"type":"strin"}}}`,
			carried,
			Malformed,
			[]string{"output.schema: schema at"},
		},
		{
			`{` + inline + `,"settings":{"temperature":2.5,"top_p":-1,"max_output_tokens":0,"stop":["",` + strings.Repeat(`"a",`, 15) + `"b"],"frequency_penalty":3,"presence_penalty":-3,"reasoning_effort":"x"}}`,
			carried,
			Malformed,
			[]string{
				"settings.frequency_penalty: is 3",
				"settings.max_output_tokens: is 0",
				"settings.presence_penalty: is -3",
				"settings.reasoning_effort: must be one of",
				"settings.stop: has 17 entries; allowed are 0 to 16",
				"settings.stop[0]: must not be empty",
				"settings.temperature: is 2.5",
				"settings.top_p: is -1",
			},
		},
		{
			`{` + inline + `,"transient_retries":11}`,
			carried,
			Malformed,
			[]string{"transient_retries: is 11"},
		},
		{
			`{` + inline + `,"transient_retries":-1,"timeout_s":0}`,
			carried,
			Malformed,
			[]string{"timeout_s: must be above 0", "transient_retries: is -1"},
		},
		{
			`{` + inline + `,"timeout_s":2592001}`,
			carried,
			Malformed,
			[]string{"timeout_s: must be above 0 and at most 2592000 (30 days)"},
		},
		{
			`{` + inline + `,"session_id":"` + strings.Repeat("s", 257) + `"}`,
			carried,
			Malformed,
			[]string{"session_id: has 257 bytes, allowed are 256"},
		},
		{
			`{` + inline + `,"session_id":"a\nb"}`,
			carried,
			Malformed,
			[]string{"session_id: must be text without control characters"},
		},
		{
			`{` + inline + `,"attempts":"ful"}`,
			carried,
			Malformed,
			[]string{"attempts: must be one of summary, none, full; did you mean full?"},
		},
		{
			`{` + doc + `,"attempts":"full"}`,
			team,
			Forbidden,
			[]string{"attempts: queue team-a does not let requests ask for full (its allow list lacks attempts)"},
		},
		{
			`{` + inline + `,"metadata":{"":"a","` + strings.Repeat("k", 65) + `":"b","c":"` + strings.Repeat("v", 513) + `"}}`,
			carried,
			Malformed,
			[]string{
				"metadata: has a key of 0 bytes", "metadata: has a key of 65 bytes", "metadata.c: has 513 bytes; allowed are 512"},
		},
		{
			`{` + doc + `,"profile":"slow","output":{"mode":"none"},"append_messages":[{"role":"user","content":"x"}],"settings":{}}`,
			team,
			Forbidden,
			[]string{
				"append_messages: queue team-a does not let requests set it (its allow list lacks messages)", "output: queue team-a", "profile: queue team-a"},
		},
		{
			`{` + inline + `}`,
			team,
			Forbidden,
			[]string{"messages: queue team-a", "profile: queue team-a"},
		},
		{
			`{` + doc + `,"settings":{}}`,
			Origin{Queue: "closed", Backend: "openai"},
			Forbidden,
			[]string{"settings: queue closed"},
		},
		{
			`{"prompt":"zzz","output":{"mode":"none"}}`,
			team,
			Forbidden,
			[]string{"output: queue team-a", "prompt: there is no prompt"},
		},
		{
			`{"prompt":"zzz","output":{"mode":"x"},"timeout_s":-1}`,
			team,
			Malformed,
			[]string{
				"output.mode: must be",
				"timeout_s: must be",
				"output: queue team-a",
				"prompt: there is no",
			},
		},
	} {
		p, err := planned(s, c.body, c.from)
		refused, ok := errors.AsType[*RequestError](err)
		if !ok || p != nil || refused.Class != c.class {
			t.Errorf("%.200s: %v", c.body, err)
			continue
		}
		var got []string
		for _, problem := range refused.Problems {
			got = append(got, problem.String())
		}
		sameProblems(t, fmt.Sprintf("%.200s", c.body), got, c.want)
		checkClass(t, err, c.class)
	}
}

func checkClass(t *testing.T, err error, class Class) {
	t.Helper()
	for of, target := range map[Class]error{
		Malformed: ErrMalformed,
		Unknown:   ErrUnknown,
		Forbidden: ErrForbidden,
	} {
		if errors.Is(err, target) != (of == class) {
			t.Errorf("%v: errors.Is %v", err, target)
		}
	}
	if text := err.Error(); !strings.HasPrefix(text, string(class)+" request: ") || strings.Contains(text, "canary") || strings.Contains(text, "\n") {
		t.Errorf("the error reads %q", text)
	}
}

// What only a program can get wrong, since the wire's decoder refuses it.
func TestRefusedPrograms(t *testing.T) {
	s, library := good(t), Origin{Library: true}
	many := make([]schemas.Message, MaxMessages+1)
	for i := range many {
		many[i].Role = "user"
	}
	metadata := map[string]string{}
	for i := range MaxMetadata + 1 {
		metadata[fmt.Sprint(i)] = ""
	}
	inf, nan := math.Inf(1), math.NaN()
	message := func(m schemas.Message) schemas.Request {
		m.Role = "user"
		return schemas.Request{Messages: []schemas.Message{m}, Profile: "fast"}
	}
	for _, c := range []struct {
		req  schemas.Request
		want string
	}{
		{
			message(schemas.Message{
				Content: "a",
				Parts:   json.RawMessage(`[{"type":"t"}]`),
			}),
			"messages[0].content: must be a text or parts, not both",
		},
		{
			message(schemas.Message{Parts: json.RawMessage(`{`)}),
			"messages[0].content: must be an array of objects",
		},
		{
			message(schemas.Message{Parts: json.RawMessage(`[]`)}),
			"messages[0].content: must be an array of objects",
		},
		{
			message(schemas.Message{Parts: json.RawMessage(`[{}]`)}),
			"messages[0].content: must be an array of objects",
		},
		{
			message(schemas.Message{Content: "\xff"}),
			"messages[0].content: is no valid UTF-8",
		},
		{
			schemas.Request{Messages: many, Profile: "fast"},
			"messages: has 1001 messages, allowed are 1000",
		},
		{
			schemas.Request{
				Prompt: "extract-invoice@1",
				Inputs: map[string]json.RawMessage{"document": json.RawMessage("{canary")},
			},
			"inputs.document: is no valid JSON value",
		},
		{
			schemas.Request{
				Prompt: "extract-invoice@1",
				Inputs: map[string]json.RawMessage{"document": nil},
			},
			"inputs.document: is no valid JSON value",
		},
		{
			schemas.Request{
				Prompt: "extract-invoice@1",
				Inputs: map[string]json.RawMessage{"document": json.RawMessage("\"\xff\"")},
			},
			"inputs.document: is no valid UTF-8",
		},
		{
			schemas.Request{
				Prompt: "extract-invoice@1",
				Inputs: map[string]json.RawMessage{"document": json.RawMessage(`"\ud800"`)},
			},
			"inputs.document: holds an escaped half of a surrogate pair",
		},
		{
			schemas.Request{
				Prompt:   "extract-invoice@1",
				Inputs:   map[string]json.RawMessage{"document": json.RawMessage(`""`)},
				TimeoutS: &inf,
			},
			"timeout_s: must be above 0",
		},
		{
			schemas.Request{
				Prompt:   "extract-invoice@1",
				Inputs:   map[string]json.RawMessage{"document": json.RawMessage(`""`)},
				Settings: &schemas.Settings{TopP: &nan},
			},
			"settings.top_p: is NaN",
		},
		{
			schemas.Request{
				Prompt:   "extract-invoice@1",
				Inputs:   map[string]json.RawMessage{"document": json.RawMessage(`""`)},
				Metadata: metadata,
			},
			"metadata: has 17 entries",
		},
		{
			schemas.Request{
				Prompt:   "extract-invoice@1",
				Inputs:   map[string]json.RawMessage{"document": json.RawMessage(`""`)},
				Metadata: map[string]string{"a": "\xff"},
			},
			"metadata.a: has 1 bytes",
		},
	} {
		_, err := s.Plan(c.req, library)
		if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%v; want %s", err, c.want)
		}
	}
}

func TestNativeRequire(t *testing.T) {
	config := strings.Replace(minimal, "'http://h/v1'", "'http://h/v1', native: require", 1)
	loose := `{mode: json_schema, schema: {type: object}}`
	_, err := LoadFS(folder{
		"emend.yaml":       config,
		"prompts/x@1.yaml": "profile: p\nmessages: [{user: hi}]\noutput: " + loose,
	}.fs())
	sameProblems(t, loose, problemsOf(t, err), []string{"prompts/x@1.yaml:3: output.schema: backend o has native: require, but the schema goes out in response_format with strict: false, a hint that the provider does not enforce ("})
	s, err := loadConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	for schema, ok := range map[string]bool{
		`{"type":"object","properties":{},"additionalProperties":false}`: true,
		`{"type":"object"}`: false,
		`true`:              false,
	} {
		_, err := planned(s, `{"messages":[{"role":"user","content":"x"}],"output":{"mode":"json_schema","schema":`+schema+`}}`, Origin{
			Queue:   "default",
			Backend: "o",
		})
		if (err == nil) != ok || !ok && !strings.Contains(err.Error(), "output.schema: backend o has native: require") {
			t.Errorf("%s: %v", schema, err)
		}
	}
}
