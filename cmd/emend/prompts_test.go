package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"emend/engine/rehearse"
)

// rehearsalDir is a folder with one prompt and its tests.
func rehearsalDir(t *testing.T, tests string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "emend.yaml"), "backends:\n  a: {dialect: openai, url: 'http://127.0.0.1:1', key: {env: EMEND_TEST_NO_SUCH_KEY}}\n"+
		"profiles:\n  p: {backend: a, model: m, settings: {temperature: 0}}\n  q: {backend: a, model: n}\n")
	write(t, filepath.Join(dir, "prompts", "price@1.yaml"), `profile: p
inputs: {document: {}, currency: {default: EUR}}
messages:
  - system: Answer with JSON only.
  - user: "{{ .currency }} {{ .document }}"
    cache: 5m
output:
  mode: json_schema
  repair_attempts: 2
  schema: {type: object, required: [price], additionalProperties: false, properties: {price: {type: number, minimum: 0}}}
tests:
`+tests)
	return dir
}

const goodTest = `  - {name: currency suffix, inputs: {document: four}, answers: ['{"price":"4 USD"}', '{"price":4}'],
     expect: {status: succeeded, calls: 2, repairs: 1, style: targeted, findings: [{path: price, keyword: type}], output: {price: 4}}}
`

func TestPromptsRender(t *testing.T) {
	dir := rehearsalDir(t, goodTest)
	r := emend(t, "", "prompts", "render", "price", "document=one apple", "--dir", dir)
	for _, want := range []string{"target    profile p, backend a (openai), model m\n", `settings  {"temperature":0}`, "contract  json_schema, 2 corrective calls\n",
		"calls     9 at most\n", "native    response_format with strict: false, weakened\n          - at /properties/price: ", "warning: ",
		"\n--- system\nAnswer with JSON only.\n", "\n--- user (cache 5m)\nEUR one apple\n"} {
		if r.code != exitOK || !strings.Contains(r.out, want) {
			t.Errorf("exit %d, no %q in\n%s%s", r.code, want, r.out, r.err)
		}
	}
	j := emend(t, "", "--json", "prompts", "render", "price@1", "--test", "currency suffix", "--profile", "q", "--dir", dir)
	var out rehearse.Rendering
	if err := json.Unmarshal([]byte(j.out), &out); err != nil || j.code != exitOK || out.Model != "n" || out.Messages[1].Content != "EUR four" ||
		!strings.Contains(string(out.Request.Body), "EUR four") {
		t.Errorf("%v: %+v", err, j)
	}
}

