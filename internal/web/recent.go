package web

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"
)

// Recent is the list of the latest runs: those that have begun, and the results of a bounded number that have ended. It holds
// no content. It is safe for concurrent use.
type Recent struct {
	keep int

	mu sync.Mutex
	// ended are in order of their places. An entry whose run has a later one is stale: newest says which counts.
	ended  []Run
	newest map[runKey]uint64
	// running holds the started event of each as it came; most of them are never looked at.
	running map[runKey][]byte
}

type runKey struct{ queue, id string }

// NewRecent keeps up to keep ended runs, and as many that run.
func NewRecent(keep int) *Recent {
	return &Recent{keep: keep, newest: map[runKey]uint64{}, running: map[runKey][]byte{}}
}

// Started notes that a run has begun, with the event that said so.
func (r *Recent) Started(queue, id string, event []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.running) < r.keep {
		r.running[runKey{queue, id}] = event
	}
}

// PutDown notes that a run is no longer under way, though it has not ended.
func (r *Recent) PutDown(queue, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, runKey{queue, id})
}

// Ended notes a run's result. Places must grow from call to call.
func (r *Recent) Ended(run Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := runKey{run.Queue, run.ID}
	delete(r.running, k)
	r.ended = append(r.ended, run)
	r.newest[k] = run.Place
	if len(r.ended) >= 2*r.keep {
		r.forget()
	}
}

// forget drops what is stale, and the oldest beyond what is kept. The caller holds mu.
func (r *Recent) forget() {
	r.ended = slices.DeleteFunc(r.ended, r.stale)
	if over := len(r.ended) - r.keep; over > 0 {
		for _, run := range r.ended[:over] {
			delete(r.newest, runKey{run.Queue, run.ID})
		}
		r.ended = slices.Delete(r.ended, 0, over)
	}
}

func (r *Recent) stale(run Run) bool { return r.newest[runKey{run.Queue, run.ID}] != run.Place }

// List returns the runs of a filter: first those that run, the latest first, then those that ended, the latest first.
func (r *Recent) List(f Filter) []Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []Run{}
	if f.Before == 0 && (f.Status == "" || f.Status == StatusRunning) {
		out = r.underWay(f)
	}
	for _, run := range slices.Backward(r.ended) {
		if len(out) >= f.Limit {
			break
		}
		if (f.Before == 0 || run.Place < f.Before) && !r.stale(run) && f.takes(run) {
			out = append(out, run)
		}
	}
	return out
}

// underWay are the runs that run, of a filter. Half of the list is left to those that ended. The caller holds mu.
func (r *Recent) underWay(f Filter) []Run {
	out := []Run{}
	for k, event := range r.running {
		if run := started(k, event); f.takes(run) {
			out = append(out, run)
		}
	}
	slices.SortFunc(out, func(a, b Run) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.ID, b.ID)) })
	most := f.Limit
	if f.Status == "" {
		most = max(f.Limit/2, 1)
	}
	return out[:min(len(out), most)]
}

func started(k runKey, event []byte) Run {
	var e struct {
		At                        time.Time
		Prompt, Backend, Pipeline string
	}
	_ = json.Unmarshal(event, &e) // what cannot be read stays empty
	return Run{Queue: k.queue, ID: k.id, Status: StatusRunning, Prompt: e.Prompt, Backend: e.Backend, Pipeline: e.Pipeline, At: e.At}
}

func (f Filter) takes(r Run) bool {
	return (f.Backend == "" || f.Backend == r.Backend) && (f.Queue == "" || f.Queue == r.Queue) && (f.Status == "" || f.Status == r.Status) &&
		(f.Prompt == "" || f.Prompt == r.Prompt || strings.HasPrefix(r.Prompt, f.Prompt+"@")) && strings.Contains(r.ID, f.ID)
}
