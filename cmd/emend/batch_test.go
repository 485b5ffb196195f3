package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/internal/batch"
	"emend/schemas"
)

const batchScript = `
rules:
  - {match: {contains: WRONG}, replies: [{text: 'no json'}]}
  - {match: {contains: BAD}, replies: [{status: 400}]}
  - {match: {contains: SLOW}, replies: [{json: {ok: true}, delay: 60s}]}
`

// batchSpace is a folder with a worker on it. at runs a command there.
func batchSpace(t *testing.T) (dir string, at func(args ...string) ran) {
	t.Helper()
	dir, _, at = batchSpaceAt(t)
	return dir, at
}

// batchSpaceAt is batchSpace with the server's URL.
func batchSpaceAt(t *testing.T) (dir, url string, at func(args ...string) ran) {
	t.Helper()
	dir = t.TempDir()
	write(t, filepath.Join(dir, "emend.yaml"), fmt.Sprintf(`backends: {model: {dialect: openai, url: '%s/v1'}}
profiles: {fast: {backend: model, model: gpt-4o-mini}, other: {backend: model, model: gpt-4o}}
`, strings.TrimSuffix(newMock(t, batchScript), "/v1")))
	write(t, filepath.Join(dir, "prompts/work@1.yaml"), "profile: fast\ninputs: {kind: {}}\nmessages: [{user: 'do {{ .kind }}'}]\noutput: {mode: json}\n")
	url = natsURL(t, strings.Fields(background(t, "dev", "--dir", dir, "--port", "0")("NATS on")))
	return dir, url, func(args ...string) ran {
		return emend(t, "", append(args, "--dir", dir, "--nats", url)...)
	}
}

func natsURL(t *testing.T, words []string) string {
	t.Helper()
	for _, w := range words {
		if strings.HasPrefix(w, "nats://") {
			return strings.TrimRight(w, ",.;")
		}
	}
	t.Fatalf("no URL in %v", words)
	return ""
}

func TestBatchFromTheShell(t *testing.T) {
	dir, url, at := batchSpaceAt(t)
	in, out := filepath.Join(dir, "in.jsonl"), filepath.Join(dir, "out.jsonl")
	var lines strings.Builder
	for i := range 20 {
		fmt.Fprintf(&lines, "{\"id\":\"a-%d\",\"inputs\":{\"kind\":\"fine\"}}\n", i)
	}
	write(t, in, lines.String())
	r := at("batch", "run", in, "-o", out, "--prompt", "work", "--in-flight", "4")
	if r.code != exitOK || !strings.Contains(r.out, "20 of 20 lines have a result") || !strings.Contains(r.out, "20 succeeded") {
		t.Fatalf("%+v", r)
	}
	results := readResults(t, out)
	for i, x := range results {
		if x.ID != fmt.Sprintf("a-%d", i) || string(x.Output) != `{"ok":true}` {
			t.Errorf("line %d: %+v", i, x)
		}
	}
	t.Run("again, with more lines", func(t *testing.T) {
		write(t, in, lines.String()+`{"id":"w","inputs":{"kind":"WRONG"}}`+"\n")
		r := at("batch", "run", in, "-o", out, "--prompt", "work", "--json")
		if r.code != exitInvalid || r.out != `{"lines":21,"done":21,"statuses":{"invalid":1,"succeeded":20},"before":20,"cost_usd":0,"cost_unknown":21,"cost_state":"unknown"}`+"\n" {
			t.Errorf("%+v", r)
		}
		write(t, in, lines.String()+`{"id":"w","inputs":{"kind":"WRONG"}}`+"\n"+`{"id":"b","inputs":{"kind":"BAD"}}`+"\n"+`{"id":"u","inputs":{"other":1}}`)
		if r := at("batch", "run", in, "-o", out, "--prompt", "work"); r.code != exitUsage || !strings.Contains(r.err, "line 23: ") || !strings.Contains(r.err, "inputs.other") {
			t.Errorf("%+v", r)
		}
		write(t, in, lines.String()+`{"id":"w","inputs":{"kind":"WRONG"}}`+"\n"+`{"id":"b","inputs":{"kind":"BAD"}}`)
		if r := at("batch", "run", in, "-o", out, "--prompt", "work", "--unordered"); r.code != exitFailed || !strings.Contains(r.out, "1 failed") ||
			!strings.Contains(r.out, "without an output: b (provider_status)\n") || !strings.Contains(r.out, "cost: unknown\n") || !strings.Contains(r.out, "emend explain b --") {
			t.Errorf("%+v", r)
		}
		if n := len(readResults(t, out)); n != 22 {
			t.Errorf("%d results", n)
		}
		before := readResults(t, out)[21].Request.Seq
		if r := at("batch", "run", in, "-o", out, "--prompt", "work", "--retry-failed"); r.code != exitFailed || !strings.Contains(r.out, "1 failed") {
			t.Errorf("%+v", r)
		}
		if again := readResults(t, out); len(again) != 22 || again[21].ID != "b" || again[21].Request.Seq <= before {
			t.Errorf("%+v", again[len(again)-1])
		}
	})
	t.Run("openai", func(t *testing.T) { batchOfOpenAI(t, dir, at) })
	t.Run("status and cancel", func(t *testing.T) { batchStopped(t, dir, url, at) })
	t.Run("bad input", func(t *testing.T) { badBatches(t, dir, at) })
	t.Run("the bill", func(t *testing.T) { billed(t, at) })
}

