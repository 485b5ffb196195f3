package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"emend/consumer"
	"emend/schemas"
	"emend/subjects"
)

func (s *site) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience)
}

// body makes a request for a prompt with a text.
func body(prompt, text string) string {
	b, err := schemas.Marshal(text)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"prompt": %q, "inputs": {"text": %s}}`, prompt, b)
}

// publish stores a request on backend mock, queue default, without a JetStream client: a request whose answer is the
// PubAck, as any NATS client can do.
func (s *site) publish(id, text string) {
	s.Helper()
	s.must(s.tryPublish(s.names.Run("mock", "default", id), text, ""))
}

func (s *site) tryPublish(subject, text, replyTo string) error {
	if replyTo == "" {
		return s.publishWith(subject, text)
	}
	return s.publishWith(subject, text, subjects.HeaderReplyTo, replyTo)
}

// publishWith stores a request with headers, given as names and values in turn.
func (s *site) publishWith(subject, text string, header ...string) error {
	ctx, cancel := s.within()
	defer cancel()
	m := nats.NewMsg(subject)
	m.Data = []byte(text)
	for i := 0; i+1 < len(header); i += 2 {
		m.Header.Set(header[i], header[i+1])
	}
	_, err := s.js.PublishMsg(ctx, m)
	return err
}

// publishMany stores n requests on backend mock, queue default, many at once.
func (s *site) publishMany(n int, request func(i int) (id, text string)) {
	s.Helper()
	js, err := jetstream.New(s.nc, jetstream.WithPublishAsyncMaxPending(256), jetstream.WithPublishAsyncTimeout(patience))
	s.must(err)
	var acks []jetstream.PubAckFuture
	for i := range n {
		id, text := request(i)
		ack, err := js.PublishAsync(s.names.Run("mock", "default", id), []byte(text), jetstream.WithStallWait(patience))
		s.must(err)
		acks = append(acks, ack)
	}
	for _, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			s.Fatal(err)
		}
	}
}

// replies subscribes to a fresh inbox.
func (s *site) replies() (string, *nats.Subscription) {
	s.Helper()
	inbox := nats.NewInbox()
	sub, err := s.nc.SubscribeSync(inbox)
	s.must(err)
	s.must(s.nc.Flush())
	return inbox, sub
}

// reply awaits the result that comes to a reply subject.
func (s *site) reply(sub *nats.Subscription) (*schemas.Result, []byte) {
	s.Helper()
	m, err := sub.NextMsg(patience)
	if err != nil {
		s.Fatalf("no reply: %v", err)
	}
	return s.decode(m.Data), m.Data
}

func (s *site) decode(b []byte) *schemas.Result {
	s.Helper()
	var r schemas.Result
	if err := json.Unmarshal(b, &r); err != nil {
		s.Fatalf("no result: %v: %.200s", err, b)
	}
	return &r
}

// stored awaits the first message of a stream on a subject.
func (s *site) stored(stream, subject string) jetstream.Msg {
	s.Helper()
	next := s.reader(stream, subject)
	return next()
}

// reader returns a function that awaits the stream's messages on a subject one by one.
func (s *site) reader(stream, subject string) func() jetstream.Msg {
	s.Helper()
	c, err := s.consumer(stream, subject)
	for end := time.Now().Add(patience); errors.Is(err, context.DeadlineExceeded) && time.Now().Before(end); {
		c, err = s.consumer(stream, subject) // a question that was asked while the server restarts is never answered
	}
	s.must(err)
	return func() jetstream.Msg {
		s.Helper()
		m, err := c.Next(jetstream.FetchMaxWait(patience))
		for end := time.Now().Add(patience); errors.Is(err, nats.ErrNoResponders) && time.Now().Before(end); {
			m, err = c.Next(jetstream.FetchMaxWait(patience)) // a consumer of a cluster that has no leader yet
		}
		if err != nil {
			s.Fatalf("nothing on %s: %v", subject, err)
		}
		return m
	}
}

func (s *site) consumer(stream, subject string) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience/6)
	defer cancel()
	return s.js.CreateConsumer(ctx, stream, jetstream.ConsumerConfig{FilterSubject: subject, AckPolicy: jetstream.AckNonePolicy,
		InactiveThreshold: time.Minute})
}

// result awaits the stored result of a run of queue default.
func (s *site) result(id string) *schemas.Result {
	s.Helper()
	return s.decode(s.stored(s.names.ResultsStream(), s.names.Result("default", id)).Data())
}

// ends awaits the result and checks its status.
func (s *site) ends(id, status string) *schemas.Result {
	s.Helper()
	r := s.result(id)
	if r.Status != status || r.ID != id || r.Queue != "default" {
		s.Fatalf("run %s: status %s, error %+v, want %s", id, r.Status, r.Error, status)
	}
	return r
}

// event awaits an event of a kind of a run of queue default.
func (s *site) event(id, kind string) schemas.Event {
	s.Helper()
	return s.eventOf(s.stored(s.names.EventsStream(), s.names.Event("default", id, kind)))
}

func (s *site) eventOf(m jetstream.Msg) schemas.Event {
	s.Helper()
	var e schemas.Event
	s.must(json.Unmarshal(m.Data(), &e))
	return e
}

// events are the stored events of a run, up to finished.
func (s *site) events(queue, id string) []schemas.Event {
	s.Helper()
	next := s.reader(s.names.EventsStream(), s.names.EventFilter(queue, id))
	for out := []schemas.Event{}; ; {
		out = append(out, s.eventOf(next()))
		if out[len(out)-1].Kind == schemas.EventFinished {
			return out
		}
	}
}

func kinds(events []schemas.Event) string {
	var out []string
	for _, e := range events {
		out = append(out, e.Kind)
	}
	return strings.Join(out, " ")
}

// last is the message of a stream on a subject, nil if there is none.
func (s *site) last(stream, subject string) *jetstream.RawStreamMsg {
	s.Helper()
	ctx, cancel := s.within()
	defer cancel()
	str, err := s.js.Stream(ctx, stream)
	s.must(err)
	m, err := str.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	s.must(err)
	return m
}

// eventually looks until what holds, for what no signal tells: an ack is a message to the server alone.
func (s *site) eventually(what string, holds func() bool) {
	s.Helper()
	tick, end := time.NewTicker(5*time.Millisecond), time.After(patience)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-end:
			s.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// gone awaits that a request has left the work queue.
func (s *site) gone(subject string) {
	s.Helper()
	s.eventually(subject+" leaves the work queue", func() bool { return s.last(s.names.RunsStream(), subject) == nil })
}

func (s *site) goneID(id string) { s.Helper(); s.gone(s.names.Run("mock", "default", id)) }

// queued says that a request is in the work queue.
func (s *site) queued(id string) bool {
	s.Helper()
	return s.last(s.names.RunsStream(), s.names.Run("mock", "default", id)) != nil
}

// count is the number of messages of a stream.
func (s *site) count(stream string) uint64 {
	s.Helper()
	ctx, cancel := s.within()
	defer cancel()
	str, err := s.js.Stream(ctx, stream)
	s.must(err)
	return str.CachedInfo().State.Msgs
}

// request asks a service and returns its answer.
func (s *site) request(subject, text string, header ...string) *nats.Msg {
	s.Helper()
	m := nats.NewMsg(subject)
	m.Data = []byte(text)
	for i := 0; i+1 < len(header); i += 2 {
		m.Header.Set(header[i], header[i+1])
	}
	out, err := s.nc.RequestMsg(m, patience)
	if err != nil {
		s.Fatalf("%s: %v", subject, err)
	}
	return out
}

func (s *site) client() *consumer.Client {
	s.Helper()
	c, err := consumer.NewClient(s.nc, subjects.DefaultSpace, "")
	s.must(err)
	return c
}

func (s *site) key(id string) consumer.Key { return consumer.Key{Queue: "default", ID: id} }

// progress asks emend.get for a run that has no result yet.
func (s *site) progress(id string) *schemas.Progress {
	s.Helper()
	ctx, cancel := s.within()
	defer cancel()
	_, p, err := s.client().Get(ctx, s.key(id))
	s.must(err)
	if p == nil {
		s.Fatalf("run %s has a result already", id)
	}
	return p
}

// cancelRun asks emend.cancel.
func (s *site) cancelRun(id string) *schemas.CancelReply {
	s.Helper()
	ctx, cancel := s.within()
	defer cancel()
	r, err := s.client().Cancel(ctx, s.key(id))
	s.must(err)
	return r
}

// receive awaits a value of a channel.
func receive[T any](s *site, what string, c <-chan T) (v T) {
	s.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		s.Fatalf("not within %v: %s", patience, what)
	}
	return v
}

// calls checks how often the backend was called.
func (s *site) calls(want int64) {
	s.Helper()
	if got := s.mock.calls.Load(); got != want {
		s.Errorf("%d provider calls, want %d", got, want)
	}
}
