package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"emend/schemas"
)

// ErrNotFound says that nothing is known of a run.
var ErrNotFound = errors.New("nothing is known of this run: it never was, or what is kept of it has passed its age")

// Refusal is an error that whoever asked can mend; its words are shown to them.
type Refusal struct{ Err error }

// Error is the cause's.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap is the cause.
func (r *Refusal) Unwrap() error { return r.Err }

// Missing is an error about a thing that is not there; its words are shown to whoever asked.
type Missing struct{ Err error }

// Error is the cause's.
func (m *Missing) Error() string { return m.Err.Error() }

// Unwrap is the cause.
func (m *Missing) Unwrap() error { return m.Err }

// Bounds of requests and answers.
const (
	pageLimit = 50
	maxLimit  = 500
	maxBody   = 2 << 20
	askWithin = 10 * time.Second
)

// routes are those of the API; none of them answers anything that a browser would render.
func (p *Page) routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/session", p.open(p.session))
	mux.HandleFunc("GET /api/status", p.open(p.status))
	mux.HandleFunc("GET /api/runs", p.open(p.runs))
	mux.HandleFunc("GET /api/runs/{queue}/{id}", p.open(p.run))
	mux.HandleFunc("GET /api/runs/{queue}/{id}/events", p.live)
	mux.HandleFunc("GET /api/dead/{queue}", p.open(p.dead))
	mux.HandleFunc("GET /api/reviews/{queue}", p.open(p.reviews))
	mux.HandleFunc("GET /api/dead/{queue}/{id}", p.content(p.letter))
	mux.HandleFunc("GET /api/reviews/{queue}/{id}", p.content(p.review))
	mux.HandleFunc("POST /api/runs/{queue}/{id}/cancel", p.permitted(p.cancel))
	mux.HandleFunc("POST /api/dead/{queue}/replay", p.permitted(p.replay))
	mux.HandleFunc("POST /api/dead/{queue}/purge", p.permitted(p.purge))
	mux.HandleFunc("POST /api/reviews/{queue}/decide", p.permitted(p.decide))
	mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, "there is nothing under this path")
	})
}

type answer func(ctx context.Context, r *http.Request) (any, error)

// open answers anyone.
func (p *Page) open(f answer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), askWithin)
		defer cancel()
		v, err := f(ctx, r)
		if err != nil {
			fail(w, err)
			return
		}
		reply(w, http.StatusOK, v)
	}
}

// permitted answers who holds the token.
func (p *Page) permitted(f answer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case p.options.Token == "":
			refuse(w, http.StatusForbidden, "this page is read-only: the program that serves it was given no token")
		case !holds(r, p.options.Token):
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, http.StatusUnauthorized, "this needs the page's token: sign in with it")
		default:
			p.open(f)(w, r)
		}
	}
}

// content answers who holds the token of a page that may show content.
func (p *Page) content(f answer) http.HandlerFunc {
	if !p.options.Content {
		return func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, http.StatusForbidden, "content is hidden: the program that serves this page does not allow it (--content)")
		}
	}
	return p.permitted(f)
}

// shown reports whether a request may see content.
func (p *Page) shown(r *http.Request) bool { return p.options.Content && holds(r, p.options.Token) }

func (p *Page) session(_ context.Context, r *http.Request) (any, error) {
	return map[string]any{"title": p.options.Title, "write": holds(r, p.options.Token), "token": p.options.Token != "", "content": p.shown(r)}, nil
}

func (p *Page) status(ctx context.Context, _ *http.Request) (any, error) { return p.sampler.look(ctx) }

func (p *Page) runs(ctx context.Context, r *http.Request) (any, error) {
	q := r.URL.Query()
	f := Filter{Backend: q.Get("backend"), Queue: q.Get("queue"), Prompt: q.Get("prompt"), Status: q.Get("status"), ID: q.Get("id")}
	var err error
	if f.Limit, err = number(q.Get("limit"), pageLimit, 1, maxLimit); err != nil {
		return nil, &Refusal{fmt.Errorf("limit: %w", err)}
	}
	if s := q.Get("before"); s != "" {
		if f.Before, err = strconv.ParseUint(s, 10, 64); err != nil || f.Before == 0 {
			return nil, &Refusal{fmt.Errorf("before: %q is no place in the list; take it from the page before", s)}
		}
	}
	runs, err := p.source.Runs(ctx, f)
	if err != nil {
		return nil, err
	}
	out := map[string]any{"runs": runs}
	if n := len(runs); n == f.Limit && runs[n-1].Place > 0 {
		out["next"] = strconv.FormatUint(runs[n-1].Place, 10)
	}
	return out, nil
}