func readResults(t *testing.T, path string) []schemas.Result {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []schemas.Result
	for line := range bytes.Lines(b) {
		var r schemas.Result
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func batchOfOpenAI(t *testing.T, dir string, at func(...string) ran) {
	in, out := filepath.Join(dir, "openai.jsonl"), filepath.Join(dir, "openai-out.jsonl")
	write(t, in, `{"custom_id":"task.1","method":"POST","url":"/v1/chat/completions","body":{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_object"}}}`)
	if r := at("batch", "run", in, "-o", out); r.code != exitOK {
		t.Fatalf("%+v", r)
	}
	if r := readResults(t, out)[0]; r.Source.Profile != "other" || r.Metadata["custom_id"] != "task.1" || r.Validation.Mode != schemas.ModeJSON {
		t.Errorf("%+v", r)
	}
	if r := at("batch", "run", in, "-o", out+"1", "--prompt", "work"); r.code != exitUsage || !strings.Contains(r.err, "line 1: the line brings its own messages") {
		t.Errorf("with a prompt: %+v", r)
	}
	write(t, in, `{"custom_id":"x","method":"POST","url":"/v1/chat/completions","body":{"model":"gpt-9","messages":[{"role":"user","content":"hi"}]}}`)
	if r := at("batch", "run", in, "-o", out+"2"); r.code != exitUsage || !strings.Contains(r.err, `line 1: body.model "gpt-9" is the model of no profile; give --profile`) {
		t.Errorf("%+v", r)
	}
}

// A run that somebody published before the batch is one that the batch has published.
func batchStopped(t *testing.T, dir, url string, at func(...string) ran) {
	in, out := filepath.Join(dir, "slow.jsonl"), filepath.Join(dir, "slow-out.jsonl")
	write(t, in, `{"id":"s-1","inputs":{"kind":"SLOW"}}`+"\n"+`{"id":"s-2","inputs":{"kind":"fine"}}`)
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err == nil {
		_, err = js.Publish(t.Context(), "emend.run.model.default.s-1", []byte(`{"prompt":"work","inputs":{"kind":"SLOW"}}`))
	}
	if err != nil {
		t.Fatal(err)
	}
	if r := at("batch", "status", in, "-o", out, "--prompt", "work", "--json"); r.code != exitOK || !strings.Contains(r.out, `"lines":2,"done":0`) || !strings.Contains(r.out, `"states":{"`) {
		t.Errorf("%+v", r)
	}
	if r := at("batch", "cancel", in, "-o", out, "--prompt", "work"); r.code != exitOK || !strings.Contains(r.out, "1 run cancelled") {
		t.Errorf("%+v", r)
	}
	if r := at("batch", "status", in, "-o", out, "--prompt", "work"); r.code != exitOK || !strings.Contains(r.out, "1 ended, to be fetched") {
		t.Errorf("%+v", r)
	}
}

func badBatches(t *testing.T, dir string, at func(...string) ran) {
	in := write(t, filepath.Join(dir, "bad.jsonl"), `{"id":"a","inputs":{}}`+"\nnope\n"+`{"id":"a"}`)
	good := write(t, filepath.Join(dir, "good.jsonl"), `{"id":"a","messages":[]}`)
	for want, args := range map[string][]string{
		"line 2: the message is no valid JSON":     {"run", in, "-o", in + ".out", "--prompt", "work"},
		"line 3: the id of line 1 again":           {"run", in, "-o", in + ".out", "--prompt", "work"},
		"give -o FILE":                             {"run", in},
		"-o names the input itself":                {"run", in, "-o", in},
		"--in-flight is 0, allowed are 1 to 10000": {"run", in, "-o", in + ".out", "--in-flight", "0"},
		"give --backend":                           {"run", good, "-o", in + ".out"},
		"has no prompt nothing":                    {"status", good, "-o", in + ".out", "--prompt", "nothing"},
	} {
		if want == "has no prompt nothing" {
			write(t, good, `{"id":"a","inputs":{}}`)
		} else {
			write(t, good, `{"id":"a","messages":[]}`)
		}
		if r := at(append([]string{"batch"}, args...)...); r.code != exitUsage || !strings.Contains(r.err, want) {
			t.Errorf("want %q: %+v", want, r)
		}
	}
	if _, err := os.Stat(in + ".out"); err == nil {
		t.Error("a batch that was refused left a file")
	}
}

func TestTheLineOfABatch(t *testing.T) {
	began := time.Unix(1000, 0)
	tally := batch.Tally{Lines: 100, Done: 60, Before: 20, InReview: 2, Cost: 3 * schemas.Dollar / 2, Unpriced: 1, CostState: schemas.CostPartial, Statuses: map[string]int{schemas.StatusFailed: 3}}
	p, now := pace{began}, began.Add(10*time.Second)
	if got := p.text(tally, now, false); got != "60 of 100, 4.0/s, 3 failed, at least $1.50, 2 in review, 10s left" {
		t.Error(got)
	}
	if got := p.text(tally, now, true); !strings.HasPrefix(got, "[##############..........] 60 of 100") {
		t.Error(got)
	}
	if got := p.text(batch.Tally{}, now, true); got != "["+strings.Repeat("#", barWidth)+"] 0 of 0, 0.0/s, 0 failed, $0.00" {
		t.Error(got)
	}
}

// A terminal gets a bar that is drawn over, anything else plain lines, a machine nothing.
func TestShowingABatch(t *testing.T) {
	for _, c := range []struct {
		tty, json bool
		want      string
	}{{true, false, "\r\x1b[K[####"}, {false, false, "0 of 0"}, {false, true, ""}} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			a := &app{streams: streams{out: &out, tty: c.tty}, json: c.json}
			enough := a.showBatch(&batch.Runner{})
			time.Sleep(11 * time.Second)
			enough()
			if !strings.HasPrefix(out.String(), c.want) || (c.want == "" && out.Len() > 0) || strings.Contains(out.String(), "\x1b") != c.tty {
				t.Errorf("%+v: %q", c, out.String())
			}
		})
	}
}

