package main

import (
	"bufio"
	"context"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// newMock runs `emend mock` until the test ends and returns the base URL of its OpenAI wire.
func newMock(t *testing.T, script string) string {
	t.Helper()
	args := []string{"mock", "--listen", "127.0.0.1:0"}
	if script != "" {
		args = append(args, "--script", write(t, filepath.Join(t.TempDir(), "script.yaml"), script))
	}
	line := background(t, args...)
	return strings.Fields(line("openai "))[1]
}

// background runs a command until the test ends. The function it returns waits for an output line that holds a text.
func background(t *testing.T, args ...string) func(holding string) string {
	t.Helper()
	r, w := io.Pipe()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var ended sync.WaitGroup
	ended.Go(func() {
		code := run(ctx, args, streams{in: strings.NewReader(""), out: w, err: w})
		if code != exitOK {
			t.Errorf("%v: exit %d", args, code)
		}
		_ = w.Close()
	})
	lines := make(chan string, 1024)
	ended.Go(func() {
		defer close(lines)
		for s := bufio.NewScanner(r); s.Scan(); {
			lines <- s.Text()
		}
	})
	t.Cleanup(func() { stop(); ended.Wait() })
	return func(holding string) string {
		t.Helper()
		var seen []string
		for l := range lines {
			if strings.Contains(l, holding) {
				return l
			}
			seen = append(seen, l)
		}
		t.Fatalf("%v ended without %q; it wrote:\n%s", args, holding, strings.Join(seen, "\n"))
		return ""
	}
}
