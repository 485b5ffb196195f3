package schemas

import (
	"encoding/json"
	"time"
)

// Stages of a pipeline.
const (
	StageChunk     = "chunk"
	StageExtract   = "extract"
	StageMerge     = "merge"
	StageNormalize = "normalize"
)

// PipelineStages lists them in their order.
var PipelineStages = []string{StageChunk, StageExtract, StageMerge, StageNormalize}

// StageRef of a request says which job of a pipeline run it is. The binding of the stage decides all that the request leaves
// to its prompt otherwise: budgets, validators, policy.
type StageRef struct {
	// Pipeline is name@version, Digest what that definition must be.
	Pipeline string `json:"pipeline"`
	Digest   string `json:"digest"`
	Stage    string `json:"stage"`
	Lane     string `json:"lane,omitempty"`
	// Chunk counts from 1; it is absent outside of extract.
	Chunk int `json:"chunk,omitempty"`
	// Attempt is the stage attempt that the job begins with, from 1: what came before is spent.
	Attempt int `json:"attempt,omitempty"`
}

// Words of reuse: whether accepted outputs of earlier runs stand in for jobs.
const (
	// ReuseAuto takes what is there and keeps what is accepted, ReuseRefresh only keeps, ReuseNone does neither.
	ReuseAuto    = "auto"
	ReuseRefresh = "refresh"
	ReuseNone    = "none"
)

