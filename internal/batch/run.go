package batch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"emend/consumer"
	"emend/schemas"
)

// Carrier is where the runs go. It is used concurrently.
type Carrier interface {
	// Prepare returns the body of a request, and the fingerprint that its result will bear.
	Prepare(context.Context, schemas.Request) (body []byte, fingerprint string, err error)
	// Publish stores a run whose result is to be sent to the batch; consumer.ErrDuplicate says that the id is under way.
	Publish(ctx context.Context, id string, body []byte) error
	// Look returns a run's stored result, or the state that it is in.
	Look(ctx context.Context, id string) (*schemas.Result, string, error)
	// Fill brings in an output that is stored apart.
	Fill(context.Context, *schemas.Result) error
}

// Bounds of a batch.
const (
	// MaxWindow bounds the runs under way of a batch; DefaultWindow is usual.
	MaxWindow, DefaultWindow = 10_000, 256
	// senders publish at once.
	senders = 16
	// frontier is how many lines in a row must be unknown before the rest of the file is: whoever published before did so in
	// the order of the file, but for the lines in its senders' hands.
	frontier = 16 * senders
	// lookEvery is how often a run is asked for that does not report by itself.
	lookEvery = 5 * time.Second
	// flushEvery is how long a result may stay in memory.
	flushEvery = time.Second
	// lost is how many looks in a row must find neither a request nor a result.
	lost = 3
	// pauseFull is the pause before a publish that the server could not take is tried again.
	pauseFull = time.Second
)

// Runner executes a batch. Make it with the fields set; Do may be called once.
type Runner struct {
	In      *Input
	Out     *Output
	Carrier Carrier
	// Window bounds the runs that are published and have no written result.
	Window int
	// Ordered writes results in the order of the file; else they are written as they come.
	Ordered bool
	// Retry publishes the runs again whose stored result failed, expired or was cancelled.
	Retry bool

	mu      sync.Mutex
	tally   Tally
	pending map[string]*job
	// misses counts the lines in a row that nobody had published.
	misses atomic.Int64
	done   chan ended
	tokens chan struct{}
}

// job is a run under way; order is its place among those that this run of the batch makes.
type job struct {
	order       int
	id          string
	fingerprint string
	request     schemas.Request
	// asked and absent are the sweeper's: when it was last asked for, and how many looks in a row found nothing.
	asked  time.Time
	absent int
	// ours says that the id's result is this batch's whatever its content. before is the request of the result that is to be
	// replaced.
	ours   bool
	before uint64
}

// ended is a job with its result, or with the state that it stays in.
type ended struct {
	job    *job
	result *schemas.Result
}

// Now is the tally at this moment.
func (r *Runner) Now() Tally {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tally
	t.Statuses, t.Failed = maps.Clone(t.Statuses), slices.Clone(t.Failed)
	return t
}

// Prepare readies the runner; results may arrive from then on.
func (r *Runner) Prepare(t Tally) {
	r.tally, r.pending = t, map[string]*job{}
	r.done, r.tokens = make(chan ended, r.Window), make(chan struct{}, r.Window)
}

// Arrived takes what was sent for a run: a result, or nil for one that waits for a person. What is not awaited is dropped.
func (r *Runner) Arrived(id string, result *schemas.Result) {
	if j := r.take(id); j != nil {
		r.done <- ended{j, result} // never blocks: it has room for every job under way
	}
}

func (r *Runner) take(id string) *job {
	r.mu.Lock()
	defer r.mu.Unlock()
	j := r.pending[id]
	delete(r.pending, id)
	return j
}

// Do runs the batch until every line has a result, ctx is done, or it cannot go on. What is under way then goes on without it;
// Do closes the output, and says in the tally how far it came.
func (r *Runner) Do(ctx context.Context) (Tally, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	jobs := make(chan *job)
	var reading, sending, looking sync.WaitGroup
	reading.Go(func() {
		defer close(jobs)
		if err := r.read(ctx, jobs); err != nil {
			stop(err)
		}
	})
	for range senders {
		sending.Go(func() {
			for j := range jobs {
				if err := r.send(ctx, j); err != nil {
					stop(err)
				}
			}
		})
	}
	swept, enough := context.WithCancel(ctx)
	looking.Go(func() { r.sweep(swept) })
	written := make(chan error, 1)
	all := make(chan struct{})
	go func() { written <- r.write(ctx, all, stop) }()
	reading.Wait()
	sending.Wait()
	close(all)
	err := <-written
	enough()
	looking.Wait()
	return r.Now(), errors.Join(err, cause(ctx))
}

