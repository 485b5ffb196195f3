package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"emend/engine"
	"emend/schemas"
)

// A run ends at its own deadline or at its caller's, whichever is earlier.
func TestTheEarlierDeadlineEndsARun(t *testing.T) {
	for name, c := range map[string]struct{ own, callers, want time.Duration }{
		"its own alone":     {time.Second, 0, time.Second},
		"its own":           {time.Second, time.Hour, time.Second},
		"its caller's":      {time.Hour, time.Minute, time.Minute},
		"the same":          {time.Minute, time.Minute, time.Minute},
		"the caller's only": {0, time.Second, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := engineOver(t, definitions(2, 4), engine.WithLLMClient(client(func(ctx context.Context, _ *engine.GenerateRequest) (*engine.GenerateResponse, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			})))
			p, err := e.Prepare(t.Context(), ask(schemas.ModeNone))
			if err != nil {
				t.Fatal(err)
			}
			plan, began, ctx := *p.Plan(), time.Now(), t.Context()
			if c.own > 0 {
				plan.Deadline = began.Add(c.own)
			}
			if c.callers > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.callers)
				defer cancel()
			}
			res, err := e.Execute(ctx, engine.Execution{Plan: &plan, State: plan.Start()})
			if err != nil || res.Status != schemas.StatusExpired || time.Since(began) != c.want || res.State.Counts.Calls != 1 {
				t.Errorf("%s: %s after %s, %+v, %v", name, res.Status, time.Since(began), res.State.Counts, err)
			}
		})
	}
}
