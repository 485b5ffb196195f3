package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// A file that is no UTF-8 is refused, not changed: JSON cannot carry its bytes.
func TestInputThatIsNoTextIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	write(t, file, "a \xff\xfe b")
	name := "document"
	if v, err := readInput(&name, "@"+file); err == nil || !strings.Contains(err.Error(), `input "document" is no valid UTF-8`) {
		t.Errorf("%s %v", v, err)
	}
	write(t, file, "ä")
	if v, err := readInput(&name, "@"+file); err != nil || string(v) != `"ä"` {
		t.Errorf("%s %v", v, err)
	}
}
