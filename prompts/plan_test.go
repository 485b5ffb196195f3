package prompts

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"emend/engine/run"
	"emend/schemas"
)

func good(t *testing.T) *Snapshot {
	t.Helper()
	s, err := LoadDir("testdata/good")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var (
	noon    = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	carried = Origin{
		ID:        "r-1",
		Queue:     "default",
		Backend:   "openai",
		Published: noon,
	}
)

// planned decodes a request and plans it.
func planned(s *Snapshot, body string, from Origin) (*run.Plan, error) {
	req, err := schemas.DecodeRequest([]byte(body))
	if err != nil {
		return nil, err
	}
	return s.Plan(req, from)
}

func TestPlan(t *testing.T) {
	s := good(t)
	p, err := planned(s, `{"prompt":"extract-invoice","inputs":{"document":"3 x {{ .currency }}","currency":null,"lines":[{"n":1.50}, 2]},
		"settings":{"temperature":0.5},"append_messages":[{"role":"assistant","content":"?"}],"transient_retries":0,"timeout_s":90,
		"deadline":"2026-12-01T00:00:00Z","session_id":"s-9","metadata":{"tenant":"a"}}`, carried)
	if err != nil {
		t.Fatal(err)
	}
	want := "Currency: null\n<document>3 x {{ .currency }}</document>\n0: {\"n\":1.50}\n1: 2\n"
	if len(p.Messages) != 3 || p.Messages[1].Content != want || p.Messages[1].Cache != "5m" || p.Messages[1].Role != "user" || p.Messages[2].Content != "?" {
		t.Errorf("messages %+v", p.Messages)
	}
	if p.ID != "r-1" || p.Queue != "default" || p.Prompt != "extract-invoice@2" || p.Profile != "fast" || p.Backend != "openai" || p.Model != "gpt-4o-mini" ||
		p.Session != "s-9" || p.Metadata["tenant"] != "a" || p.TransientRetries != 0 || p.NativeName != "extract-invoice" {
		t.Errorf("plan %+v", p)
	}
	if *p.Settings.Temperature != 0.5 || *p.Settings.MaxOutputTokens != 500 || p.Settings.TopP != nil {
		t.Errorf("settings %+v", p.Settings)
	}
	if p.Output.Mode != "json_schema" || p.Output.RepairAttempts != 2 || p.Output.DuplicateKeys != "last_wins" || p.Output.OnExhausted != "return" ||
		p.Contract == nil || string(p.NativeSchema) != string(p.Output.Schema) || p.MaxCalls() != 3 {
		t.Errorf("output %+v", p.Output)
	}
	if !p.Deadline.Equal(noon.Add(90 * time.Second)) {
		t.Errorf("deadline %v", p.Deadline)
	}
	if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "strict: false") {
		t.Errorf("notes %v", p.Notes)
	}
}

