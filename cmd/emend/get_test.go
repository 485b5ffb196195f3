package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"emend/internal/devnats"
	"emend/schemas"
)

// What has not ended is no success: a script that looks at the exit code alone must not go on.
func TestProgressHasAnExitCodeOfItsOwn(t *testing.T) {
	for state, want := range map[string]int{schemas.StateQueued: exitPending, schemas.StateRunning: exitPending, schemas.StateWaiting: exitPending,
		schemas.StateInReview: exitPending, schemas.StateNotFound: exitFailed} {
		for _, asJSON := range []bool{false, true} {
			var out bytes.Buffer
			a := &app{streams: streams{out: &out}, json: asJSON}
			err := a.printProgress(&schemas.Progress{ID: "one", Queue: "q", State: state, Cause: "why", Place: 3})
			exit, ok := errors.AsType[*exitError](err)
			if !ok || exit.code != want {
				t.Errorf("%s (json %v): %v, expected exit %d", state, asJSON, err, want)
			}
			if want == exitPending && !strings.Contains(out.String(), state) {
				t.Errorf("%s (json %v): %q", state, asJSON, out.String())
			}
		}
	}
}

// A run that nobody takes up is queued when the wait is over.
func TestRunThatOutlastsItsTimeout(t *testing.T) {
	srv, err := devnats.Start(devnats.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Stop)
	dir := filepath.Join(t.TempDir(), "w")
	if r := emend(t, "", "init", dir); r.code != exitOK {
		t.Fatal(r.err)
	}
	if r := emend(t, "", "streams", "apply", "--dir", dir, "--nats", srv.URL()); r.code != exitOK {
		t.Fatal(r.err)
	}
	r := emend(t, "", "run", "--id", "one", "--timeout", "1s", "--dir", dir, "--nats", srv.URL(), "extract-invoice", "document=x")
	if r.code != exitPending || !strings.Contains(r.err, "the run goes on: emend get one") {
		t.Errorf("%+v", r)
	}
	if r := emend(t, "", "help", "exit-codes"); !strings.Contains(r.out, "4  not ended yet") {
		t.Errorf("%+v", r)
	}
}

// Who looks for a run that was refused is told where it is.
func TestGetOfNothingNamesTheDeadLetters(t *testing.T) {
	a := &app{streams: streams{out: &bytes.Buffer{}}}
	c, _, err := newRoot(streams{}).Find([]string{"get"})
	if err == nil {
		err = c.ParseFlags([]string{"--queue", "q"})
	}
	if err != nil {
		t.Fatal(err)
	}
	a.cmd = c
	err = a.printProgress(&schemas.Progress{ID: "one", Queue: "q", State: schemas.StateNotFound})
	if err == nil || !strings.Contains(err.Error(), "emend dead ls --queue q") {
		t.Errorf("%v", err)
	}
}
