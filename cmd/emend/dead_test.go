package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"emend/schemas"
)

// deadFolder is a working folder whose model refuses a text in version 1 of a prompt, and not in version 2.
func deadFolder(t *testing.T) string {
	t.Helper()
	model := newMock(t, "rules: [{match: {contains: HARD}, replies: [{status: 400, error_code: bad_parameter}]}]\ndefault: {replies: [{text: easy}]}\n")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "emend.yaml"), "backends:\n  model: {dialect: openai, url: "+model+"}\nprofiles:\n  fast: {backend: model, model: m}\ntransient_retries: 0\n")
	for version, text := range map[string]string{"1": "{{ .text }}", "2": "{{ if .text }}otherwise{{ end }}"} {
		write(t, filepath.Join(dir, "prompts", "say@"+version+".yaml"), "profile: fast\ninputs: {text: {}}\nmessages: [{user: '"+text+"'}]\n")
	}
	return dir
}

// TestDeadLettersFromTheShell: three runs fail; they are listed, shown, replayed one by one and all at once, and purged.
func TestDeadLettersFromTheShell(t *testing.T) {
	dir := deadFolder(t)
	url := regexp.MustCompile(`nats://[0-9.:]+`).FindString(background(t, "dev", "--dir", dir, "--port", "0")("NATS on"))
	at := func(args ...string) ran { return emend(t, "", append(args, "--dir", dir, "--nats", url)...) }
	if r := at("dead", "ls"); r.code != exitOK || !strings.Contains(r.out, "queue default has no dead letters") {
		t.Errorf("an empty list: %+v", r)
	}
	for _, id := range []string{"one", "two", "three"} {
		if r := at("run", "--id", id, "say@1", "text=HARD "+id); r.code != exitFailed {
			t.Fatalf("run: %+v", r)
		}
	}
	if r := at("dead", "ls"); r.code != exitOK || strings.Count(r.out, "  model  ") != 3 || !regexp.MustCompile(`1 +one +provider_status +model `).MatchString(r.out) {
		t.Errorf("ls: %+v", r)
	}
	if r := at("dead", "ls", "--limit", "2", "--reason", "provider_status"); r.code != exitOK || !strings.Contains(r.out, "go on with --after 2") || strings.Contains(r.out, "three") {
		t.Errorf("a page: %+v", r)
	}
	if r := at("dead", "show", "one"); r.code != exitOK || !strings.Contains(r.out, `"HARD one"`) || !strings.Contains(r.out, "result is now: failed") || !strings.Contains(r.out, "run it again: emend dead replay one --seq 1 --dir "+dir+" --nats "+url+" [--prompt") {
		t.Errorf("show: %+v", r)
	}
	if r := at("dead", "replay", "one", "--prompt", "say@2"); r.code != exitOK || !strings.Contains(r.out, "changed: prompt") || !strings.Contains(r.out, "emend watch one --dir "+dir+" --nats "+url) {
		t.Errorf("replay: %+v", r)
	}
	replaced(t, at)
	if r := at("watch", "two"); r.code != exitFailed || !strings.Contains(r.out, "two failed") {
		t.Errorf("watch of a run that has failed: %+v", r)
	}
	for _, c := range []struct{ args, says string }{
		{"get nobody", "emend dead ls --dir "}, {"explain two", "emend dead show two --dir "},
	} {
		if r := at(strings.Fields(c.args)...); !strings.Contains(r.out+r.err, c.says+dir+" --nats "+url) {
			t.Errorf("%s names a command that means another place: %+v", c.args, r)
		}
	}
	if r := at("dead", "purge", "two"); r.code != exitOK || !strings.Contains(r.out, "1 dead letter of queue") {
		t.Errorf("purge: %+v", r)
	}
	if r := at("dead", "replay", "--all", "--prompt", "say@2", "--json"); r.code != exitOK || !strings.Contains(r.out, `"id":"three"`) {
		t.Errorf("replay all: %+v", r)
	}
	if r := at("dead", "purge", "--all", "--json"); r.code != exitOK || strings.TrimSpace(r.out) != `{"removed":0}` {
		t.Errorf("purge all: %+v", r)
	}
	refusedDead(t, at)
}

// replaced awaits the new result of the run one, which was replayed.
func replaced(t *testing.T, at func(...string) ran) {
	t.Helper()
	tick, end := time.NewTicker(5*time.Millisecond), time.After(20*time.Second)
	defer tick.Stop()
	for {
		r := at("get", "one", "--json")
		var res schemas.Result
		if err := json.Unmarshal([]byte(r.out), &res); err != nil {
			t.Fatalf("%v: %+v", err, r)
		}
		if res.Status == schemas.StatusSucceeded && res.Source.Prompt == "say@2" {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("the outcome is not replaced: %+v", r)
		}
	}
}

// refusedDead are the words that are wrong.
func refusedDead(t *testing.T, at func(...string) ran) {
	t.Helper()
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"dead replay", exitUsage, "give the ID of one run, or --all"},
		{"dead replay one --all", exitUsage, "give the ID of one run, or --all"},
		{"dead replay one", exitFailed, "no such dead letter: default/one; the run has ended as succeeded"},
		{"dead replay nobody", exitFailed, "no such dead letter: default/nobody; no request and no result has this id either"},
		{"dead show one --seq 9", exitFailed, "default/one, sequence 9; the run has ended as succeeded"},
		{"review show one", exitFailed, "the run does not wait for a person: default/one ended as succeeded"},
		{"review approve one --by ada", exitFailed, "the run does not wait for a person: default/one ended as succeeded"},
		{"dead replay a.b", exitUsage, "id"},
		{"dead show one", exitFailed, "no such dead letter"},
		{"dead show", exitUsage, "give the ID"},
		{"dead purge", exitUsage, "say what to remove"},
		{"dead purge --all --queue nosuch", exitUsage, `no queue "nosuch"; its queues: default`},
		{"dead ls --queue nosuch", exitUsage, `no queue "nosuch"; its queues: default`},
		{"explain one --queue nosuch", exitUsage, `no queue "nosuch"; its queues: default`},
		{"watch --queue nosuch", exitUsage, `no queue "nosuch"; its queues: default`},
		{"cancel one --queue nosuch --json", exitUsage, `no queue "nosuch"; its queues: default`},
		{"dead purge one two", exitUsage, `"two" is an argument too many`},
	} {
		if r := at(strings.Fields(c.args)...); r.code != c.code || !strings.Contains(r.err, c.says) {
			t.Errorf("%s: %+v", c.args, r)
		}
	}
}

// A letter of a pipeline run names the pipeline where that of another run names its backend.
func TestDeadLettersNamePipelines(t *testing.T) {
	dir := pricedDir(t)
	url := regexp.MustCompile(`nats://[0-9.:]+`).FindString(background(t, "dev", "--dir", dir, "--port", "0")("NATS on"))
	at := func(args ...string) ran { return emend(t, "", append(args, "--dir", dir, "--nats", url)...) }
	if r := at("run", "--id", "one", "--pipeline", "all", "--max-cost", "0.00001", "document=x"); r.code != exitFailed {
		t.Fatalf("run: %+v", r)
	}
	if r := at("dead", "ls"); !regexp.MustCompile(`one +budget +pipeline all +`).MatchString(r.out) {
		t.Errorf("ls: %+v", r)
	}
	if r := at("dead", "show", "one"); !strings.Contains(r.out, " for pipeline all\n") {
		t.Errorf("show: %+v", r)
	}
}
