package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"emend/schemas"
	"emend/subjects"
)

// ErrNoQueue says that the space has no such queue: what is asked about it is not empty, it is misspelt.
var ErrNoQueue = errors.New("no such queue")

// noQueueError names the queues that there are.
type noQueueError struct {
	space, queue string
	has          []string
}

func (e *noQueueError) Error() string {
	has := strings.Join(e.has, ", ")
	if has == "" {
		has = "none"
	}
	return fmt.Sprintf("space %s has no queue %q; its queues: %s", e.space, e.queue, has)
}

func (e *noQueueError) Unwrap() error { return ErrNoQueue }

// queueNames are the queues that runs may be published to, sorted; the stream of runs keeps also those that definitions had before.
func (l *Ledger) queueNames(ctx context.Context) ([]string, error) {
	info, err := l.runs.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", l.names.RunsStream(), err)
	}
	var out []string
	for _, subject := range info.Config.Subjects {
		if _, queue, err := l.names.ParseRunFilter(subject); err == nil {
			out = append(out, queue)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// knowsQueue is an ErrNoQueue for a queue that neither takes runs nor has left anything.
func (l *Ledger) knowsQueue(ctx context.Context, queue string) error {
	has, err := l.queueNames(ctx)
	if err != nil || slices.Contains(has, queue) {
		return err
	}
	for _, kept := range []struct {
		stream  jetstream.Stream
		subject string
	}{{l.dead, l.names.DeadFilter(queue)}, {l.reviews, l.names.Review(queue, "*")}, {l.results, l.names.ResultFilter(queue)}} {
		switch _, err := kept.stream.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(kept.subject)); {
		case err == nil:
			return nil
		case !errors.Is(err, jetstream.ErrMsgNotFound):
			return err
		}
	}
	return &noQueueError{space: l.names.Space(), queue: queue, has: has}
}

// known refuses a request about a queue that the space does not have. Where the store does not tell, the request goes on.
func (s *services) known(r micro.Request, queue string) bool {
	if _, ok := s.w.engine.Load().Snapshot().Config().Queues[queue]; ok {
		return true
	}
	ctx, cancel := context.WithTimeout(s.w.base, serviceWait)
	defer cancel()
	err := s.w.ledger.knowsQueue(ctx, queue)
	if !errors.Is(err, ErrNoQueue) {
		return true
	}
	s.refuse(r, "", queue, schemas.CategoryInvalidRequest, err)
	return false
}

// knowsWithin bounds what is asked of workers besides.
const knowsWithin = 2 * time.Second

// KnowsQueue asks a worker whether the space has a queue: the error matches ErrNoQueue if it has none. Where no worker answers, it
// is nil.
func (c *Client) KnowsQueue(ctx context.Context, queue string) error {
	ctx, cancel := context.WithTimeout(ctx, knowsWithin)
	defer cancel()
	if _, _, err := c.Get(ctx, Key{Queue: queue, ID: subjects.NewID()}); errors.Is(err, ErrNoQueue) {
		return err
	}
	return nil
}
