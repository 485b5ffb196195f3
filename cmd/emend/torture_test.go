package main

import (
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"emend/consumer"
	"emend/schemas"
)

// asProgram makes the test binary the program itself: torture starts its own executable as workers.
const asProgram = "EMEND_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], stdio()))
}

// Workers die and drain under a mixed load; every accepted run has its end, and every call is told.
func TestTorture(t *testing.T) {
	t.Setenv(asProgram, "1")
	r := emend(t, "", "torture", "--json", "--for", "6s", "--workers", "2", "--rate", "40", "--kill-every", "2s")
	var l ledgerReport
	if err := json.Unmarshal([]byte(r.out), &l); err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	if r.code != exitOK || !l.ok() || l.Accepted < 50 || l.Kills == 0 || l.Called < l.Accepted/2 || l.Statuses[schemas.StatusSucceeded] == 0 || l.TokensReported == 0 {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
}

func TestTortureOptions(t *testing.T) {
	for _, args := range [][]string{{"--for", "0s"}, {"--for", "2h"}, {"--workers", "0"}, {"--rate", "1001"}} {
		if r := emend(t, "", append([]string{"torture"}, args...)...); r.code != exitUsage {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

// A ledger that does not add up is a failure, and names the runs.
func TestABadLedgerFails(t *testing.T) {
	good := ledgerReport{Accepted: 3, Settled: true, Allowed: 1, Unexplained: 1, Repeated: 2, Aborted: 1, TokensCalled: 140, TokensReported: 100,
		MemoryMiB: []int64{20, 30, 40, 40, 41, 40, 42, 39}, Goroutines: []int64{80, 80, 80, 80, 80, 80, 90, 80}}
	if !good.ok() {
		t.Error("a good ledger does not hold")
	}
	for name, break_ := range map[string]func(*ledgerReport){
		"nothing accepted": func(r *ledgerReport) { r.Accepted = 0 }, "not settled": func(r *ledgerReport) { r.Settled = false },
		"a lost run": func(r *ledgerReport) { r.Lost = []string{"q/1"} }, "a phantom": func(r *ledgerReport) { r.Phantom = 1 },
		"tokens from nowhere": func(r *ledgerReport) { r.TokensReported = 141 }, "tokens that went nowhere": func(r *ledgerReport) { r.TokensCalled = 141 },
		"memory that grows":    func(r *ledgerReport) { r.MemoryMiB = []int64{20, 40, 60, 80, 100, 120, 140, 160} },
		"goroutines that stay": func(r *ledgerReport) { r.Goroutines = []int64{80, 200, 400, 500, 600, 700, 800, 900} },
		"too many unexplained": func(r *ledgerReport) { r.Unexplained = 2 },
	} {
		r := good
		break_(&r)
		if r.ok() {
			t.Errorf("%s: it holds", name)
		}
	}
	var r ledgerReport
	for range 2 * maxOdd {
		r.odd(consumer.Key{Queue: "q", ID: "1"}, 2, 1, &told{}, nil)
	}
	if len(r.Odd) != maxOdd || !strings.Contains(r.Odd[0], "q/1: called 2, reported 1") {
		t.Errorf("%d odd runs, %s", len(r.Odd), r.Odd[0])
	}
}

// Each call that no total has is laid to an attempt of a killed worker, or to nobody; a call that was never made is found too.
func TestExplain(t *testing.T) {
	killed := map[string]bool{"dead": true}
	executions := map[execution]int{{"dead", 1}: 2, {"alive", 2}: 1}
	for name, c := range map[string]struct {
		called, reported, aborted      int
		repeated, unexplained, phantom int
	}{
		"all reported":                      {1, 1, 0, 0, 0, 0},
		"a killed worker's are missing":     {3, 1, 0, 2, 0, 0},
		"one more is missing":               {4, 1, 0, 2, 1, 0},
		"one that was cut off never left":   {0, 1, 1, 0, 0, 0},
		"those of the dead never left":      {1, 3, 0, 0, 0, 0},
		"more reported than anybody called": {0, 4, 1, 0, 0, 1},
	} {
		var r ledgerReport
		r.explain(consumer.Key{}, c.called, c.reported, &told{executions: executions, aborted: c.aborted}, killed)
		if r.Repeated != c.repeated || r.Unexplained != c.unexplained || r.Phantom != c.phantom || (len(r.Odd) > 0) != (c.unexplained+c.phantom > 0) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
