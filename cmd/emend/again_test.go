package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A command that a text names is made by again, so that it means the same place as the running one: in no other way does one that
// asks a space stand in what is printed.
func TestHintsNameCommandsThroughAgain(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	spelled := regexp.MustCompile(`"[^"]*\bemend (get|cancel|watch|explain|run|bill|status|dead|review|batch|streams) [^"]*%[^"]*"`)
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for n, line := range strings.Split(string(text), "\n") {
			if spelled.MatchString(line) {
				t.Errorf("%s:%d spells a command: %s", name, n+1, strings.TrimSpace(line))
			}
		}
	}
}
