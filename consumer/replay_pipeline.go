package consumer

import (
	"context"
	"fmt"
	"time"

	"emend/prompts"
	"emend/schemas"
	"emend/subjects"
)

// pipeline is that of the subject on which the request came; "" for a run's.
func (l *letter) pipeline(names subjects.Names) string {
	name, _, _, err := names.ParsePipeline(l.header.Get(subjects.HeaderSubject))
	if err != nil {
		return ""
	}
	return name
}

// rewrittenPipeline plans a letter's request for a pipeline run. What its stages run on is the definition's to say; a deadline
// that has passed is taken out.
func (w *Worker) rewrittenPipeline(ctx context.Context, l *letter, name string, r schemas.Replay) (*rewrite, error) {
	if r.Prompt != "" || r.Profile != "" || r.Backend != "" {
		return nil, fmt.Errorf("%w: it is a pipeline's, whose stages say prompt, profile and backend; replay it without", ErrReplay)
	}
	req, err := schemas.DecodePipelineRequest(l.body)
	if err != nil {
		return nil, fmt.Errorf("%w: its request is refused whatever is changed: %w", ErrReplay, err)
	}
	n := &rewrite{backend: pipelineOrigin(name), body: l.body}
	if req.Deadline != nil && !time.Now().Before(*req.Deadline) {
		req.Deadline = nil
		n.changed = append(n.changed, "deadline")
		if n.body, err = schemas.Marshal(req); err != nil {
			return nil, err
		}
	}
	given := schemas.Request{Inputs: req.Inputs}
	if err := w.blobs.Resolve(ctx, l.key.Queue, &given); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrReplay, err)
	}
	req.Inputs = given.Inputs
	if _, err := w.engine.Load().Snapshot().PlanPipeline(name, req, prompts.Origin{ID: l.key.ID, Queue: l.key.Queue, Published: time.Now()}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrReplay, err)
	}
	return n, nil
}
