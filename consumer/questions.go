package consumer

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// questions sends requests whose answers come to one inbox, so that other work can be done until they are there. It is safe for
// concurrent use; the subscription is made when first it is needed.
type questions struct {
	nc    *nats.Conn
	inbox string
	mu    sync.Mutex
	sub   *nats.Subscription
	next  uint64
	open  map[string]chan *nats.Msg
	// timers are used again: a run waits for two answers.
	timers sync.Pool
}

func newQuestions(nc *nats.Conn) *questions {
	return &questions{nc: nc, inbox: nc.NewInbox() + ".", open: map[string]chan *nats.Msg{}}
}

// question is a request under way. Its wait must be called.
type question struct {
	of    *questions
	token string
	came  chan *nats.Msg
}

// send publishes a request.
func (a *questions) send(m *nats.Msg) (*question, error) {
	k, err := a.begin()
	if err != nil {
		return nil, err
	}
	m.Reply = a.inbox + k.token
	if err := a.nc.PublishMsg(m); err != nil {
		a.forget(k)
		return nil, err
	}
	return k, nil
}

func (a *questions) begin() (*question, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sub == nil {
		sub, err := a.nc.Subscribe(a.inbox+"*", a.answered)
		if err != nil {
			return nil, err
		}
		a.sub = sub
	}
	a.next++
	k := &question{of: a, token: strconv.FormatUint(a.next, 36), came: make(chan *nats.Msg, 1)}
	a.open[k.token] = k.came
	return k, nil
}

func (a *questions) forget(k *question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, k.token)
}

// answered hands an answer to whoever waits for it; only the first counts.
func (a *questions) answered(m *nats.Msg) {
	token := strings.TrimPrefix(m.Subject, a.inbox)
	a.mu.Lock()
	defer a.mu.Unlock()
	if came := a.open[token]; came != nil {
		delete(a.open, token)
		came <- m
	}
}

// close ends the subscription; what is under way gets no answer any more.
func (a *questions) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sub != nil {
		_ = a.sub.Unsubscribe()
		a.sub = nil
	}
}

// errNoAnswer matches context.DeadlineExceeded, as the jetstream package's own waits do.
var errNoAnswer = errors.Join(errors.New("the server did not answer in time"), context.DeadlineExceeded)

// wait returns the answer. Without anybody who could give one the error is nats.ErrNoResponders.
func (k *question) wait(ctx context.Context, within time.Duration) (*nats.Msg, error) {
	timer := k.of.timer(within)
	defer k.of.stopped(timer)
	select {
	case m := <-k.came:
		return m, nobody(m)
	case <-ctx.Done():
		k.of.forget(k)
		return nil, ctx.Err()
	case <-timer.C:
		k.of.forget(k)
		return nil, errNoAnswer
	}
}

// nobody says that a message is the server's word that nobody listens.
func nobody(m *nats.Msg) error {
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		return nats.ErrNoResponders
	}
	return nil
}

// timer is one that fires after d; stopped takes it back.
func (a *questions) timer(d time.Duration) *time.Timer {
	if t, ok := a.timers.Get().(*time.Timer); ok {
		t.Reset(d)
		return t
	}
	return time.NewTimer(d)
}

// stopped takes a timer back. One that is stopped holds no old tick.
func (a *questions) stopped(t *time.Timer) {
	t.Stop()
	a.timers.Put(t)
}
