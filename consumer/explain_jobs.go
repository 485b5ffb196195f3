package consumer

import (
	"context"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"emend/engine/pipeline"
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

// storedJobs are the first jobs of a run that has ended which have results, and how many ran: their ids derive from what its
// result tells.
func (l *Ledger) storedJobs(ctx context.Context, k Key) (ids []string, of int, err error) {
	r, _, err := l.Result(ctx, k)
	if r == nil || r.Pipeline == nil || err != nil {
		return nil, 0, err
	}
	parent, content := pipeline.ParentTag(k.Queue, k.ID), pipeline.ContentTag(r.Request.SHA256, r.Pipeline.Digest)
	jobs, ran := jobsOf(r.Pipeline)
	for _, j := range jobs[:min(len(jobs), maxLookedUp)] {
		id := pipeline.ChildID(parent, content, j)
		switch stored, _, err := l.Result(ctx, Key{k.Queue, id}); {
		case err != nil:
			return nil, 0, err
		case stored != nil:
			ids = append(ids, id)
		}
		if len(ids) == maxExplainedJobs {
			break
		}
	}
	return ids, ran, nil
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
