package prompts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// folder is a set of files by name.
type folder map[string]string

func (f folder) fs() fs.FS {
	m := fstest.MapFS{}
	for name, text := range f {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

func (f folder) write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range f {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func loadConfig(text string) (*Snapshot, error) { return LoadFS(folder{"emend.yaml": text}.fs()) }

func loadPrompt(text string) (*Snapshot, error) {
	return LoadFS(folder{"emend.yaml": minimal, "prompts/x@1.yaml": text}.fs())
}

func TestGoodFolder(t *testing.T) {
	s, err := LoadDir("testdata/good")
	if err != nil {
		t.Fatal(err)
	}
	var refs, names []string
	for _, p := range s.Prompts() {
		refs = append(refs, p.ID+"@"+string(rune('0'+p.Version)))
	}
	for _, b := range s.Backends() {
		names = append(names, b.Name)
	}
	if strings.Join(refs, " ") != "extract-invoice@1 extract-invoice@2 translate@1" || strings.Join(names, " ") != "demo openai router" {
		t.Errorf("prompts %v, backends %v", refs, names)
	}
	if p, ok := s.Prompt("extract-invoice"); !ok || p.Version != 2 || p.File != "prompts/extract-invoice@2.yaml" || len(p.Tests) != 1 {
		t.Errorf("newest: %+v, %v", p, ok)
	}
	if _, ok := s.Prompt("extract-invoice@3"); ok {
		t.Error("a version that does not exist is found")
	}
	if s.CallTimeout("slow").String() != "5m" || s.CallTimeout("fast").String() != "2m" || s.OnTrouble("openai") != "wait" || s.OnTrouble("?") != "wait" {
		t.Errorf("timeouts %s, %s", s.CallTimeout("slow"), s.CallTimeout("fast"))
	}
	if len(s.Queues()) != 3 || len(s.Profiles()) != 4 || *s.Config().TransientRetries != 0 || s.Config().QueueTTL.String() != "36h" {
		t.Errorf("config %+v", s.Config())
	}
}

func TestWarnings(t *testing.T) {
	warnings, err := Check("testdata/good")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range warnings {
		got = append(got, w.String())
	}
	sameProblems(t, "testdata/good", got, []string{
		"emend.yaml:23: profiles.slow: no prompt uses this profile", "emend.yaml:24: profiles.spread: no prompt", "emend.yaml:25: profiles.demo: no prompt",
		"prompts/extract-invoice@2.yaml:18: output.schema: the schema goes out in response_format with strict: false, a hint that the provider does not enforce (at /properties/price: strict mode does not carry minimum)"})
	s, err := loadPrompt("inputs: {a: {}, b: {}}\nmessages: [{user: '{{ .b }}'}]")
	if err != nil || len(s.Warnings()) != 2 || s.Warnings()[1].String() != "prompts/x@1.yaml:1: inputs.a: no message uses this input" {
		t.Errorf("%v, %v", s.Warnings(), err)
	}
}

// TestBadFolder compares every problem of a folder with what is written beside it.
func TestBadFolder(t *testing.T) {
	_, err := Check("testdata/bad")
	got := strings.Join(problemsOf(t, err), "\n") + "\n"
	if *update {
		if err := os.WriteFile("testdata/bad/problems.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/bad/problems.txt")
	if err != nil || got != string(want) {
		t.Errorf("%v\ngot\n%s\nwant\n%s", err, got, want)
	}
}

func TestPromptProblems(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"messages: [{user: hi}]", nil},
		{"", []string{":1: messages: is missing: the conversation"}},
		{
			"messages: [{user: ~}]",
			[]string{":1: messages[0]: needs one of the roles"},
		},
		{
			"messages: []",
			[]string{":1: messages: has 0 entries; allowed are 1 to 100"},
		},
		{"messages: hi", []string{":1: messages: must be a list, not text"}},
		{
			"messages:\n- hi\n- {usr: x}\n- {cache: 5m}\n- {user: a, system: b}\n- {user: [x]}\n- {user: a, cache: 5}\n- {}\n- {user: x, cache: 0s}\n- {user: 5}",
			[]string{
				":2: messages[0]: must be a mapping, not text", ":3: messages[1]: needs one of the roles", ":3: messages[1].usr: unknown role; did you mean user?",
				":4: messages[2]: needs one of the roles", ":5: messages[3].system: a message has one role, and this one has user already",
				":6: messages[4].user: must be text, not a list", ":7: messages[5].cache: must be a duration", ":8: messages[6]: needs one of the roles",
				":9: messages[7].cache: is 0s", ":10: messages[8].user: must be text, not a number; put it in quotes"},
		},
		{
			"messages:\n- user: |\n    a\n    {{ .b }} {{ printf .c }}\n- system: '{{ .d'",
			[]string{
				":2: messages[0].user: line 2 of the template: \"printf\" is no function here", ":5: messages[1].system: line 1 of the template: unclosed action"},
		},
		{
			"messages: [{user: '{{ .b }}'}]\ninputs: {a: {}, a b: {}}",
			[]string{
				":1: messages[0].user: line 1 of the template: .b is no input of this prompt; did you mean a?",
				":2: inputs.a b: the name must be A-Z",
			},
		},
		{
			"profile: nope\nmessages: [{user: hi}]",
			[]string{":1: profile: there is no profile \"nope\"; known are p"},
		},
		{
			"inputs:\n  a: {max: 0B}\n  b: {default: x, required: true}\n  c: {max: 1B, default: xy}\n  d: {required: 'false'}\nmessages: [{user: hi}]",
			[]string{
				":2: inputs.a.max: is 0B", ":3: inputs.b.required: contradicts default", ":4: inputs.c.default: has 2 bytes, more than max (1B)",
				":5: inputs.d.required: must be true or false, not text"},
		},
		{
			"messages: [{user: hi}]\noutput: {mode: text}",
			[]string{":2: output.mode: must be one of none, basic, json, json_schema"},
		},
		{
			"messages: [{user: hi}]\noutput: {mode: json_schema}",
			[]string{":2: output.schema: is missing: mode json_schema needs one"},
		},
		{
			"messages: [{user: hi}]\noutput: {mode: json, schema: {}}",
			[]string{":2: output.schema: has no effect in mode json"},
		},
		{
			"messages: [{user: hi}]\noutput: {repair_attempts: 1}",
			[]string{":2: output.repair_attempts: is 1, but mode none accepts every answer"},
		},
		{
			"messages: [{user: hi}]\noutput: {mode: basic, repair_attempts: 4}",
			[]string{":2: output.repair_attempts: is 4; it must be a whole number from 0 to 3"},
		},
		{
			"messages: [{user: hi}]\noutput: {mode: json, repair_attempts: -1, duplicate_keys: keep, on_exhausted: wait, repair: {style: loud, max_targets: 9}}",
			[]string{
				":2: output.duplicate_keys: must be one of reject, last_wins", ":2: output.on_exhausted: must be one of return, escalate, fail",
				":2: output.repair.max_targets: is 9; it must be a whole number from 1 to 8", ":2: output.repair.style: must be one of auto, conversation, targeted",
				":2: output.repair_attempts: is -1"},
		},
		{
			"messages: [{user: hi}]\noutput: {mode: json_schema, schema: nothere.json}",
			[]string{":2: output.schema: file prompts/nothere.json cannot be read: file does not exist"},
		},
		{
			"messages: [{user: hi}]\noutput: {mode: json_schema, schema: ../emend.yaml}",
			[]string{":2: output.schema: \"../emend.yaml\" must be the name of a file beside the prompts"},
		},
		{
			"messages: [{user: hi}]\noutput: {mode: json_schema, schema: {type: strin}}",
			[]string{":2: output.schema: schema at"},
		},
		{
			"messages: [{user: hi}]\noutput: {mode: json_schema, schema: 5}",
			[]string{":2: output.schema: must be text: the name of a JSON file beside the prompts, or a JSON Schema, not a number"},
		},
		{
			"messages: [{user: hi}]\nsettings: {temperature: 3, top_p: .nan, max_output_tokens: 0, seed: 1.5, stop: ['', a], reasoning_effort: huge, top_k: 3}",
			[]string{
				":2: settings.max_output_tokens: is 0", ":2: settings.reasoning_effort: must be one of none, minimal", ":2: settings.seed: must be a whole number, not a number",
				":2: settings.stop[0]: must not be empty", ":2: settings.temperature: is 3; it must be a number from 0 to 2",
				":2: settings.top_k: unknown field; did you mean top_p?", ":2: settings.top_p: must be a number from 0 to 1, in decimal digits"},
		},
		{
			"messages: [{user: '{{ .a }}'}]\ninputs: {a: {max: 3B}}\ntests:\n- {name: t, inputs: {a: long}}\n- {name: u, inputs: {b: 1, a: x}, answers: [y], expect: {status: done, calls: 0}}\n- {name: t}\n- {}",
			[]string{
				":5: tests[1].expect.calls: is 0", ":5: tests[1].expect.status: must be one of succeeded", ":6: tests[2].name: stands twice", ":7: tests[3].name: is missing"},
		},
		{
			"messages: [{user: '{{ .a }}'}]\ninputs: {a: {max: 3B}}\ntests:\n- {name: t, inputs: {a: long}}\n- {name: u, inputs: {b: 1, a: x}}\n- {name: v}",
			[]string{
				":4: tests[0].inputs.a: has 4 bytes, allowed are 3B (3)", ":5: tests[1].inputs.b: is no input of prompt x@1; did you mean a?",
				":6: tests[2].inputs.a: is missing: the prompt needs it"},
		},
	} {
		_, err := loadPrompt(c.text)
		want := make([]string, len(c.want))
		for i, w := range c.want {
			want[i] = "prompts/x@1.yaml" + w
		}
		sameProblems(t, c.text, problemsOf(t, err), want)
	}
}

func TestLaterKeysAreRefusedByName(t *testing.T) {
	for _, key := range []string{"validation_policy"} {
		_, err := loadConfig("backends: {o: {dialect: openai, url: 'http://h/v1'}}\n" + key + ": {}")
		want := "emend.yaml:2: " + key + ": " + key + " is not supported by this version; remove it"
		if got := problemsOf(t, err); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %v", key, got)
		}
	}
}

func TestPromptFileNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"a@1":                    true,
		"a.b_c-D@12":             true,
		"a":                      false,
		"a@":                     false,
		"a@0":                    false,
		"a@01":                   false,
		"a@-1":                   false,
		"a@+1":                   false,
		"@1":                     false,
		"a@1@2":                  false,
		"a b@1":                  false,
		"a@99999999999999999999": false,
	} {
		_, err := LoadFS(folder{
			"emend.yaml":                minimal,
			"prompts/" + name + ".yaml": "messages: [{user: hi}]",
		}.fs())
		if got := problemsOf(t, err); (len(got) == 0) != ok {
			t.Errorf("%s: %v", name, got)
		}
	}
	_, err := LoadFS(folder{
		"emend.yaml":       minimal,
		"prompts/a@1.yaml": "messages: [{user: hi}]",
		"prompts/a@1.yml":  "messages: [{user: hi}]",
	}.fs())
	if got := problemsOf(t, err); len(got) != 1 || !strings.HasSuffix(got[0], "prompt a@1 is defined twice") {
		t.Errorf("twice: %v", got)
	}
}

