package prompts

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A named pipe among the definitions is a fault, and nothing that waits for a writer.
func TestAPipeIsNoDefinition(t *testing.T) {
	dir := folder{ConfigFile: "backends:\n  b: {dialect: scripted}\nprofiles:\n  p: {backend: b, model: m}\n",
		PromptDir + "/x@1.yaml": "profile: p\nmessages:\n  - user: hi\n"}.write(t)
	if err := syscall.Mkfifo(filepath.Join(dir, PromptDir, "q@1.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadDir(dir); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("%v", err)
	}
	pipe := filepath.Join(dir, "key")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (Secret{File: pipe}).Resolve(t.Context()); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("%v", err)
	}
}
