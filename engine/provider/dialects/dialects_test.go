package dialects

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"emend/engine/provider"
	"emend/schemas"
)

func TestTable(t *testing.T) {
	if got := strings.Join(Names(), " "); got != "openai anthropic gemini ollama scripted" {
		t.Errorf("dialects %s", got)
	}
	for _, name := range Names() {
		e, err := Lookup(name)
		if err != nil || e.New == nil || e.New() == nil || e.Doc == "" {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
		if (e.Transport == nil) != (e.URL == "") {
			t.Errorf("%s: a dialect without a network has a transport and a stand-in url, any other neither", name)
		}
		err = e.CheckOptions(map[string]any{"no_such": 1})
		if err == nil || !strings.Contains(err.Error(), "dialect "+name+" has no such option") {
			t.Errorf("%s: %v", name, err)
		}
		for _, o := range e.Options() {
			if o.Words == nil {
				continue
			}
			if err := e.CheckOptions(map[string]any{o.Name: o.Words[0]}); err != nil {
				t.Errorf("%s: the default of %s is refused: %v", name, o.Name, err)
			}
		}
	}
	if _, err := Lookup("opanai"); err == nil || !strings.Contains(err.Error(), "one of openai, anthropic, gemini, ollama, scripted") {
		t.Errorf("got %v", err)
	}
}

func TestKeyHeaders(t *testing.T) {
	for name, want := range map[string]string{"openai": "Authorization", "anthropic": "X-Api-Key", "gemini": "X-Goog-Api-Key", "ollama": "Authorization", "scripted": "Authorization"} {
		if e, err := Lookup(name); err != nil || e.KeyHeader() != want {
			t.Errorf("%s: %s, %v", name, e.KeyHeader(), err)
		}
	}
}

// TestEveryDialectCarries: each says of any schema what goes out and what is lost, and forgets neither.
func TestEveryDialectCarries(t *testing.T) {
	for _, name := range Names() {
		e, err := Lookup(name)
		if err != nil || e.Carry == nil {
			t.Errorf("%s has no Carry, %v", name, err)
			continue
		}
		for _, schema := range []string{`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"string"}},"required":["b","a"],"additionalProperties":false}`,
			`{"type":"array","uniqueItems":true,"items":{"not":{"multipleOf":7}}}`, `{}`, `true`, `[]`, `{"type"`, ``} {
			checkCarried(t, name, schema, e.Carry(nil, []byte(schema)))
		}
	}
}

func checkCarried(t *testing.T, dialect, schema string, c provider.Carried) {
	t.Helper()
	switch {
	case c.Form == "" || (c.Form == provider.FormNone) != (c.Schema == nil):
		t.Errorf("%s, %s: form %q beside schema %s", dialect, schema, c.Form, c.Schema)
	case c.Whole != (len(c.Weakened) == 0) || c.Whole && c.Schema == nil:
		t.Errorf("%s, %s: whole %v beside %q", dialect, schema, c.Whole, c.Weakened)
	case c.Schema != nil && (!json.Valid(c.Schema) || !strings.HasPrefix(schema, "{")):
		t.Errorf("%s, %s: sends %s", dialect, schema, c.Schema)
	}
	for _, clause := range c.Weakened {
		if !strings.HasPrefix(clause, "at ") || !strings.Contains(clause, ": ") {
			t.Errorf("%s, %s: %q does not begin with its place", dialect, schema, clause)
		}
	}
}

func TestScriptedNeedsNoNetwork(t *testing.T) {
	e, err := Lookup("scripted")
	if err != nil {
		t.Fatal(err)
	}
	for script, want := range map[any]string{"default: {replies: [{text: hi}]}": "hi", nil: `{"ok":true}`} {
		options := map[string]any{OptionScript: script}
		if script == nil {
			options = nil
		}
		rt, err := e.Transport(options)
		if err != nil || e.CheckOptions(options) != nil {
			t.Fatal(err, e.CheckOptions(options))
		}
		if got := answer(t, e, rt); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, bad := range []any{7, "rulez: []"} {
		if err := e.CheckOptions(map[string]any{OptionScript: bad}); err == nil || !strings.Contains(err.Error(), "options.script") {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if _, err := e.Transport(map[string]any{OptionScript: "rulez: []"}); err == nil {
		t.Error("a bad script was accepted")
	}
}

func answer(t *testing.T, e Entry, rt http.RoundTripper) string {
	t.Helper()
	ep := &provider.Endpoint{Backend: "b", Dialect: e.New(), URL: e.URL, Transport: rt}
	resp, err := provider.NewClient(provider.ClientOptions{}).Do(t.Context(), ep, &provider.Request{Model: "m", Messages: []schemas.Message{{Role: "user", Content: "q"}}})
	if err != nil {
		t.Fatal(err)
	}
	return resp.Text
}
