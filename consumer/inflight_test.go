package consumer

import (
	"context"
	"errors"
	"testing"
)

// TestBothDeliveriesOfARunAreAborted: a run may be under way twice in one process; forgetting one keeps the other.
func TestBothDeliveriesOfARunAreAborted(t *testing.T) {
	f := newInflight()
	first, _, forgetFirst := f.add(t.Context(), aKey)
	second, _, forgetSecond := f.add(t.Context(), aKey)
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
	calls, call, forgetCalls := f.add(t.Context(), aKey)
	waits, wait, forgetWaits := f.add(t.Context(), other)
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
	late, callLate, forgetLate := f.add(t.Context(), other)
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
