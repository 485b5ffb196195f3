package consumer

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"

	"emend/engine/pipeline"
	"emend/schemas"
)

// word is what came of a job: the reply of its run, the server's answer to its request, or with neither that it has finished. None
// needs to come: what is stored is what counts, and a word only says where to look.
type word struct {
	// id is the run's; a reply has it in its body.
	id         string
	reply, ack *nats.Msg
}

// replied reads of a result what a coordinator needs of it, which is most of the work for every job; nil if it is none.
func replied(body []byte) *schemas.Result {
	var r struct {
		ID         string          `json:"id"`
		Status     string          `json:"status"`
		Output     json.RawMessage `json:"output"`
		OutputText *string         `json:"output_text"`
		OutputBlob *schemas.Blob   `json:"output_blob"`
		Validation *struct {
			Validators []schemas.Validator `json:"validators"`
		} `json:"validation"`
		Usage          *schemas.Usage     `json:"usage"`
		ValidatorUsage *schemas.Usage     `json:"validator_usage"`
		Cost           *schemas.Cost      `json:"cost"`
		Error          *schemas.Error     `json:"error"`
		Counts         schemas.Counts     `json:"counts"`
		Stages         []schemas.Stage    `json:"stages"`
		Request        schemas.RequestRef `json:"request"`
	}
	if len(body) == 0 || json.Unmarshal(body, &r) != nil {
		return nil
	}
	out := &schemas.Result{ID: r.ID, Status: r.Status, Output: r.Output, OutputText: r.OutputText, OutputBlob: r.OutputBlob, Usage: r.Usage, ValidatorUsage: r.ValidatorUsage,
		Cost: r.Cost, Error: r.Error, Counts: r.Counts, Stages: r.Stages, Request: r.Request}
	if r.Validation != nil {
		out.Validation = &schemas.Validation{Validators: r.Validation.Validators}
	}
	return out
}

// signals gathers words of jobs until the coordinator takes them. It is safe for concurrent use.
type signals struct {
	mu    sync.Mutex
	words []word
	wake  chan struct{}
	subs  []*nats.Subscription
	// inbox is where runs of jobs reply to; "" where the queue does not let them. acks begins the subjects that the server answers
	// requests on.
	inbox, acks string
}

// newSignals listens to the server's answers.
func newSignals(nc *nats.Conn) (*signals, error) {
	s := &signals{wake: make(chan struct{}, 1), acks: nc.NewInbox() + "."}
	return s, s.subscribe(nc, s.acks+"*", func(m *nats.Msg) { s.add(word{id: m.Subject[len(s.acks):], ack: m}) })
}

// hear subscribes to what is told of a parent's jobs. Replies go to one inbox of this run, if the queue's replies may go there;
// else, and for jobs that an earlier coordinator published, finished events are listened to.
func (c *coordination) hear() (*signals, error) {
	w, queue := c.h.w, c.h.key.Queue
	s, err := newSignals(w.nc)
	if err != nil {
		return nil, err
	}
	if inbox := w.nc.NewInbox(); w.names.CheckReplyTo(inbox, c.h.inboxes()) == nil {
		s.inbox = inbox
		if err := s.subscribe(w.nc, inbox, func(m *nats.Msg) { s.add(word{reply: m}) }); err != nil {
			return nil, err
		}
	}
	if s.inbox != "" && !c.resumed {
		return s, nil
	}
	return s, s.subscribe(w.nc, w.names.KindOf(queue, schemas.EventFinished), func(m *nats.Msg) {
		if _, id, _, err := w.names.ParseEvent(m.Subject); err == nil && pipeline.IsChildOf(c.parent, id) {
			s.add(word{id: id})
		}
	})
}

func (s *signals) subscribe(nc *nats.Conn, subject string, do nats.MsgHandler) error {
	sub, err := nc.Subscribe(subject, do)
	if err != nil {
		s.stop()
		return fmt.Errorf("subscribe to %s: %w", subject, err)
	}
	_ = sub.SetPendingLimits(-1, -1) // no more can come than jobs are out
	s.subs = append(s.subs, sub)
	return nil
}

func (s *signals) add(w word) {
	s.mu.Lock()
	s.words = append(s.words, w)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take returns what was gathered.
func (s *signals) take() []word {
	s.mu.Lock()
	defer s.mu.Unlock()
	words := s.words
	s.words = nil
	return words
}

func (s *signals) stop() {
	for _, sub := range s.subs {
		_ = sub.Unsubscribe()
	}
}
