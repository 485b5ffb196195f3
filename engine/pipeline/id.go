package pipeline

import (
	"fmt"
	"strings"

	"emend/schemas"
)

// ChildID is the id of a job's run. It derives from the parent's, so that whoever takes up the parent finds the results of
// its jobs: the result stream is the checkpoint.
func ChildID(parentTag, contentTag string, j Job) string {
	id := parentTag + "-" + contentTag + "-" + j.Stage
	if j.Lane >= 0 {
		id += fmt.Sprintf("-%d", j.Lane)
	}
	if j.Chunk > 0 {
		id += fmt.Sprintf("-%d", j.Chunk)
	}
	if j.Attempt > 1 {
		id += fmt.Sprintf("-again%d", j.Attempt)
	}
	return id
}

// AgainID is the id under which a job is run again for the parent's request of sequence seq, where an earlier run of it ended by
// an answer that is no checkpoint.
func AgainID(id string, seq uint64) string { return fmt.Sprintf("%s-r%d", id, seq) }

// IsChildOf reports whether an id is that of a job of the parent, whatever the parent asked.
func IsChildOf(parentTag, id string) bool { return strings.HasPrefix(id, parentTag+"-") }

// StageRef is what a job's request says of itself.
func (r *Run) StageRef(j Job) *schemas.StageRef {
	return &schemas.StageRef{Pipeline: r.plan.Ref(), Digest: r.plan.Digest, Stage: j.Stage, Lane: r.name(j), Chunk: j.Chunk, Attempt: j.Attempt}
}
