package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Two workers on two backends answer a short queue; runs are held and let go; a backlog stays where it is.
func TestLoadsAreMeasured(t *testing.T) {
	b, err := newBed(how{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	m, err := b.move(load{name: "test", workers: 2, backends: 2, places: 4, delay: time.Millisecond, runs: 60, backlog: 20})
	if err != nil || m.Rate <= 0 || m.RSS <= 0 || m.Share <= 0 || m.Share > 1 || m.Name != "test" {
		t.Errorf("%+v, %v", m, err)
	}
	m, err = b.bare(load{name: "beside", workers: 2, delay: time.Millisecond, runs: 60, backlog: 20})
	if err != nil || m.Rate <= 0 || m.RSS <= 0 || m.CPU <= 0 || m.Name != "bare-beside" {
		t.Errorf("%+v, %v", m, err)
	}
	let := make(chan struct{})
	release := sync.OnceFunc(func() { close(let) })
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-let
		_, _ = w.Write([]byte(`{"choices":[{"message":{"content":"{\"number\":\"1\",\"total\":2}"}}]}`))
	}))
	defer model.Close()
	defer release()
	h, err := b.hold(load{name: "held", workers: 1, backends: 1, places: 20, runs: 20, delay: time.Minute, model: model.URL, seen: release})
	if err != nil || h.Runs != 20 || h.Idle <= 0 || h.Held <= 0 || h.GoroutinesPerRun <= 0 || h.Threads <= 0 {
		t.Errorf("%+v, %v", h, err)
	}
	if text := h.text(); !strings.Contains(text, "20 runs under way") {
		t.Error(text)
	}
}

// Three servers find a leader and take a stream of three replicas.
func TestClusterServes(t *testing.T) {
	b, err := newBedOn("cluster", how{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	m, err := b.move(load{name: "replicated", workers: 1, backends: 1, places: 4, delay: time.Millisecond, runs: 20, replicas: clusterSize})
	if err != nil || m.Rate <= 0 {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestLoads(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range cases {
		ls := loads(name)
		if (len(ls) == 0) != (name == "inflight") {
			t.Errorf("%s has %d loads", name, len(ls))
		}
		for _, l := range ls {
			if seen[l.name] || l.workers < 1 || l.backends < 1 || l.places < 1 || l.runs < 1000 || l.delay <= 0 {
				t.Errorf("%+v", l)
			}
			seen[l.name] = true
		}
	}
	if err := scale("workers,nothing", filepath.Join(t.TempDir(), "x.json")); err == nil || !strings.Contains(err.Error(), "there are workers") {
		t.Error(err)
	}
}

func TestLeastShare(t *testing.T) {
	for _, c := range []struct {
		done []int
		want float64
	}{{[]int{5}, 1}, {[]int{5, 5}, 1}, {[]int{1, 3}, 0.5}, {[]int{0, 2, 2}, 0}} {
		if got := leastShare(c.done); got != c.want {
			t.Errorf("%v: %v, want %v", c.done, got, c.want)
		}
	}
}

func TestScrape(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("# HELP go_goroutines n\ngo_goroutines 17\nemend_permits_in_use{backend=\"b0\"} 3\nodd\n"))
	}))
	defer s.Close()
	m, err := reached(s.URL, `emend_permits_in_use{backend="b0"}`, 3, 0)
	if err != nil || m["go_goroutines"] != 17 || len(m) != 2 {
		t.Errorf("%v, %v", m, err)
	}
}

func TestMemoryOfAProcess(t *testing.T) {
	rss, threads, err := memory(&process{cmd: &exec.Cmd{Process: &os.Process{Pid: os.Getpid()}}})
	if err != nil || rss <= 1 || threads < 1 {
		t.Errorf("%v MiB, %d threads, %v", rss, threads, err)
	}
}
