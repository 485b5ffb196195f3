package main

import (
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"emend/internal/devnats"
	"emend/prompts"
)

// A connection that is lost is told, and that it is there again; one that is closed on purpose is not.
func TestALostConnectionIsTold(t *testing.T) {
	first, err := devnats.Start(devnats.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, text, err := net.SplitHostPort(first.Server().Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	lost, back, closed := make(chan error, 10), make(chan string, 10), make(chan struct{})
	more := comingAndGoing(func(err error) { lost <- err }, func(url string) { back <- url })
	nc, err := connect(prompts.NATS{URL: first.URL()}, "test", false, append(more, nats.ClosedHandler(func(*nats.Conn) { close(closed) }))...)
	if err != nil {
		t.Fatal(err)
	}
	first.Stop()
	await := func(what string, c <-chan struct{}) {
		t.Helper()
		select {
		case <-c:
		case <-time.After(time.Minute):
			t.Fatal(what)
		}
	}
	came := make(chan struct{})
	go func() { <-lost; close(came) }()
	await("the loss is not told", came)
	second, err := devnats.Start(devnats.Options{Port: port})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Stop()
	again := make(chan struct{})
	go func() {
		if url := <-back; url != second.URL() {
			t.Errorf("back at %s", url)
		}
		close(again)
	}()
	await("that it is back is not told", again)
	nc.Close()
	await("it does not close", closed)
	if len(lost) != 0 {
		t.Errorf("a close on purpose is told as %v", <-lost)
	}
}
