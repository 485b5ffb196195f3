package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"emend/consumer"
	"emend/engine/provider/scripted"
)

// tortureQueues are the queues of the space.
var tortureQueues = []string{"fast", "slow"}

// Kinds of runs, by how often they come. Their word is in the prompt, and the script answers by it.
var tortureKinds = []struct {
	word   string
	weight int
	prompt string
}{{"FINE", 10, "work"}, {"MEND", 4, "work"}, {"BUSY", 3, "work"}, {"NEVER", 2, "work"}, {"SLOW", 3, "work"}, {"FINE", 3, "judged"}, {"BAD", 1, "work"}, {"LATE", 1, "work"}}

const tortureScript = `
rules:
  - {match: {contains: BUSY}, replies: [{status: 429, retry_after: "0.2"}, {json: {ok: 1}, usage: {input: 10, output: 5}}]}
  - {match: {contains: MEND}, replies: [{text: 'no json', usage: {input: 10, output: 5}}, {json: {ok: 1}, usage: {input: 10, output: 5}}]}
  - {match: {contains: NEVER}, replies: [{text: 'no json', usage: {input: 10, output: 5}}]}
  - {match: {contains: SLOW}, replies: [{json: {ok: 1}, delay: 2s, usage: {input: 10, output: 5}}]}
  - {match: {contains: BAD}, replies: [{status: 400, error_code: bad_parameter}]}
  - {match: {contains: approve}, replies: [{json: {reasons: [], decision: approve}, usage: {input: 10, output: 5}}]}
default: {replies: [{json: {ok: 1}, usage: {input: 10, output: 5}}]}
`

const tortureConfig = `nats: {space: %[1]s}
backends:
  model: {dialect: openai, url: '%[2]s/v1', permits: 32, call_timeout: 10s}
  judge: {dialect: openai, url: '%[2]s/v1', permits: 8, call_timeout: 10s}
queues:
  fast: {weight: 4, in_flight: 64}
  slow: {weight: 1, in_flight: 16}
profiles:
  work: {backend: model, model: work}
  judge: {backend: judge, model: judge}
transient_retries: 1
max_starts: 100
ack_wait: 4s
drain_timeout: 1s
`

// write writes the space's definitions.
func (r *rack) write(url string) error {
	const work = "profile: work\ninputs: {id: {}, kind: {}}\nmessages: [{user: 'run {{ .id }}; {{ .kind }}'}]\noutput: {mode: json, repair_attempts: 1}\n"
	for name, text := range map[string]string{
		"emend.yaml":            fmt.Sprintf(tortureConfig, r.names.Space(), url),
		"prompts/work@1.yaml":   work,
		"prompts/judged@1.yaml": work + "checks: [{judge: judge@1, retries: 1}]\n",
		"prompts/judge@1.yaml":  "profile: judge\ninputs: {candidate: {}, messages: {}}\nmessages: [{user: 'approve? {{ .messages }} {{ .candidate }}'}]\n",
	} {
		path := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// publish publishes runs at the rate until ctx is done: new ones, earlier ones again, and now and then a cancel.
func (r *rack) publish(ctx context.Context) {
	ticker := time.NewTicker(time.Second / time.Duration(r.o.rate))
	defer ticker.Stop()
	var asked sync.WaitGroup
	defer asked.Wait()
	var made []tortureRun
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		run := newTortureRun(n)
		if len(made) > 0 && rand.N(20) == 0 {
			run = made[rand.N(len(made))]
		}
		if r.send(ctx, run) {
			made = append(made, run)
		}
		if rand.N(40) == 0 {
			asked.Go(func() { _, _ = r.client.Cancel(ctx, run.key) })
		}
	}
}

type tortureRun struct {
	key  consumer.Key
	body []byte
}

func newTortureRun(n int) tortureRun {
	total := 0
	for _, k := range tortureKinds {
		total += k.weight
	}
	pick := rand.N(total)
	for _, k := range tortureKinds {
		if pick -= k.weight; pick >= 0 {
			continue
		}
		id, late := fmt.Sprintf("t-%06d", n), ""
		if k.word == "LATE" {
			late = `,"timeout_s":0.001`
		}
		return tortureRun{key: consumer.Key{Queue: tortureQueues[rand.N(len(tortureQueues))], ID: id},
			body: fmt.Appendf(nil, `{"prompt":%q,"inputs":{"id":%q,"kind":%q}%s}`, k.prompt, id, k.word, late)}
	}
	panic("the weights have a sum") // total is above pick
}

// send publishes a run; it is accepted when the server has confirmed it, or says that it has it.
func (r *rack) send(ctx context.Context, run tortureRun) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askWithin)
	defer cancel()
	_, err := r.client.Publish(ctx, "model", run.key, run.body, "")
	ok := err == nil || errors.Is(err, consumer.ErrDuplicate)
	if ok {
		r.ledger.accept(run.key)
	}
	return ok
}

// countingModel is the scripted model, and the one who knows what was really called.
type countingModel struct {
	scripted http.Handler
	mu       sync.Mutex
	// calls by run and model ("work" or "judge"), and how many were answered.
	calls    map[string]map[string]int
	answered int
}

var runInPrompt = regexp.MustCompile(`run (t-[0-9]+);`)

func newCountingModel() *countingModel {
	s, err := scripted.Parse([]byte(tortureScript))
	if err != nil {
		panic("the script of torture: " + err.Error()) // TestTorture has seen it
	}
	return &countingModel{scripted: s.Handler(), calls: map[string]map[string]int{}}
}

// ServeHTTP counts a call by the run that its prompt names, and answers it.
func (m *countingModel) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the caller is gone before it has called
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	model := "work"
	if strings.Contains(string(body), `"model":"judge"`) {
		model = "judge"
	}
	if id := runInPrompt.FindSubmatch(body); id != nil {
		m.count(string(id[1]), model)
	}
	seen := &statusWriter{ResponseWriter: w}
	m.scripted.ServeHTTP(seen, req)
	if seen.status == http.StatusOK {
		m.mu.Lock()
		m.answered++
		m.mu.Unlock()
	}
}

// statusWriter notes the status of a reply.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader notes and passes on.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Write is 200 unless a status was written before.
func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets the handler reach what lies below.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (m *countingModel) count(id, model string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls[id] == nil {
		m.calls[id] = map[string]int{}
	}
	m.calls[id][model]++
}

// settle waits until no request is left.
func (r *rack) settle(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, r.o.settle)
	defer cancel()
	for {
		s, err := r.js.Stream(ctx, r.names.RunsStream())
		if err == nil && s.CachedInfo().State.Msgs == 0 {
			return true
		}
		if pause(ctx, 200*time.Millisecond); ctx.Err() != nil {
			return false
		}
	}
}
