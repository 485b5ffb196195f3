package schemas

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const full = `{"prompt": "extract-invoice@2", "inputs": {"document": "a \"b\" [}", "lines": [1, 2], "none": null, "deep": {"x": {"y": [[]]}}},
 "profile": "fast", "settings": {"temperature": 0, "max_output_tokens": 800, "stop": ["a"], "seed": -7, "reasoning_effort": "low"},
 "output": {"mode": "json_schema", "schema": {"b": 1, "a": 2}, "repair_attempts": 1},
 "transient_retries": 0, "timeout_s": 0.5, "deadline": "2026-12-01T00:00:00Z",
 "session_id": "s-9", "attempts": "full", "append_messages": [{"role": "user", "content": "hi", "cache": "5m"}, {"role": "user", "content": [{"type": "text", "n": 1.50}]}],
 "metadata": {"tenant": "a", "gone": null}}`

func TestDecodeRequest(t *testing.T) {
	r, err := DecodeRequest([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	if r.Prompt != "extract-invoice@2" || string(r.Inputs["lines"]) != "[1, 2]" || string(r.Inputs["none"]) != "null" ||
		*r.Settings.Temperature != 0 || *r.Settings.MaxOutputTokens != 800 || r.Settings.TopP != nil || *r.Settings.Seed != -7 ||
		string(r.Output.Schema) != `{"b": 1, "a": 2}` || *r.TransientRetries != 0 || r.Attempts != AttemptsFull || *r.TimeoutS != 0.5 || r.Deadline.Year() != 2026 ||
		r.AppendMessages[0].Cache != "5m" || string(r.AppendMessages[1].Parts) != `[{"type": "text", "n": 1.50}]` {
		t.Errorf("decoded %+v", r)
	}
	if _, there := r.Metadata["gone"]; there || r.Metadata["tenant"] != "a" {
		t.Errorf("metadata %v", r.Metadata)
	}
}

func TestNullEqualsAbsent(t *testing.T) {
	nulls := `{"prompt":null,"inputs":null,"messages":null,"append_messages":null,"profile":null,"settings":null,"output":null,
	"transient_retries":null,"timeout_s":null,"deadline":null,"session_id":null,"attempts":null,"metadata":null}`
	for _, body := range []string{nulls, `{}`, " \t\r\n{ } \n"} {
		if r, err := DecodeRequest([]byte(body)); err != nil || !reflect.DeepEqual(r, Request{}) {
			t.Errorf("%s: %+v, %v", body, r, err)
		}
	}
	r, err := DecodeRequest([]byte(`{"output":{"mode":"json","schema":null,"repair_attempts":null},"settings":{"seed":null,"stop":null}}`))
	if err != nil || r.Output.Schema != nil || r.Settings.Seed != nil || r.Settings.Stop != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{``, "the message is empty; a JSON object is expected"},
		{"  ", "the message is empty; a JSON object is expected"},
		{`[]`, "the message is an array; a JSON object is expected"},
		{`null`, "the message is null; a JSON object is expected"},
		{`"secret"`, "the message is a string; a JSON object is expected"},
		{`{"a"`, "the message is no valid JSON: syntax error at byte 4 of 4"},
		{`{"prompt": secret}`, "the message is no valid JSON: syntax error at byte 12 of 18"},
		{`{} {}`, "the message goes on behind its JSON value, at byte 2; exactly one value is expected"},
		{"{\"prompt\":\"\xff\"}", "the message is no valid UTF-8"},
		{strings.Repeat("[", 201) + strings.Repeat("]", 201), "the message is nested more than 200 deep"},
		{`{"prompt": 5}`, "prompt: expected a string, got a number"},
		{`{"inputs": []}`, "inputs: expected an object, got an array"},
		{`{"messages": {}}`, "messages: expected an array, got an object"},
		{`{"messages": [5, null]}`, "messages[0]: expected an object, got a number; messages[1]: expected an object, got null"},
		{`{"messages": [{"role": "user"}]}`, `messages[0].content: expected a string, or an array of objects each with a string "type"`},
		{`{"messages": [{"role": 1, "content": 1}]}`, "messages[0].role: expected a string, got a number"},
		{`{"append_messages": [{"role": "user", "content": [{}]}]}`, `append_messages[0].content: expected a string, or an array of objects each with a string "type"`},
		{`{"messages": [{"rol": "user", "content": "secret"}]}`, "messages[0].rol: unknown field; did you mean role?"},
		{`{"settings": {"temprature": 1, "Seed": 2}}`, "settings.temprature: unknown field; did you mean temperature?; settings.Seed: unknown field; did you mean seed?"},
		{`{"output": {"mode": true, "strict": "secret"}}`, "output.mode: expected a string, got a boolean; output.strict: unknown field"},
		{`{"temperature": 0.2, "PROMPT": "secret"}`, "temperature: unknown field; did you mean settings.temperature?; PROMPT: unknown field; did you mean prompt?"},
		{`{"prompt": "a", "prompt": "b"}`, "prompt: given more than once"},
		{`{"prompt": "a", "\u0070rompt": "b"}`, "prompt: given more than once"},
		{`{"metadata": {"a": "x", "a": "y"}, "inputs": {"i": 1, "i": 2}}`, "metadata.a: given more than once; inputs.i: given more than once"},
		{`{"metadata": {"a b": 5}}`, `metadata["a b"]: expected a string, got a number`},
		{`{"attempt": "full"}`, `attempt: unknown field; did you mean attempts?`},
		{`{"attempts": true}`, "attempts: expected a string, got a boolean"},
		{`{"transient_retries": 1.5}`, "transient_retries: expected a whole number of at most 64 bits"},
		{`{"transient_retries": "1"}`, "transient_retries: expected a whole number of at most 64 bits, got a string"},
		{`{"settings": {"seed": 99999999999999999999}}`, "settings.seed: expected a whole number of at most 64 bits"},
		{`{"timeout_s": 1e999}`, "timeout_s: expected a number that a double can hold"},
		{`{"deadline": "secret"}`, "deadline: expected an RFC 3339 time such as 2026-12-01T00:00:00Z"},
		{`{"settings": {"stop": ["a", null]}}`, "settings.stop[1]: expected a string, got null"},
		{`{"x\u001b[31m": 1}`, `["x\x1b[31m"]: unknown field`},
	} {
		_, err := DecodeRequest([]byte(c.body))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.body, err, c.want)
		} else if _, ok := errors.AsType[*DecodeError](err); !ok || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %T %v", c.body, err, err)
		}
	}
}

