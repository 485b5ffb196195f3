// Package subjects spells every subject, stream, durable, bucket and header name of Emend (design section 3). Nobody
// else spells one; a test walks the code and fails when a literal does.
package subjects

import (
	"fmt"
	"strings"
)

// DefaultSpace is the space that the names begin with unless configured.
const DefaultSpace = "emend"

// Bounds of names, in bytes. Ids and names are ASCII.
const (
	MaxID    = 128
	MaxName  = 63
	MaxSpace = 32
	MaxReply = 512
)

// Names builds and parses the names of one space. Make it with New; it is safe for concurrent use.
//
// Builders put together what they are given: names and ids that come from outside are checked first (ValidName,
// CheckID). Every subject that is built from valid ones parses back to them, which the fuzz test shows.
type Names struct{ space string }

// New returns the names of a space: [a-z][a-z0-9-]*, at most 32 bytes.
func New(space string) (Names, error) {
	if !ValidName(space) || len(space) > MaxSpace {
		return Names{}, fmt.Errorf("space %s: it must match [a-z][a-z0-9-]* and have at most %d characters", quote(space), MaxSpace)
	}
	return Names{space: space}, nil
}

// Space is the first token of every subject.
func (n Names) Space() string { return n.space }

// Kinds of subject: the second token.
const (
	kindRun     = "run"
	kindResult  = "result"
	kindEvent   = "event"
	kindDead    = "dead"
	kindReview  = "review"
	kindAsk     = "ask"
	kindSubmit  = "submit"
	kindGet     = "get"
	kindCancel  = "cancel"
	kindControl = "control"
	kindReload  = "reload"
	kindProbe   = "probe"
	kindReviews = "reviews"
	kindDecide  = "decide"
)

