package engine_test

import (
	"fmt"
	"testing"

	"emend/engine"
	"emend/prompts"
)

// A call carries the trace context that it is told when it begins, and none without.
func TestCallsCarryTheTraceContextThatTheyAreTold(t *testing.T) {
	w := &wire{replies: []reply{says("no json"), says("{}"), says("{}")}}
	e := newEngine(t, w)
	p, err := e.Snapshot().Plan(asks("x"), prompts.Origin{ID: "1", Library: true})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if _, err := e.Execute(t.Context(), engine.Execution{Plan: p, State: p.Start(), Propagate: func() string { n++; return fmt.Sprint("parent-", n) }}); err != nil {
		t.Fatal(err)
	}
	execute(t, e, asks("y"), nil, nil)
	var got []string
	for _, h := range w.headers {
		got = append(got, h.Get("traceparent"))
	}
	if fmt.Sprint(got) != "[parent-1 parent-2 ]" {
		t.Errorf("%q", got)
	}
}
