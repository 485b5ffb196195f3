package prompts

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/qri-io/jsonschema"
)

// sound keywords are those that the published schemas use. Each is known to refuse what it should, given a document that
// the tables accept; $ref, $id, $anchor, $defs, pattern properties, unevaluated* and the like are not among them.
var soundKeywords = []string{
	"$schema",
	"additionalProperties",
	"default",
	"description",
	"enum",
	"items",
	"maxItems",
	"maxProperties",
	"maximum",
	"minItems",
	"minProperties",
	"minimum",
	"pattern",
	"properties",
	"required",
	"title",
	"type",
}

func TestPublishedSchemasUseOnlySoundKeywords(t *testing.T) {
	used := map[string]bool{}
	for _, text := range [][]byte{ConfigSchema(), PromptSchema()} {
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		keywordsOf(v, used)
	}
	for k := range used {
		if !slices.Contains(soundKeywords, k) {
			t.Errorf("keyword %s is not known to be sound", k)
		}
	}
	for _, k := range soundKeywords {
		if !used[k] {
			t.Errorf("keyword %s is listed and never used", k)
		}
	}
}

// keywordsOf walks schemas only: names of properties, defaults and enums are no keywords.
func keywordsOf(v any, used map[string]bool) {
	s, ok := v.(map[string]any)
	if !ok {
		return
	}
	for k, below := range s {
		used[k] = true
		switch k {
		case "properties":
			for _, p := range below.(map[string]any) {
				keywordsOf(p, used)
			}
		case "items", "additionalProperties":
			keywordsOf(below, used)
		}
	}
}

// library validates with the library as it is.
func libraryAccepts(t *testing.T, schema, doc string) bool {
	t.Helper()
	s := &jsonschema.Schema{}
	library.Lock()
	defer library.Unlock()
	if err := s.UnmarshalJSON([]byte(schema)); err != nil {
		t.Fatal(err)
	}
	problems, err := s.ValidateBytes(context.Background(), []byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return len(problems) == 0
}

// Known fault: the text "true" is a boolean to the library.
func TestTextIsNoBoolean(t *testing.T) {
	if !libraryAccepts(t, `{"type":"boolean"}`, `"true"`) {
		t.Log("the library has mended its booleans")
	}
	if !libraryAccepts(t, string(ConfigSchema()), `{"nats":{"single_replica":"true"}}`) {
		t.Log("the published schema refuses it, too")
	}
	for _, word := range []string{`"true"`, "on", "yes", "1", "'false'", "t"} {
		_, err := loadConfig("nats: {single_replica: " + word + "}")
		got := problemsOf(t, err)
		if len(got) != 1 || !strings.HasPrefix(got[0], "emend.yaml:1: nats.single_replica: must be true or false") {
			t.Errorf("%s: %v", word, got)
		}
	}
}

// Known fault: a name that stands deeper in the document passes additionalProperties: false above.
func TestNamesDoNotLeak(t *testing.T) {
	schema := `{"properties":{"a":{"properties":{"b":{}}}},"additionalProperties":false}`
	if !libraryAccepts(t, schema, `{"a":{"b":1},"b":2}`) {
		t.Log("the library has mended its leak")
	}
	for _, c := range []struct{ text, path string }{
		{"log: {level: info}\nlevel: info", "level"},
		{minimal + "dialect: openai", "dialect"},
		{"queues: {a: {weight: 2}}\nweight: 2", "weight"},
	} {
		_, err := loadConfig(c.text)
		if got := problemsOf(t, err); len(got) != 1 || !strings.Contains(got[0], ": "+c.path+": unknown field") {
			t.Errorf("%s: %v", c.text, got)
		}
	}
	_, err := loadPrompt("messages: [{user: hi}]\noutput: {mode: json}\nmode: json")
	if got := problemsOf(t, err); len(got) != 1 || !strings.Contains(got[0], ":3: mode: unknown field") {
		t.Errorf("%v", got)
	}
}

// Known fault: the library's keyword table and registries race. Everything that validates holds one mutex.
func TestValidationIsSerialised(t *testing.T) {
	text, err := os.ReadFile("testdata/good/emend.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 3 {
				r := newReport("f")
				r.root = parseYAML(r, text)
				if publishedConfig.check(r); len(r.problems) > 0 {
					t.Error(r.problems)
				}
			}
		})
	}
	all.Wait()
	for _, file := range []string{"published.go"} {
		src, err := os.ReadFile(file)
		if err != nil || strings.Count(string(src), "library.Lock()") != 1 || strings.Count(string(src), "Schema{}") != 1 {
			t.Errorf("%s: the library is used in one place, under the mutex (%v)", file, err)
		}
	}
}

