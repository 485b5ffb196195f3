package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// input pads a request to 0.5 KB.
var input = strings.Repeat("a line of an invoice, ", 18)

// worker is one of the two that are compared.
type worker struct {
	name string
	body []byte
	// many is how many of it share the queue; 0 is one.
	many int
	// space names the streams of one measurement, so that none finds what another left.
	space string
	// prepare makes the streams of measurement i.
	prepare func(b *bed, i int) error
	command func(b *bed) *exec.Cmd
	subject func(id string) string
	results func() string
	streams func() []string
}

// emendWorker is `emend serve` with its definitions in a folder below dir.
func emendWorker(dir string) *worker {
	w := &worker{name: "emend", body: fmt.Appendf(nil, `{"prompt":"extract","inputs":{"document":%q}}`, input)}
	home := func() string { return filepath.Join(dir, w.space) }
	w.prepare = func(b *bed, i int) error {
		w.space = fmt.Sprintf("bench%d", i)
		if err := definitions(home(), w.space, b.model); err != nil {
			return err
		}
		if text, err := exec.Command(b.bin, "streams", "apply", "--dir", home(), "--nats", b.nats).CombinedOutput(); err != nil {
			return fmt.Errorf("streams apply: %w\n%s", err, text)
		}
		return nil
	}
	w.command = func(b *bed) *exec.Cmd {
		return exec.Command(b.bin, "serve", "--dir", home(), "--nats", b.nats, "--log-level", "warn")
	}
	w.subject = func(id string) string { return w.space + ".run.model.default." + id }
	w.results = func() string { return w.space + ".result.default.*" }
	w.streams = func() []string {
		up := strings.ToUpper(w.space)
		return []string{up + "_RUNS", up + "_RESULTS", up + "_EVENTS", up + "_DEAD", up + "_REVIEWS"}
	}
	return w
}

func definitions(dir, space, model string) error {
	files := definitionFiles()
	files["emend.yaml"] = fmt.Sprintf("nats: {space: %s}\nbackends:\n  model: {dialect: openai, url: %q, permits: %d, admitted: %d}\nqueues:\n  default: {in_flight: %d}\n"+
		"profiles:\n  p: {backend: model, model: m}\n", space, model, concurrency, concurrency, concurrency)
	return writeFiles(dir, files)
}

// definitionFiles are a prompt and its schema.
func definitionFiles() map[string]string {
	return map[string]string{
		"prompts/extract@1.yaml": "profile: p\ninputs: {document: {max: 64KiB}}\nmessages:\n  - system: You extract invoice data. Answer with JSON only.\n" +
			"  - user: \"{{ .document }}\"\noutput: {mode: json_schema, schema: invoice.schema.json, repair_attempts: 1}\n",
		"prompts/invoice.schema.json": `{"type":"object","properties":{"number":{"type":"string","minLength":1},"total":{"type":"number","minimum":0},"pad":{"type":"string"}},"required":["number","total"],"additionalProperties":false}`,
	}
}

func writeFiles(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// bareWorker is this program in mode bare.
func bareWorker() *worker {
	w := &worker{name: "bare", space: "bare", body: fmt.Appendf(nil, `{"document":%q}`, input)}
	w.prepare = func(b *bed, _ int) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, err := b.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: bareStream, Subjects: []string{"bare.run.*"}, Retention: jetstream.WorkQueuePolicy})
		_, err2 := b.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: bareResults, Subjects: []string{"bare.result.*"}})
		return errors.Join(err, err2)
	}
	w.command = func(b *bed) *exec.Cmd {
		self, err := os.Executable()
		if err != nil {
			self = os.Args[0]
		}
		return exec.Command(self, "-mode", "bare", "-nats", b.nats, "-model", b.model, "-sharing", strconv.Itoa(max(w.many, 1)))
	}
	w.subject = func(id string) string { return "bare.run." + id }
	w.results = func() string { return "bare.result.*" }
	w.streams = func() []string { return []string{bareStream, bareResults} }
	return w
}
