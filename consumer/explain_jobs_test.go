package consumer

import (
	"fmt"
	"testing"

	"emend/schemas"
)

func TestJobsOfAReport(t *testing.T) {
	jobs, ran := jobsOf(&schemas.PipelineReport{Stages: []schemas.StageReport{
		{Stage: schemas.StageChunk, Prompt: "cut@1", Jobs: schemas.JobCounts{Total: 1, Done: 1}},
		{Stage: schemas.StageExtract, Lane: "a", Prompt: "x@1", Jobs: schemas.JobCounts{Total: 2, Done: 2, Reused: 1}},
		{Stage: schemas.StageMerge, Lane: "a", Jobs: schemas.JobCounts{Total: 1, Done: 1}},
		{Stage: schemas.StageExtract, Lane: "b", Prompt: "y@1", Jobs: schemas.JobCounts{Total: 2, Done: 1}},
		{Stage: schemas.StageNormalize, Lane: "b", Prompt: "z@1", Jobs: schemas.JobCounts{Total: 1}},
	}})
	if got := fmt.Sprint(jobs, ran); got != "[{chunk -1 0 1} {extract 0 1 1} {extract 0 2 1} {extract 1 1 1} {extract 1 2 1} {normalize 1 0 1}] 3" {
		t.Error(got)
	}
}
