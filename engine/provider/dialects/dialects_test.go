package dialects

import (
	"net/http"
	"strings"
	"testing"

	"emend/engine/provider"
	"emend/schemas"
)

func TestTable(t *testing.T) {
	if got := strings.Join(Names(), " "); got != "openai scripted" {
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
		if err := e.CheckOptions(map[string]any{"session": "none"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Lookup("opanai"); err == nil || !strings.Contains(err.Error(), "one of openai, scripted") {
		t.Errorf("got %v", err)
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
