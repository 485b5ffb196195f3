//go:build foreign

package foreign

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// cli is the nats CLI against one worker.
type cli struct {
	t   *testing.T
	url string
}

// run runs a command to its end and returns what it printed.
func (c cli) run(args ...string) []byte {
	c.t.Helper()
	return c.wait(c.start(args...))
}

// process is a command that was started; out and errs belong to it until wait returns.
type process struct {
	cmd       *exec.Cmd
	out, errs bytes.Buffer
	cancel    context.CancelFunc
}

func (c cli) start(args ...string) *process {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), stepWithin)
	p := &process{cmd: command(ctx, c.t, c.url, tool(c.t, "NATS"), args...), cancel: cancel}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.errs
	if err := p.cmd.Start(); err != nil {
		c.t.Fatalf("nats %s: %v", strings.Join(args, " "), err)
	}
	return p
}

func (c cli) wait(p *process) []byte {
	c.t.Helper()
	defer p.cancel()
	if err := p.cmd.Wait(); err != nil {
		c.t.Fatalf("nats %s: %v\n%s%s", strings.Join(p.cmd.Args[1:], " "), err, p.out.Bytes(), p.errs.Bytes())
	}
	return p.out.Bytes()
}

// try runs a command that may fail, and returns all that it printed and how it ended.
func (c cli) try(args ...string) (string, error) {
	c.t.Helper()
	p := c.start(args...)
	defer p.cancel()
	err := p.cmd.Wait()
	return p.out.String() + p.errs.String(), err
}

func (c cli) request(subject, body string) answer {
	c.t.Helper()
	return decode(c.t, c.run("--timeout", "2m", "req", "--raw", subject, body))
}

func TestNATSCLI(t *testing.T) {
	c := cli{t, worker(t)}
	t.Run("ask answers with the result", func(t *testing.T) {
		c := cli{t, c.url}
		a := c.request("emend.ask.scripted.default", `{"prompt": "total@1", "inputs": {"document": "cli, busy first"}}`)
		a.want(t, "succeeded", `{"total":7}`)
		if a.Counts.Calls != 2 || a.Counts.Retries != 1 {
			t.Errorf("counts are %+v, want 2 calls, 1 retry", a.Counts)
		}
	})
	t.Run("a bad request is answered, too", func(t *testing.T) {
		c := cli{t, c.url}
		a := c.request("emend.ask.scripted.default", `{"promt": "total@1"}`)
		if a.Status != "failed" || a.Error.Category != "invalid_request" {
			t.Errorf("answer is %+v, want failed invalid_request", a)
		}
	})
	t.Run("publish, events, result by subscription and from the stream", func(t *testing.T) { publish(cli{t, c.url}) })
	t.Run("a backend that nobody serves fails at the publisher", func(t *testing.T) {
		if out, err := (cli{t, c.url}).try("pub", "-J", "emend.run.other.default.cli-2", `{}`); err == nil {
			t.Errorf("the publish succeeded:\n%s", out)
		}
	})
}

// publish stores a run with a JetStream publish while two subscribers wait for its result: one on the inbox that the run
// names, one on the result stream.
func publish(c cli) {
	const id, inbox = "cli-1", "_INBOX.foreign.cli-1"
	replies := c.start("sub", "--raw", "--count", "2", inbox)
	c.heard(inbox)
	stored := c.start("sub", "--raw", "--count", "1", "--stream", "EMEND_RESULTS", "--all", "emend.result.default."+id)
	c.run("pub", "-J", "-H", "Emend-Reply-To:"+inbox, "emend.run.scripted.default."+id,
		`{"prompt": "total@1", "inputs": {"document": "cli, wrong first"}}`)
	replied := bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(c.wait(replies)), []byte(probe)))
	decode(c.t, replied).want(c.t, "succeeded", `{"total":4}`)
	if got := bytes.TrimSpace(c.wait(stored)); !bytes.Equal(got, replied) {
		c.t.Errorf("the result by subscription differs from the reply:\n%s\n%s", got, replied)
	}
	if got := c.lastOf("EMEND_RESULTS", "emend.result.default."+id); !bytes.Equal(got, replied) {
		c.t.Errorf("the stored result differs from the reply:\n%s\n%s", got, replied)
	}
	if a := c.request("emend.get", `{"queue": "default", "id": "`+id+`"}`); a.ID != id || a.Status != "succeeded" {
		c.t.Errorf("emend.get answers %+v", a)
	}
	c.events(id)
}

// probe is what a subscriber is sent to see whether it is there.
const probe = "probe"

// heard waits until somebody subscribes to a subject: until then the server answers that nobody does.
func (c cli) heard(subject string) {
	c.t.Helper()
	for range 100 {
		if out, _ := c.try("--timeout", "200ms", "req", subject, probe); !strings.Contains(strings.ToLower(out), "no responders") {
			return
		}
	}
	c.t.Fatalf("nobody subscribes to %s", subject)
}

// lastOf reads the last message of a subject from a stream.
func (c cli) lastOf(stream, subject string) []byte {
	c.t.Helper()
	var m struct{ Data []byte }
	if err := json.Unmarshal(c.run("stream", "get", stream, "--last-for", subject, "--json"), &m); err != nil {
		c.t.Fatalf("nats stream get: %v", err)
	}
	return m.Data
}

// events reads a run's events from their stream: they must be there, and in order.
func (c cli) events(id string) {
	c.t.Helper()
	want := []string{"started", "attempt_started", "attempt", "validation", "repair", "attempt_started", "attempt", "validation", "finished"}
	raw := c.run("sub", "--raw", "--all", "--stream", "EMEND_EVENTS", "--count", "9", "emend.event.default."+id+".*")
	var kinds []string
	for dec := json.NewDecoder(bytes.NewReader(raw)); dec.More(); {
		var e struct {
			Kind string
			Seq  int
		}
		if err := dec.Decode(&e); err != nil {
			c.t.Fatalf("events: %v\n%s", err, raw)
		}
		kinds = append(kinds, e.Kind)
	}
	if !slices.Equal(kinds, want) {
		c.t.Errorf("events are %v, want %v", kinds, want)
	}
}

func TestJavaScriptClient(t *testing.T) {
	url := worker(t)
	ctx, cancel := context.WithTimeout(t.Context(), stepWithin)
	defer cancel()
	out, err := command(ctx, t, url, "node", "client.mjs").CombinedOutput()
	if err != nil {
		t.Fatalf("node client.mjs: %v\n%s", err, out)
	}
	t.Logf("%s", out)
}
