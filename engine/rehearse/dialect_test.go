package rehearse_test

import (
	"encoding/json"
	"strings"
	"testing"

	"emend/engine/provider/dialects"
	"emend/engine/rehearse"
	"emend/prompts"
)

// snapshotOn has the invoice prompt on a backend of one dialect.
func snapshotOn(t *testing.T, b prompts.Backend) *prompts.Snapshot {
	t.Helper()
	invoiceSchema := json.RawMessage(`{"type":"object","properties":{"total":{"type":"number","minimum":0}},"required":["total"],"additionalProperties":false}`)
	snap, err := prompts.NewSnapshot(prompts.Definitions{
		Config: prompts.Config{Backends: map[string]prompts.Backend{"main": b}, Profiles: map[string]prompts.Profile{"fast": {Backend: "main", Model: "m"}}},
		Prompts: []prompts.Prompt{{ID: "invoice", Version: 1, Profile: "fast", Inputs: map[string]prompts.Input{"document": {}},
			Messages: []prompts.Template{{Role: "system", Text: "Read."}, {Role: "user", Text: "{{ .document }}"}},
			Output:   prompts.Output{Mode: "json_schema", Schema: prompts.SchemaRef{Inline: invoiceSchema}, RepairAttempts: 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// Every dialect shows what it would send; none needs a key or a network for it.
func TestRenderOnEveryDialect(t *testing.T) {
	for _, name := range dialects.Names() {
		r, err := rehearse.Render(snapshotOn(t, prompts.Backend{Dialect: name, URL: "https://models.example.com/v1"}), request("invoice"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if r.Dialect != name || !strings.HasPrefix(r.Request.URL, "https://") && !strings.HasPrefix(r.Request.URL, "http://") || !json.Valid(r.Request.Body) {
			t.Errorf("%s: %s %s", name, r.Request.URL, r.Request.Body)
		}
		if !strings.Contains(string(r.Request.Body), "4.25 USD") || r.Native == nil || r.Native.Form == "" {
			t.Errorf("%s: native %+v, body %s", name, r.Native, r.Request.Body)
		}
	}
}

// A backend that sends no schema says so, and the body has none.
func TestRenderOfNativeNone(t *testing.T) {
	r, err := rehearse.Render(snapshotOn(t, prompts.Backend{Dialect: "openai", URL: "https://models.example.com/v1", Native: prompts.NativeNone}), request("invoice"))
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Native; n == nil || n.Sent || n.Schema != nil || len(n.Weakened) != 1 || !strings.Contains(n.Weakened[0], "native: none") {
		t.Errorf("native %+v", n)
	}
	if strings.Contains(string(r.Request.Body), "json_schema") {
		t.Errorf("body %s", r.Request.Body)
	}
}

// With the candidate in the message, a rehearsal shows that form, and its script reads it.
func TestReceivedBlockIsRehearsed(t *testing.T) {
	text := strings.Replace(invoice, "repair_attempts: 2", "repair_attempts: 2\n  repair: {candidate: received_block, preserve: enforce}", 1)
	snap := load(t, map[string]string{"invoice@1.yaml": text})
	c, err := rehearse.Correct(t.Context(), snap, request("invoice"), rehearse.Answer{Text: bad})
	if err != nil || len(c.Messages) != 3 || !strings.Contains(c.Messages[2].Content, "<received>\n"+bad+"\n</received>") {
		t.Errorf("%+v, %v", c, err)
	}
	r, err := rehearse.GradeContract(t.Context(), snap, request("invoice"), rehearse.GradeOptions{Answer: []byte(good)})
	if err != nil || r.Repaired < 10 || r.Preserved != r.Repaired {
		t.Errorf("%+v, %v", r, err)
	}
}

// What is mended without a call is no corruption, and a rehearsed correction says how it was mended.
func TestLocalMendingIsRehearsed(t *testing.T) {
	text := strings.Replace(invoice, "repair_attempts: 2", "repair_attempts: 2\n  repair: {local: syntax}", 1)
	snap := load(t, map[string]string{"invoice@1.yaml": text})
	c, err := rehearse.Correct(t.Context(), snap, request("invoice"), rehearse.Answer{Text: "```json\n" + good + "\n```"})
	if err != nil || !c.Valid || c.Mended != "unwrap" {
		t.Errorf("%+v, %v", c, err)
	}
	r, err := rehearse.GradeContract(t.Context(), snap, request("invoice"), rehearse.GradeOptions{Answer: []byte(good)})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range r.Grades {
		if g.Name == "fence" || g.Name == "think block" || g.Name == "single quotes" || g.Name == "trailing comma" {
			t.Errorf("%+v", g)
		}
	}
}
