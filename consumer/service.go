package consumer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"emend/capacity"
	"emend/schemas"
	"emend/subjects"
)

// serviceWait bounds what a service does with JetStream for one request.
const serviceWait = 5 * time.Second

// services are the micro services of one worker: ask, submit, get and cancel, shared by all workers of a space.
type services struct {
	w   *Worker
	svc micro.Service
	// sub hears of cancels, reloads of reloads.
	sub, reloads *nats.Subscription
}

func (w *Worker) serve() (*services, error) {
	s := &services{w: w}
	sub, err := w.nc.Subscribe(w.names.AllControls(), s.control)
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", w.names.AllControls(), err)
	}
	s.sub = sub
	if s.reloads, err = s.hearReload(); err != nil {
		return nil, errors.Join(fmt.Errorf("subscribe to %s: %w", w.names.Reload(), err), sub.Unsubscribe())
	}
	version := w.opts.Version
	if version == "" {
		version = "0.0.0"
	}
	s.svc, err = micro.AddService(w.nc, micro.Config{Name: w.names.Service(), Version: version, Description: "Executes LLM runs",
		Metadata: map[string]string{"worker": w.id}, StatsHandler: w.stats})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("register the micro service: %w", err), sub.Unsubscribe())
	}
	for _, e := range append(s.endpoints(), s.deadServices()...) {
		if err := s.svc.AddEndpoint(e.name, micro.HandlerFunc(s.guard(e.do)), micro.WithEndpointSubject(e.subject)); err != nil {
			return nil, errors.Join(fmt.Errorf("endpoint %s: %w", e.name, err), s.svc.Stop(), sub.Unsubscribe())
		}
	}
	// Ready means that the services answer: the server must have heard of their subscriptions.
	if err := flush(w.nc); err != nil {
		s.stop()
		return nil, fmt.Errorf("the services are not heard of by the server: %w", err)
	}
	return s, nil
}

// endpoints are the services for runs and reviews.
func (s *services) endpoints() []endpoint {
	n := s.w.names
	return []endpoint{{askEndpoint, n.AllAsks(), s.ask}, {"submit", n.AllSubmits(), s.submit}, {"get", n.Get(), s.get}, {"cancel", n.Cancel(), s.cancel},
		{"get_queue", n.AllGets(), s.get}, {"cancel_queue", n.AllCancels(), s.cancel},
		{"reviews", n.AllReviewQueries(), s.reviewsOf}, {"decide", n.AllDecisions(), s.decide}}
}

// stats is what $SRV.STATS tells beside the counts of its own: under the endpoint ask, how candidates fared per prompt
// and keyword in this worker, and how its gates stand.
func (w *Worker) stats(e *micro.Endpoint) any {
	if e.Name != askEndpoint {
		return nil
	}
	return w.workerStats()
}

func (s *services) stop() {
	_ = s.svc.Stop()
	_ = s.sub.Unsubscribe()
	_ = s.reloads.Unsubscribe()
}

// control aborts a run that somebody cancelled: its outcome is stored already.
func (s *services) control(m *nats.Msg) {
	if queue, id, err := s.w.names.ParseControl(m.Subject); err == nil {
		if upTo, err := strconv.ParseUint(string(m.Data), 10, 64); err == nil {
			s.w.inflight.stop(Key{queue, id}, upTo, time.Now())
			return
		}
		s.w.inflight.abort(Key{queue, id}, errCancelled)
	}
}

// guard answers only to inboxes that a reply may go to: a worker may publish where a requester may not, so a reply
// subject of the requester's choice could overwrite a stored result, or reach the server's API. Nothing is answered
// there, not even a refusal.
func (s *services) guard(do func(micro.Request)) func(micro.Request) {
	return func(r micro.Request) {
		if err := s.w.names.CheckReplyTo(r.Reply(), s.inboxes()); err != nil {
			s.w.log.Warn().Err(err).Msg("a service request with a forbidden reply subject is ignored")
			return
		}
		do(r)
	}
}

// ask stores a request whose result goes to the caller's own inbox.
func (s *services) ask(r micro.Request) {
	backend, queue, err := s.w.names.ParseAsk(r.Subject())
	if err != nil {
		s.refuse(r, "", queue, schemas.CategoryInvalidRequest, err)
		return
	}
	if id, _, err := s.store(r, backend, queue, r.Reply()); err != nil {
		s.refuse(r, id, queue, category(err), err)
	}
}

