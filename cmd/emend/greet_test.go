package main

import (
	"strings"
	"testing"
)

// The greeting names what one would run: prompts and pipelines, and no judge.
func TestGreetingNamesPipelinesAndNoJudges(t *testing.T) {
	var out strings.Builder
	a := &app{streams: streams{out: &out}}
	a.greet("nats://x", digestExample, natsFlags{})
	for _, want := range []string{"emend run --nats nats://x list-duties@1", "emend run --nats nats://x --pipeline contract-digest@1 document=@..."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "grounded@1") {
		t.Errorf("a judge is to be run:\n%s", out.String())
	}
}