func TestManyProblemsAreBounded(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(`{"x":1`)
	for i := range 1000 {
		b.WriteString(`,"` + strings.Repeat("k", i) + `_":1`)
	}
	b.WriteString("}")
	_, err := DecodeRequest(b.Bytes())
	de, ok := errors.AsType[*DecodeError](err)
	if !ok || len(de.Problems) != maxProblems+1 || de.Problems[maxProblems].Message != "and 951 more" || len(err.Error()) > 20_000 {
		t.Errorf("%d problems, %d bytes", len(de.Problems), len(err.Error()))
	}
}

func TestTooManyBytes(t *testing.T) {
	if _, err := DecodeRequest(make([]byte, MaxBytes+1)); err == nil || !strings.Contains(err.Error(), "allowed are 67108864") {
		t.Error(err)
	}
}

func TestDecodeRunRef(t *testing.T) {
	if r, err := DecodeRunRef([]byte(`{"queue":"q","id":"1"}`)); err != nil || r != (RunRef{"q", "1"}) {
		t.Error(r, err)
	}
	if _, err := DecodeRunRef([]byte(`{"queue":"q","run_id":"1"}`)); err == nil || !strings.Contains(err.Error(), "run_id: unknown field") {
		t.Error(err)
	}
}

func TestFingerprint(t *testing.T) {
	const want = "24efcd6b0bd3057c756708c443164639263ccffe8be04d9d595fa941d3f25da3" // printf 'openai\0{}' | sha256sum
	if got := Fingerprint("openai", []byte("{}")); got != want || got == Fingerprint("openai{", []byte("}")) {
		t.Error(got)
	}
}

func TestDecodedBytesAreCopies(t *testing.T) {
	body := []byte(full)
	r, err := DecodeRequest(body)
	if err != nil {
		t.Fatal(err)
	}
	clear(body)
	if string(r.Inputs["lines"]) != "[1, 2]" || string(r.Output.Schema) != `{"b": 1, "a": 2}` {
		t.Error("the request shares the bytes of its body")
	}
}

// FuzzDecodeRequest: nothing panics; what is accepted means the same when it is written and read again; a refusal is a
// DecodeError with problems.
func FuzzDecodeRequest(f *testing.F) {
	for _, s := range []string{full, `{}`, `{"messages":[{"role":"user","content":"x"}]}`, `{"a":1,"a":2}`, `{"deadline":"0000-01-01T00:00:00+23:59"}`,
		`{"inputs":{"a":"\ud800"}}`, `{"metadata":{"\ud800":"\udfff"}}`, `{"settings":{"stop":[]}}`, `[`, `{"timeout_s":-0}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := DecodeRequest(body)
		if err != nil {
			if de, ok := errors.AsType[*DecodeError](err); !ok || len(de.Problems) == 0 {
				t.Fatalf("refused with %T %v", err, err)
			}
			return
		}
		once, err := Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeRequest(once)
		if err != nil {
			t.Fatalf("%s\nwas written as\n%s\n%v", body, once, err)
		}
		twice, err := Marshal(again)
		if err != nil || !slices.Equal(once, twice) {
			t.Fatalf("written as\n%s\nthen as\n%s\n%v", once, twice, err)
		}
	})
}

func BenchmarkDecodeRequest(b *testing.B) {
	b.SetBytes(int64(len(full)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeRequest([]byte(full)); err != nil {
			b.Fatal(err)
		}
	}
}
