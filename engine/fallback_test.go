package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"emend/engine"
	"emend/prompts"
	"emend/schemas"
)

const claude = `backends:
  claude: {dialect: anthropic, url: 'http://claude.invalid/v1', options: {native_fallback: tool}}
profiles:
  p: {backend: claude, model: m}
transient_retries: %d
`

// A schema whose grammar the provider refuses goes out as a forced tool, as one more attempt; a correction names the places
// of the tool's arguments.
func TestNativeFallbackOverTheWire(t *testing.T) {
	const tooLarge = `{"type":"error","error":{"type":"invalid_request_error","message":"The compiled grammar is too large."}}`
	tool := func(input string) string {
		return fmt.Sprintf(`{"type":"message","role":"assistant","model":"m","stop_reason":"tool_use","content":[{"type":"tool_use","id":"t","name":"x","input":%s}],"usage":{"input_tokens":8,"output_tokens":5}}`, input)
	}
	prompt := "profile: p\nmessages: [{user: hi}]\noutput: {mode: json_schema, repair_attempts: 1, schema: {type: object, required: [a], properties: {a: {type: integer}}}}"
	for retries, calls := range map[int]int{0: 1, 1: 3} {
		s, err := prompts.LoadFS(fstest.MapFS{"emend.yaml": {Data: fmt.Appendf(nil, claude, retries)}, "prompts/x@1.yaml": {Data: []byte(prompt)}})
		if err != nil {
			t.Fatal(err)
		}
		w := &wire{replies: []reply{{status: 400, body: tooLarge}, {status: 200, body: tool(`{"a":"one"}`)}, {status: 200, body: tool(`{"a":1}`)}}}
		e, err := engine.New(s, engine.WithTransport(w))
		if err != nil {
			t.Fatal(err)
		}
		named := func(i int) bool { return strings.Contains(string(w.bodies[i]), `"tool_choice"`) }
		r, err := e.Run(t.Context(), engine.RunRequest{Prompt: "x"})
		if w.calls() != calls {
			t.Fatalf("%d retries: %d calls, %v", retries, w.calls(), err)
		}
		if retries == 0 {
			if err == nil || named(0) {
				t.Errorf("without a retry there is no second form: %v", err)
			}
			continue
		}
		if err != nil || r.Status != schemas.StatusSucceeded || string(r.Output) != `{"a":1}` || r.Counts.Retries != 1 || r.Counts.Repairs != 1 || *r.Usage.Input != 16 {
			t.Fatalf("%v, %+v", err, r)
		}
		if named(0) || !named(1) || !named(2) || !strings.Contains(string(w.bodies[2]), "arguments.a") {
			t.Errorf("the forms are %v %v %v, the correction %s", named(0), named(1), named(2), w.bodies[2])
		}
	}
}
