package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"emend/engine"
	"emend/prompts"
	"emend/schemas"
)

// What stays over corrective calls, structural and semantic: the target, its credential, session, settings and native schema
// (seeds 000 and 004).

// keyed are the definitions of the tests with a key, stage attempts and what change does to the prompt of mode json_schema.
func keyed(t *testing.T, change func(*prompts.Prompt)) prompts.Definitions {
	t.Helper()
	t.Setenv("KEEP_KEY", "k-1")
	d := definitions(2, 4)
	b := d.Config.Backends["b"]
	b.Key = prompts.Secret{Env: "KEEP_KEY"}
	d.Config.Backends["b"] = b
	for i := range d.Prompts {
		if d.Prompts[i].ID == "in-schema" {
			d.Prompts[i].Retries, d.Prompts[i].Checks = 1, []prompts.CheckSpec{{Go: "even"}}
			if change != nil {
				change(&d.Prompts[i])
			}
		}
	}
	return d
}

// even rejects an odd a.
var even = engine.Validator{Name: "even", Validate: func(_ context.Context, c engine.CandidateView) (engine.Vote, error) {
	if strings.Contains(c.Text, "1") {
		return engine.Vote{Reject: []engine.Reason{{Code: "odd", Guidance: "make it even"}}}, nil
	}
	return engine.Vote{}, nil
}}

func TestCorrectiveCallsKeepTargetCredentialSessionAndContract(t *testing.T) {
	w := &wire{replies: []reply{says(`{"a":"x"}`), says(`{"a":1}`), says(`{"a":"y"}`), says(`{"a":2}`)}}
	e := engineOver(t, keyed(t, nil), engine.WithTransport(w), engine.WithValidators(even))
	r := ask(schemas.ModeJSONSchema)
	r.SessionID = "s-9"
	res, err := e.Run(t.Context(), r)
	if err != nil || res.Status != schemas.StatusSucceeded || res.Counts.Repairs != 2 || res.Counts.Corrections != 1 || w.calls() != 4 {
		t.Fatalf("%+v %v", res, err)
	}
	first := kept(t, w.bodies[0])
	if !bytes.Contains(w.bodies[0], []byte(`"s-9"`)) || !bytes.Contains(w.bodies[0], []byte(`"temperature":0`)) || !bytes.Contains(w.bodies[0], []byte(`"response_format"`)) {
		t.Fatalf("the first call says %s", w.bodies[0])
	}
	for i, body := range w.bodies {
		if got := kept(t, body); got != first {
			t.Errorf("call %d: %s, want %s", i, got, first)
		}
		if key := w.headers[i].Get("Authorization"); key != "Bearer k-1" {
			t.Errorf("call %d has the credential %q", i, key)
		}
	}
	if n := []int{len(w.sent(t, 0).Messages), len(w.sent(t, 1).Messages), len(w.sent(t, 2).Messages), len(w.sent(t, 3).Messages)}; !slices.Equal(n, []int{2, 4, 4, 6}) {
		t.Errorf("messages %v", n)
	}
}

// kept is a request without its conversation.
func kept(t *testing.T, body []byte) string {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil {
		t.Fatal(err)
	}
	delete(all, "messages")
	out, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// What was mended without a call is judged, but a correction shows the answer as it came.
func TestCorrectionsEchoTheExactAnswerUnderUnwrap(t *testing.T) {
	const invalid, rejected = "```json\n{\"a\": \"x\"}\n```\n", "\ufeff{\"a\": 1}"
	unwrap := func(p *prompts.Prompt) { p.Output.Repair.Local = "unwrap" }
	w := &wire{replies: []reply{says(invalid), says(rejected), says(`{"a":2}`)}}
	e := engineOver(t, keyed(t, unwrap), engine.WithTransport(w), engine.WithValidators(even))
	res, err := e.Run(t.Context(), ask(schemas.ModeJSONSchema))
	if err != nil || res.Status != schemas.StatusSucceeded || res.Counts.Repairs != 1 || res.Counts.Corrections != 1 {
		t.Fatalf("%+v %v", res, err)
	}
	for i, want := range map[int]string{1: invalid, 2: rejected} {
		m := w.sent(t, i).Messages
		if len(m) != 4 || m[2].Role != schemas.RoleAssistant || m[2].Content != want {
			t.Errorf("call %d shows %q, want %q", i, m, want)
		}
	}
}

// A warning about an answer that was abandoned is none about the one that was accepted.
func TestWarningsOfAbandonedAttemptsAreDropped(t *testing.T) {
	cut := func(text string) reply {
		r := says(text)
		r.body = strings.Replace(r.body, `"finish_reason":"stop"`, `"finish_reason":"length"`, 1)
		return r
	}
	for _, c := range []struct {
		replies []reply
		warned  int
	}{
		{[]reply{cut(`{"a":1}`), says(`{"a":2}`)}, 0},
		{[]reply{says(`{"a":1}`), cut(`{"a":2}`)}, 1},
	} {
		e := engineOver(t, keyed(t, nil), engine.WithTransport(&wire{replies: c.replies}), engine.WithValidators(even))
		r, err := e.Run(t.Context(), ask(schemas.ModeJSONSchema))
		if err != nil || r.Status != schemas.StatusSucceeded || r.Counts.Corrections != 1 || len(r.Warnings) != c.warned {
			t.Errorf("%+v %v", r, err)
		}
	}
}
