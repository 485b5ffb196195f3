//go:build foreign

package foreign

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// example builds a Go program of examples/.
func example(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("go", "build", "-o", path, "emend/examples/"+name).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return path
}

// printed runs a program to its end against a server and returns its lines.
func printed(t *testing.T, url, program string, args ...string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stepWithin)
	defer cancel()
	cmd := command(ctx, t, url, program, args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", filepath.Base(program), err, out, errs.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// has reports whether every text begins one of the lines.
func has(t *testing.T, lines []string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		found := false
		for _, l := range lines {
			found = found || strings.HasPrefix(l, want)
		}
		if !found {
			t.Errorf("no line begins with %q:\n%s", want, strings.Join(lines, "\n"))
		}
	}
}

// The requesters of examples/ against a worker: each publishes, each gets its results.
func TestExampleRequesters(t *testing.T) {
	url := worker(t)
	t.Run("go", func(t *testing.T) {
		program := example(t, "requester-go")
		right, wrong := idOf("invoice", "right at once"), idOf("invoice", "wrong first")
		has(t, printed(t, url, program, "right at once", "wrong first"), right+` succeeded {"total":12.5}`, wrong+` succeeded {"total":4}`)
		has(t, printed(t, url, program, "right at once"), right+` succeeded {"total":12.5}`) // again: its stored result, no call
		ends(t, url, 2, program)
		ends(t, url, 1, program, "refused always")
	})
	t.Run("javascript", func(t *testing.T) {
		// The client is looked up from where the file is, so a copy goes beside the installed modules.
		text, err := os.ReadFile("../../examples/requester-js/requester.mjs")
		if err != nil {
			t.Fatal(err)
		}
		const file = "node_modules/.requester.mjs"
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(file)
		has(t, printed(t, url, "node", file, "right at once", "wrong first"), idOf("order", "right at once")+` succeeded {"total":12.5}`, idOf("order", "wrong first")+` succeeded {"total":4}`)
		ends(t, url, 2, "node", file)
		ends(t, url, 1, "node", file, "refused always too")
	})
	t.Run("shell", func(t *testing.T) {
		lines := printed(t, url, "../../examples/requester-sh/requester.sh", "right at once", "busy first", "wrong first")
		if len(lines) != 3 || !strings.Contains(lines[0], `"output":{"total":12.5}`) || lines[1] != `{"id":"`+idOf("note", "busy first")+`","status":"succeeded","output":{"total":7}}` || !strings.Contains(lines[2], `{"total":4}`) {
			t.Errorf("%q", lines)
		}
		ends(t, url, 2, "../../examples/requester-sh/requester.sh")
		ends(t, url, 1, "../../examples/requester-sh/requester.sh", "right at once", "this is refused always")
	})
}

// idOf is the id that the examples give to a document's run.
func idOf(kind, document string) string {
	return kind + "-" + fmt.Sprintf("%x", sha256.Sum256([]byte(document)))[:12]
}

// ends runs a program that must end with an exit code.
func ends(t *testing.T, url string, code int, program string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stepWithin)
	defer cancel()
	err := command(ctx, t, url, program, args...).Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != code {
		t.Errorf("%s: %v, expected exit %d", program, err, code)
	}
}

// A worker whose model is Go code, asked by the nats CLI: its answer is mended as a provider's is, and judged by a function.
func TestExampleWorker(t *testing.T) {
	url := worker(t) // brings the server
	cmd := exec.Command(example(t, "worker-go"))
	cmd.Env = append(os.Environ(), "NATS_URL="+url)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("it did not drain: %v", err)
		}
	}()
	if lines := bufio.NewScanner(out); !lines.Scan() || lines.Text() != "serving" {
		t.Fatalf("it says %q", lines.Text())
	}
	a := cli{t, url}.request("house.ask.counter.default", `{"prompt": "count@1", "inputs": {"text": "four words in all"}}`)
	a.want(t, "succeeded", `{"words":4}`)
	if a.Counts.Calls != 3 || a.Counts.Repairs != 1 || a.Counts.Corrections != 1 {
		t.Errorf("%+v", a.Counts)
	}
}

func TestExampleEngineAlone(t *testing.T) {
	has(t, printed(t, "", example(t, "engine-go"), "wrong first"), `succeeded {"total":4} (2 calls)`)
}
