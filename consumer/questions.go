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
	// answered ones are used again, with channel and timer: a run asks two.
	spare sync.Pool
}

func newQuestions(nc *nats.Conn) *questions {
	return &questions{nc: nc, inbox: nc.NewInbox() + ".", open: map[string]chan *nats.Msg{}}
}

// question is a request under way. Its wait must be called, once, and is the last use of it.
type question struct {
	of *questions
	// reply is where the answer comes to, token the end of it.
	reply, token string
	came         chan *nats.Msg
	timer        *time.Timer
}

// send publishes a request.
func (a *questions) send(m *nats.Msg) (*question, error) {
	k, err := a.begin()
	if err != nil {
		return nil, err
	}
	m.Reply = k.reply
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
	k, ok := a.spare.Get().(*question)
	if !ok {
		k = &question{of: a, came: make(chan *nats.Msg, 1)}
	}
	var buf [64]byte
	k.reply = string(strconv.AppendUint(append(buf[:0], a.inbox...), a.next, 36))
	k.token = k.reply[len(a.inbox):]
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
	k.start(within)
	select {
	case m := <-k.came:
		k.timer.Stop()
		k.of.spare.Put(k) // its channel is empty, and nobody knows it any more
		return m, nobody(m)
	case <-ctx.Done():
		k.timer.Stop()
		k.of.forget(k)
		return nil, ctx.Err()
	case <-k.timer.C:
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

// start sets the timer. One that was stopped holds no old tick.
func (k *question) start(within time.Duration) {
	if k.timer == nil {
		k.timer = time.NewTimer(within)
		return
	}
	k.timer.Reset(within)
}
