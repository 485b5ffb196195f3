package prompts

import (
	"errors"
	"strings"
	"testing"
)

const offline = "backends:\n  m: {dialect: scripted, url: 'http://m/v1'}\nprofiles:\n  p: {backend: m, model: small}\n"

// A fault is told once, where it is, and no other follows from it.
func TestFaultsThatFollowFromOthersAreNotTold(t *testing.T) {
	const hi = "profile: p\nmessages: [{user: hi}]\n"
	for name, c := range map[string]struct {
		files folder
		want  []string
	}{
		"chunks by something unknown": {
			folder{"emend.yaml": offline, "prompts/a@1.yaml": hi, "pipelines/d@1.yaml": "chunk: {by: heading, level: 1, size: 32KiB}\nlanes: {a: {extract: {prompt: a}}}\n"},
			[]string{"pipelines/d@1.yaml:1: chunk.by: must be one of size, headings, paragraphs, json_lines, records; did you mean headings?"}},
		"chunks by no text": {
			folder{"emend.yaml": offline, "prompts/a@1.yaml": hi, "pipelines/d@1.yaml": "chunk: {by: 5, per: 1}\nlanes: {a: {extract: {prompt: a}}}\n"},
			[]string{"pipelines/d@1.yaml:1: chunk.by: must be one of"}},
		"a missing schema beside another fault": {
			folder{"emend.yaml": offline, "prompts/a@1.yaml": "profile: q\nmessages: [{user: hi}]\noutput: {mode: json_schema, schema: none.json}\n"},
			[]string{"prompts/a@1.yaml:1: profile: there is no profile \"q\"; did you mean p?", "prompts/a@1.yaml:3: output.schema: file prompts/none.json cannot be read"}},
		"a missing schema of a pipeline": {
			folder{"emend.yaml": offline, "prompts/a@1.yaml": hi, "pipelines/d@1.yaml": "chunk: {by: heading}\nlanes: {a: {extract: {prompt: a}}}\noutput: {schema: none.json}\n"},
			[]string{"pipelines/d@1.yaml:1: chunk.by: must be one of", "pipelines/d@1.yaml:3: output.schema: file prompts/none.json cannot be read"}},
		"an unknown dialect": {
			folder{"emend.yaml": strings.Replace(offline, "scripted", "opena", 1), "prompts/a@1.yaml": hi + "output: {mode: json_schema, schema: {type: object}}\n", "prompts/b@1.yaml": hi + "output: {mode: json_schema, schema: {type: object}}\n"},
			[]string{"emend.yaml:2: backends.m.dialect: must be one of "}},
		"a script in a file": {
			folder{"emend.yaml": strings.Replace(offline, "scripted,", "scripted, options: {script: s.yaml},", 1), "s.yaml": "rules:\n- match: {contain: a}\n  replies: [{txt: b}]\n"},
			[]string{"s.yaml:2: unknown field contain; did you mean contains?", "s.yaml:3: unknown field txt; did you mean text?"}},
		"a script in place": {
			folder{"emend.yaml": strings.Replace(offline, "scripted,", "scripted, options: {script: \"rules:\\n- {match: {contain: a},\\n   then: x, replys: 1}\"},", 1)},
			[]string{"emend.yaml:2: backends.m.options.script: line 2: unknown field contain; did you mean contains?", "emend.yaml:2: backends.m.options.script: line 3: unknown field replys; did you mean replies?"}},
		"a syntax error in emend.yaml": {
			folder{"emend.yaml": offline + "queues: [\n", "prompts/a@1.yaml": hi, "prompts/b@1.yaml": hi + "output: {mode: jsn}\n"},
			[]string{"emend.yaml:5: is no valid YAML", "prompts/b@1.yaml:3: output.mode: must be one of "}},
		"backends that are no backends": {
			folder{"emend.yaml": "backends: 3\nprofiles:\n  p: {backend: m, model: small}\n", "prompts/a@1.yaml": hi},
			[]string{"emend.yaml:1: backends: must be a mapping, not a number"}},
		"a word that is no word": {
			folder{"emend.yaml": offline + "audit: everything\n"},
			[]string{"emend.yaml:5: audit: must be one of "}},
	} {
		t.Run(name, func(t *testing.T) { faultsAre(t, c.files, c.want) })
	}
}

func faultsAre(t *testing.T, f folder, want []string) {
	t.Helper()
	_, err := LoadFS(f.fs())
	problems, _ := errors.AsType[Errors](err)
	if len(problems) != len(want) {
		t.Fatalf("%d faults, want %d:\n%v", len(problems), len(want), err)
	}
	for i, p := range problems {
		if s := p.String(); !strings.HasPrefix(s, want[i]) || strings.Contains(s, "known are") {
			t.Errorf("%s\nwant %s", s, want[i])
		}
	}
}

// What max_cost needs is known before any run: a price, and a bound on the answer, for each judge too.
func TestMaxCostOfAPromptIsChecked(t *testing.T) {
	conf := "backends:\n  o: {dialect: openai, url: 'https://api.openai.com/v1'}\n  m: {dialect: scripted, url: 'http://m/v1'}\nprofiles:\n  p: {backend: m, model: small}\n  q: {backend: o, model: gpt-4o-mini}\n"
	judge := "profile: p\ninputs: {candidate: {}}\nmessages: [{user: '{{ .candidate }}'}]\n"
	for text, want := range map[string][]string{
		"profile: p\nmessages: [{user: hi}]\nsettings: {max_output_tokens: 9}\nmax_cost: 0.05\n": {
			"prompts/a@1.yaml:4: max_cost: no price for model \"small\" is known, so its cost has no bound: give backend m prices, or remove max_cost"},
		"profile: q\nmessages: [{user: hi}]\nmax_cost: 0.05\n": {"prompts/a@1.yaml:3: max_cost: needs max_output_tokens in settings"},
		"profile: q\nmessages: [{user: hi}]\nsettings: {max_output_tokens: 9}\nmax_cost: 1\nchecks: [{judge: j}]\n": {
			"prompts/a@1.yaml:4: max_cost: judge j@1: needs max_output_tokens", "prompts/a@1.yaml:4: max_cost: judge j@1: no price for model \"small\""},
		"profile: q\nmessages: [{user: hi}]\nsettings: {max_output_tokens: 9}\nmax_cost: 1\n": nil,
		"messages: [{user: hi}]\nmax_cost: 1\n":                                               nil,
	} {
		faultsAre(t, folder{"emend.yaml": conf, "prompts/a@1.yaml": text, "prompts/j@1.yaml": judge}, want)
	}
}