// PipelineRequest asks for one run of a pipeline: the body of a message on a pipeline subject.
type PipelineRequest struct {
	// Pipeline is the name in the subject, or name@version; absent means the newest version.
	Pipeline string `json:"pipeline,omitempty"`
	// Inputs by name: document, and what the pipeline declares besides.
	Inputs map[string]json.RawMessage `json:"inputs,omitempty"`
	// Reuse is auto, refresh or none; absent leaves the pipeline's word.
	Reuse string `json:"reuse,omitempty"`
	// Attempts is summary (default), none or full.
	Attempts string `json:"attempts,omitempty"`
	// MaxCost bounds what all jobs together may cost, in US dollars, above 0: a job that could exceed it is not begun.
	MaxCost *USD `json:"max_cost,omitempty"`
	// TimeoutS bounds the whole run from its publication, Deadline too; the earlier wins.
	TimeoutS  *float64          `json:"timeout_s,omitempty"`
	Deadline  *time.Time        `json:"deadline,omitempty"`
	SessionID string            `json:"session_id,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
}

// DecodePipelineRequest reads the body of a pipeline run as strictly as DecodeRequest.
func DecodePipelineRequest(body []byte) (PipelineRequest, error) {
	return decode[PipelineRequest](body)
}

// Decisions on a stage.
const (
	// StageAdvanced: its outputs went on, all of them or those that were accepted.
	StageAdvanced = "advanced"
	// StageRejected: nothing of it went on, under reject_output.
	StageRejected = "rejected"
	// StageFailed: it ended the run.
	StageFailed = "failed"
	// StageStopped: the run ended before it did.
	StageStopped = "stopped"
)

// PipelineReport is the provenance of a pipeline's result: which jobs there were, how they ended, and what they cost.
type PipelineReport struct {
	// Pipeline is name@version.
	Pipeline string `json:"pipeline"`
	Digest   string `json:"digest"`
	// Chunks is the number of chunks of the document.
	Chunks int           `json:"chunks"`
	Stages []StageReport `json:"stages,omitempty"`
	// Rejections lists the jobs whose output did not go on, at most 100; RejectionsOmitted counts those beyond.
	Rejections        []Rejection `json:"rejections,omitempty"`
	RejectionsOmitted int         `json:"rejections_omitted,omitempty"`
	// Jobs are all jobs with their content, only with attempts: full.
	Jobs []JobReport `json:"jobs,omitempty"`
}

// StageReport is what became of one stage, in one lane.
type StageReport struct {
	Stage string `json:"stage"`
	Lane  string `json:"lane,omitempty"`
	// Prompt is the producer, absent for a deterministic one.
	Prompt string `json:"prompt,omitempty"`
	// Decision is advanced, rejected, failed or stopped, under Policy.
	Decision string      `json:"decision"`
	Policy   StagePolicy `json:"policy"`
	Jobs     JobCounts   `json:"jobs"`
	// Attempts counts stage attempts by why they began: initial, error, structural, correction, retry. A job that made no call has none.
	Attempts map[string]int `json:"attempts,omitempty"`
	// Corrected counts jobs that were accepted after a correction.
	Corrected int `json:"corrected,omitempty"`
	// RejectedBy, FailedValidators and SkippedValidators count votes by validator, over all attempts and the last ones.
	RejectedBy        map[string]int `json:"rejected_by,omitempty"`
	FailedValidators  map[string]int `json:"failed_validators,omitempty"`
	SkippedValidators map[string]int `json:"skipped_validators,omitempty"`
	// Fallback says that a normalize step ended with its fallback.
	Fallback       bool   `json:"fallback,omitempty"`
	Usage          *Usage `json:"usage,omitempty"`
	ValidatorUsage *Usage `json:"validator_usage,omitempty"`
}

// StagePolicy is the effective policy of a stage (seed 004).
type StagePolicy struct {
	// ProducerStructuralFailure is absent for a deterministic producer.
	ProducerStructuralFailure string `json:"producer_structural_failure,omitempty"`
	SemanticRejection         string `json:"semantic_rejection"`
	ValidatorFailure          string `json:"validator_failure"`
}

// JobCounts count the jobs of a stage. Total are those that it has: Done have ended, and the others never began, or were ended with
// the run. Of the Done, Incomplete, Rejected and Failed are three kinds that exclude each other; the others were accepted by every
// validator, and Reused is how many of those came from an earlier run:
//
//	0 <= Reused + Incomplete + Rejected + Failed <= Done <= Total
//
// A job without a prompt counts as any. Where nothing is left to merge, the merge never began, and its stage failed.
type JobCounts struct {
	Total int `json:"total"`
	Done  int `json:"done"`
	// Reused outputs came from an earlier run. Incomplete ones went on though a validator came to no decision. Rejected ones
	// were left out.
	Reused     int `json:"reused,omitempty"`
	Incomplete int `json:"incomplete,omitempty"`
	Rejected   int `json:"rejected,omitempty"`
	// Failed jobs have no output that goes on or is left out: they failed, were refused, cancelled or expired, or their policy fails
	// the run for a rejected or invalid answer.
	Failed int `json:"failed,omitempty"`
}

// Rejection is a job whose output was rejected, or stayed invalid: it was left out, or the run failed by it.
type Rejection struct {
	Stage string `json:"stage"`
	Lane  string `json:"lane,omitempty"`
	Chunk int    `json:"chunk,omitempty"`
	// Run is the id of its run, absent for a deterministic one.
	Run string `json:"run,omitempty"`
	// Status is rejected or invalid.
	Status string `json:"status"`
	// By are the validators that rejected it, Codes their reason codes.
	By    []string `json:"by,omitempty"`
	Codes []string `json:"codes,omitempty"`
}

// JobReport is one job with its content.
type JobReport struct {
	Stage string `json:"stage"`
	Lane  string `json:"lane,omitempty"`
	Chunk int    `json:"chunk,omitempty"`
	Run   string `json:"run,omitempty"`
	// Status is the status of its run; Reused says that there was none.
	Status string          `json:"status"`
	Reused bool            `json:"reused,omitempty"`
	Stages []Stage         `json:"stages,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
	// Validators are the votes on its output.
	Validators []Validator `json:"validators,omitempty"`
}

// SumOf is the sum that a wire form came from, as far as it tells: a field that only some calls reported counts as
// reported by one.
func SumOf(u *Usage) UsageSum {
	if u == nil {
		return UsageSum{}
	}
	out := UsageSum{Sum: u.Tokens, Calls: u.Calls, Without: u.CallsWithoutUsage, Reported: map[string]int{}}
	for i, p := range u.fields() {
		if *p != nil {
			out.Reported[tokenNames[i]] = u.Calls
		}
	}
	for name := range u.Other {
		out.Reported[name] = u.Calls
	}
	for _, name := range u.Partial {
		out.Reported[name] = 1
	}
	return out
}
