package consumer

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"emend/engine/pipeline"
	"emend/prompts"
	"emend/schemas"
)

// ExplainedJobs are runs of a pipeline's jobs, so that one can go on to them.
type ExplainedJobs struct {
	// IDs are the first of them: those that have not ended while the whole has not, then those with results. More are there besides.
	IDs  []string `json:"ids"`
	More int      `json:"more,omitempty"`
}

// Bounds of what one explanation looks at.
const (
	maxExplainedJobs = 20
	// maxLookedUp is how many results are looked for.
	maxLookedUp = 60
	// maxListed is how many requests a stream may hold to be searched for jobs.
	maxListed = 10_000
)

// explainJobs names the jobs of a pipeline run: those that wait or are under way, or those that its stored result tells of.
func explainJobs(ctx context.Context, l *Ledger, k Key, e *Explanation) error {
	if e.Pipeline == "" {
		return nil
	}
	look := l.queuedJobs
	if e.Request == nil {
		look = l.storedJobs
	}
	ids, of, err := look(ctx, k)
	if len(ids) > 0 {
		e.Jobs = &ExplainedJobs{IDs: ids, More: max(of-len(ids), 0)}
	}
	return err
}

// queuedJobs are the first jobs of a parent whose request is stored, and how many there are; none where too many requests would
// have to be looked at.
func (l *Ledger) queuedJobs(ctx context.Context, k Key) (ids []string, of int, err error) {
	info, err := l.runs.Info(ctx)
	if err == nil && info.State.Msgs <= maxListed {
		info, err = l.runs.Info(ctx, jetstream.WithSubjectFilter(l.names.RunsOf(k.Queue)))
	}
	if err != nil {
		return nil, 0, fmt.Errorf("list the queued runs: %w", err)
	}
	parent := pipeline.ParentTag(k.Queue, k.ID)
	for subject := range info.State.Subjects {
		if _, _, id, err := l.names.ParseRun(subject); err == nil && pipeline.IsChildOf(parent, id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids[:min(len(ids), maxExplainedJobs)], len(ids), nil
}

// storedJobs are the first runs of jobs, of a run that has ended, which have results, and how many there are: their ids derive from
// what its result tells. A job that was run again has several.
func (l *Ledger) storedJobs(ctx context.Context, k Key) (ids []string, of int, err error) {
	r, _, err := l.Result(ctx, k)
	if r == nil || r.Pipeline == nil || err != nil {
		return nil, 0, err
	}
	jobs, ran := jobsOf(r.Pipeline)
	f := family{l: l, queue: k.Queue, seq: r.Request.Seq, again: runAgain(r.Pipeline),
		prefix: pipeline.ParentTag(k.Queue, k.ID) + "-" + pipeline.ContentTag(r.Request.SHA256, r.Pipeline.Digest) + "-"}
	for _, j := range jobs {
		f.ids = append(f.ids, pipeline.ChildID(pipeline.ParentTag(k.Queue, k.ID), pipeline.ContentTag(r.Request.SHA256, r.Pipeline.Digest), j))
	}
	info, err := l.results.Info(ctx)
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("list the results: %w", err)
	case info.State.Msgs <= maxListed:
		ids, err = f.listed(ctx)
	default:
		ids, err = f.lookedUp(ctx)
	}
	return ids[:min(len(ids), maxExplainedJobs)], max(ran, len(ids)), err
}

// runAgain reports whether a step was asked for again.
func runAgain(p *schemas.PipelineReport) bool {
	return slices.ContainsFunc(p.Stages, func(s schemas.StageReport) bool { return s.Attempts[pipeline.KindRetry] > 0 })
}

// family are the runs of one pipeline run's jobs: ids are those of the jobs, in order, prefix is how they all begin; seq is the
// request's, again says that a normalize step was asked for again.
type family struct {
	l             *Ledger
	queue, prefix string
	ids           []string
	seq           uint64
	again         bool
}

// listed are all that have results, by the subjects of the stream: in the order of the jobs, a job's own run first.
func (f *family) listed(ctx context.Context) ([]string, error) {
	info, err := f.l.results.Info(ctx, jetstream.WithSubjectFilter(f.l.names.ResultFilter(f.queue)))
	if err != nil {
		return nil, fmt.Errorf("list the results: %w", err)
	}
	place := make(map[string]int, len(f.ids))
	for i, id := range f.ids {
		place[id] = i
	}
	var ids []string
	for subject := range info.State.Subjects {
		if _, id, err := f.l.names.ParseResult(subject); err == nil && strings.HasPrefix(id, f.prefix) {
			if _, of := place[jobOf(id)]; of {
				ids = append(ids, id)
			}
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(place[jobOf(a)], place[jobOf(b)]), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	return ids, nil
}

// rerun is how the id of a run that is not a job's first ends.
var rerun = regexp.MustCompile(`(-again[0-9]+)?(-fresh)?(-r[0-9]+)?$`)

// jobOf is the id of the job that a run is of.
func jobOf(id string) string { return id[:rerun.FindStringIndex(id)[0]] }

// lookedUp are the first that have results, where there are too many results to list them.
func (f *family) lookedUp(ctx context.Context) (ids []string, err error) {
	for _, id := range f.ids[:min(len(f.ids), maxLookedUp)] {
		names := []string{id}
		for n := 2; f.again && strings.Contains(id, "-"+schemas.StageNormalize+"-") && n <= maxAgain; n++ {
			names = append(names, fmt.Sprintf("%s-again%d", id, n))
		}
		for _, name := range names {
			found, err := f.runsUnder(ctx, name)
			if err != nil {
				return nil, err
			}
			if ids = append(ids, found...); len(ids) >= maxExplainedJobs {
				return ids, nil
			}
		}
	}
	return ids, nil
}

// maxAgain is the last attempt in which a step is asked for again.
const maxAgain = prompts.MaxStageRetries + 1

// runsUnder are those of the runs that a job may have under a name which have results. Another than the first is looked for only
// where the first has none, or one that a new request does not take over.
func (f *family) runsUnder(ctx context.Context, name string) (ids []string, err error) {
	for _, id := range []string{name, name + "-fresh"} {
		r, _, err := f.l.Result(ctx, Key{f.queue, id})
		if err != nil {
			return nil, err
		}
		if r == nil {
			continue
		}
		if ids = append(ids, id); r.Status == schemas.StatusSucceeded {
			return ids, nil
		}
		again := pipeline.AgainID(id, f.seq)
		switch r, _, err := f.l.Result(ctx, Key{f.queue, again}); {
		case err != nil:
			return nil, err
		case r != nil:
			ids = append(ids, again)
		}
		return ids, nil
	}
	return ids, nil
}

// jobsOf are the jobs that a result tells of, in order, and how many of them were runs: outputs of others were reused.
func jobsOf(p *schemas.PipelineReport) (out []pipeline.Job, ran int) {
	var lanes []string
	for _, s := range p.Stages {
		lane := -1
		if s.Lane != "" {
			if lane = slices.Index(lanes, s.Lane); lane < 0 {
				lanes, lane = append(lanes, s.Lane), len(lanes)
			}
		}
		if s.Prompt == "" {
			continue
		}
		ran += s.Jobs.Done - s.Jobs.Reused
		for i := range s.Jobs.Total {
			j := pipeline.Job{Stage: s.Stage, Lane: lane, Attempt: 1}
			if s.Stage == schemas.StageExtract {
				j.Chunk = i + 1
			}
			out = append(out, j)
		}
	}
	return out, ran
}