func TestDollarsForPeople(t *testing.T) {
	for u, want := range map[schemas.USD]string{0: "$0.00", schemas.Dollar / 250: "$0.0040", 3 * schemas.Dollar: "$3.00"} {
		if got := dollars(u); got != want {
			t.Errorf("%s is %s", u, got)
		}
	}
	if got := costText(batch.Tally{Unpriced: 2, CostState: schemas.CostUnknown}); got != "cost unknown" {
		t.Error(got)
	}
}

func billed(t *testing.T, at func(...string) ran) {
	r := at("bill", "--by", "queue", "--since", "1h")
	for _, want := range []string{"QUEUE    CALLS", "default  ", "total    ", "calls is not known", "  unknown  "} {
		if r.code != exitOK || !strings.Contains(r.out, want) {
			t.Errorf("lacks %q: %+v", want, r)
		}
	}
	if r := at("bill", "--json"); r.code != exitOK || !strings.Contains(r.out, `"by":["backend","model"]`) || !strings.Contains(r.out, `"cost_state":"unknown"`) {
		t.Errorf("%+v", r)
	}
	for want, args := range map[string][]string{`--since "x"`: {"bill", "--since", "x"}, `not by "foo"`: {"bill", "--by", "foo"}, `--since "0s"`: {"bill", "--since", "0s"}} {
		if r := at(args...); r.code != exitUsage || !strings.Contains(r.err, want) {
			t.Errorf("%+v", r)
		}
	}
}
