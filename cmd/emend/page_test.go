package main

import (
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// pageAnswers checks a page by its link: what it serves, and that its token permits what nothing else does.
func pageAnswers(t *testing.T, link string) {
	t.Helper()
	at, token, ok := strings.Cut(link, "#token=")
	if !ok {
		t.Fatalf("no link with a token: %q", link)
	}
	if code, text := get(t, at, ""); code != http.StatusOK || !strings.Contains(text, "<title>Emend</title>") {
		t.Errorf("%d %.200s", code, text)
	}
	for path, want := range map[string]string{"api/status": `"queues"`, "api/runs": `"runs"`, "healthz": "ok"} {
		if code, text := get(t, at+path, ""); code != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d %.200s", path, code, text)
		}
	}
	if _, text := get(t, at+"api/session", ""); !strings.Contains(text, `"write":false`) {
		t.Errorf("a stranger: %s", text)
	}
	if _, text := get(t, at+"api/session", token); !strings.Contains(text, `"write":true`) || !strings.Contains(text, `"content":true`) {
		t.Errorf("with the token: %s", text)
	}
}

func get(t *testing.T, url, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// dashboard serves the page of a running space without being a worker, and serve with a token from a file.
func TestDashboardAndServeShowThePage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "w")
	if r := emend(t, "", "init", dir); r.code != exitOK {
		t.Fatal(r.err)
	}
	line := background(t, "dev", "--dir", dir, "--port", "0", "--http", "")
	nats := regexp.MustCompile(`nats://[0-9.:]+`).FindString(line("NATS on"))
	page := background(t, "dashboard", "--nats", nats, "--listen", "127.0.0.1:0")("the page of space emend")
	at, token, _ := strings.Cut(regexp.MustCompile(`http://\S+`).FindString(page), "#token=")
	if code, text := get(t, at+"api/status", ""); code != http.StatusOK || !strings.Contains(text, `"workers":[{`) {
		t.Errorf("%d %s", code, text)
	}
	if _, text := get(t, at+"api/session", token); !strings.Contains(text, `"write":true`) || !strings.Contains(text, `"content":false`) {
		t.Errorf("%s", text)
	}
	file := filepath.Join(t.TempDir(), "token")
	write(t, file, "0123456789abcdef\n")
	log := background(t, "serve", "--dir", dir, "--nats", nats, "--http", "127.0.0.1:0", "--http-token-file", file)("page, health and metrics")
	at = "http://" + regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(log) + "/"
	ready := func() bool { code, _ := get(t, at+"readyz", ""); return code == http.StatusOK }
	tick, end := time.NewTicker(5*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !ready() { // until the worker pulls
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("the worker does not serve")
		}
	}
	if _, text := get(t, at+"api/session", "0123456789abcdef"); !strings.Contains(text, `"write":true`) || !strings.Contains(text, `"content":false`) {
		t.Errorf("%s", text)
	}
}

func TestPageFlagsThatDoNotFit(t *testing.T) {
	short := filepath.Join(t.TempDir(), "token")
	write(t, short, "guess me\n")
	for _, c := range []struct {
		says string
		args []string
	}{
		{"at least 16", []string{"serve", "--http-token-file", short}},
		{"no such file", []string{"serve", "--http-token-file", short + "x"}},
		{"give a token file", []string{"serve", "--http-content"}},
		{"--read-only goes with neither", []string{"dashboard", "--read-only", "--content"}},
		{"at least 16", []string{"dashboard", "--token-file", short}},
	} {
		if r := emend(t, "", c.args...); r.code != exitUsage || !strings.Contains(r.err, c.says) {
			t.Errorf("%q: %+v", c.args, r)
		}
	}
}