// submit stores a request and answers with its id and sequence.
func (s *services) submit(r micro.Request) {
	backend, queue, err := s.w.names.ParseSubmit(r.Subject())
	if err != nil {
		s.refuse(r, "", queue, schemas.CategoryInvalidRequest, err)
		return
	}
	to := r.Headers().Get(subjects.HeaderReplyTo)
	if to != "" {
		if err := s.w.names.CheckReplyTo(to, s.inboxesOf(queue)); err != nil {
			s.refuse(r, "", queue, schemas.CategoryInvalidRequest, err)
			return
		}
	}
	id, seq, err := s.store(r, backend, queue, to)
	if err != nil {
		s.refuse(r, id, queue, category(err), err)
		return
	}
	s.respond(r, schemas.Submitted{Queue: queue, ID: id, Seq: seq})
}

// inboxes are where services may answer at all; where a run's result may go, its queue decides.
func (s *services) inboxes() []string { return s.w.engine.Load().Snapshot().Config().AllInboxes() }

func (s *services) inboxesOf(queue string) []string {
	return s.w.engine.Load().Snapshot().Config().InboxesOf(queue)
}

// errExists: the id is queued or running already.
var errExists = errors.New("a request with this id is queued or running; wait for its result, or publish under another id")

// store publishes the request to its run subject. The id is the caller's (header Emend-Run) or a new one. Of the
// caller's headers only trace context goes along.
func (s *services) store(r micro.Request, backend, queue, replyTo string) (string, uint64, error) {
	id := r.Headers().Get(subjects.HeaderRun)
	if id == "" {
		id = subjects.NewID()
	}
	if err := subjects.CheckID(id); err != nil {
		return "", 0, err
	}
	m := &nats.Msg{Subject: s.w.names.Run(backend, queue, id), Data: r.Data(), Header: nats.Header{}}
	if replyTo != "" {
		m.Header.Set(subjects.HeaderReplyTo, replyTo)
	}
	for _, h := range []string{subjects.HeaderTraceparent, subjects.HeaderTracestate} {
		if v := r.Headers().Get(h); v != "" {
			m.Header.Set(h, v)
		}
	}
	ctx, cancel := context.WithTimeout(s.w.base, serviceWait)
	defer cancel()
	ack, err := s.w.js.PublishMsg(ctx, m)
	switch {
	case err == nil:
		return id, ack.Sequence, nil
	case errors.Is(err, jetstream.ErrNoStreamResponse):
		return id, 0, fmt.Errorf("no backend %q with queue %q is served here", backend, queue)
	case isCode(err, codeStreamFull) && strings.Contains(err.Error(), "per subject"):
		return id, 0, errExists
	}
	return id, 0, fmt.Errorf("the request was not stored: %w", err)
}

// category: what the publisher can mend is an invalid request, a conflict or, at last, internal.
func category(err error) string {
	switch {
	case errors.Is(err, errExists):
		return schemas.CategoryIDConflict
	case errors.Is(err, nats.ErrTimeout), errors.Is(err, context.DeadlineExceeded), isCode(err, codeStreamFull):
		return schemas.CategoryCapacity
	}
	return schemas.CategoryInvalidRequest
}

// get answers with the result, or with where the run stands.
func (s *services) get(r micro.Request) {
	k, ok := s.key(r)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(s.w.base, serviceWait)
	defer cancel()
	out, err := s.w.Whereabouts(ctx, k)
	if err != nil {
		s.refuse(r, k.ID, k.Queue, schemas.CategoryInternal, err)
		return
	}
	s.respond(r, out)
}

func (s *services) cancel(r micro.Request) {
	k, ok := s.key(r)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(s.w.base, serviceWait)
	defer cancel()
	out, err := s.w.Cancel(ctx, k)
	if err != nil {
		s.refuse(r, k.ID, k.Queue, schemas.CategoryInternal, err)
		return
	}
	s.respond(r, out)
}

// queueOf is the queue that the subject of a get or cancel names; "" where the body names it.
func (s *services) queueOf(subject string) string {
	if queue, err := s.w.names.ParseGetOf(subject); err == nil {
		return queue
	}
	if queue, err := s.w.names.ParseCancelOf(subject); err == nil {
		return queue
	}
	return ""
}

