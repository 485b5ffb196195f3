package schemas

import (
	"strings"
	"testing"
)

func TestBatchLines(t *testing.T) {
	for name, c := range map[string]struct{ line, id, model, request string }{
		"own":            {`{"id":"a","inputs":{"x":1}}`, "a", "", `{"inputs":{"x":1}}`},
		"own, whole":     {` {"prompt":"p@2","metadata":{"k":"v"},"id":"a b"} `, "a b", "", `{"prompt":"p@2","metadata":{"k":"v"}}`},
		"own, id alone":  {`{"id":"a"}`, "a", "", `{}`},
		"openai":         {`{"custom_id":"r.1","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":5,"stop":"x"}}`, "r.1", "m", `{"messages":[{"role":"user","content":"hi"}],"settings":{"max_output_tokens":5,"stop":["x"]}}`},
		"openai, schema": {`{"custom_id":"r","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[],"max_tokens":5,"max_completion_tokens":6,"n":1,"stream":false,"stop":["a","b"],"response_format":{"type":"json_schema","json_schema":{"name":"s","strict":true,"schema":{"b":1, "a":2}}}}}`, "r", "m", `{"settings":{"max_output_tokens":6,"stop":["a","b"]},"output":{"mode":"json_schema","schema":{"b":1,"a":2}}}`},
		"openai, json":   {`{"custom_id":"r","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[],"response_format":{"type":"json_object"}}}`, "r", "m", `{"output":{"mode":"json"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			line, err := DecodeBatchLine([]byte(c.line))
			if err != nil {
				t.Fatal(err)
			}
			b, err := Marshal(line.Request)
			if err != nil || line.ID != c.id || line.Model != c.model || string(b) != c.request || line.OpenAI != strings.HasPrefix(name, "openai") {
				t.Errorf("%q %q %v %v: %s", line.ID, line.Model, line.OpenAI, err, b)
			}
		})
	}
}

// TestABatchLineOutlivesItsBuffer: lines are read into one buffer, and run long after the next was read.
func TestABatchLineOutlivesItsBuffer(t *testing.T) {
	for _, line := range []string{
		`{"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m", "messages": [{"role": "user", "content": "q"}],
			"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}}}`,
		`{"id": "1", "prompt": "p", "output": {"mode": "json_schema", "schema": {"type": "object"}}}`,
	} {
		text := []byte(line)
		l, err := DecodeBatchLine(text)
		if err != nil {
			t.Fatal(err)
		}
		clear(text)
		if string(l.Request.Output.Schema) != `{"type": "object"}` {
			t.Errorf("the schema is %q once the buffer has other content", l.Request.Output.Schema)
		}
	}
}

func TestBatchLinesThatAreRefused(t *testing.T) {
	const openai = `{"custom_id":"r","method":"POST","url":"/v1/chat/completions","body":`
	for line, want := range map[string]string{
		``:                                   "empty",
		`{"id":"a"`:                          "syntax error at byte",
		`[]`:                                 "a JSON object is expected",
		`{"inputs":{}}`:                      "id: must be given once, not 0 times",
		`{"id":"a","id":"b"}`:                "not 2 times",
		`{"id":7}`:                           "id: expected a string, got a number",
		`{"id":"a","input":{}}`:              "did you mean inputs?",
		`{"id":"a","inputs":1,"promt":"x"}`:  "inputs: expected an object, got a number; promt: unknown field",
		`{"id":"a","inputs":{},"inputs":{}}`: "given more than once",
		`{"custom_id":"r","body":{}}`:        "must be POST /v1/chat/completions",
		`{"custom_id":"r","method":"POST","url":"/v1/embeddings","body":{}}`:      "must be POST /v1/chat/completions",
		`{"custom_id":"","method":"POST","url":"/v1/chat/completions","body":{}}`: "custom_id: must not be empty",
		`{"custom_id":"r","method":"POST","url":"/v1/chat/completions"}`:          "body: is missing",
		openai + `{"tools":[]}}`:                                   "body.tools: unknown field",
		openai + `{"n":2}}`:                                        "body.n: a run has one answer",
		openai + `{"stream":true}}`:                                "body.stream",
		openai + `{"stop":[1]}}`:                                   "body.stop: expected a string or an array",
		openai + `{"response_format":{"type":"json_schema"}}}`:     "body.response_format: expected",
		openai + `{"response_format":{"type":"grammar"}}}`:         "body.response_format: expected",
		openai + `{"messages":[{"role":"user","tool_calls":[]}]}}`: "body.messages[0].tool_calls: unknown field",
	} {
		_, err := DecodeBatchLine([]byte(line))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v\nwant %s", line, err, want)
		}
	}
}

func FuzzBatchLine(f *testing.F) {
	f.Add([]byte(`{"id":"a","inputs":{"x":1}}`))
	f.Add([]byte(`{"custom_id":"r","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"hi"}],"stop":"x"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		line, err := DecodeBatchLine(text)
		if err != nil {
			return
		}
		if _, err := Marshal(line.Request); err != nil {
			t.Errorf("%q has no request: %v", text, err)
		}
	})
}
