package consumer

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"emend/engine/pipeline"
)

// errPutDown and errCancelled are causes of a run's context: the worker drains, or somebody cancelled the run.
var (
	errPutDown   = errors.New("the worker puts the run down")
	errCancelled = errors.New("the run was cancelled")
)

// inflight maps the runs under way to what aborts them. One run may be under way twice: past its lease, and delivered
// again to the same worker. It is safe for concurrent use.
type inflight struct {
	mu       sync.Mutex
	draining bool
	runs     map[Key][]*underway
	// stopped are the pipeline runs whose jobs nobody needs any more.
	stopped map[Key]stopped
}

// stopped says that jobs of a pipeline run are not to be begun: those whose request is up to sequence upTo of the runs stream, so
// that those of the same run published anew are.
type stopped struct {
	tag  string
	upTo uint64
	at   time.Time
}

// Bounds of what is remembered of stopped pipeline runs: their queued jobs are taken away within seconds.
const (
	maxStopped  = 1000
	stoppedKept = 10 * time.Minute
)

// underway is one execution of a run. Its fields are guarded by the mutex of inflight.
type underway struct {
	of   *inflight
	key  Key
	seq  uint64
	ctx  context.Context
	stop context.CancelFunc
	// cause is why it was aborted; nil while it was not.
	cause error
	// called: a call was begun, so that a drain lets the run finish.
	called bool
}

// abort ends the context; what ended it first counts.
func (u *underway) abort(cause error) {
	if u.cause == nil && u.ctx.Err() == nil {
		u.cause = cause
	}
	u.stop()
}

// why is what ended the context; nil while nothing has. It is what context.Cause tells of one that is made to be cancelled with a
// cause, which would be one more in the chain of every run.
func (u *underway) why() error {
	u.of.mu.Lock()
	defer u.of.mu.Unlock()
	if u.cause != nil {
		return u.cause
	}
	return context.Cause(u.ctx)
}

// mayCall marks a run as one that calls; its first call does not begin while the worker drains.
func (u *underway) mayCall() error {
	u.of.mu.Lock()
	defer u.of.mu.Unlock()
	if u.of.draining && !u.called {
		return errPutDown
	}
	u.called = true
	return nil
}

// forget ends the context, and what is known of the execution.
func (u *underway) forget() {
	f := u.of
	f.mu.Lock()
	defer f.mu.Unlock()
	u.stop()
	rest := slices.DeleteFunc(f.runs[u.key], func(o *underway) bool { return o == u })
	if f.runs[u.key] = rest; len(rest) == 0 {
		delete(f.runs, u.key)
	}
}

func newInflight() *inflight {
	return &inflight{runs: map[Key][]*underway{}, stopped: map[Key]stopped{}}
}

// add notes an execution of a run, whose request has sequence seq, and returns a context for it that ends when it is aborted, and at
// its deadline if that is not zero. Of a worker that drains, and for a job of a stopped pipeline run, it is done at once.
func (f *inflight) add(ctx context.Context, k Key, seq uint64, deadline time.Time) (context.Context, *underway) {
	u := &underway{of: f, key: k, seq: seq}
	if deadline.IsZero() {
		ctx, u.stop = context.WithCancel(ctx)
	} else {
		ctx, u.stop = context.WithDeadline(ctx, deadline)
	}
	u.ctx = ctx
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs[k] = append(f.runs[k], u)
	if f.draining {
		u.abort(errPutDown)
	}
	for parent, s := range f.stopped {
		if s.ends(parent, k, seq) {
			u.abort(errCancelled)
		}
	}
	return ctx, u
}

// drain puts down all runs that have made no call here: most of them wait for a permit, which others will hold for as
// long as their calls last.
func (f *inflight) drain() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.draining = true
	for _, same := range f.runs {
		for _, u := range same {
			if !u.called {
				u.abort(errPutDown)
			}
		}
	}
}

// abort ends a run under way here, if there is one.
func (f *inflight) abort(k Key, cause error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, u := range f.runs[k] {
		u.abort(cause)
	}
	return len(f.runs[k]) > 0
}

func (s stopped) ends(parent, k Key, seq uint64) bool {
	return k.Queue == parent.Queue && seq <= s.upTo && pipeline.IsChildOf(s.tag, k.ID)
}

// stop ends the jobs of a pipeline run that are under way here, and those that come, whose requests have sequences up to upTo.
func (f *inflight) stop(parent Key, upTo uint64, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.stopped, func(_ Key, s stopped) bool { return now.Sub(s.at) > stoppedKept })
	s := stopped{tag: pipeline.ParentTag(parent.Queue, parent.ID), upTo: upTo, at: now}
	if _, known := f.stopped[parent]; known || len(f.stopped) < maxStopped {
		f.stopped[parent] = s
	}
	for k, same := range f.runs {
		for _, u := range same {
			if s.ends(parent, k, u.seq) {
				u.abort(errCancelled)
			}
		}
	}
}
