package consumer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"emend/schemas"
)

// Reloaded is what one worker says to a reload.
type Reloaded struct {
	Worker string `json:"worker"`
	// Prompts is how many definitions it has now.
	Prompts int `json:"prompts"`
	// Error is why it refuses: it goes on with the definitions that it had.
	Error string `json:"error,omitempty"`
}

// ErrFollows is what a worker says that takes its definitions from elsewhere.
var ErrFollows = errors.New("this worker follows catalogs: emend apply stores a new one")

// hearReload reloads when somebody asks all workers to.
func (s *services) hearReload() (*nats.Subscription, error) {
	return s.w.nc.Subscribe(s.w.names.Reload(), func(m *nats.Msg) {
		if err := s.w.names.CheckReplyTo(m.Reply, s.inboxes()); err != nil {
			s.w.log.Warn().Err(err).Msg("a reload with a forbidden reply subject is ignored")
			return
		}
		s.w.answerReload(m)
	})
}

func (w *Worker) answerReload(m *nats.Msg) {
	out := Reloaded{Worker: w.id}
	err := ErrFollows
	if w.opts.Reload != nil {
		err = w.opts.Reload()
	}
	if err != nil {
		out.Error = err.Error()
	}
	out.Prompts = len(w.engine.Load().Snapshot().Prompts())
	if b, err := schemas.Marshal(out); err == nil {
		_ = m.Respond(b)
	}
}

// reloadWithin is how long workers have to read their definitions.
const reloadWithin = 10 * time.Second

// Reload has all workers read their definitions again, and returns what each says. It needs the rights of Status, and to publish on
// the subject.
func (c *Client) Reload(ctx context.Context) ([]Reloaded, error) {
	workers, err := c.rollCall(ctx)
	if err != nil {
		return nil, err
	}
	inbox := c.nc.NewInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := c.nc.PublishRequest(c.names.Reload(), inbox, nil); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, reloadWithin)
	defer cancel()
	out := []Reloaded{}
	for len(out) < len(workers) {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return out, fmt.Errorf("%d of %d workers did not answer within %s", len(workers)-len(out), len(workers), reloadWithin)
		}
		var r Reloaded
		if json.Unmarshal(m.Data, &r) == nil && r.Worker != "" {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b Reloaded) int { return cmp.Compare(a.Worker, b.Worker) })
	return out, nil
}
