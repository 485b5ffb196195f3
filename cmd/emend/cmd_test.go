package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"emend/schemas"
)

// result of one command line.
type ran struct {
	code     int
	out, err string
}

func emend(t *testing.T, stdin string, args ...string) ran {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), args, streams{in: strings.NewReader(stdin), out: &out, err: &errs})
	return ran{code, out.String(), errs.String()}
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDemoMakesThreeRuns(t *testing.T) {
	r := emend(t, "", "demo")
	if r.code != exitOK {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	for _, want := range []string{"right-at-once succeeded", "after-a-429 succeeded", "after-a-repair succeeded", "provider_status 429", "repair: targeted", "invalid: schema_invalid"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("the demo does not show %q:\n%s", want, r.out)
		}
	}
}

func TestInitCheckTryIsAPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "w")
	if r := emend(t, "", "init", dir); r.code != exitOK {
		t.Fatalf("init: %+v", r)
	}
	if r := emend(t, "", "--json", "init", filepath.Join(t.TempDir(), "w")); r.code != exitOK || !json.Valid([]byte(r.out)) {
		t.Errorf("init --json: %+v", r)
	}
	if r := emend(t, "", "init", dir); r.code != exitUsage || !strings.Contains(r.err, "overwrites nothing") {
		t.Errorf("a second init: %+v", r)
	}
	if r := emend(t, "", "check", dir); r.code != exitOK || !strings.Contains(r.out, "1 rehearsals played") {
		t.Errorf("check: %+v", r)
	}
	r := emend(t, "", "--json", "try", "--dir", dir, "extract-invoice", "document=@"+filepath.Join(dir, "sample.txt"))
	var res schemas.Result
	if err := json.Unmarshal([]byte(r.out), &res); err != nil || r.code != exitOK || res.Status != schemas.StatusSucceeded || res.Counts.Repairs != 1 {
		t.Errorf("try: %v, %+v", err, r)
	}
}

func TestCheckNamesFileLineAndField(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "emend.yaml"), "backends:\n  a:\n    dialect: opanai\n    permitts: 3\nprofiles:\n  p: {backend: b, model: m}\n")
	r := emend(t, "", "check", dir)
	for _, want := range []string{"emend.yaml:3", "backends.a.dialect", "emend.yaml:4", "permits", "profiles.p"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("check does not say %q:\n%s", want, r.out)
		}
	}
	if r.code != exitUsage {
		t.Errorf("exit %d", r.code)
	}
}

// A folder without prompts is checked, and said to be one; prompts in a folder of another name are not read.
func TestCheckCountsPrompts(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "emend.yaml"), "backends:\n  a: {dialect: scripted}\nprofiles:\n  p: {backend: a, model: m}\n")
	if r := emend(t, "", "check", dir); r.code != exitOK || !strings.Contains(r.out, "warning: prompts: holds no prompt") || !strings.Contains(r.out, "0 prompts checked") || strings.Contains(r.out, "rename") {
		t.Errorf("none: %+v", r)
	}
	text := "profile: p\nmessages:\n  - user: hi\n"
	write(t, filepath.Join(dir, "prompt/x@1.yaml"), text)
	if r := emend(t, "", "check", dir); r.code != exitOK || !strings.Contains(r.out, "rename it to prompts") {
		t.Errorf("another name: %+v", r)
	}
	if r := emend(t, "", "check", "--json", dir); r.code != exitOK || !strings.Contains(r.out, `"prompts":0`) || !strings.Contains(r.out, "rename it to prompts") {
		t.Errorf("another name, for a machine: %+v", r)
	}
	write(t, filepath.Join(dir, "prompts/x@1.yaml"), text)
	if r := emend(t, "", "check", dir); r.code != exitOK || !strings.HasPrefix(r.out, "ok 1 prompt checked\n") {
		t.Errorf("one: %+v", r)
	}
}

