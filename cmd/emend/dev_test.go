package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"emend/schemas"
)

// dev in one shell answers a plain request and `emend run` from another.
func TestDevAnswersRequestsRunsAndReloads(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "w")
	if r := emend(t, "", "init", dir); r.code != exitOK {
		t.Fatal(r.err)
	}
	line := background(t, "dev", "--dir", dir, "--port", "0")
	url := regexp.MustCompile(`nats://[0-9.:]+`).FindString(line("NATS on"))
	page := regexp.MustCompile(`http://[0-9.:]+/#token=\S+`).FindString(line("in a browser"))
	t.Run("page", func(t *testing.T) { pageAnswers(t, page) })
	t.Run("request and reply", func(t *testing.T) { plainRequest(t, url) })
	t.Run("run, get, cancel", func(t *testing.T) { runGetCancel(t, url, dir) })
	t.Run("streams and doctor", func(t *testing.T) {
		if r := emend(t, "", "streams", "plan", "--dir", dir, "--nats", url); r.code != exitOK || !strings.Contains(r.out, "as it should be") {
			t.Errorf("%+v", r)
		}
		if r := emend(t, "", "doctor", "--no-calls", "--dir", dir, "--nats", url); r.code != exitOK {
			t.Errorf("%+v", r)
		}
	})
	t.Run("status", func(t *testing.T) {
		r := emend(t, "", "status", "--dir", dir, "--nats", url)
		for _, want := range []string{"rehearsal/default  0", "0 of 64", "rehearsal  open", "1 dead letter, 0 runs wait for a person"} {
			if r.code != exitOK || !strings.Contains(r.out, want) {
				t.Errorf("lacks %q: %+v", want, r)
			}
		}
		if r := emend(t, "", "status", "--json", "--dir", dir, "--nats", url); r.code != exitOK || !strings.Contains(r.out, `"workers":[{"id":"`) {
			t.Errorf("%+v", r)
		}
		if r := emend(t, "", "status", "--space", "elsewhere", "--dir", dir, "--nats", url); r.code != exitFailed || !strings.Contains(r.err, "no worker has set up this space") {
			t.Errorf("a space that is not there: %+v", r)
		}
	})
	t.Run("reload on save", func(t *testing.T) {
		b, err := os.ReadFile(filepath.Join(dir, "prompts/extract-invoice@1.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "prompts/extract-invoice@2.yaml"), string(b))
		line("reloaded 2 prompts")
		if r := emend(t, "", "run", "--dir", dir, "--nats", url, "extract-invoice@2", "document=invoice two"); r.code != exitOK {
			t.Errorf("%+v", r)
		}
		write(t, filepath.Join(dir, "prompts/extract-invoice@3.yaml"), "profile: nowhere\n")
		line("the old definitions stay")
		if r := emend(t, "", "run", "--backend", "rehearsal", "--dir", dir, "--nats", url, "extract-invoice@2", "document=invoice three"); r.code != exitOK {
			t.Errorf("%+v", r)
		}
	})
}

func plainRequest(t *testing.T, url string) {
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	m, err := nc.RequestWithContext(t.Context(), "emend.ask.rehearsal.default", []byte(`{"prompt":"extract-invoice","inputs":{"document":"an invoice"}}`))
	if err != nil {
		t.Fatal(err)
	}
	var r schemas.Result
	if err := json.Unmarshal(m.Data, &r); err != nil || r.Status != schemas.StatusSucceeded || r.Counts.Repairs != 1 || m.Header.Get("Emend-Status") != r.Status {
		t.Errorf("%v: %s", err, m.Data)
	}
}

func runGetCancel(t *testing.T, url, dir string) {
	r := emend(t, "", "run", "--dir", dir, "--nats", url, "--id", "inv-1", "extract-invoice", "document=invoice one")
	if r.code != exitOK || !strings.Contains(r.out, "inv-1 succeeded") || !strings.Contains(r.out, "2 calls") {
		t.Errorf("run: %+v", r)
	}
	if r := emend(t, "", "get", "--dir", dir, "--nats", url, "inv-1"); r.code != exitOK || !strings.Contains(r.out, "56.75") {
		t.Errorf("get: %+v", r)
	}
	if r := emend(t, "", "get", "--dir", dir, "--nats", url, "nowhere"); r.code != exitFailed || !strings.Contains(r.err, "nowhere") {
		t.Errorf("get nowhere: %+v", r)
	}
	if r := emend(t, "", "watch", "--dir", dir, "--nats", url, "inv-1"); r.code != exitOK || !strings.Contains(r.out, "inv-1 succeeded") || !strings.Contains(r.out, "56.75") || r.err != "" {
		t.Errorf("watch of a run that has ended: %+v", r)
	}
	line := background(t, "watch", "--dir", dir, "--nats", url, "inv-0")
	line("no run inv-0 is queued or stored in queue default; waiting for its events")
	if r := emend(t, "", "run", "--dir", dir, "--nats", url, "--id", "inv-0", "extract-invoice", "document=invoice one"); r.code != exitOK {
		t.Errorf("run: %+v", r)
	}
	line("succeeded")
	if r := emend(t, "", "cancel", "--dir", dir, "--nats", url, "inv-1"); r.code != exitFailed || !strings.Contains(r.err, "succeeded") {
		t.Errorf("cancel: %+v", r)
	}
	if r := emend(t, "", "run", "--dir", t.TempDir(), "--nats", url, "--backend", "rehearsal", "extract-invoice", "dokument=x"); r.code != exitUsage || !strings.Contains(r.out, "document") {
		t.Errorf("a wrong input: %+v", r)
	}
}
