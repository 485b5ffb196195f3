package consumer

import (
	"context"
	"encoding/json"
	"fmt"

	"emend/schemas"
)

// InReviewError says that a run waits for a person: its result follows on the result subject, whenever that is.
type InReviewError struct{ Progress schemas.Progress }

// Error tells which run.
func (e *InReviewError) Error() string {
	return fmt.Sprintf("run %s of queue %s waits for a person; its result follows the decision", e.Progress.ID, e.Progress.Queue)
}

// inReview reads an interim reply; nil for a result.
func inReview(b []byte) error {
	var p schemas.Progress
	if json.Unmarshal(b, &p) == nil && p.State == schemas.StateInReview {
		return &InReviewError{Progress: p}
	}
	return nil
}

// Reviews lists the runs of a queue that wait for a person, oldest first.
func (c *Client) Reviews(ctx context.Context, queue string, q schemas.ReviewQuery) (*schemas.ReviewList, error) {
	return ask[schemas.ReviewList](ctx, c, c.names.Reviews(queue), schemas.ReviewQuery{After: q.After, Limit: q.Limit})
}

// Review shows one run that waits for a person.
func (c *Client) Review(ctx context.Context, k Key) (*schemas.ReviewDetail, error) {
	return ask[schemas.ReviewDetail](ctx, c, c.names.Reviews(k.Queue), schemas.ReviewQuery{ID: k.ID})
}

// Decide settles a run that waits for a person, and returns its result. The error tells who was first if it was decided
// before.
func (c *Client) Decide(ctx context.Context, queue string, d schemas.Decision) (*schemas.Result, error) {
	return ask[schemas.Result](ctx, c, c.names.Decide(queue), d)
}

func ask[T any](ctx context.Context, c *Client, subject string, v any) (*T, error) {
	b, err := c.request(ctx, subject, v)
	if err != nil {
		return nil, err
	}
	var out T
	if err := json.Unmarshal(b, &out); err != nil {
		return nil, fmt.Errorf("the reply of %s: %w", subject, err)
	}
	return &out, nil
}
