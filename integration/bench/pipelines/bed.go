package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/internal/devnats"
)

// bed is what one measurement runs on: a server in this process, a model and workers in processes of their own.
type bed struct {
	dir, bin, space string
	server          *devnats.Server
	nc              *nats.Conn
	js              jetstream.JetStream
	model           *process
	workers         []*process
}

// process is a child that says in a line that it is ready.
type process struct{ cmd *exec.Cmd }

// start begins a process and returns the line that holds a text.
func start(holding string, cmd *exec.Cmd, from func(*exec.Cmd) (io.ReadCloser, error)) (*process, string, error) {
	out, err := from(cmd)
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), holding) {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return &process{cmd}, lines.Text(), nil
		}
	}
	return nil, "", errors.Join(fmt.Errorf("%v ended before %q", cmd.Args, holding), cmd.Wait())
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Wait()
}

// ticks of /proc a second: USER_HZ, which is 100 wherever Linux runs Go.
const ticks = 100

// usage is time on processors. This process is the server's, and the requester's.
type usage struct{ server, worker, model time.Duration }

func (u usage) all() time.Duration { return u.server + u.worker + u.model }

func (u usage) less(o usage) usage {
	return usage{u.server - o.server, u.worker - o.worker, u.model - o.model}
}

// cpu is what was used until now.
func (b *bed) cpu() usage {
	out := usage{server: used(os.Getpid()), model: used(b.model.cmd.Process.Pid)}
	for _, w := range b.workers {
		out.worker += used(w.cmd.Process.Pid)
	}
	return out
}

// used is what a process has used of processors until now.
func used(pid int) (all time.Duration) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	for _, at := range []int{11, 12} {
		n, _ := strconv.Atoi(f[at])
		all += time.Duration(n) * time.Second / ticks
	}
	return all
}

// peak is the most memory that the process ever had, in MiB.
func (p *process) peak() int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for l := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(l, "VmHWM:"); ok {
			kib, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			return kib >> 10
		}
	}
	return 0
}

func stdout(c *exec.Cmd) (io.ReadCloser, error) { return c.StdoutPipe() }
func stderr(c *exec.Cmd) (io.ReadCloser, error) { return c.StderrPipe() }

// begin starts server, model and workers.
func (b *bed) begin(space, latency string, permits, workers int) (err error) {
	b.space = space
	if b.server, err = devnats.Start(devnats.Options{}); err != nil {
		return err
	}
	if b.nc, err = b.server.Connect(); err != nil {
		return err
	}
	if b.js, err = jetstream.New(b.nc); err != nil {
		return err
	}
	script := filepath.Join(b.dir, "model.yaml")
	if err := os.WriteFile(script, fmt.Appendf(nil, "latency: %s\ndefault: {replies: [{json: [{number: A-1043, total: 56.75, pad: %q}]}]}\n", latency, strings.Repeat("x", 400)), 0o644); err != nil {
		return err
	}
	var told string
	if b.model, told, err = start("openai ", exec.Command(b.bin, "mock", "--listen", "127.0.0.1:0", "--script", script), stdout); err != nil {
		return err
	}
	home := filepath.Join(b.dir, space)
	if err := definitions(home, space, strings.Fields(told)[1], permits, workers); err != nil {
		return err
	}
	for range workers {
		w, _, err := start("serving", exec.Command(b.bin, "serve", "--dir", home, "--nats", b.server.URL()), stderr)
		if err != nil {
			return err
		}
		b.workers = append(b.workers, w)
	}
	return nil
}

func definitions(dir, space, model string, permits, workers int) error {
	files := map[string]string{
		"emend.yaml": fmt.Sprintf("nats: {space: %s}\nkeep: {runs_max: 1GiB, events_max: 1GiB}\nbackends:\n  model: {dialect: openai, url: %q, permits: %d, admitted: %d}\n"+
			"queues:\n  default: {in_flight: %d}\nprofiles:\n  p: {backend: model, model: m}\nlog: {level: info}\n", space, model, permits, 2*permits, 2*permits*workers),
		"prompts/extract@1.yaml": "profile: p\ninputs: {chunk: {max: 64KiB}}\nmessages:\n  - system: You extract invoice data. Answer with JSON only.\n" +
			"  - user: \"{{ .chunk }}\"\noutput: {mode: json_schema, schema: invoices.schema.json, repair_attempts: 1}\n",
		"prompts/invoices.schema.json": `{"type":"array","items":{"type":"object","properties":{"number":{"type":"string","minLength":1},"total":{"type":"number","minimum":0},"pad":{"type":"string"}},"required":["number","total"],"additionalProperties":false}}`,
		"pipelines/digest@1.yaml":      "chunk: {by: json_lines}\nlanes: {invoices: {extract: {prompt: extract@1}}}\nreuse: none\n",
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// end stops what begin started.
func (b *bed) end() {
	for _, w := range b.workers {
		w.stop()
	}
	b.workers = nil
	b.close()
}

// close stops what is left.
func (b *bed) close() {
	if b.model != nil {
		b.model.stop()
	}
	if b.nc != nil {
		b.nc.Close()
	}
	if b.server != nil {
		b.server.Stop()
	}
	b.model, b.nc, b.server = nil, nil, nil
}