// Inputs of a test, of a file and of the command line go over each other, in this order.
func TestPromptsInputsGoOverEachOther(t *testing.T) {
	dir := rehearsalDir(t, goodTest)
	file := write(t, filepath.Join(dir, "in.json"), `{"document": "two", "currency": "USD"}`)
	for want, args := range map[string][]string{
		"EUR four":  {"--test", "currency suffix"},
		"USD two":   {"--test", "currency suffix", "--inputs", file},
		"USD three": {"--test", "currency suffix", "--inputs", file, "document=three"},
	} {
		if r := emend(t, "", append([]string{"prompts", "render", "price", "--dir", dir}, args...)...); !strings.Contains(r.out, want) {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

func TestPromptsRepair(t *testing.T) {
	dir := rehearsalDir(t, goodTest)
	bad := write(t, filepath.Join(dir, "bad.txt"), `{"price":"4 USD"}`)
	r := emend(t, "", "prompts", "repair", "price", "document=x", "--candidate", bad, "--dir", dir)
	for _, want := range []string{"schema_invalid\n- price: type: ", "style     targeted\ntargets   price\nbudget    correction 1 of 2\n",
		"\n--- assistant\n{\"price\":\"4 USD\"}\n", "\n--- user\nYou are correcting one place", "FAILING PATH\nprice\n", "RULE\nChange only the value at price."} {
		if r.code != exitInvalid || !strings.Contains(r.out, want) {
			t.Errorf("exit %d, no %q in\n%s%s", r.code, want, r.out, r.err)
		}
	}
	if r := emend(t, `{"price":4}`, "prompts", "repair", "price", "document=x", "--candidate", "-", "--dir", dir); r.code != exitOK || r.out != "valid\n" {
		t.Errorf("valid: %+v", r)
	}
	j := emend(t, `{"price":4}`, "--json", "prompts", "repair", "price", "document=x", "--candidate", "-", "--finish", "length", "--dir", dir)
	var out rehearse.Correction
	if err := json.Unmarshal([]byte(j.out), &out); err != nil || j.code != exitOK || !out.Valid {
		t.Errorf("valid though cut: %v, %+v", err, j)
	}
	j = emend(t, `{"price":"4`, "--json", "prompts", "repair", "price", "document=x", "--candidate", "-", "--dir", dir)
	if err := json.Unmarshal([]byte(j.out), &out); err != nil || j.code != exitInvalid || out.Style != "regenerate" || out.Class != "not_json" {
		t.Errorf("cut: %v, %+v", err, j)
	}
}

func TestPromptsTest(t *testing.T) {
	dir := rehearsalDir(t, goodTest+"  - {name: only rendered, inputs: {document: x}}\n")
	want := "ok price@1 \"currency suffix\": succeeded, 2 calls, 1 of them corrective\nok price@1 \"only rendered\": rendered\nok 2 rehearsals played\n"
	if r := emend(t, "", "prompts", "test", "--dir", dir); r.code != exitOK || r.out != want {
		t.Errorf("%+v", r)
	}
	if r := emend(t, "", "check", dir); r.code != exitOK || !strings.HasSuffix(r.out, "ok 2 rehearsals played\n") {
		t.Errorf("check: %+v", r)
	}
	bad := rehearsalDir(t, goodTest+"  - {name: wrong, inputs: {document: x}, answers: ['{\"price\":4}'], expect: {style: targeted}}\n")
	const fault = "the style of the last correction is none, expected targeted"
	if r := emend(t, "", "prompts", "test", "price@1", "--dir", bad); r.code != exitUsage || !strings.Contains(r.out, "FAIL price@1 \"wrong\": "+fault) ||
		!strings.Contains(r.err, "1 of 2 rehearsals failed") {
		t.Errorf("%+v", r)
	}
	j := emend(t, "", "--json", "prompts", "test", "--dir", bad)
	var out struct {
		OK    bool
		Tests []rehearse.Outcome
	}
	if err := json.Unmarshal([]byte(j.out), &out); err != nil || j.code != exitUsage || out.OK || len(out.Tests) != 2 || out.Tests[1].Fault != fault {
		t.Errorf("%v: %+v", err, j)
	}
}

func TestPromptsGrade(t *testing.T) {
	dir := rehearsalDir(t, goodTest)
	r := emend(t, "", "prompts", "grade", "price", "--dir", dir, "--min-rate", "0.5")
	for _, want := range []string{"repaired   number with a currency      price                schema_invalid, targeted, 1 call\n",
		"asked_anew cut ", "broken     schema echoed ", "answer test: {\"price\":4}\n", " corrupted: ", "rate 0."} {
		if r.code != exitOK || !strings.Contains(r.out, want) {
			t.Errorf("exit %d, no %q in\n%s%s", r.code, want, r.out, r.err)
		}
	}
	answer := write(t, filepath.Join(dir, "good.json"), `{"price": 2.5}`)
	j := emend(t, "", "--json", "prompts", "grade", "price", "--dir", dir, "--answer", answer, "--min-rate", "1")
	var out rehearse.Report
	if err := json.Unmarshal([]byte(j.out), &out); err != nil || j.code != exitInvalid || out.From != "given" || out.Rate >= 1 || len(out.Grades) < 10 {
		t.Errorf("%v: %+v", err, j)
	}
}

func TestPromptsSayWhatIsWrong(t *testing.T) {
	dir := rehearsalDir(t, goodTest)
	for want, args := range map[string][]string{
		"inputs.document: is missing":                           {"render", "price"},
		"there is no prompt other":                              {"test", "other"},
		"it has: currency suffix":                               {"render", "price", "--test", "none"},
		"there is no prompt none":                               {"render", "none", "--test", "x"},
		"no JSON object of inputs":                              {"render", "price", "--inputs", filepath.Join(dir, "emend.yaml")},
		"--candidate FILE is missing":                           {"repair", "price", "document=x"},
		"no such file":                                          {"repair", "price", "document=x", "--candidate", filepath.Join(dir, "none.txt")},
		"write NAME=VALUE":                                      {"render", "price", "document"},
		"a share from 0 to 1":                                   {"grade", "price", "--min-rate", "2"},
		"not valid itself":                                      {"grade", "price", "--answer", filepath.Join(dir, "emend.yaml")},
		"EMEND_TEST_NO_SUCH_KEY":                                {"grade", "price", "--live"},
		"give the prompt: emend prompts render PROMPT":          {"render"},
		"unknown flag: --candidates; did you mean --candidate?": {"repair", "price", "--candidates", "x"},
	} {
		r := emend(t, "", append(append([]string{"prompts"}, args...), "--dir", dir)...)
		if r.code != exitUsage || !strings.Contains(r.err, want) {
			t.Errorf("%v: %+v, expected %q", args, r, want)
		}
	}
}