func (n Names) join(tokens ...string) string {
	size := len(n.space)
	for _, t := range tokens {
		size += 1 + len(t)
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString(n.space)
	for _, t := range tokens {
		b.WriteByte('.')
		b.WriteString(t)
	}
	return b.String()
}

// Run is where a request is published: <space>.run.<backend>.<queue>.<id>.
func (n Names) Run(backend, queue, id string) string { return n.join(kindRun, backend, queue, id) }

// RunFilter covers all runs of a backend and queue.
func (n Names) RunFilter(backend, queue string) string { return n.join(kindRun, backend, queue, "*") }

// RunOf covers a run whose backend is not known.
func (n Names) RunOf(queue, id string) string { return n.join(kindRun, "*", queue, id) }

// Result is where a run's result is stored.
func (n Names) Result(queue, id string) string { return n.join(kindResult, queue, id) }

// Seek is where a worker asks whether a run has a result, by a write that is always refused. Its queue is no queue's name, so
// that no result can have it.
func (n Names) Seek() string { return n.join(kindResult, "_", "seek") }

// ResultFilter covers the results of a queue.
func (n Names) ResultFilter(queue string) string { return n.join(kindResult, queue, "*") }

// AllResults covers every result.
func (n Names) AllResults() string { return n.join(kindResult, "*", "*") }

// Event is where one event of a run is published.
func (n Names) Event(queue, id, kind string) string { return n.join(kindEvent, queue, id, kind) }

// EventFilter covers the events of a run; id "*" covers all runs of the queue, queue "*" all queues.
func (n Names) EventFilter(queue, id string) string { return n.join(kindEvent, queue, id, "*") }

// AllEvents covers every event.
func (n Names) AllEvents() string { return n.join(kindEvent, "*", "*", "*") }

// Dead is where a request that failed or could not be run is kept.
func (n Names) Dead(queue, id string) string { return n.join(kindDead, queue, id) }

// AllDead covers every dead letter.
func (n Names) AllDead() string { return n.join(kindDead, "*", "*") }

// Review is where a run that waits for a person is kept.
func (n Names) Review(queue, id string) string { return n.join(kindReview, queue, id) }

// AllReviews covers every review.
func (n Names) AllReviews() string { return n.join(kindReview, "*", "*") }

// Ask is the service that answers a request with its result.
func (n Names) Ask(backend, queue string) string { return n.join(kindAsk, backend, queue) }

// AllAsks covers every backend and queue.
func (n Names) AllAsks() string { return n.join(kindAsk, "*", "*") }

// Submit is the service that stores a request and answers with its id.
func (n Names) Submit(backend, queue string) string { return n.join(kindSubmit, backend, queue) }

// AllSubmits covers every backend and queue.
func (n Names) AllSubmits() string { return n.join(kindSubmit, "*", "*") }

// Get is the service that tells where a run stands.
func (n Names) Get() string { return n.join(kindGet) }

// GetOf is the service get for the runs of one queue, so that it can be granted queue by queue.
func (n Names) GetOf(queue string) string { return n.join(kindGet, queue) }

// AllGets covers every queue.
func (n Names) AllGets() string { return n.join(kindGet, "*") }

// CancelOf is the service cancel for the runs of one queue.
func (n Names) CancelOf(queue string) string { return n.join(kindCancel, queue) }

// AllCancels covers every queue.
func (n Names) AllCancels() string { return n.join(kindCancel, "*") }

// Cancel is the service that stops a run.
func (n Names) Cancel() string { return n.join(kindCancel) }

// Reviews is the service that lists and shows the runs of a queue that wait for a person.
func (n Names) Reviews(queue string) string { return n.join(kindReviews, queue) }

// AllReviewQueries covers every queue.
func (n Names) AllReviewQueries() string { return n.join(kindReviews, "*") }

// Decide is the service that takes a person's decision on a run of a queue.
func (n Names) Decide(queue string) string { return n.join(kindDecide, queue) }

// AllDecisions covers every queue.
func (n Names) AllDecisions() string { return n.join(kindDecide, "*") }

// Control is where workers hear that a run was cancelled.
func (n Names) Control(queue, id string) string { return n.join(kindControl, kindCancel, queue, id) }

// AllControls covers every cancel notice.
func (n Names) AllControls() string { return n.join(kindControl, kindCancel, "*", "*") }

// Reload is where all workers are asked to read their definitions again.
func (n Names) Reload() string { return n.join(kindControl, kindReload) }

// Probe is where a store that refused writes is tried again, inside the results stream: a queue cannot be called so,
// since no queue's name holds an underscore.
func (n Names) Probe(worker string) string { return n.join(kindResult, "_"+kindProbe, worker) }

// AllRuns covers every run of every backend and queue.
func (n Names) AllRuns() string { return n.join(kindRun, "*", "*", "*") }

// stream upper-cases the space, since a stream's name may hold no dot and is read by people.
func (n Names) stream(name string) string {
	return strings.ToUpper(strings.ReplaceAll(n.space, "-", "_")) + "_" + name
}

// RunsStream is the work queue of requests.
func (n Names) RunsStream() string { return n.stream("RUNS") }

// ResultsStream holds one result a run.
func (n Names) ResultsStream() string { return n.stream("RESULTS") }

// EventsStream holds the latest events.
func (n Names) EventsStream() string { return n.stream("EVENTS") }

// DeadStream holds the dead letters.
func (n Names) DeadStream() string { return n.stream("DEAD") }

// ReviewsStream holds runs that wait for a person.
func (n Names) ReviewsStream() string { return n.stream("REVIEWS") }

// StateBucket holds the saved state of runs.
func (n Names) StateBucket() string { return strings.ReplaceAll(n.space, "-", "_") + "_state" }

// StateSubject is where a key of the state bucket is stored.
func (n Names) StateSubject(key string) string { return "$KV." + n.StateBucket() + "." + key }

// CatalogBucket holds numbered catalogs of definitions.
func (n Names) CatalogBucket() string { return strings.ReplaceAll(n.space, "-", "_") + "_catalog" }

// ObjectBucket holds the large inputs and results of one queue, under their SHA-256.
func (n Names) ObjectBucket(queue string) string {
	return strings.ReplaceAll(n.space, "-", "_") + "_blob_" + queue
}

// Service is the name of the micro service of a worker.
func (n Names) Service() string { return n.space }

// Durable names the pull consumer of a backend and queue.
func (n Names) Durable(backend, queue string) string { return backend + "__" + queue }

// API is the prefix of the JetStream API in a domain ("" for none).
func (n Names) API(domain string) string {
	if domain == "" {
		return "$JS.API."
	}
	return "$JS." + domain + ".API."
}

// StateKey is the key of a run in the state bucket.
func (n Names) StateKey(queue, id string) string { return queue + "." + id }
