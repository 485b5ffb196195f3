package rehearse_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"emend/engine/rehearse"
	"emend/prompts"
	"emend/schemas"
)

func request(prompt string) schemas.Request {
	return schemas.Request{Prompt: prompt, Inputs: map[string]json.RawMessage{"document": json.RawMessage(`"a <b> 4.25 USD"`)}}
}

// What is shown is what would go out; no key is needed for it.
func TestRender(t *testing.T) {
	snap := load(t, map[string]string{"invoice@1.yaml": invoice})
	r, err := rehearse.Render(snap, request("invoice"))
	if err != nil {
		t.Fatal(err)
	}
	if r.Prompt != "invoice@1" || r.Profile != "fast" || r.Backend != "main" || r.Dialect != "openai" || r.Model != "m" || r.MaxCalls != 9 {
		t.Errorf("target %+v", r)
	}
	if len(r.Messages) != 2 || r.Messages[1].Content != "a <b> 4.25 USD" || r.Settings.Temperature == nil {
		t.Errorf("messages %+v, settings %+v", r.Messages, r.Settings)
	}
	if n := r.Native; n == nil || !n.Sent || n.Whole || len(n.Weakened) == 0 || !json.Valid(n.Schema) {
		t.Errorf("native %+v", n)
	}
	if !strings.HasPrefix(r.Request.URL, "http://127.0.0.1:1/") || !strings.Contains(string(r.Request.Body), `"model":"m"`) {
		t.Errorf("request %s %s", r.Request.URL, r.Request.Body)
	}
	if b, err := json.Marshal(r); err != nil || strings.Contains(string(b), `null`) && !strings.Contains(string(r.Request.Body), "null") {
		t.Errorf("%s, %v", b, err)
	}
}

func TestRenderWithoutASchema(t *testing.T) {
	snap := load(t, map[string]string{"plain@1.yaml": "profile: fast\nmessages: [{user: hello}]\n"})
	r, err := rehearse.Render(snap, schemas.Request{Prompt: "plain"})
	if err != nil || r.Native != nil || r.Output.Mode != schemas.ModeNone || r.MaxCalls != 3 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestRenderRefusesWhatARunWould(t *testing.T) {
	snap := load(t, map[string]string{"invoice@1.yaml": invoice})
	for _, req := range []schemas.Request{{Prompt: "invoice"}, {Prompt: "other"}} {
		if _, err := rehearse.Render(snap, req); !refused(err) {
			t.Errorf("%+v: %v", req, err)
		}
		if _, err := rehearse.Correct(t.Context(), snap, req, rehearse.Answer{}); !refused(err) {
			t.Errorf("%+v: %v", req, err)
		}
	}
}

func refused(err error) bool {
	_, ok := errors.AsType[*prompts.RequestError](err)
	return ok
}

// The conversation is the engine's own, whatever the budget.
func TestCorrect(t *testing.T) {
	none := strings.Replace(invoice, "repair_attempts: 2", "repair_attempts: 0", 1)
	snap := load(t, map[string]string{"invoice@1.yaml": invoice, "none@1.yaml": none})
	for _, c := range []struct {
		prompt  string
		answer  rehearse.Answer
		class   string
		style   string
		targets []string
		roles   string
		says    string
	}{
		{"invoice", rehearse.Answer{Text: bad}, "schema_invalid", "targeted", []string{"items[1].price"}, "system user assistant user", "Correction 1 of 2."},
		{"none", rehearse.Answer{Text: bad}, "schema_invalid", "targeted", []string{"items[1].price"}, "system user assistant user", "Correction 1 of 1."},
		{"invoice", rehearse.Answer{Text: "Sure."}, "not_json", "conversation", nil, "system user assistant user", "not_json"},
		{"invoice", rehearse.Answer{Text: ""}, "empty_output", "conversation", nil, "system user user", "was empty"},
		{"invoice", rehearse.Answer{Text: `{"items":[`}, "not_json", "regenerate", nil, "system user user", "cut off"},
		{"invoice", rehearse.Answer{Text: bad, Finish: "length"}, "schema_invalid", "regenerate", nil, "system user user", "cut off"},
		{"invoice", rehearse.Answer{Text: good}, "ok", "", nil, "", ""},
	} {
		got, err := rehearse.Correct(t.Context(), snap, request(c.prompt), c.answer)
		if err != nil {
			t.Fatal(err)
		}
		if got.Valid != (c.class == "ok") || got.Class != c.class || got.Style != c.style || !slices.Equal(got.Targets, append([]string{}, c.targets...)) {
			t.Errorf("%q: %+v", c.answer.Text, got)
		}
		var roles []string
		last := ""
		for _, m := range got.Messages {
			roles, last = append(roles, m.Role), m.Content
		}
		if strings.Join(roles, " ") != c.roles || !strings.Contains(last, c.says) {
			t.Errorf("%q: roles %v, last message\n%s", c.answer.Text, roles, last)
		}
		if (len(got.Findings) == 0) != got.Valid {
			t.Errorf("%q: findings %+v", c.answer.Text, got.Findings)
		}
	}
}

// An answer that is too large is neither valid nor invalid.
func TestCorrectOfWhatCannotBeJudged(t *testing.T) {
	snap := load(t, map[string]string{"invoice@1.yaml": invoice})
	if got, err := rehearse.Correct(t.Context(), snap, request("invoice"), rehearse.Answer{Text: strings.Repeat(" ", 64<<20)}); err == nil || !strings.Contains(err.Error(), "could not be judged") {
		t.Errorf("%+v, %v", got, err)
	}
}
