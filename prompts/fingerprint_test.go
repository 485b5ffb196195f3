package prompts

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"emend/engine/run"
	"emend/schemas"
)

// The fingerprint is SHA-256 of one JSON object: it stands in stored results and binds saved states, so it must not change.
func TestFingerprintIsOfOneObject(t *testing.T) {
	for name, c := range map[string]struct {
		plan   run.Plan
		checks string
	}{
		"bare": {plan: run.Plan{Backend: "b", Model: "m", Messages: []schemas.Message{{Role: "user", Content: "x"}}}},
		"whole": {run.Plan{Backend: `"`, Model: "ü<", Settings: schemas.Settings{Temperature: new(0.5), Stop: []string{"\n"}}, NativeSchema: []byte("{}"),
			Messages: []schemas.Message{{Role: "system", Content: strings.Repeat("a\u2028\"", 300)}, {Role: "user", Parts: json.RawMessage(`[ {"type": "text"} ]`), Cache: "5m"}},
			Output:   schemas.Output{Mode: schemas.ModeJSONSchema, Schema: json.RawMessage(`{ "type": "object" }`), RepairAttempts: 2}}, "rules"},
	} {
		p := &c.plan
		raw, err := schemas.Marshal(struct {
			Backend  string            `json:"backend"`
			Model    string            `json:"model"`
			Settings schemas.Settings  `json:"settings"`
			Messages []schemas.Message `json:"messages"`
			Output   schemas.Output    `json:"output"`
			Native   bool              `json:"native"`
			Checks   string            `json:"checks,omitempty"`
		}{p.Backend, p.Model, p.Settings, p.Messages, p.Output, p.NativeSchema != nil, c.checks})
		if err != nil {
			t.Fatal(err)
		}
		output, err := schemas.Marshal(p.Output)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(raw)
		for how, known := range map[string][]byte{"made": nil, "known": output} {
			if got := fingerprint(p, c.checks, known); got != hex.EncodeToString(sum[:]) {
				t.Errorf("%s, output %s: %s", name, how, got)
			}
		}
	}
}

func TestFingerprintOfWhatHasNoJSON(t *testing.T) {
	if got := fingerprint(&run.Plan{Output: schemas.Output{Schema: json.RawMessage(`{`)}}, "", nil); got != "" {
		t.Error(got)
	}
}

// What was hashed before leaves nothing in a hash.
func TestFingerprintsFollowEachOther(t *testing.T) {
	short := &run.Plan{Messages: []schemas.Message{{Role: "user", Content: "x"}}}
	want := fingerprint(short, "", nil)
	fingerprint(&run.Plan{Messages: []schemas.Message{{Role: "user", Content: strings.Repeat("long", 1000)}}}, "", nil)
	if got := fingerprint(short, "", nil); got != want {
		t.Errorf("%s, then %s", want, got)
	}
}
