package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// input pads a request to 0.5 KB.
var input = strings.Repeat("a line of an invoice, ", 18)

func notify(c chan os.Signal) { signal.Notify(c, os.Interrupt, syscall.SIGTERM) }

// measureEmend queues the requests and lets `emend serve` work them off.
func (b *bed) measureEmend(i int) (figures, error) {
	space := fmt.Sprintf("bench%d", i)
	dir := filepath.Join(b.dir, space)
	if err := b.definitions(dir, space); err != nil {
		return figures{}, err
	}
	if text, err := exec.Command(b.bin, "streams", "apply", "--dir", dir, "--nats", b.nats).CombinedOutput(); err != nil {
		return figures{}, fmt.Errorf("streams apply: %w\n%s", err, text)
	}
	body := fmt.Appendf(nil, `{"prompt":"extract","inputs":{"document":%q}}`, input)
	if err := b.publish(func(n int) string { return fmt.Sprintf("%s.run.model.default.r%d", space, n) }, body); err != nil {
		return figures{}, err
	}
	f, err := b.measure("", space+".result.default.*", exec.Command(b.bin, "serve", "--dir", dir, "--nats", b.nats, "--log-level", "warn"))
	up := strings.ToUpper(space)
	return f, errors.Join(err, b.drop(up+"_RUNS", up+"_RESULTS", up+"_EVENTS", up+"_DEAD", up+"_REVIEWS"))
}

func (b *bed) definitions(dir, space string) error {
	files := map[string]string{
		"emend.yaml": fmt.Sprintf("nats: {space: %s}\nbackends:\n  model: {dialect: openai, url: %q, permits: %d, admitted: %d}\nqueues:\n  default: {in_flight: %d}\n"+
			"profiles:\n  p: {backend: model, model: m}\n", space, b.model, concurrency, concurrency, concurrency),
		"prompts/extract@1.yaml": "profile: p\ninputs: {document: {max: 64KiB}}\nmessages:\n  - system: You extract invoice data. Answer with JSON only.\n" +
			"  - user: \"{{ .document }}\"\noutput: {mode: json_schema, schema: invoice.schema.json, repair_attempts: 1}\n",
		"prompts/invoice.schema.json": `{"type":"object","properties":{"number":{"type":"string","minLength":1},"total":{"type":"number","minimum":0},"pad":{"type":"string"}},"required":["number","total"],"additionalProperties":false}`,
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// Names of the bare loop.
const (
	bareStream  = "BARE"
	bareResults = "BARE_RESULTS"
)

func (b *bed) measureBare(int) (figures, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, c := range []jetstream.StreamConfig{
		{Name: bareStream, Subjects: []string{"bare.run.*"}, Retention: jetstream.WorkQueuePolicy},
		{Name: bareResults, Subjects: []string{"bare.result.*"}},
	} {
		if _, err := b.js.CreateOrUpdateStream(ctx, c); err != nil {
			return figures{}, err
		}
	}
	if err := b.publish(func(n int) string { return fmt.Sprintf("bare.run.r%d", n) }, fmt.Appendf(nil, `{"document":%q}`, input)); err != nil {
		return figures{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return figures{}, err
	}
	f, err := b.measure("", "bare.result.*", exec.Command(self, "-mode", "bare", "-nats", b.nats, "-model", b.model))
	return f, errors.Join(err, b.drop(bareStream, bareResults))
}

// bare is the least a worker can do: pull, POST, publish with dedupe id and awaited PubAck, ack.
func bare(url, model string, _ int) error {
	nc, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, err := js.CreateOrUpdateConsumer(ctx, bareStream, jetstream.ConsumerConfig{Durable: "bare", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: concurrency})
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: concurrency}}
	work := make(chan jetstream.Msg)
	var workers sync.WaitGroup
	for range concurrency {
		workers.Go(func() {
			for m := range work {
				if err := one(ctx, js, client, model, m); err != nil && ctx.Err() == nil {
					fmt.Fprintln(os.Stderr, "bare:", err)
				}
			}
		})
	}
	consuming, err := c.Consume(func(m jetstream.Msg) { work <- m }, jetstream.PullMaxMessages(concurrency))
	if err != nil {
		return err
	}
	<-ctx.Done()
	consuming.Stop()
	<-consuming.Closed()
	close(work)
	workers.Wait()
	return nil
}

func one(ctx context.Context, js jetstream.JetStream, client *http.Client, model string, m jetstream.Msg) error {
	body := fmt.Appendf(nil, `{"model":"m","messages":[{"role":"system","content":"You extract invoice data. Answer with JSON only."},{"role":"user","content":%q}]}`, m.Data())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, model+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return err
	}
	id := strings.TrimPrefix(m.Subject(), "bare.run.")
	if _, err := js.Publish(ctx, "bare.result."+id, answer, jetstream.WithMsgID(id)); err != nil {
		return err
	}
	return m.Ack()
}
