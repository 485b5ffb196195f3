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

// IsChildOf reports whether an id is that of a job of the parent, whatever the parent asked.
func IsChildOf(parentTag, id string) bool { return strings.HasPrefix(id, parentTag+"-") }

// StageRef is what a job's request says of itself.
func (r *Run) StageRef(j Job) *schemas.StageRef {
	return &schemas.StageRef{Pipeline: r.plan.Ref(), Digest: r.plan.Digest, Stage: j.Stage, Lane: r.name(j), Chunk: j.Chunk, Attempt: j.Attempt}
}
