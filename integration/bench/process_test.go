package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// What a process used is never less later on.
func TestCPUOfAProcessGrows(t *testing.T) {
	before, err := cpuOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	now := before
	for n := 0; now < before+2*time.Second/ticks; n++ { // two ticks of work, however long they take here
		for i := range 1_000_000 {
			n ^= i
		}
		if now, err = cpuOf(os.Getpid()); err != nil || now < before {
			t.Fatal(now, before, err)
		}
	}
}

func TestNoCPUOfNoProcess(t *testing.T) {
	if _, err := cpuOf(1 << 30); err == nil {
		t.Error("a process that is not there has a figure")
	}
}

func TestProcessThatTellsNoAddress(t *testing.T) {
	_, _, err := beginTelling(exec.Command("sh", "-c", "echo not today >&2; exit 3"), "mock")
	if err == nil || !strings.Contains(err.Error(), "mock told no address") || !strings.Contains(err.Error(), "not today") {
		t.Error(err)
	}
}

func TestProcessThatFailsSaysWhy(t *testing.T) {
	p, at, err := beginTelling(exec.Command("sh", "-c", "trap 'echo broken >&2; exit 4' TERM; echo serving at http://here; while :; do sleep 0.01; done"), "worker")
	if err != nil || at != "http://here" {
		t.Fatal(at, err)
	}
	if err := p.end(); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Error(err)
	}
	if _, rss, err := p.used(); err != nil || rss <= 0 {
		t.Error(rss, err)
	}
}

func TestProcessThatIsNotThere(t *testing.T) {
	if _, err := begin(exec.Command("/nowhere/at/all"), "worker"); err == nil {
		t.Error("it began")
	}
}
