package consumer

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"emend/engine/pipeline"
)

// TestBothDeliveriesOfARunAreAborted: a run may be under way twice in one process; forgetting one keeps the other.
func TestBothDeliveriesOfARunAreAborted(t *testing.T) {
	f := newInflight()
	first, _, forgetFirst := f.add(t.Context(), aKey, 1)
	second, _, forgetSecond := f.add(t.Context(), aKey, 1)
	forgetFirst()
	if !f.abort(aKey, errCancelled) || context.Cause(second) != errCancelled || context.Cause(first) == errCancelled {
		t.Errorf("%v, %v", context.Cause(first), context.Cause(second))
	}
	forgetSecond()
	if f.abort(aKey, errCancelled) || len(f.runs) != 0 {
		t.Errorf("remembered: %v", f.runs)
	}
}

// TestDrainPutsDownWhatHasNotCalled: what calls goes on, and may call again; the others end at once, those that come
// late among them.
func TestDrainPutsDownWhatHasNotCalled(t *testing.T) {
	f := newInflight()
	other := Key{Queue: "default", ID: "other"}
	calls, call, forgetCalls := f.add(t.Context(), aKey, 1)
	waits, wait, forgetWaits := f.add(t.Context(), other, 1)
	if err := call(); err != nil {
		t.Fatal(err)
	}
	f.drain()
	if calls.Err() != nil || call() != nil {
		t.Errorf("a run that calls: %v, %v", calls.Err(), call())
	}
	if context.Cause(waits) != errPutDown || !errors.Is(wait(), errPutDown) {
		t.Errorf("a run that waits: %v, %v", context.Cause(waits), wait())
	}
	late, callLate, forgetLate := f.add(t.Context(), other, 1)
	if context.Cause(late) != errPutDown || !errors.Is(callLate(), errPutDown) {
		t.Errorf("a run that comes late: %v, %v", context.Cause(late), callLate())
	}
	for _, forget := range []func(){forgetCalls, forgetWaits, forgetLate} {
		forget()
	}
	if len(f.runs) != 0 {
		t.Errorf("remembered: %v", f.runs)
	}
}

// The jobs of a stopped pipeline run end, those under way and those that come; others, and those of the run published anew, do not.
func TestJobsOfAStoppedPipelineRunDoNotBegin(t *testing.T) {
	f := newInflight()
	parent := Key{"default", "big"}
	job := func(n int) Key {
		return Key{"default", fmt.Sprintf("%s-c-extract-0-%d", pipeline.ParentTag("default", "big"), n)}
	}
	running, call, forget := f.add(t.Context(), job(1), 7)
	defer forget()
	_, _, forgetOther := f.add(t.Context(), aKey, 5)
	defer forgetOther()
	f.stop(parent, 9, time.Now())
	if err := call(); err != nil || !errors.Is(context.Cause(running), errCancelled) {
		t.Errorf("%v, %v", err, context.Cause(running))
	}
	for name, c := range map[string]struct {
		key  Key
		seq  uint64
		ends bool
	}{
		"a queued job":     {job(2), 9, true},
		"published anew":   {job(2), 10, false},
		"a run of another": {aKey, 8, false},
		"another queue's":  {Key{"other", job(2).ID}, 8, false},
		"the pipeline run": {parent, 8, false},
	} {
		ctx, _, forget := f.add(t.Context(), c.key, c.seq)
		if ended := errors.Is(context.Cause(ctx), errCancelled); ended != c.ends {
			t.Errorf("%s: ended %v", name, ended)
		}
		forget()
	}
	f.stop(Key{"default", "later"}, 20, time.Now().Add(stoppedKept+time.Second))
	if ctx, _, forget := f.add(t.Context(), job(3), 9); ctx.Err() != nil || len(f.stopped) != 1 {
		t.Errorf("it is remembered for ever: %v", f.stopped)
	} else {
		forget()
	}
}
