package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"emend/engine/provider/dialects"
)

const portableSchema = `{"type":"object","properties":{"b":{"type":"string","minLength":2},"a":{"type":"integer"}},"required":["b","a"],"additionalProperties":false}`

func TestPortabilityOfAFile(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "s.json"), portableSchema)
	r := emend(t, "", "validate", "--portability", "--schema", file)
	if r.code != exitOK {
		t.Fatalf("%+v", r)
	}
	for _, want := range []string{"openai: response_format with strict: false, weakened\n  - at /properties/b: strict mode does not carry minLength\n",
		"anthropic: output_config.format, weakened\n  - at /properties/b: minLength is not enforced\n", "judged here whatever is sent"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%q is not in\n%s", want, r.out)
		}
	}
	for _, name := range dialects.Names() {
		if !strings.Contains("\n"+r.out, "\n"+name+": ") {
			t.Errorf("dialect %s is not in\n%s", name, r.out)
		}
	}
}

func TestPortabilityJSON(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "s.json"), strings.Replace(portableSchema, `,"minLength":2`, "", 1))
	r := emend(t, "", "--json", "validate", "--portability", "--schema", file)
	var out struct{ Dialects []carriage }
	if err := json.Unmarshal([]byte(r.out), &out); err != nil || r.code != exitOK || len(out.Dialects) != len(dialects.Names()) {
		t.Fatalf("%v, %+v", err, r)
	}
	for _, c := range out.Dialects {
		if !c.Whole || c.Weakened == nil || len(c.Weakened) != 0 || !json.Valid(c.Wire) || c.Form == "" || c.Backend != "" {
			t.Errorf("%+v", c)
		}
		if wire := string(c.Wire); strings.Index(wire, `"b"`) > strings.Index(wire, `"a"`) {
			t.Errorf("%s: the properties lost their order in %s", c.Dialect, wire)
		}
	}
}

func TestPortabilityOfAPrompt(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "emend.yaml"), "backends:\n  claude: {dialect: anthropic, url: 'https://h/v1', options: {native_form: tool}}\nprofiles:\n  p: {backend: claude, model: m}\n")
	write(t, filepath.Join(dir, "prompts", "x@1.yaml"), "profile: p\nmessages: [{user: hi}]\noutput: {mode: json_schema, schema: "+portableSchema+"}\n")
	write(t, filepath.Join(dir, "prompts", "y@1.yaml"), "profile: p\nmessages: [{user: hi}]\n")
	r := emend(t, "", "validate", "--portability", "--prompt", "x", "--dir", dir)
	if r.code != exitOK || !strings.Contains(r.out, "anthropic (backend claude): a forced tool, weakened\n  - at the root: a tool's schema is shown") {
		t.Errorf("%+v", r)
	}
	file := write(t, filepath.Join(dir, "bad.json"), `{"type":`)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--portability"}, "needs --schema FILE or --prompt ID"},
		{[]string{"--portability", "--prompt", "x", "--schema", file}, "give --schema or --prompt, not both"},
		{[]string{"--portability", "--schema", file}, "bad.json"},
		{[]string{"--portability", "--schema", file, "answer.json"}, "reads no text"},
		{[]string{"--portability", "--prompt", "z", "--dir", dir}, "there is no prompt"},
		{[]string{"--portability", "--prompt", "y", "--dir", dir}, "prompt y@1 has no schema"},
		{[]string{"--prompt", "x"}, "--prompt belongs to --portability"},
	} {
		if r := emend(t, "{}", append([]string{"validate"}, c.args...)...); r.code != exitUsage || !strings.Contains(r.err, c.says) {
			t.Errorf("%v: %+v", c.args, r)
		}
	}
}
