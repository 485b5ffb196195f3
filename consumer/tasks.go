package consumer

import (
	"context"
	"sync"
)

// tasksAtOnce bounds the questions that one pipeline run asks of the server at the same time.
const tasksAtOnce = 16

// tasks are done beside the coordinator, which takes their reports when it is free. It is safe for concurrent use.
type tasks struct {
	ctx    context.Context
	places chan struct{}
	all    sync.WaitGroup
	mu     sync.Mutex
	done   []report
	wake   chan struct{}
}

// report is what came of a task: what is to be done with it, on the coordinator's goroutine.
type report func() error

func newTasks(ctx context.Context) *tasks {
	return &tasks{ctx: ctx, places: make(chan struct{}, tasksAtOnce), wake: make(chan struct{}, 1)}
}

// do has a task done; a nil report tells nothing.
func (t *tasks) do(task func(ctx context.Context) report) {
	t.all.Go(func() {
		t.places <- struct{}{}
		r := task(t.ctx)
		<-t.places
		if r == nil {
			return
		}
		t.mu.Lock()
		t.done = append(t.done, r)
		t.mu.Unlock()
		select {
		case t.wake <- struct{}{}:
		default:
		}
	})
}

// take returns the reports so far.
func (t *tasks) take() []report {
	t.mu.Lock()
	defer t.mu.Unlock()
	done := t.done
	t.done = nil
	return done
}

// wait waits for all tasks; their reports are not taken any more.
func (t *tasks) wait() { t.all.Wait() }
