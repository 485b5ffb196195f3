package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"emend/schemas"
	"emend/subjects"
)

// inline is a request with one message and more fields.
func inline(more string) string {
	return `{"profile": "fast", "messages": [{"role": "user", "content": "hello"}]` + more + `}`
}

func output(schema string) string {
	return inline(`, "output": {"mode": "json_schema", "schema": ` + schema + `}`)
}

// malformed are the bodies that can never be run, with a part of the message that their publisher gets.
var malformed = []struct{ name, body, says string }{
	{"no JSON", `{"prompt": `, "no valid JSON"},
	{"empty", ``, "empty"},
	{"two values", `{"prompt": "say"} {}`, "exactly one value"},
	{"an array", `[]`, "a JSON object is expected"},
	{"no UTF-8", "{\"prompt\": \"\xff\"}", "UTF-8"},
	{"too deep", `{"inputs": {"text": ` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}}`, "nested"},
	{"unknown fields, all of them with the nearest name", `{"promt": "say", "inptus": {}}`, "inptus"},
	{"wrong type", `{"prompt": 7}`, "prompt: expected a string"},
	{"a field twice", `{"prompt": "say", "prompt": "rate"}`, "more than once"},
	{"an endpoint in a request", inline(`, "url": "http://elsewhere"`), "url"},
	{"neither prompt nor messages", `{"inputs": {}}`, "give prompt, or messages"},
	{"prompt and messages", `{"prompt": "say", "inputs": {"text": "a"}, "messages": [{"role": "user", "content": "a"}]}`, "give one of the two"},
	{"no messages", `{"messages": [], "profile": "fast"}`, "at least one message"},
	{"a role that is none", `{"profile": "fast", "messages": [{"role": "wizard", "content": "a"}]}`, "messages[0].role"},
	{"prompt reference", `{"prompt": "../say"}`, "id or id@version"},
	{"profile of another backend", `{"prompt": "say", "inputs": {"text": "a"}, "profile": "elsewhere"}`, `belongs to backend`},
	{"prompt of another backend", `{"prompt": "away"}`, `belongs to backend`},
	{"missing input", `{"prompt": "say"}`, "inputs.text"},
	{"extra input", `{"prompt": "say", "inputs": {"text": "a", "txet": "b"}}`, "txet"},
	{"budget 4", inline(`, "output": {"mode": "json", "repair_attempts": 4}`), "repair_attempts: is 4"},
	{"budget -1", inline(`, "output": {"mode": "json", "repair_attempts": -1}`), "repair_attempts: is -1"},
	{"budget 1 with none", inline(`, "output": {"mode": "none", "repair_attempts": 1}`), "mode none accepts every answer"},
	{"unknown mode", inline(`, "output": {"mode": "yaml"}`), "output.mode"},
	{"no schema", inline(`, "output": {"mode": "json_schema"}`), "output.schema"},
	{"broken schema", output(`{"type": 7}`), "output.schema"},
	{"schema that is no schema", output(`"object"`), "output.schema"},
	{"unresolved reference", output(`{"$ref": "#/$defs/none"}`), "output.schema"},
	{"cyclic schema", output(`{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}`), "output.schema"},
	{"remote schema", output(`{"$ref": "http://127.0.0.1:1/schema.json"}`), "output.schema"},
	{"file schema", output(`{"$ref": "file:///etc/passwd"}`), "output.schema"},
	{"pattern that cannot run", output(`{"pattern": "(?<=a)b"}`), "output.schema"},
	{"retries out of range", inline(`, "transient_retries": 11`), "transient_retries"},
	{"negative timeout", inline(`, "timeout_s": -1`), "timeout_s"},
	{"timeout 0", inline(`, "timeout_s": 0`), "timeout_s"},
	{"deadline that is no time", inline(`, "deadline": "soon"`), "deadline"},
	{"setting out of range", inline(`, "settings": {"temperature": 99}`), "settings.temperature"},
	{"metadata value too large", inline(`, "metadata": {"k": "` + strings.Repeat("x", 513) + `"}`), "metadata.k: has 513 bytes"},
	{"metadata key too large", inline(`, "metadata": {"` + strings.Repeat("k", 65) + `": "v"}`), "key of 65 bytes"},
	{"too many metadata", inline(`, "metadata": {` + seventeen() + `}`), "metadata: has 17 entries"},
	{"session too long", inline(`, "session_id": "` + strings.Repeat("s", 257) + `"`), "session_id"},
}

func seventeen() string {
	var out []string
	for i := range 17 {
		out = append(out, fmt.Sprintf(`"k%d": "v"`, i))
	}
	return strings.Join(out, ", ")
}

// TestMalformedRequestIsADeadLetterAndItsIDStaysFree: a clear message to the reply subject, a dead letter, no stored
// result, gone from the queue, and a good run under the same id passes.
func TestMalformedRequestIsADeadLetterAndItsIDStaysFree(t *testing.T) {
	t.Parallel()
	s := start(t)
	for i, c := range malformed {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := *s
			s.T = t
			id := fmt.Sprintf("bad-%d", i)
			s.refused(id, c.body, c.says)
			s.publish(id, body("rate", "fine"))
			s.ends(id, schemas.StatusSucceeded)
			s.goneID(id)
		})
	}
}

// refused publishes what cannot be run and checks all that must come of it.
func (s *site) refused(id, text, says string) {
	s.Helper()
	subject := s.names.Run("mock", "default", id)
	inbox, sub := s.replies()
	s.must(s.tryPublish(subject, text, inbox))
	r, raw := s.reply(sub)
	if r.Status != schemas.StatusFailed || r.ID != id || r.Error == nil || r.Error.Category != schemas.CategoryInvalidRequest ||
		!strings.Contains(r.Error.Message, says) || r.Counts.Calls != 0 {
		s.Errorf("reply %s, want %q in it", raw, says)
	}
	s.deadLetter(id, text, schemas.CategoryInvalidRequest, says)
	s.goneID(id)
	if m := s.last(s.names.ResultsStream(), s.names.Result("default", id)); m != nil {
		s.Errorf("a result is stored: %s", m.Data)
	}
	if e := s.event(id, schemas.EventFinished); e.Outcome != schemas.StatusFailed || e.Category != schemas.CategoryInvalidRequest {
		s.Errorf("finished %+v", e)
	}
}

// deadLetter awaits the request as it came, with reason and message in headers.
func (s *site) deadLetter(id, text, reason, says string) {
	s.Helper()
	m := s.stored(s.names.DeadStream(), s.names.Dead("default", id))
	h := m.Headers()
	if string(m.Data()) != text || h.Get(subjects.HeaderReason) != reason || !strings.Contains(h.Get(subjects.HeaderError), says) ||
		h.Get(subjects.HeaderSubject) != s.names.Run("mock", "default", id) || h.Get(subjects.HeaderWorker) == "" {
		s.Errorf("dead letter of %s: %v, body as it came: %v; want %q in it", id, h, string(m.Data()) == text, says)
	}
}

// What is refused is counted by the definition that it names, if there is one: its other words are anybody's.
func TestRefusedRequestsTellTheDefinitionTheyName(t *testing.T) {
	t.Parallel()
	s := newPipelines(t, nil)
	s.worker()
	for id, c := range map[string]struct{ body, prompt string }{"known": {`{"prompt": "say"}`, "say@1"}, "no-name": {`{"prompt": "../say"}`, ""}, "no-json": {`{"prompt": "say"`, ""}} {
		s.publish(id, c.body)
		if e := s.event(id, schemas.EventFinished); e.Prompt != c.prompt || e.Category != schemas.CategoryInvalidRequest {
			t.Errorf("%s: %+v", id, e)
		}
	}
	s.publishPipeline("pipe", `{"inputs": {}}`)
	if e := s.event("pipe", schemas.EventFinished); e.Pipeline != "digest@1" || e.Prompt != "" {
		t.Errorf("%+v", e)
	}
}

// TestUnknownDefinitionWaitsForTheCatalogThenIsRefused: prompt, version and profile may come with newer definitions.
func TestUnknownDefinitionWaitsForTheCatalogThenIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t)
	for id, c := range map[string]struct{ body, says, cause string }{
		"prompt":  {`{"prompt": "sya", "inputs": {"text": "a"}}`, `no prompt`, "unknown_prompt"},
		"version": {`{"prompt": "say@9", "inputs": {"text": "a"}}`, `no version`, "unknown_prompt"},
		"profile": {`{"prompt": "say", "inputs": {"text": "a"}, "profile": "fsat"}`, `no profile`, "unknown_profile"},
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			s := *s
			s.T = t
			began := time.Now()
			s.refused(id, c.body, c.says)
			if took := time.Since(began); took < time.Second {
				t.Errorf("refused after %v, before catalog_grace", took)
			}
			if e := s.event(id, schemas.EventWaiting); e.Cause != c.cause {
				t.Errorf("waiting %+v", e)
			}
		})
	}
}

// TestUnknownPromptThatComesWithTheNextDefinitionsRuns: what was published before its prompt is not lost.
func TestUnknownPromptThatComesWithTheNextDefinitionsRuns(t *testing.T) {
	t.Parallel()
	s := start(t, "catalog_grace: 1s", "catalog_grace: 60s")
	s.publish("early", `{"prompt": "late"}`)
	if e := s.event("early", schemas.EventWaiting); e.Cause != "unknown_prompt" {
		t.Errorf("%+v", e)
	}
	s.write("prompts/late@1.yaml", "profile: fast\nmessages: [{user: hello}]\n")
	s.worker()
	s.workers[0].stop()
	s.ends("early", schemas.StatusSucceeded)
}

// TestUnknownBackendOrQueueFailsAtThePublisher: the stream does not take it.
func TestUnknownBackendOrQueueFailsAtThePublisher(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, subject := range []string{s.names.Run("nope", "default", "a"), s.names.Run("mock", "nope", "a")} {
		if err := s.tryPublish(subject, body("say", "a"), ""); err == nil || !strings.Contains(err.Error(), "no response from stream") {
			t.Errorf("%s: %v", subject, err)
		}
	}
	if r := s.decode(s.request(s.names.Ask("nope", "default"), body("say", "a")).Data); r.Status != schemas.StatusFailed ||
		!strings.Contains(r.Error.Message, `no backend "nope"`) {
		t.Errorf("%+v", r.Error)
	}
}