func TestCheckPlaysRehearsals(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "emend.yaml"), "backends:\n  a: {dialect: scripted}\nprofiles:\n  p: {backend: a, model: m}\n")
	write(t, filepath.Join(dir, "prompts/x@1.yaml"), "profile: p\nmessages:\n  - user: hi\noutput: {mode: json}\ntests:\n  - {name: wrong, answers: ['no'], expect: {status: succeeded}}\n")
	for _, args := range [][]string{{"check", dir}, {"--json", "check", dir}} {
		if r := emend(t, "", args...); r.code != exitUsage || !strings.Contains(r.out, "status is invalid, expected succeeded") {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

// textCase is one line of testdata/texts.jsonl, which is a copy of the project's recorded cases.
type textCase struct {
	ID, Text string
	Schema   json.RawMessage
	Class    string   `json:"expect_class"`
	Paths    []string `json:"expect_paths"`
}

func TestValidateGivesEveryRecordedTextItsClass(t *testing.T) {
	f, err := os.Open("testdata/texts.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c textCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		n++
		t.Run(c.ID, func(t *testing.T) { validateCase(t, c) })
	}
	if lines.Err() != nil || n != 52 {
		t.Errorf("%d cases, %v", n, lines.Err())
	}
}

func validateCase(t *testing.T, c textCase) {
	args := []string{"--json", "validate"}
	if len(c.Schema) > 0 && string(c.Schema) != "null" {
		args = append(args, "--schema", write(t, filepath.Join(t.TempDir(), "s.json"), string(c.Schema)))
	}
	r := emend(t, c.Text, append(args, "-")...)
	var v verdictJSON
	if err := json.Unmarshal([]byte(r.out), &v); err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	want := exitInvalid
	if c.Class == "ok" {
		want = exitOK
	}
	if v.Class != c.Class || r.code != want || v.Valid != (c.Class == "ok") {
		t.Errorf("class %s, exit %d; expected %s, %d", v.Class, r.code, c.Class, want)
	}
	for _, p := range c.Paths {
		if !slices.ContainsFunc(v.Findings, func(f schemas.Finding) bool { return located(f, p) }) {
			t.Errorf("no finding for %q in %+v", p, v.Findings)
		}
	}
}

// located matches "/edits type", "/org" or "required" (at the root).
func located(f schemas.Finding, path string) bool {
	pointer, keyword, both := strings.Cut(path, " ")
	switch {
	case both:
		return f.Pointer == pointer && f.Keyword == keyword
	case strings.HasPrefix(path, "/"):
		return f.Pointer == path
	}
	return f.Pointer == "" && f.Keyword == path
}

func TestValidateExitsTwoForBadSchemasAndFiles(t *testing.T) {
	dir := t.TempDir()
	for name, schema := range map[string]string{"broken": "{", "remote": `{"$ref":"https://example.com/s.json"}`, "file": `{"$ref":"file:///etc/passwd"}`,
		"cyclic": `{"$defs":{"a":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`, "lookahead": `{"pattern":"(?=a)"}`} {
		r := emend(t, "{}", "validate", "--schema", write(t, filepath.Join(dir, name+".json"), schema))
		if r.code != exitUsage || !strings.Contains(r.err, name+".json") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for _, args := range [][]string{{"validate", "nowhere.json"}, {"validate", "--schema", "nowhere.json"}, {"validate", "--mode", "odd"}, {"validate", "--mode", "json_schema"}} {
		if r := emend(t, "{}", args...); r.code != exitUsage || r.err == "" {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

func TestTryNeedsNoFile(t *testing.T) {
	model := newMock(t, "rules:\n  - {match: {contains: colour}, replies: [{text: '[\"red\"]'}]}\n")
	t.Setenv("SOME_KEY", "sk-1")
	r := emend(t, "", "try", "--model", "openai/m", "--url", model, "--key-env", "SOME_KEY", "--mode", "json", "a colour")
	if r.code != exitOK || !strings.Contains(r.out, "red") {
		t.Errorf("%+v", r)
	}
	r = emend(t, "", "try", "--model", "openai/m", "--url", model, "--key-env", "NOT_SET", "a colour")
	if r.code != exitFailed || !strings.Contains(r.err, "NOT_SET") {
		t.Errorf("a missing key: %+v", r)
	}
}

func TestTrySpeaksEveryDialect(t *testing.T) {
	root := strings.TrimSuffix(newMock(t, "default: {replies: [{text: '[\"red\"]'}]}\n"), "/v1")
	for dialect, below := range map[string]string{"openai": "/v1", "anthropic": "/v1", "gemini": "/v1beta", "ollama": ""} {
		if r := emend(t, "", "try", "--model", dialect+"/m", "--url", root+below, "--key-env", "", "--mode", "json", "a colour"); r.code != exitOK || !strings.Contains(r.out, "red") {
			t.Errorf("%s: %+v", dialect, r)
		}
	}
	for dialect, variable := range map[string]string{"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"} {
		t.Setenv(variable, "")
		if r := emend(t, "", "try", "--model", dialect+"/m", "--url", root, "a colour"); r.code != exitFailed || !strings.Contains(r.err, variable) {
			t.Errorf("%s without a key: %+v", dialect, r)
		}
	}
	if r := emend(t, "", "try", "--model", "opanai/m", "hi"); r.code != exitUsage || !strings.Contains(r.err, "one of openai") {
		t.Errorf("%+v", r)
	}
}

func TestExitCodes(t *testing.T) {
	model := newMock(t, "rules:\n  - {match: {contains: bad}, replies: [{text: 'no json'}]}\n  - {match: {contains: broken}, replies: [{status: 400}]}\n")
	for text, want := range map[string]int{"good": exitOK, "bad": exitInvalid, "broken": exitFailed} {
		if r := emend(t, "", "try", "--model", "openai/m", "--url", model, "--key-env", "", "--mode", "json", "--repairs", "0", text); r.code != want {
			t.Errorf("%s: exit %d, expected %d: %s", text, r.code, want, r.err)
		}
	}
	for _, args := range [][]string{{"nonsense"}, {"run"}, {"try", "--dir", "/nowhere", "x"}, {"run", "x", "noequals"}, {"run", "x", "a:=nojson"}, {"serve", "--dir", "/nowhere"}} {
		if r := emend(t, "", args...); r.code != exitUsage || r.err == "" {
			t.Errorf("%v: %+v", args, r)
		}
	}
	if r := emend(t, "", "get", "x", "--nats", "nats://127.0.0.1:1"); r.code != exitFailed || !strings.Contains(r.err, "emend dev") {
		t.Errorf("no server: %+v", r)
	}
}

func TestErrorsHideCredentialsInURLs(t *testing.T) {
	for _, url := range []string{"nats://me:hunter2@127.0.0.1:1", "nats://me:hunter2@[bad", "nats://me:hunter2@127.0.0.1:1%zz", "me:hunter2@", "me:hunter2@127.0.0.1:1"} {
		if r := emend(t, "", "get", "x", "--nats", url); r.code != exitFailed || strings.Contains(r.err+r.out, "hunter2") {
			t.Errorf("%s: %+v", url, r)
		}
	}
}

func TestVersionAndHelp(t *testing.T) {
	if r := emend(t, "", "version"); r.code != exitOK || !strings.Contains(r.out, version) {
		t.Errorf("%+v", r)
	}
	r := emend(t, "", "help")
	for _, c := range []string{"demo", "init", "try", "dev", "serve", "run", "get", "cancel", "watch", "check", "doctor", "streams", "validate", "mock", "version"} {
		if !strings.Contains(r.out, "\n  "+c+" ") {
			t.Errorf("help does not list %s", c)
		}
	}
}

func TestMockCountsItsCalls(t *testing.T) {
	url := newMock(t, "")
	resp, err := http.Post(url+"/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"x"}]}`))
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", err, resp)
	}
	resp.Body.Close()
	resp, err = http.Get(strings.TrimSuffix(url, "/v1") + "/stats")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var stats struct{ Calls int }
	if err := json.NewDecoder(resp.Body).Decode(&stats); err != nil || stats.Calls != 1 {
		t.Errorf("%v %+v", err, stats)
	}
}

func TestMockSpeaksEveryWire(t *testing.T) {
	line := background(t, "--json", "mock", "--listen", "127.0.0.1:0")
	var urls map[string]string
	if err := json.Unmarshal([]byte(line("{")), &urls); err != nil {
		t.Fatal(err)
	}
	ask := `"model":"m","messages":[{"role":"user","content":"x"}]`
	for dialect, c := range map[string][2]string{"openai": {"/chat/completions", "{" + ask + "}"}, "anthropic": {"/messages", `{"max_tokens":9,` + ask + "}"},
		"gemini": {"/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"x"}]}]}`}, "ollama": {"/api/chat", "{" + ask + "}"}} {
		resp, err := http.Post(urls[dialect]+c[0], "application/json", strings.NewReader(c[1]))
		if err != nil {
			t.Fatalf("%s at %q: %v", dialect, urls[dialect], err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), `{\"ok\":true}`) {
			t.Errorf("%s: %d %s, %v", dialect, resp.StatusCode, body, err)
		}
	}
}

// The service registry refuses what is no semantic version; a build from a bare commit must serve all the same.
func TestSemverIsAlwaysOne(t *testing.T) {
	saved := version
	defer func() { version = saved }()
	for v, want := range map[string]string{"v1.2.3": "1.2.3", "0.1.0-dev": "0.1.0-dev", "5708e68-dirty": "0.0.0", "": "0.0.0"} {
		if version = v; semver() != want {
			t.Errorf("%q becomes %q", v, semver())
		}
	}
}
