package rehearse_test

import (
	"os"
	"path/filepath"
	"testing"

	"emend/prompts"
)

// config has one backend that is never called, and whose secrets are not there.
const config = `
backends:
  main: {dialect: openai, url: "http://127.0.0.1:1", key: {env: EMEND_TEST_NO_SUCH_KEY}, headers: {X-Team: {env: EMEND_TEST_NO_SUCH_KEY}}}
profiles:
  fast: {backend: main, model: m, settings: {temperature: 0}}
  slow: {backend: main, model: n}
`

// invoice has the contract of seed 001's example.
const invoice = `
profile: fast
inputs: {document: {max: 1KiB}}
messages:
  - system: Extract the prices.
  - user: "{{ .document }}"
output:
  mode: json_schema
  repair_attempts: 2
  schema:
    type: object
    required: [items]
    additionalProperties: false
    properties:
      items:
        type: array
        items:
          type: object
          required: [price]
          properties: {price: {type: number, exclusiveMinimum: 0, examples: [4.25]}}
`

// load reads a folder with prompts by file name.
func load(t testing.TB, files map[string]string) *prompts.Snapshot {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "emend.yaml"), config)
	for name, text := range files {
		write(t, filepath.Join(dir, "prompts", name), text)
	}
	snap, err := prompts.LoadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
