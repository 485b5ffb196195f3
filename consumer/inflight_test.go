package consumer

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"emend/engine/pipeline"
)

// TestBothDeliveriesOfARunAreAborted: a run may be under way twice in one process; forgetting one keeps the other.
func TestBothDeliveriesOfARunAreAborted(t *testing.T) {
	f := newInflight()
	_, first := f.add(t.Context(), aKey, 1, time.Time{})
	second, other := f.add(t.Context(), aKey, 1, time.Time{})
	first.forget()
	if !f.abort(aKey, errCancelled) || second.Err() == nil || other.why() != errCancelled || first.why() == errCancelled {
		t.Errorf("%v, %v", first.why(), other.why())
	}
	other.forget()
	if f.abort(aKey, errCancelled) || len(f.runs) != 0 {
		t.Errorf("remembered: %v", f.runs)
	}
}

// TestDrainPutsDownWhatHasNotCalled: what calls goes on, and may call again; the others end at once, those that come
// late among them.
func TestDrainPutsDownWhatHasNotCalled(t *testing.T) {
	f := newInflight()
	other := Key{Queue: "default", ID: "other"}
	calling, calls := f.add(t.Context(), aKey, 1, time.Time{})
	waiting, waits := f.add(t.Context(), other, 1, time.Time{})
	if err := calls.mayCall(); err != nil {
		t.Fatal(err)
	}
	f.drain()
	if calling.Err() != nil || calls.why() != nil || calls.mayCall() != nil {
		t.Errorf("a run that calls: %v, %v", calling.Err(), calls.mayCall())
	}
	if waiting.Err() == nil || waits.why() != errPutDown || !errors.Is(waits.mayCall(), errPutDown) {
		t.Errorf("a run that waits: %v, %v", waits.why(), waits.mayCall())
	}
	coming, late := f.add(t.Context(), other, 1, time.Time{})
	if coming.Err() == nil || late.why() != errPutDown || !errors.Is(late.mayCall(), errPutDown) {
		t.Errorf("a run that comes late: %v, %v", late.why(), late.mayCall())
	}
	for _, u := range []*underway{calls, waits, late} {
		u.forget()
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
	running, u := f.add(t.Context(), job(1), 7, time.Time{})
	defer u.forget()
	_, other := f.add(t.Context(), aKey, 5, time.Time{})
	defer other.forget()
	f.stop(parent, 9, time.Now())
	if err := u.mayCall(); err != nil || running.Err() == nil || !errors.Is(u.why(), errCancelled) || other.why() != nil {
		t.Errorf("%v, %v", err, u.why())
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
		ctx, u := f.add(t.Context(), c.key, c.seq, time.Time{})
		if ended := errors.Is(u.why(), errCancelled); ended != c.ends || ended != (ctx.Err() != nil) {
			t.Errorf("%s: ended %v", name, ended)
		}
		u.forget()
	}
	f.stop(Key{"default", "later"}, 20, time.Now().Add(stoppedKept+time.Second))
	ctx, u := f.add(t.Context(), job(3), 9, time.Time{})
	defer u.forget()
	if ctx.Err() != nil || len(f.stopped) != 1 {
		t.Errorf("it is remembered for ever: %v", f.stopped)
	}
}

// What ended a context first is why it ended: its deadline, its parent's cause, or the first abort.
func TestWhatEndedAnExecutionFirstCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newInflight()
		work, stop := context.WithCancelCause(t.Context())
		late, expired := f.add(work, aKey, 1, time.Now().Add(time.Second))
		defer expired.forget()
		<-late.Done()
		f.abort(aKey, errCancelled)
		if !errors.Is(expired.why(), context.DeadlineExceeded) {
			t.Errorf("its deadline: %v", expired.why())
		}
		other := Key{Queue: "default", ID: "other"}
		_, aborted := f.add(work, other, 1, time.Now().Add(time.Hour))
		defer aborted.forget()
		f.abort(other, errCancelled)
		f.abort(other, errPutDown)
		_, open := f.add(work, Key{Queue: "default", ID: "third"}, 1, time.Time{})
		defer open.forget()
		stop(errPutDown)
		if aborted.why() != errCancelled || open.why() != errPutDown {
			t.Errorf("%v, %v", aborted.why(), open.why())
		}
	})
}
