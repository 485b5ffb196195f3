package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// localFolder is a working folder with a prompt and a pipeline; nothing serves it, so that what is published fails otherwise.
func localFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "emend.yaml"), "backends: {model: {dialect: openai, url: 'http://127.0.0.1:1'}, other: {dialect: openai, url: 'http://127.0.0.1:1'}}\n"+
		"profiles: {fast: {backend: model, model: m}, slow: {backend: other, model: m}}\n")
	write(t, filepath.Join(dir, "prompts/work@1.yaml"), "profile: fast\ninputs: {kind: {max: 20B}}\nmessages: [{user: 'do {{ .kind }}'}]\noutput: {mode: json}\n")
	return dir
}

// What the folder tells of a run is told before anything is published: nothing listens at that address.
func TestFaultsThatAFolderTellsArePublishedNowhere(t *testing.T) {
	dir := localFolder(t)
	for args, want := range map[string]string{
		"work kid=x":                            "inputs.kid",
		"work":                                  "inputs.kind: is missing",
		"work kind=" + strings.Repeat("x", 100): "inputs.kind",
		"work kind=x --profile slo --backend model --dir " + dir: "connect to NATS", // a worker there may know the profile
		"work kind=x --profile slow --backend model":             `profile "slow" belongs to backend "other"`,
		"wrk kind=x":                      "has no prompt wrk",
		"wrk kind=x --backend model":      "connect to NATS",
		"work kind=x --backend elsewhere": "connect to NATS",
		"work kind=x --attempts ful":      `--attempts "ful": write one of summary, none, full; did you mean full?`,
		"work kind=x --attempts full":     "connect to NATS",
		"work kind=x":                     "connect to NATS",
	} {
		code := exitUsage
		if want == "connect to NATS" {
			code = exitFailed
		}
		r := emend(t, "", append([]string{"run", "--dir", dir, "--nats", "nats://127.0.0.1:1"}, strings.Fields(args)...)...)
		if r.code != code || !strings.Contains(r.err, want) {
			t.Errorf("%s: %+v", args, r)
		}
	}
	in := write(t, filepath.Join(dir, "in.jsonl"), `{"id":"a","inputs":{"kind":{"$blob":"sha256:00"}}}`+"\n"+`{"id":"b","prompt":"wrk","inputs":{}}`+"\n"+
		`{"id":"c","profile":"slo","inputs":{"kind":"x"}}`+"\n"+`{"id":"d","inputs":{"kid":"x"}}`)
	r := emend(t, "", "batch", "run", in, "-o", in+".out", "--prompt", "work", "--dir", dir, "--nats", "nats://127.0.0.1:1")
	for _, want := range []string{"line 2: ", `no prompt "wrk"; did you mean work?`, "line 3: ", `no profile "slo"; did you mean slow?`, "line 4: ", "inputs.kid"} {
		if r.code != exitUsage || !strings.Contains(r.err, want) || strings.Contains(r.err, "line 1") {
			t.Errorf("%q: %+v", want, r)
		}
	}
}

func TestFaultsOfPipelinesThatAFolderTells(t *testing.T) {
	dir := filepath.Join("..", "..", "examples", "contract-digest")
	for args, want := range map[string]string{
		"--pipeline contract-digst document=x":                 "did you mean contract-digest?",
		"--pipeline contract-digest documnt=x":                 "inputs.documnt",
		"--pipeline contract-digest document=x --reuse refrsh": `--reuse "refrsh": write one of auto, refresh, none; did you mean refresh?`,
		"--pipeline other document=x --dir " + localFolder(t):  "connect to NATS",
	} {
		code := exitUsage
		if want == "connect to NATS" {
			code = exitFailed
		}
		r := emend(t, "", append([]string{"run", "--dir", dir, "--nats", "nats://127.0.0.1:1"}, strings.Fields(args)...)...)
		if r.code != code || !strings.Contains(r.err, want) {
			t.Errorf("%s: %+v", args, r)
		}
	}
}