func TestPlanChoices(t *testing.T) {
	s := good(t)
	for _, c := range []struct {
		body string
		from Origin
		ok   func(p *run.Plan) bool
	}{
		{
			`{"prompt":"extract-invoice@1","inputs":{"document":"x"}}`,
			carried,
			func(p *run.Plan) bool {
				return p.Prompt == "extract-invoice@1" && p.NativeSchema == nil && p.Output.Mode == "json" && p.TransientRetries == 0 && p.Deadline.IsZero()
			},
		},
		{
			`{"prompt":"extract-invoice","inputs":{"document":"x"}}`,
			carried,
			func(p *run.Plan) bool { return p.TransientRetries == 1 && *p.Settings.Temperature == 0 },
		},
		{
			`{"prompt":"extract-invoice","inputs":{"document":"x"},"profile":"slow","transient_retries":10}`,
			carried,
			func(p *run.Plan) bool {
				return p.Profile == "slow" && p.Model == "gpt-4o" && p.Settings.Temperature == nil && *p.Settings.MaxOutputTokens == 500 && p.TransientRetries == 10
			},
		},
		{
			`{"prompt":"translate","inputs":{"text":"x"}}`,
			Origin{Queue: "default", Backend: "router"},
			func(p *run.Plan) bool {
				return p.Profile == "spread" && p.NativeSchema == nil && p.ExtraStatuses[0] == 529 && p.Messages[0].Content == "Translate into English."
			},
		},
		{
			`{"prompt":"translate","inputs":{"text":"x","glossary":"G"},"profile":"slow"}`,
			carried,
			func(p *run.Plan) bool {
				return p.Messages[0].Content == "Translate into English. Use G." && len(p.Notes) == 1
			},
		},
		{
			`{"messages":[{"role":"user","content":"{{ .x }}","cache":"1h"}],"profile":"fast"}`,
			carried,
			func(p *run.Plan) bool {
				return p.Prompt == "" && p.Messages[0].Content == "{{ .x }}" && p.Output.Mode == "none" && p.Output.OnExhausted == "return" && p.NativeName == "output"
			},
		},
		{
			`{"messages":[{"role":"user","content":[{"type":"text","n":1.0}]}]}`,
			Origin{Queue: "default", Backend: "router"},
			func(p *run.Plan) bool { return p.Profile == "spread" },
		},
		{
			`{"messages":[{"role":"user","content":"x"}],"profile":"demo"}`,
			Origin{Library: true},
			func(p *run.Plan) bool { return p.Backend == "demo" && p.Queue == "" },
		},
		{
			`{"prompt":"extract-invoice","inputs":{"document":"x"},"output":{"mode":"basic","repair_attempts":3,"on_exhausted":"fail"}}`,
			carried,
			func(p *run.Plan) bool {
				return p.Output.Mode == "basic" && p.Output.Schema == nil && p.NativeSchema == nil && p.Output.OnExhausted == "fail" && p.Output.DuplicateKeys == "reject"
			},
		},
		{
			`{"prompt":"extract-invoice","inputs":{"document":"x"},"output":{"mode":"json"}}`,
			carried,
			func(p *run.Plan) bool { return p.NativeSchema == nil },
		},
		{
			`{"prompt":"extract-invoice","inputs":{"document":"x"},"output":{"mode":"json_schema","schema":true}}`,
			carried,
			func(p *run.Plan) bool {
				return p.NativeSchema == nil && len(p.Warnings) == 1 && strings.Contains(p.Warnings[0], "goes out as no native constraint (at the root: the schema is not an object")
			},
		},
		{
			`{"prompt":"extract-invoice","inputs":{"document":"x"},"output":{"mode":"json_schema","schema":{"type":"object","properties":{},"required":[],"additionalProperties":false}}}`,
			carried,
			func(p *run.Plan) bool { return p.NativeSchema != nil && len(p.Warnings) == 0 },
		},
		{
			`{"prompt":"extract-invoice","inputs":{"document":"x"},"deadline":"2000-01-01T00:00:00Z","timeout_s":5}`,
			carried,
			func(p *run.Plan) bool { return p.Deadline.Year() == 2000 },
		},
		{
			`{"prompt":"extract-invoice","inputs":{"document":"x"},"settings":{"temperature":1}}`,
			Origin{Queue: "team-a", Backend: "openai"},
			func(p *run.Plan) bool { return *p.Settings.Temperature == 1 },
		},
		{
			`{"prompt":"extract-invoice","inputs":{"document":"x"},"profile":"slow"}`,
			Origin{Queue: "closed", Library: true},
			func(p *run.Plan) bool { return p.Profile == "slow" },
		},
	} {
		p, err := planned(s, c.body, c.from)
		if err != nil || !c.ok(p) {
			t.Errorf("%s: %+v, %v", c.body, p, err)
		}
	}
}

