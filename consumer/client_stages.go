package consumer

import (
	"context"
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"emend/schemas"
)

// StagesSoFar are the stored stage events of a pipeline run that is under way: those since it last finished. Other runs have none. It
// needs the rights of Status; an empty queue covers all.
func (c *Client) StagesSoFar(ctx context.Context, k Key) (out []schemas.Event, err error) {
	if k.Queue == "" {
		k.Queue = "*"
	}
	filters := []string{c.names.Event(k.Queue, k.ID, schemas.EventStage), c.names.Event(k.Queue, k.ID, schemas.EventFinished)}
	err = c.each(ctx, c.names.EventsStream(), filters, time.Unix(0, 0), func(m jetstream.Msg, _ time.Time) {
		var e schemas.Event
		switch {
		case json.Unmarshal(m.Data(), &e) != nil:
		case e.Kind == schemas.EventFinished:
			out = nil
		default:
			out = append(out, e)
		}
	})
	return out, err
}