// cause is why the batch was stopped, nil when its caller's context was.
func cause(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// read hands out the lines without a result, each with a token.
func (r *Runner) read(ctx context.Context, jobs chan<- *job) error {
	order := 0
	for line, err := range r.In.Lines() {
		if err != nil {
			return err
		}
		if r.Out.done.has(line.ID) {
			continue
		}
		j := &job{order: order, id: line.ID, request: line.Request, ours: r.Out.ours.has(line.ID)}
		order++
		select {
		case r.tokens <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		select {
		case jobs <- j:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// send publishes a run, unless an earlier run of the batch did.
func (r *Runner) send(ctx context.Context, j *job) error {
	body, fingerprint, err := r.Carrier.Prepare(ctx, j.request)
	if err != nil {
		return unless(ctx, fmt.Errorf("run %s: %w", j.id, err))
	}
	j.fingerprint, j.request = fingerprint, schemas.Request{}
	if known, err := r.known(ctx, j); known || err != nil {
		return unless(ctx, err)
	}
	r.await(j)
	for {
		err := r.Carrier.Publish(ctx, j.id, body)
		switch {
		case err == nil, errors.Is(err, consumer.ErrDuplicate):
			return nil
		case !errors.Is(err, consumer.ErrFull):
			return unless(ctx, err)
		}
		if !pause(ctx, pauseFull) {
			return nil
		}
	}
}

// unless drops an error that only says that the batch was stopped.
func unless(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (r *Runner) await(j *job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	j.asked = time.Now()
	r.pending[j.id] = j
}

// known asks for a run that may have been published before; it is then awaited or ended, unless it is to run again.
func (r *Runner) known(ctx context.Context, j *job) (bool, error) {
	before := r.Out.dropped.has(j.id)
	if !before && r.misses.Load() >= frontier {
		return false, nil
	}
	result, state, err := r.Carrier.Look(ctx, j.id)
	switch {
	case err != nil:
		return false, err
	case result == nil && state == schemas.StateNotFound:
		if !before {
			r.misses.Add(1)
		}
		return false, nil
	}
	r.misses.Store(0)
	if r.Retry && result != nil && unanswered(result.Status) && result.Request.SHA256 == j.fingerprint {
		j.before = result.Request.Seq
		return false, nil
	}
	r.await(j)
	if result != nil || state == schemas.StateInReview {
		r.found(j, result, state)
	}
	return true, nil
}

// found ends a job that a look found at its end.
func (r *Runner) found(j *job, result *schemas.Result, state string) {
	switch {
	case result != nil && j.before > 0 && result.Request.Seq <= j.before:
		j.absent = 0 // the new one comes
	case result != nil && (result.Request.SHA256 == j.fingerprint || j.ours):
		r.Arrived(j.id, result)
	case result != nil:
		r.Arrived(j.id, failure(j, schemas.CategoryIDConflict, "the id has a result for other content; give the batch a --prefix of its own"))
	case state == schemas.StateInReview:
		r.Arrived(j.id, nil)
	case state != schemas.StateNotFound:
		j.absent = 0
	default:
		if j.absent++; j.absent >= lost {
			r.Arrived(j.id, failure(j, schemas.CategoryInvalidRequest, "neither a request nor a result is stored: it was refused (emend dead ls), or its result has aged out"))
		}
	}
}

func failure(j *job, category, message string) *schemas.Result {
	return &schemas.Result{ID: j.id, Status: schemas.StatusFailed, Error: &schemas.Error{Category: category, Message: message},
		Attempts: []schemas.Attempt{}, Request: schemas.RequestRef{SHA256: j.fingerprint}}
}

// sweep asks for the runs that have been silent: a reply may be lost, and those of an earlier run of the batch went elsewhere.
func (r *Runner) sweep(ctx context.Context) {
	for pause(ctx, lookEvery/5) {
		for _, j := range r.silent(time.Now().Add(-lookEvery)) {
			result, state, err := r.Carrier.Look(ctx, j.id)
			if ctx.Err() != nil {
				return
			}
			if err == nil {
				r.found(j, result, state)
			}
		}
	}
}

// silent lists the jobs that were not asked for since, and notes that they are now.
func (r *Runner) silent(since time.Time) []*job {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*job
	for _, j := range r.pending {
		if j.asked.Before(since) {
			j.asked = time.Now()
			out = append(out, j)
		}
	}
	return out
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