func TestTimeoutCountsFromNowWithoutPublication(t *testing.T) {
	before := time.Now()
	p, err := planned(good(t), `{"messages":[{"role":"user","content":"x"}],"profile":"fast","timeout_s":0.5}`, Origin{Library: true})
	if err != nil || p.Deadline.Before(before.Add(500*time.Millisecond)) || p.Deadline.After(time.Now().Add(500*time.Millisecond)) {
		t.Errorf("%v, %v", p, err)
	}
}

func TestFingerprint(t *testing.T) {
	s := good(t)
	sum := func(body string, from Origin) string {
		p, err := planned(s, body, from)
		if err != nil {
			t.Fatal(err)
		}
		return p.PromptSHA256
	}
	const doc = `"prompt":"extract-invoice","inputs":{"document":"x"}`
	base := sum(`{`+doc+`}`, carried)
	if len(base) != 64 || base != sum(`{`+doc+`,"metadata":{"a":"b"},"timeout_s":5,"session_id":"s"}`, Origin{
		ID:      "other",
		Queue:   "closed",
		Backend: "openai",
	}) {
		t.Error("what decides nothing of the answer changes the hash")
	}
	seen := map[string]string{base: "base"}
	for _, body := range []string{
		`{"prompt":"extract-invoice","inputs":{"document":"y"}}`,
		`{` + doc + `,"settings":{"temperature":1}}`,
		`{` + doc + `,"profile":"slow"}`,
		`{` + doc + `,"output":{"mode":"json"}}`,
		`{` + doc + `,"output":{"mode":"json","repair_attempts":1}}`,
		`{` + doc + `,"append_messages":[{"role":"user","content":""}]}`,
	} {
		h := sum(body, carried)
		if seen[h] != "" {
			t.Errorf("%s has the hash of %s", body, seen[h])
		}
		seen[h] = body
	}
}

func TestSchemaName(t *testing.T) {
	for id, want := range map[string]string{
		"extract-invoice":       "extract-invoice",
		"a.b_c":                 "a_b_c",
		strings.Repeat("a", 80): strings.Repeat("a", 64),
	} {
		if got := schemaName(id); got != want {
			t.Errorf("%s: %s", id, got)
		}
	}
}

// One snapshot serves many goroutines, and a plan shares nothing that another could see change.
func TestPlanConcurrently(t *testing.T) {
	s := good(t)
	want, err := planned(s, `{"prompt":"extract-invoice","inputs":{"document":"x"}}`, carried)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				p, err := planned(s, `{"prompt":"extract-invoice","inputs":{"document":"x"},"metadata":{"a":"b"}}`, carried)
				if err != nil || p.PromptSHA256 != want.PromptSHA256 {
					t.Errorf("%v", err)
					return
				}
				p.Messages[0].Content, p.Metadata["a"] = fmt.Sprint(i), "c"
				_, _ = planned(s, `{"prompt":"nothere"}`, carried)
				_ = s.Prompts()
				_ = s.Backends()
			}
		})
	}
	all.Wait()
}

func TestPlanDoesNotChangeTheRequest(t *testing.T) {
	messages := make([]schemas.Message, 1, 4)
	messages[0] = schemas.Message{Role: "user", Content: "x"}
	req := schemas.Request{
		Messages:       messages,
		AppendMessages: []schemas.Message{{Role: "assistant", Content: "y"}},
		Profile:        "fast",
	}
	p, err := good(t).Plan(req, Origin{Library: true})
	if err != nil || len(p.Messages) != 2 || messages[:2][1].Role != "" {
		t.Errorf("%v: the caller's array was written to", err)
	}
}

// The year 1 is a deadline that has passed, not the absence of one.
func TestTheZeroTimeIsADeadline(t *testing.T) {
	s := good(t)
	p, err := planned(s, `{"prompt":"extract-invoice","inputs":{"document":"x"},"deadline":"0001-01-01T00:00:00Z"}`, carried)
	if err != nil || p.Deadline.IsZero() || !p.Deadline.Before(time.Now()) {
		t.Errorf("%v %v", p, err)
	}
}
