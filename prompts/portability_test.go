package prompts

import (
	"strings"
	"testing"

	"emend/engine/provider/dialects"
)

func TestPortabilityAsksEveryDialect(t *testing.T) {
	schema := []byte(`{"type":"object","properties":{"a":{"type":"string","minLength":2}},"required":["a"],"additionalProperties":false}`)
	plain := Portability(schema, Backend{})
	own := Portability(schema, Backend{Name: "claude", Dialect: "anthropic", Options: map[string]any{"native_form": "tool"}})
	if len(plain) != len(dialects.Names()) || len(own) != len(plain) {
		t.Fatalf("%d and %d dialects", len(plain), len(own))
	}
	for i, name := range dialects.Names() {
		if plain[i].Dialect != name || plain[i].Backend != "" || plain[i].Form == "" {
			t.Errorf("%+v", plain[i])
		}
		wantBackend, wantForm := "", plain[i].Form
		if name == "anthropic" {
			wantBackend, wantForm = "claude", "a forced tool"
		}
		if own[i].Backend != wantBackend || own[i].Form != wantForm {
			t.Errorf("%s: backend %q, form %q", name, own[i].Backend, own[i].Form)
		}
	}
}

func TestSchemaOfAPrompt(t *testing.T) {
	s := good(t)
	schema, b, err := s.Schema("extract-invoice")
	if err != nil || b.Name != "openai" || !strings.Contains(string(schema), `"price"`) {
		t.Errorf("%s, %+v, %v", schema, b, err)
	}
	for ref, want := range map[string]string{"extract-invoic": "there is no prompt", "extract-invoice@9": "has no version"} {
		if _, _, err := s.Schema(ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", ref, err)
		}
	}
	plain, err := loadPrompt("messages: [{user: hi}]")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := plain.Schema("x@1"); err == nil || !strings.Contains(err.Error(), "prompt x@1 has no schema: its output mode is none") {
		t.Error(err)
	}
}
