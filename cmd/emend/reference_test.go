package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/cli.md anew")

const cliHead = `# The command line

Every command with its flags, from the program itself: ` + "`make docs`" + ` writes this page. ` + "`emend completion bash|zsh|fish|powershell`" + ` prints completions,
` + "`make man`" + ` writes manual pages to build/man. Flags win over the environment (` + "`NATS_URL`" + `), which wins over ` + "`emend.yaml`" + `.

`

func TestCommandLinePageIsCurrent(t *testing.T) {
	const path = "../../docs/cli.md"
	want := cliHead + strings.TrimRight(commandsMarkdown(newRoot(streams{})), "\n") + "\n"
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil || string(have) != want {
		t.Errorf("docs/cli.md is not what the program says (%v): make docs", err)
	}
}

func TestManualPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man")
	if r := emend(t, "", "man", dir); r.code != exitOK {
		t.Fatalf("%+v", r)
	}
	b, err := os.ReadFile(filepath.Join(dir, "emend-dead-replay.1"))
	if err != nil || !strings.Contains(string(b), ".TH") || !strings.Contains(string(b), "profile") {
		t.Errorf("%v %.200s", err, b)
	}
}