// key reads which run a get or cancel is about. Rights are given by subject: what the subject names, a body cannot change.
func (s *services) key(r micro.Request) (Key, bool) {
	ref, err := schemas.DecodeRunRef(r.Data())
	if err != nil {
		s.refuse(r, "", "", schemas.CategoryInvalidRequest, err)
		return Key{}, false
	}
	if queue := s.queueOf(r.Subject()); queue != "" {
		if ref.Queue != "" && ref.Queue != queue {
			s.refuse(r, "", queue, schemas.CategoryInvalidRequest, fmt.Errorf("the subject is of queue %s; leave queue out of the body, or name the same", queue))
			return Key{}, false
		}
		ref.Queue = queue
	}
	if err := subjects.CheckID(ref.ID); err != nil || !subjects.ValidName(ref.Queue) {
		s.refuse(r, "", "", schemas.CategoryInvalidRequest, errors.Join(errors.New("queue and id must be valid names"), err))
		return Key{}, false
	}
	return Key{ref.Queue, ref.ID}, s.known(r, ref.Queue)
}

func (s *services) respond(r micro.Request, v any) {
	b, err := schemas.Marshal(v)
	if err != nil {
		s.w.log.Error().Err(err).Msg("a service reply has no JSON form")
		return
	}
	if err := r.Respond(b); err != nil {
		s.refuse(r, "", "", schemas.CategoryCapacity, fmt.Errorf("the reply of %d bytes could not be sent: %w", len(b), err))
	}
}

// refuse answers with a failed result, which every client of ask and get can read, and the service error headers.
func (s *services) refuse(r micro.Request, id, queue, category string, err error) {
	res := plain(schemas.StatusFailed, schemas.Source{}, nil)
	res.ID, res.Queue = id, queue
	res.Error = &schemas.Error{Category: category, Message: err.Error(), Retryable: category == schemas.CategoryCapacity}
	b, merr := schemas.Marshal(res)
	if merr != nil {
		return
	}
	if errors.Is(err, ErrNoQueue) {
		category = schemas.CodeUnknownQueue
	}
	_ = r.Error(category, oneLine(err.Error()), b, micro.WithHeaders(micro.Headers{subjects.HeaderStatus: {schemas.StatusFailed}}))
}

// Whereabouts answers get: a schemas.Result, or a schemas.Progress.
func (w *Worker) Whereabouts(ctx context.Context, k Key) (any, error) {
	r, _, err := w.ledger.Result(ctx, k)
	if err != nil {
		return nil, err
	}
	m, backend, err := w.request(ctx, k)
	if err != nil {
		return nil, err
	}
	if rec, err := w.waiting(ctx, k, r); rec != nil || err != nil {
		return schemas.Progress{ID: k.ID, Queue: k.Queue, State: schemas.StateInReview, Cause: string(rec.class())}, err
	}
	if r != nil && (m == nil || !replaceable(r, m.Sequence)) {
		return r, nil
	}
	p := schemas.Progress{ID: k.ID, Queue: k.Queue, State: schemas.StateQueued}
	if m == nil {
		// Between the reads the run may have been settled, and its request or review taken away.
		if r, _, err := w.ledger.Result(ctx, k); r != nil || err != nil {
			return r, err
		}
		p.State = schemas.StateNotFound
		return p, nil
	}
	w.describe(ctx, &p, k, backend, m.Sequence)
	return p, nil
}

// describe adds what the latest event and the gate tell.
func (w *Worker) describe(ctx context.Context, p *schemas.Progress, k Key, backend string, seq uint64) {
	if g := w.engine.Load().Gate(backend); g != nil {
		if s := g.State(); s.Phase == capacity.Closed {
			p.Cause = s.Cause
		}
	}
	if e := w.lastEvent(ctx, k); e != nil && e.Kind != schemas.EventFinished && e.Kind != schemas.EventSuperseded {
		p.State = schemas.StateRunning
		if e.Kind == schemas.EventWaiting {
			p.State, p.Cause = schemas.StateWaiting, e.WaitCause()
		}
		return
	}
	if c, err := w.js.Consumer(ctx, w.names.RunsStream(), w.durableOf(backend, k.Queue)); err == nil {
		if at := c.CachedInfo().Delivered.Stream; seq > at {
			p.Place = int64(seq - at)
		}
	}
}

func (w *Worker) lastEvent(ctx context.Context, k Key) *schemas.Event {
	s, err := w.js.Stream(ctx, w.names.EventsStream())
	if err != nil {
		return nil
	}
	m, err := s.GetLastMsgForSubject(ctx, w.names.EventFilter(k.Queue, k.ID))
	if err != nil {
		return nil
	}
	var e schemas.Event
	if json.Unmarshal(m.Data, &e) != nil {
		return nil
	}
	return &e
}
