//go:build foreign

package foreign

import (
	"bufio"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"emend/engine/provider"
	"emend/engine/provider/dialects"
	"emend/schemas"
)

// serverLife bounds a mock server that nobody ends.
const serverLife = 5 * time.Minute

// node runs a mock server of a package below SERVERS, and returns the line that says that it listens. It ends with the test.
func node(t *testing.T, says, script string, args []string, env ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), serverLife)
	cmd := exec.CommandContext(ctx, "node", append([]string{filepath.Join(tool(t, "SERVERS"), "node_modules", script)}, args...)...)
	cmd.Env = append(cmd.Environ(), env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s does not start: %v", script, err)
	}
	listening, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			t.Log(lines.Text())
			if strings.Contains(lines.Text(), says) {
				listening <- lines.Text()
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-ended; _ = cmd.Wait() })
	select {
	case line := <-listening:
		return line
	case <-ended:
		t.Fatalf("%s ended before it listened", script)
	case <-time.After(startWithin):
		t.Fatalf("%s does not listen", script)
	}
	return ""
}

// paths are where each dialect finds a mock server.
var paths = map[string]string{"openai": "/v1", "anthropic": "/v1", "gemini": "/v1beta", "ollama": ""}

// wireNames is every dialect with a provider of its own.
func wireNames(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, name := range dialects.Names() {
		if _, ok := paths[name]; ok {
			names = append(names, name)
		}
	}
	if len(names) != len(paths) {
		t.Fatalf("dialects %v", names)
	}
	return names
}

// call makes one call, with a schema, through the one client.
func call(t *testing.T, name, origin, text string, options map[string]any, header map[string][]string) (*provider.Response, *provider.Error) {
	t.Helper()
	entry, err := dialects.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	client := provider.NewClient(provider.ClientOptions{})
	defer client.CloseIdle()
	ep := &provider.Endpoint{Backend: name, Dialect: entry.New(), URL: origin + paths[name], Options: options, Header: header, Timeout: stepWithin,
		Key: func(context.Context) (string, error) { return "sk-planted", nil }}
	resp, err := client.Do(t.Context(), ep, &provider.Request{Model: "m-1", Session: "s-9",
		Messages: []schemas.Message{{Role: schemas.RoleSystem, Content: "Answer with JSON."}, {Role: schemas.RoleUser, Content: text}},
		Schema:   &provider.Schema{Name: "answer", Bytes: []byte(`{"type":"object","properties":{"total":{"type":"integer"}},"required":["total"],"additionalProperties":false}`)}})
	if err == nil {
		return resp, nil
	}
	pe, ok := provider.AsError(err)
	if !ok || strings.Contains(pe.Error(), "planted") {
		t.Fatalf("%s, %s: %v", name, text, err)
	}
	return nil, pe
}