func number(s string, def, least, most int) (int, error) {
	if s == "" {
		return def, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%q is no number from %d to %d", s, least, most)
	}
	return n, nil
}

func (p *Page) run(ctx context.Context, r *http.Request) (any, error) {
	d, err := p.source.Run(ctx, r.PathValue("queue"), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if !p.shown(r) {
		d = d.withoutContent()
	}
	return d, nil
}

func (p *Page) cancel(ctx context.Context, r *http.Request) (any, error) {
	return p.source.Cancel(ctx, r.PathValue("queue"), r.PathValue("id"))
}

func (p *Page) dead(ctx context.Context, r *http.Request) (any, error) {
	q := r.URL.Query()
	dq := schemas.DeadQuery{Reason: q.Get("reason"), Limit: pageLimit}
	if s := q.Get("after"); s != "" {
		var err error
		if dq.After, err = strconv.ParseUint(s, 10, 64); err != nil {
			return nil, &Refusal{fmt.Errorf("after: %q is no place in the list; take it from the page before", s)}
		}
	}
	list, err := p.source.Letters(ctx, r.PathValue("queue"), dq)
	if err == nil && !p.shown(r) {
		for i := range list.Letters {
			list.Letters[i].Error = "" // it may quote what the request holds
		}
	}
	return list, err
}

func (p *Page) letter(ctx context.Context, r *http.Request) (any, error) {
	seq, err := number(r.URL.Query().Get("seq"), 0, 0, 1<<53)
	if err != nil {
		return nil, &Refusal{fmt.Errorf("seq: %w", err)}
	}
	return p.source.Letter(ctx, r.PathValue("queue"), r.PathValue("id"), uint64(seq))
}

func (p *Page) replay(ctx context.Context, r *http.Request) (any, error) {
	body, err := read(r, schemas.DecodeReplay)
	if err != nil {
		return nil, err
	}
	return p.source.Replay(ctx, r.PathValue("queue"), body)
}

func (p *Page) purge(ctx context.Context, r *http.Request) (any, error) {
	body, err := read(r, schemas.DecodePurge)
	if err != nil {
		return nil, err
	}
	n, err := p.source.Purge(ctx, r.PathValue("queue"), body)
	return map[string]int{"removed": n}, err
}

func (p *Page) reviews(ctx context.Context, r *http.Request) (any, error) {
	return p.source.Reviews(ctx, r.PathValue("queue"), schemas.ReviewQuery{Limit: pageLimit})
}

func (p *Page) review(ctx context.Context, r *http.Request) (any, error) {
	return p.source.Review(ctx, r.PathValue("queue"), r.PathValue("id"))
}

func (p *Page) decide(ctx context.Context, r *http.Request) (any, error) {
	body, err := read(r, schemas.DecodeDecision)
	if err != nil {
		return nil, err
	}
	res, err := p.source.Decide(ctx, r.PathValue("queue"), body)
	if err == nil && !p.shown(r) {
		res = withoutContent(res)
	}
	return res, err
}

// read decodes a body of JSON strictly.
func read[T any](r *http.Request, decode func([]byte) (T, error)) (T, error) {
	var zero T
	b, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return zero, &Refusal{fmt.Errorf("the request's body did not come whole: %w", err)}
	}
	if len(b) > maxBody {
		return zero, &Refusal{fmt.Errorf("the body has more than %d bytes; use the command line", maxBody)}
	}
	v, err := decode(b)
	if err != nil {
		return zero, &Refusal{err}
	}
	return v, nil
}

// fail answers with an error in the words of who knows more, without a cause that only logs should hold.
func fail(w http.ResponseWriter, err error) {
	if _, ok := errors.AsType[*Refusal](err); ok {
		refuse(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	_, missing := errors.AsType[*Missing](err)
	switch {
	case missing, errors.Is(err, ErrNotFound):
		refuse(w, http.StatusNotFound, err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		refuse(w, http.StatusGatewayTimeout, "NATS did not answer in time")
	default:
		refuse(w, http.StatusBadGateway, err.Error())
	}
}

func refuse(w http.ResponseWriter, status int, text string) {
	reply(w, status, map[string]string{"error": text})
}

func reply(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error": "the answer cannot be written as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}
