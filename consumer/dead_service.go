package consumer

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/micro"

	"emend/schemas"
	"emend/subjects"
)

// deadServices are the endpoints for dead letters, by name: what they listen on, and what answers.
func (s *services) deadServices() []endpoint {
	n := s.w.names
	return []endpoint{
		{"dead-letters", n.AllDeadQueries(), answers(s, n.ParseDeadLetters, schemas.DecodeDeadQuery, s.letters)},
		{"replay", n.AllReplays(), answers(s, n.ParseReplay, schemas.DecodeReplay, s.replay)},
		{"purge", n.AllPurges(), answers(s, n.ParsePurge, schemas.DecodePurge, s.purge)},
	}
}

// endpoint is one service of a worker.
type endpoint struct {
	name, subject string
	do            func(micro.Request)
}

// answers reads queue and body of a request, has do answer it, and refuses what is wrong.
func answers[T any](s *services, parse func(string) (string, error), decode func([]byte) (T, error), do func(context.Context, string, T) (any, error)) func(micro.Request) {
	return func(r micro.Request) {
		queue, err := parse(r.Subject())
		if err != nil {
			s.refuse(r, "", queue, schemas.CategoryInvalidRequest, err)
			return
		}
		body, err := decode(r.Data())
		if err != nil {
			s.refuse(r, "", queue, schemas.CategoryInvalidRequest, err)
			return
		}
		if !s.known(r, queue) {
			return
		}
		ctx, cancel := context.WithTimeout(s.w.base, 2*serviceWait)
		defer cancel()
		out, err := do(ctx, queue, body)
		if err != nil {
			s.refuse(r, "", queue, deadCategory(err), err)
			return
		}
		s.respond(r, out)
	}
}

// errID: an id that cannot be one.
var errID = errors.New("invalid id")

func checkID(id string) error {
	if err := subjects.CheckID(id); err != nil {
		return errors.Join(errID, err)
	}
	return nil
}

// letters answers with a list, or with one letter.
func (s *services) letters(ctx context.Context, queue string, q schemas.DeadQuery) (any, error) {
	if q.ID == "" {
		return s.w.Letters(ctx, queue, q)
	}
	if err := checkID(q.ID); err != nil {
		return nil, err
	}
	return s.w.Letter(ctx, Key{queue, q.ID}, q.Seq)
}

func (s *services) replay(ctx context.Context, queue string, r schemas.Replay) (any, error) {
	if err := checkID(r.ID); err != nil {
		return nil, err
	}
	return s.w.Replay(ctx, Key{queue, r.ID}, r)
}

func (s *services) purge(ctx context.Context, queue string, p schemas.Purge) (any, error) {
	if p.ID != "" {
		if err := checkID(p.ID); err != nil {
			return nil, err
		}
	}
	return s.w.Purge(ctx, queue, p)
}

func deadCategory(err error) string {
	switch {
	case errors.Is(err, ErrNoLetter), errors.Is(err, ErrReplay), errors.Is(err, ErrPurge), errors.Is(err, errID):
		return schemas.CategoryInvalidRequest
	case errors.Is(err, ErrAnswered):
		return schemas.CategoryIDConflict
	}
	return schemas.CategoryCapacity
}
