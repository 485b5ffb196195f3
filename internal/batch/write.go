package batch

import (
	"context"
	"errors"
	"time"
)

// write writes what ends until all is published and has ended, or ctx is done. all is closed when nothing more is published.
func (r *Runner) write(ctx context.Context, all <-chan struct{}, stop context.CancelCauseFunc) error {
	w := &writer{r: r, held: map[int]ended{}}
	flush := time.NewTicker(flushEvery)
	defer flush.Stop()
	for all != nil || len(r.tokens) > 0 {
		select {
		case <-all:
			all = nil
		case e := <-r.done:
			w.take(ctx, e)
		case <-flush.C:
			w.fail(r.Out.buf.Flush())
		case <-ctx.Done():
			w.rest(ctx)
			return errors.Join(w.err, r.Out.close())
		}
		if w.err != nil {
			stop(w.err)
			return errors.Join(w.err, r.Out.close())
		}
	}
	if w.err == nil && r.Ordered && len(r.Out.dropped) > 0 {
		w.fail(r.Out.arrange(r.In))
	}
	return errors.Join(w.err, r.Out.close())
}

// writer belongs to the goroutine that writes. held are those whose turn has not come; next is whose turn it is.
type writer struct {
	r    *Runner
	held map[int]ended
	next int
	err  error
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *writer) take(ctx context.Context, e ended) {
	if !w.r.Ordered {
		w.put(ctx, e)
		return
	}
	w.held[e.job.order] = e
	for {
		e, ok := w.held[w.next]
		if !ok {
			return
		}
		delete(w.held, w.next)
		w.next++
		w.put(ctx, e)
	}
}

// rest takes what has come in the meantime. What waits for its turn in an interrupted batch is stored, and comes again.
func (w *writer) rest(ctx context.Context) {
	for {
		select {
		case e := <-w.r.done:
			w.take(ctx, e)
		default:
			return
		}
	}
}

// put writes one result and gives its token back.
func (w *writer) put(ctx context.Context, e ended) {
	if e.result != nil {
		// An output that cannot be fetched now stays a reference: the result says where it is.
		_ = w.r.Carrier.Fill(context.WithoutCancel(ctx), e.result)
		w.fail(w.r.Out.write(e.result))
	}
	w.r.count(e)
	<-w.r.tokens
}

func (r *Runner) count(e ended) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.result == nil {
		r.tally.InReview++
		return
	}
	category := ""
	if e.result.Error != nil {
		category = e.result.Error.Category
	}
	r.tally.add(e.job.id, e.result.Status, category, e.result.Cost)
}
