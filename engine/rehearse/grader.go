package rehearse

import (
	"context"
	"fmt"

	"emend/engine"
	"emend/engine/contract"
	"emend/engine/corrupt"
	"emend/engine/provider"
	"emend/engine/run"
	"emend/prompts"
	"emend/schemas"
)

// grader plays the corruptions of one answer, one after the other.
type grader struct {
	snap *prompts.Snapshot
	req  schemas.Request
	plan *run.Plan
	good []byte
	// live calls the prompt's backend; nil has a mender answer.
	live *caller
}

func newGrader(ctx context.Context, snap *prompts.Snapshot, req schemas.Request, plan *run.Plan, o GradeOptions, good []byte) (*grader, error) {
	g := &grader{snap: snap, req: req, plan: plan, good: good}
	if !o.Live {
		return g, nil
	}
	b, ok := snap.Backend(plan.Backend)
	if !ok {
		return nil, fmt.Errorf("backend %q is an endpoint of a profile; only the engine library can call it", plan.Backend)
	}
	endpoint, err := b.Endpoint()
	if err != nil {
		return nil, fmt.Errorf("backend %s: %w", b.Name, err)
	}
	if endpoint.Key != nil {
		if _, err := endpoint.Key(ctx); err != nil {
			return nil, fmt.Errorf("backend %s: %w", b.Name, err)
		}
	}
	endpoint.Timeout = snap.CallTimeout(plan.Profile).Std()
	if o.Transport != nil && endpoint.Transport == nil {
		endpoint.Transport = o.Transport
	}
	g.live = &caller{http: provider.NewClient(provider.ClientOptions{}), endpoint: endpoint}
	return g, nil
}

func (g *grader) close() {
	if g.live != nil {
		g.live.http.CloseIdle()
	}
}

// caller is a client that calls one backend.
type caller struct {
	http     *provider.Client
	endpoint *provider.Endpoint
}

// Generate makes one call.
func (c *caller) Generate(ctx context.Context, r *engine.GenerateRequest) (*engine.GenerateResponse, error) {
	return c.http.Do(ctx, c.endpoint, r)
}

// opening is a client whose first answer is given; another one gives the rest.
type opening struct {
	first Answer
	then  engine.LLMClient
	calls int
}

// Generate gives the next answer.
func (c *opening) Generate(ctx context.Context, r *engine.GenerateRequest) (*engine.GenerateResponse, error) {
	if c.calls++; c.calls == 1 {
		return &engine.GenerateResponse{Text: c.first.Text, Finish: c.first.Finish}, nil
	}
	return c.then.Generate(ctx, r)
}

// grade plays one corruption.
func (g *grader) grade(ctx context.Context, c corrupt.Corruption) (Grade, error) {
	if err := ctx.Err(); err != nil {
		return Grade{}, err
	}
	m, err := newMender()
	if err != nil {
		return Grade{}, err
	}
	client := &opening{first: Answer{Text: string(c.Text)}, then: m}
	if c.Cut {
		client.first.Finish = provider.FinishLength
	}
	retries := 0
	if g.live != nil {
		client.then, retries = g.live, g.plan.TransientRetries
	}
	r, err := play(ctx, g.snap, g.req, client, func(p *run.Plan) { p.Validators, p.TransientRetries = nil, retries })
	if err != nil {
		return Grade{}, err
	}
	return g.graded(c, r, client.calls-1, m.anew > 0), nil
}

func (g *grader) graded(c corrupt.Corruption, r *played, calls int, anew bool) Grade {
	out := Grade{Name: c.Name, Outcome: Broken, Calls: calls, Style: r.first.Style}
	if r.first.Judged != nil {
		out.Class = string(r.first.Judged.Class)
	}
	var allowed []string
	if c.Pointer != "" {
		out.Path, allowed = contract.DisplayPath(c.Pointer), []string{c.Pointer}
	}
	switch {
	case r.res.Status == schemas.StatusSucceeded:
		out.Outcome = Repaired
		out.Preserved = len(g.plan.Contract.Changed(g.good, r.res.State.Judged.Value, allowed)) == 0
	case anew:
		out.Outcome = AskedAnew
	case r.res.Failure != nil && r.res.Failure.Category != schemas.CategoryOutputInvalid:
		out.Outcome, out.Fault = Failed, r.res.Failure.Message
	}
	return out
}