// Known fault: a cycle of references overflows the stack, which no recover catches. The schemas are fixed, and refer to
// nothing; a schema that an operator writes for a model's answer never goes to the library.
func TestNoReferenceReachesTheLibrary(t *testing.T) {
	for _, text := range [][]byte{ConfigSchema(), PromptSchema()} {
		for _, word := range []string{
			"$ref",
			"$recursiveRef",
			"$dynamicRef",
			"$id",
			"$anchor",
			"$defs",
			"definitions",
		} {
			if strings.Contains(string(text), `"`+word+`"`) {
				t.Errorf("a published schema uses %s", word)
			}
		}
	}
	_, err := loadPrompt("messages: [{user: hi}]\noutput: {mode: json_schema, schema: {$ref: '#'}}")
	if got := problemsOf(t, err); len(got) != 1 || !strings.Contains(got[0], "output.schema: schema at") {
		t.Errorf("a cyclic schema of an answer: %v", got)
	}
	// Only this package imports the library, and only in published.go.
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}} {{.Imports}}", "emend/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "qri-io/jsonschema") && !strings.HasPrefix(line, "emend/prompts ") {
			t.Errorf("only prompts may import qri-io/jsonschema: %s", line)
		}
	}
}

// Known fault: deep documents recurse. What reaches the library is as deep as the tables, or bounded.
func TestDepthIsBounded(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	_, err := loadPrompt("messages: [{user: '{{ .a }}'}]\ninputs: {a: {default: " + deep(55) + "}}")
	if err != nil {
		t.Error(err)
	}
	for _, n := range []int{65, 5000, 100000} {
		_, err := loadPrompt("messages: [{user: '{{ .a }}'}]\ninputs: {a: {default: " + deep(n) + "}}")
		if got := problemsOf(t, err); len(got) == 0 {
			t.Errorf("a document %d deep is accepted", n)
		}
	}
}

// What the library says only adds: a table's fault is never doubted, and a value is never repeated.
func TestTheLibraryOnlyAdds(t *testing.T) {
	stricter := &published{text: func() []byte { return []byte(`{"properties":{"log":{"properties":{"level":{"pattern":"^nope$"}}}}}`) }}
	r := newReport("f")
	r.root = parseYAML(r, []byte("log: {level: info}"))
	stricter.check(r)
	if len(r.problems) != 1 || r.problems[0].String() != "f:1: the published schema refuses /log/level" {
		t.Errorf("%v", r.problems)
	}
	stricter.check(r)
	if len(r.problems) != 1 {
		t.Errorf("a file with faults goes to the library: %v", r.problems)
	}
	broken := &published{text: func() []byte { return []byte(`{"type":"nope"}`) }}
	r = newReport("f")
	r.root = parseYAML(r, []byte("{}"))
	if broken.check(r); len(r.problems) != 1 || !strings.Contains(r.problems[0].Message, "cannot be used") {
		t.Errorf("%v", r.problems)
	}
}

// Both must accept: the published schemas know nothing less than the tables, and null equals absent there, too.
func TestPublishedSchemasAcceptWhatTheTablesAccept(t *testing.T) {
	for _, text := range []string{
		"",
		minimal,
		"nats:\nkeep: {results: ~}\nqueues: {a: ~}",
		"queues: {url: {}, weight: {weight: 3}}",
		"keep: {results: 1d12h, events: 1.5h, dead: 90s, events_max: 1048576B}",
		minimal + "drain_timeout: 0s\ncatalog_grace: 500ms",
		"nats: {single_replica: TRUE, domain: '', context: ''}",
	} {
		if _, err := loadConfig(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{
		"messages: [{user: ''}]",
		"messages: [{user: 2024-01-01}]",
		"description: ''\nmessages: [{assistant: a, cache: 1h}]\nsettings: {temperature: 1, top_p: 0.5, seed: -3}",
		"messages: [{user: a}]\noutput: {mode: json_schema, schema: {minimum: 1.50}}",
	} {
		if _, err := loadPrompt(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
