package consumer

import (
	"context"

	"emend/schemas"
)

// Letters lists the dead letters of a queue, oldest first.
func (c *Client) Letters(ctx context.Context, queue string, q schemas.DeadQuery) (*schemas.DeadList, error) {
	q.ID, q.Seq = "", 0
	return ask[schemas.DeadList](ctx, c, c.names.DeadLetters(queue), q)
}

// Letter shows one dead letter of a run, the latest for seq 0.
func (c *Client) Letter(ctx context.Context, k Key, seq uint64) (*schemas.DeadDetail, error) {
	return ask[schemas.DeadDetail](ctx, c, c.names.DeadLetters(k.Queue), schemas.DeadQuery{ID: k.ID, Seq: seq})
}

// Replay publishes a dead letter anew; see Worker.Replay. Its requester's reply and the result come as those of any run.
func (c *Client) Replay(ctx context.Context, queue string, r schemas.Replay) (*schemas.Replayed, error) {
	return ask[schemas.Replayed](ctx, c, c.names.Replay(queue), r)
}

// Purge removes dead letters of a queue, call by call until none of them is left, and returns how many there were.
func (c *Client) Purge(ctx context.Context, queue string, p schemas.Purge) (int, error) {
	removed := 0
	for {
		out, err := ask[schemas.Purged](ctx, c, c.names.Purge(queue), p)
		if err != nil {
			return removed, err
		}
		removed += out.Removed
		if !out.More {
			return removed, nil
		}
		p.After = out.After
	}
}
