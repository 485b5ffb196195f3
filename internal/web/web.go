// Package web serves the page: what a space does, for people (issue "Seen and driven"). It is one HTTP handler over a small
// interface of its own, with all it needs embedded: no build step, no foreign host.
//
// Whoever reaches the address may read what holds no content: states, counts, times, causes, findings by place and keyword.
// Everything else needs the token, in the Authorization header of a request that the page itself made: to cancel, replay,
// purge or decide, and, where content is allowed at all, to see requests, answers and candidates. No cookie is used, so
// that no other site can spend a reader's rights, and answers go only to hosts that a foreign name cannot be bound to.
package web

import (
	"context"
	"embed"
	"io/fs"
	"net/http"
	"time"

	"emend/schemas"
)

//go:embed page
var assets embed.FS

// Space is what the page shows.
type Space interface {
	// Status is a document of workers, gates and queues, as `emend status --json` prints it, with the numbers of its charts.
	Status(ctx context.Context) (doc any, s Sample, err error)
	// Runs lists runs, newest first.
	Runs(ctx context.Context, f Filter) ([]Run, error)
	// Run is one run with the events that are kept of it; ErrNotFound if nothing is known of it.
	Run(ctx context.Context, queue, id string) (*Detail, error)
	// Watch hands over the events of a run as they come, on one goroutine, until stop is called.
	Watch(queue, id string, fn func(schemas.Event)) (stop func(), err error)
	// Cancel stops a run.
	Cancel(ctx context.Context, queue, id string) (*schemas.CancelReply, error)
}

// Letters are the dead letters of a queue.
type Letters interface {
	Letters(ctx context.Context, queue string, q schemas.DeadQuery) (*schemas.DeadList, error)
	Letter(ctx context.Context, queue, id string, seq uint64) (*schemas.DeadDetail, error)
	Replay(ctx context.Context, queue string, r schemas.Replay) (*schemas.Replayed, error)
	Purge(ctx context.Context, queue string, p schemas.Purge) (int, error)
}

// Reviews are the runs of a queue that wait for a person.
type Reviews interface {
	Reviews(ctx context.Context, queue string, q schemas.ReviewQuery) (*schemas.ReviewList, error)
	Review(ctx context.Context, queue, id string) (*schemas.ReviewDetail, error)
	Decide(ctx context.Context, queue string, d schemas.Decision) (*schemas.Result, error)
}

// Source is all of it.
type Source interface {
	Space
	Letters
	Reviews
}

// Sample is a moment of a space in the numbers that the charts show. Results and Dead only ever grow.
type Sample struct {
	At       time.Time `json:"at"`
	Queued   uint64    `json:"queued"`
	InFlight int       `json:"in_flight"`
	Calls    int       `json:"calls"`
	Results  uint64    `json:"results"`
	Dead     uint64    `json:"dead"`
}

// Filter selects runs. Empty fields select all; ID is a part of the id.
type Filter struct {
	Backend, Queue, Prompt, Status, ID string
	// Before continues a list below the run with this place; 0 begins at the newest. Limit is at least 1.
	Before uint64
	Limit  int
}

// StatusRunning is the status of a run that has begun and has no result.
const StatusRunning = "running"

// Run is a line of the list of runs.
type Run struct {
	Queue   string `json:"queue"`
	ID      string `json:"id"`
	Status  string `json:"status"`
	Prompt  string `json:"prompt,omitempty"`
	Backend string `json:"backend,omitempty"`
	// Pipeline is name@version of a pipeline run, which has neither prompt nor backend.
	Pipeline string    `json:"pipeline,omitempty"`
	At       time.Time `json:"at"`
	// Place orders the list; it goes into Filter.Before. Absent from a running one, which stands before all others.
	Place uint64 `json:"place,omitempty"`
}

// Detail is one run. Result and Progress exclude each other.
type Detail struct {
	Result   *schemas.Result   `json:"result,omitempty"`
	Progress *schemas.Progress `json:"progress,omitempty"`
	// Events are those that are kept, in the order in which they were stored.
	Events []schemas.Event `json:"events"`
}

// Options of the page.
type Options struct {
	// Token permits more than reading; "" permits nothing more to anyone.
	Token string
	// Content lets the holder of the token see requests, answers and candidates.
	Content bool
	// Hosts are names under which the page may be asked for, besides IP addresses, localhost and names without a dot.
	Hosts []string
	// Title names the space.
	Title string
}

// Page is the handler. Close ends its background work.
type Page struct {
	source  Source
	options Options
	sampler *sampler
	handler http.Handler
}

// New makes the page over a source.
func New(source Source, o Options) *Page {
	p := &Page{source: source, options: o, sampler: newSampler(source)}
	files, err := fs.Sub(assets, "page")
	if err != nil {
		panic(err) // the folder is embedded
	}
	mux := http.NewServeMux()
	p.routes(mux)
	mux.Handle("/", http.FileServerFS(files))
	p.handler = guard(o, mux)
	return p
}

// ServeHTTP answers.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }

// Close ends the sampling of the space.
func (p *Page) Close() { p.sampler.close() }