func TestMountedFolder(t *testing.T) {
	dir := folder{
		"emend.yaml":              minimal,
		"prompts/..2026/bad.yaml": "x",
		"prompts/..data.yaml":     "x",
		"prompts/.hidden.yaml":    "x",
		"prompts/README.md":       "x",
		"prompts/..2026/a@1.yaml": "messages: [{user: hi}]",
	}.write(t)
	// A ConfigMap mount: the files are links into a folder that the server swaps.
	if err := os.Symlink("..2026/a@1.yaml", filepath.Join(dir, "prompts", "a@1.yaml")); err != nil {
		t.Fatal(err)
	}
	s, err := LoadDir(dir)
	if err != nil || len(s.Prompts()) != 1 {
		t.Fatalf("%v", err)
	}
}

func TestNothingLeadsOut(t *testing.T) {
	outside := folder{
		"x@1.yaml": "messages: [{user: hi}]",
		"s.json":   "{}",
	}.write(t)
	dir := folder{
		"emend.yaml":       minimal,
		"prompts/y@1.yaml": "messages: [{user: hi}]\noutput: {mode: json_schema, schema: s.json}",
	}.write(t)
	for _, name := range []string{"x@1.yaml", "s.json"} {
		if err := os.Symlink(filepath.Join(outside, name), filepath.Join(dir, "prompts", name)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := LoadDir(dir)
	sameProblems(t, "links", problemsOf(t, err), []string{
		"prompts/x@1.yaml: cannot be read: path escapes",
		"prompts/y@1.yaml:2: output.schema: file prompts/s.json cannot be read: path escapes",
	})
}

func TestFilesAreBounded(t *testing.T) {
	big := strings.Repeat("#", MaxFileBytes+1)
	_, err := LoadFS(folder{
		"emend.yaml":       big,
		"prompts/x@1.yaml": big,
		"prompts/s.json":   big,
		"prompts/y@1.yaml": "messages: [{user: hi}]\noutput: {mode: json_schema, schema: s.json}",
	}.fs())
	sameProblems(t, "big", problemsOf(t, err), []string{
		"emend.yaml: the file has more than 1048576 bytes",
		"prompts/x@1.yaml: the file has more than",
		"prompts/y@1.yaml:2: output.schema: file prompts/s.json the file has more than",
	})
	r := newReport("f")
	if parseYAML(r, []byte(big)) != nil || len(r.problems) != 1 {
		t.Errorf("%v", r.problems)
	}
	dir := folder{"prompts/x": ""}.write(t)
	if err := os.Mkdir(filepath.Join(dir, "emend.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = LoadDir(dir)
	sameProblems(t, "folder", problemsOf(t, err), []string{"emend.yaml: is no regular file"})
}

func TestMissingConfig(t *testing.T) {
	files := folder{"prompts/x@1.yaml": "profile: p\nmessages: [{user: hi}]"}
	_, err := LoadFS(files.fs())
	sameProblems(t, "no emend.yaml", problemsOf(t, err), []string{"emend.yaml: is missing; write backends and profiles into it"})
	_, err = LoadFS(files.fs(), func(c *Config) { c.NATS.URL = "nats://elsewhere" })
	if got := problemsOf(t, err); len(got) == 0 || !strings.HasPrefix(got[0], "emend.yaml: is missing") {
		t.Errorf("an option that gives no backend makes the file optional: %v", got)
	}
	s, err := LoadFS(files.fs(), WithBackend("o", Backend{
		Dialect: "openai",
		URL:     "http://h",
	}), WithProfile("p", Profile{Backend: "o", Model: "m"}))
	if err != nil || s.Backends()[0].CallTimeout != 120*oneSecond || s.Backends()[0].Name != "o" {
		t.Fatalf("%v", err)
	}
	s, err = LoadFS(folder{"emend.yaml": minimal}.fs(), WithProfile("q", Profile{
		Backend: "o",
		Model:   "m2",
	}))
	if err != nil || len(s.Profiles()) != 2 {
		t.Fatalf("%v", err)
	}
	if _, err := LoadDir(filepath.Join(t.TempDir(), "nothere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	if _, err := LoadFS(folder{
		"emend.yaml": minimal,
		"prompts":    "a file",
	}.fs()); err == nil {
		t.Error("a file in place of the folder is accepted")
	}
}

func TestNewSnapshot(t *testing.T) {
	d := Definitions{
		Config: Config{
			Backends: map[string]Backend{"o": {Dialect: "openai", URL: "http://h"}},
			Profiles: map[string]Profile{"p": {Backend: "o", Model: "m"}},
		},
		Prompts: []Prompt{{
			ID:       "x",
			Version:  1,
			Profile:  "p",
			Inputs:   map[string]Input{"a": {}},
			Messages: []Template{{Role: "user", Text: "{{ .a }}"}},
			Output: Output{
				Mode:   "json_schema",
				Schema: SchemaRef{Inline: []byte(`{"type":"object"}`)},
			},
		}},
	}
	s, err := NewSnapshot(d)
	if err != nil {
		t.Fatal(err)
	}
	if b := s.Backends()[0]; b.Permits != 0 || b.Name != "o" || d.Config.Backends["o"].Name != "" || d.Prompts[0].Inputs["a"].Max != 0 {
		t.Errorf("permits %d: a program's zero is no bound, and its maps are not written to", b.Permits)
	}
	d.Prompts = append(d.Prompts, Prompt{
		ID:       "x",
		Version:  1,
		Messages: []Template{{Role: "user"}},
	}, Prompt{ID: "no id", Version: 0},
		Prompt{
			ID:       "y",
			Version:  1,
			Messages: []Template{{Role: "boss"}},
			Output:   Output{Mode: "json_schema", Schema: SchemaRef{File: "f"}},
		},
		Prompt{
			ID:       "z",
			Version:  1,
			Messages: []Template{{Role: "user"}},
			Output:   Output{Mode: "json_schema", Schema: SchemaRef{File: "f"}},
		},
		Prompt{
			ID:       "w",
			Version:  1,
			Messages: []Template{{Role: "user"}},
			Output: Output{
				Mode:   "json_schema",
				Schema: SchemaRef{File: "f", Inline: []byte("{")},
			},
		})
	_, err = NewSnapshot(d)
	sameProblems(t, "program", problemsOf(t, err), []string{
		"no id@0: prompt \"no id\"@0: the id must be",
		"w@1: output.schema: must be text: the name of a JSON file beside the prompts, or a JSON Schema, not both",
		"x@1: prompt x@1 is defined twice",
		"y@1: messages[0]: needs one of the roles",
		"y@1: output.schema: there are no files here",
		"z@1: output.schema: there are no files here",
	})
}
