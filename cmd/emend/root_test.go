package main

import (
	"strings"
	"testing"
)

// A command to be pasted means the same space, queue and runs, and shows no password.
func TestACommandToPaste(t *testing.T) {
	a := &app{}
	root := newRoot(streams{})
	c, rest, err := root.Find([]string{"batch", "run", "a b.jsonl", "-o", "out.jsonl", "--prompt", "work@1", "--prefix", "it's-", "--in-flight", "4", "--nats", "nats://u:secret@h:1", "--json"})
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err != nil {
		t.Fatal(err)
	}
	a.cmd = c
	if got := a.again("batch cancel", "a b.jsonl"); got != `emend batch cancel 'a b.jsonl' --nats nats://h:1 -o out.jsonl --prefix 'it'\''s-' --prompt work@1` {
		t.Error(got)
	}
	if got := a.again("get", "x"); got != "emend get x --nats nats://h:1" {
		t.Error(got)
	}
	if got := a.again("batch status", "x.jsonl", "--prompt", "other"); got != `emend batch status x.jsonl --prompt other --nats nats://h:1 -o out.jsonl --prefix 'it'\''s-'` {
		t.Error(got)
	}
	if got := (&app{}).again("get", "x"); got != "emend get x" {
		t.Error(got)
	}
}

// A word that is no command is an error at every level, and never a help page with exit 0.
func TestUnknownCommands(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"review", "aprove", "x"}, `unknown command "aprove" of emend review; did you mean approve?`},
		{[]string{"prompts", "tests"}, `unknown command "tests" of emend prompts; did you mean test?`},
		{[]string{"catalog", "lss"}, "did you mean ls?"},
		{[]string{"dead", "x-y-z"}, `unknown command "x-y-z" of emend dead; see emend dead --help`},
		{[]string{"streams", "aply"}, "did you mean apply?"},
		{[]string{"serv"}, `unknown command "serv" for "emend"`},
	} {
		if r := emend(t, "", c.args...); r.code != exitUsage || !strings.Contains(r.err, c.want) || r.out != "" {
			t.Errorf("%v: %+v", c.args, r)
		}
	}
	for _, name := range []string{"review", "prompts", "catalog", "dead", "streams"} {
		if r := emend(t, "", name); r.code != exitOK || !strings.Contains(r.out, "Available Commands:") {
			t.Errorf("%s alone: %+v", name, r)
		}
	}
}

// Missing and superfluous words are named as what they are.
func TestWrongUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"run", "give the prompt, or with --pipeline its inputs: emend run PROMPT"},
		{"try", "give the prompt, or with --model the message: emend try PROMPT"},
		{"batch run -o x", "give the file of runs: emend batch run IN.jsonl -o OUT.jsonl"},
		{"batch run a b -o x", `"b" is an argument too many`},
		{"init", "give the folder to write: emend init DIR"},
		{"status now", `"now" is an argument too many`},
		{"batch run in.jsonl --promt x", "unknown flag: --promt; did you mean --prompt?"},
		{"status --jsn", "unknown flag: --jsn; did you mean --json?"},
		{"bill --xyzzyx", "unknown flag: --xyzzyx; see emend bill --help"},
		{"bill --by foo --nats nats://127.0.0.1:1", `not by "foo"`},
	} {
		if r := emend(t, "", strings.Fields(c.args)...); r.code != exitUsage || !strings.Contains(r.err, c.want) {
			t.Errorf("%s: %+v", c.args, r)
		}
	}
}

// A table is cut for people who look at it, not for programs that read it.
func TestOnlyATerminalCutsColumns(t *testing.T) {
	long := strings.Repeat("x", 100)
	if got := (&app{}).brief(long); got != long {
		t.Error(got)
	}
	if got := (&app{streams: streams{tty: true}}).brief(long); len(got) != 72 {
		t.Error(got)
	}
}
