package consumer

import (
	"context"
	"encoding/json"
	"slices"

	"emend/engine/pipeline"
	"emend/schemas"
)

// find has kept outputs looked for: while one question is under way, jobs gather for the next.
func (c *coordination) find() {
	r := c.reuse
	if r.asking || len(r.waiting) == 0 {
		return
	}
	n := min(len(r.waiting), findAtOnce)
	batch := slices.Clone(r.waiting[:n])
	r.waiting, r.asking = append(r.waiting[:0], r.waiting[n:]...), true
	digests := make([]string, n)
	for i, ch := range batch {
		digests[i] = ch.reuse
	}
	c.tasks.do(func(ctx context.Context) report {
		found, err := r.some(ctx, digests)
		return func() error { return c.found(batch, found, err) }
	})
}

// found goes on with jobs whose outputs were looked for: those that are not kept are run. Where looking fails it ends.
func (c *coordination) found(batch []*child, found map[string]json.RawMessage, err error) error {
	c.reuse.asking = false
	if err != nil {
		c.reuse.reads = false
		c.h.log().Warn().Err(err).Msg("kept outputs cannot be read; jobs are run in their place")
	}
	for _, ch := range batch {
		if c.jobs[ch.job] != ch {
			continue // nobody needs it any more
		}
		if out := found[ch.reuse]; out != nil {
			c.told(ch.job, pipeline.Outcome{Status: schemas.StatusSucceeded, Output: out, Reused: true})
		} else if err := c.begin(ch); err != nil {
			return err
		}
	}
	return nil
}

// keep has an accepted output kept for other runs.
func (c *coordination) keep(ch *child, output json.RawMessage) {
	if ch == nil || ch.reuse == "" {
		return
	}
	if err := c.reuse.put(ch.reuse, output); err != nil {
		c.h.log().Warn().Err(err).Msg("an output could not be kept for reuse")
	}
}

// allKept waits until the outputs are kept.
func (c *coordination) allKept() {
	ctx, cancel := context.WithTimeout(c.h.w.base, serviceWait)
	defer cancel()
	if err := c.reuse.flush(ctx); err != nil {
		c.h.log().Warn().Err(err).Msg("outputs may not be kept for reuse")
	}
}
