package schemas

import (
	"encoding/json"
	"time"
)

// Statuses of a result (design section 4).
const (
	StatusSucceeded  = "succeeded"
	StatusUnverified = "unverified"
	StatusInvalid    = "invalid"
	StatusRejected   = "rejected"
	StatusFailed     = "failed"
	StatusExpired    = "expired"
	StatusCancelled  = "cancelled"
)

// Categories of an error (design section 4). The same words name the outcome of an attempt in events and records.
const (
	CategoryInvalidRequest   = "invalid_request"
	CategoryIDConflict       = "id_conflict"
	CategoryProviderStatus   = "provider_status"
	CategoryProviderResponse = "provider_response"
	CategoryRefused          = "refused"
	CategoryContentFiltered  = "content_filtered"
	CategoryTransport        = "transport"
	CategoryTimeout          = "timeout"
	CategoryCapacity         = "capacity"
	CategoryValidation       = "validation"
	CategoryOutputInvalid    = "output_invalid"
	CategoryRejected         = "rejected"
	CategoryValidator        = "validator"
	CategoryBudget           = "budget"
	CategoryAbandoned        = "abandoned"
	CategoryInternal         = "internal"
)

// CodeUnknownQueue is the code of a service's refusal, in place of a category, where the space has no such queue.
const CodeUnknownQueue = "unknown_queue"

// OutcomeCompleted is the outcome of an attempt that returned a candidate; every other outcome is a category,
// "cancelled" or "expired".
const OutcomeCompleted = "completed"

// Result is what a run ends with: the one message stored on its result subject.
type Result struct {
	ID     string `json:"id"`
	Queue  string `json:"queue"`
	Status string `json:"status"`
	// Output is the JSON value of a JSON contract, or a JSON string with the text of a text contract.
	Output json.RawMessage `json:"output,omitempty"`
	// OutputText is the candidate of a JSON contract that did not parse.
	OutputText *string `json:"output_text,omitempty"`
	// OutputBlob stands in place of the output or text of a result that is larger than a message may be.
	OutputBlob *Blob       `json:"output_blob,omitempty"`
	Validation *Validation `json:"validation,omitempty"`
	// Usage is absent from failed runs, see the finished event, but for those whose result was too large to be stored.
	Usage *Usage `json:"usage,omitempty"`
	// ValidatorUsage sums the calls of all validators, apart from Usage.
	ValidatorUsage *Usage `json:"validator_usage,omitempty"`
	// Cost is what all calls of the run cost, also of a failed one; nil when nothing may have been billed.
	Cost *Cost `json:"cost,omitempty"`
	// Review says who decided a run that went to people, and how.
	Review *Review `json:"review,omitempty"`
	Error  *Error  `json:"error,omitempty"`
	Counts Counts  `json:"counts"`
	Source Source  `json:"source"`
	// Attempts are the calls by kind and outcome: with their content under attempts: full, none at all under attempts: none.
	Attempts []Attempt `json:"attempts"`
	// AttemptsBlob holds them with their content, where that is larger than a message may be.
	AttemptsBlob *Blob `json:"attempts_blob,omitempty"`
	// Stages are the stage attempts of a run that needed more than one, and of every run under attempts: full.
	Stages []Stage `json:"stages,omitempty"`
	// Pipeline is the provenance of a pipeline run.
	Pipeline *PipelineReport   `json:"pipeline,omitempty"`
	TimingMS Timing            `json:"timing_ms"`
	Request  RequestRef        `json:"request"`
	Warnings []string          `json:"warnings,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// Fields whose value a Blob can hold.
const (
	BlobOutput     = "output"
	BlobOutputText = "output_text"
	BlobAttempts   = "attempts"
)

// Blob is a value in the queue's object bucket, under its digest.
type Blob struct {
	// SHA256 in hex is the object's name.
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	// Field is output, output_text or attempts: what the content stands for, byte for byte.
	Field string `json:"field"`
}

// Validation is the verdict on the final candidate.
type Validation struct {
	Mode  string `json:"mode"`
	Valid bool   `json:"valid"`
	// Class is ok, or why the text is no valid candidate: empty_output, not_json, multiple_json, duplicate_key,
	// invalid_utf8, lone_surrogate, number_out_of_range, too_deep, schema_invalid, rule_failed, not_preserved.
	Class string `json:"class"`
	// RepairAttempts counts the corrective calls that were started.
	RepairAttempts int `json:"repair_attempts"`
	// Complete says that every finding is listed and every check could run.
	Complete bool      `json:"complete"`
	Findings []Finding `json:"findings"`
	// Truncated says that the provider stopped at its token limit.
	Truncated bool `json:"truncated,omitempty"`
	// NextCorrection is the user message that a further corrective call would have carried, when the final candidate
	// is invalid: a caller that owns the loop can send it.
	NextCorrection string `json:"next_correction,omitempty"`
	// Mended is unwrap or syntax when the value was mended locally, without a call, from the text that the model wrote.
	Mended string `json:"mended,omitempty"`
	// Rules is passed, failed or skipped (some could not apply, none failed); "" without rules.
	Rules string `json:"rules,omitempty"`
	// Changed are pointers of places that targeted corrections changed though they were not asked to.
	Changed []string `json:"changed,omitempty"`
	// Validators are the votes on the final candidate, in configured order.
	Validators []Validator `json:"validators"`
	// Policy is the effective policy of a run with validators.
	Policy *StagePolicy `json:"policy,omitempty"`
}

// Words of Validation.Rules.
const (
	RulesPassed  = "passed"
	RulesFailed  = "failed"
	RulesSkipped = "skipped"
)

// Outcomes of a validator (seed 004).
const (
	VoteApproved = "approved"
	VoteRejected = "rejected"
	VoteFailed   = "failed"
	VoteSkipped  = "skipped"
)

// Validator is one validator's vote on a candidate.
type Validator struct {
	// Name is a judge's prompt as id@version, a rule's code, or a Go validator's name.
	Name string `json:"name"`
	// Outcome is approved, rejected, failed (it came to no decision) or skipped (it could not be asked).
	Outcome string   `json:"outcome"`
	Reasons []Reason `json:"reasons,omitempty"`
	// Warnings are remarks that reject nothing; those of an abandoned attempt are dropped with its votes.
	Warnings []Reason `json:"warnings,omitempty"`
	// Cause says in Emend's words why there is no decision: an error category; of a rejection, correction_impossible: its
	// reasons are beyond the bounds, and none is kept.
	Cause string `json:"cause,omitempty"`
	// Calls are the provider calls that the vote took.
	Calls int `json:"calls"`
	// Tries is how often the validator was asked, where that was more than once.
	Tries int `json:"tries,omitempty"`
}

// CauseCorrectionImpossible is the cause of a rejection that the producer cannot be told of.
const CauseCorrectionImpossible = "correction_impossible"

// Bounds of what a validator may say of one candidate; nothing is cut.
const (
	MaxReasons  = 32
	MaxCode     = 64
	MaxGuidance = 16 << 10
)

// Reason is why a validator rejects, or what it remarks.
type Reason struct {
	// Code has at most 64 characters of [a-z0-9_].
	Code string `json:"code"`
	// Guidance is the validator's own text for whoever corrects.
	Guidance string `json:"guidance,omitempty"`
}

// Decisions of a review.
const (
	DecisionApprove = "approve"
	DecisionReject  = "reject"
	DecisionEdit    = "edit"
)

// Review is a person's decision on a run.
type Review struct {
	// Decision is approve, reject or edit.
	Decision string    `json:"decision"`
	By       string    `json:"by"`
	At       time.Time `json:"at"`
	Note     string    `json:"note,omitempty"`
}

// Error says why a run has no output.
type Error struct {
	Category string         `json:"category"`
	Message  string         `json:"message"`
	Provider *ProviderError `json:"provider,omitempty"`
	Attempts int            `json:"attempts,omitempty"`
	// Exhausted says that transient retries were used up.
	Exhausted bool `json:"exhausted,omitempty"`
	// Retryable says that the same request may pass later.
	Retryable bool `json:"retryable"`
	// MayHaveBeenBilled says that the provider may charge for what failed.
	MayHaveBeenBilled bool `json:"may_have_been_billed"`
}

// ProviderError is the provider's own status and code; never its text.
type ProviderError struct {
	Status int    `json:"status,omitempty"`
	Code   string `json:"code,omitempty"`
}

// Counts of what a run did.
type Counts struct {
	// Calls is the number of provider calls started, over all executions.
	Calls int `json:"calls"`
	// Retries are the calls beyond the first of their generation.
	Retries int `json:"retries"`
	// Repairs are the corrective generations started.
	Repairs     int `json:"repairs"`
	Corrections int `json:"corrections"`
	// ValidatorCalls is the number of provider calls that validators started; none of them is in Calls.
	ValidatorCalls int `json:"validator_calls,omitempty"`
	// Executions is how often a worker took the run up.
	Executions int `json:"executions"`
}

// Source says what produced the result.
type Source struct {
	Prompt        string `json:"prompt,omitempty"`
	PromptSHA256  string `json:"prompt_sha256,omitempty"`
	Catalog       int    `json:"catalog,omitempty"`
	Profile       string `json:"profile,omitempty"`
	Backend       string `json:"backend,omitempty"`
	Model         string `json:"model,omitempty"`
	ModelReported string `json:"model_reported,omitempty"`
	Worker        string `json:"worker,omitempty"`
}

// Attempt is the record of one provider call.
type Attempt struct {
	// StageAttempt is absent for the first.
	StageAttempt   int    `json:"stage_attempt,omitempty"`
	Generation     int    `json:"generation"`
	GenerationKind string `json:"generation_kind"`
	Attempt        int    `json:"attempt"`
	Outcome        string `json:"outcome"`
	Status         int    `json:"status,omitempty"`
	DurationMS     int64  `json:"duration_ms"`
	WaitMS         int64  `json:"wait_ms,omitempty"`
	// Finish is why a completed call ended: stop, length, tool or other; ProviderFinish is the provider's own word.
	Finish         string `json:"finish,omitempty"`
	ProviderFinish string `json:"provider_finish,omitempty"`
	// Content is there only under attempts: full.
	Content *AttemptContent `json:"content,omitempty"`
}

// Kinds of a stage attempt: why it began.
const (
	StageInitial    = "initial"
	StageError      = "error"      // the one before it ended in an operational error
	StageStructural = "structural" // its answer stayed invalid
	StageCorrection = "correction" // validators rejected its answer, and this one was told why
)

// Stage is the record of one stage attempt.
type Stage struct {
	Attempt int    `json:"attempt"`
	Kind    string `json:"kind"`
	// Outcome is the status of the last one; of those before it rejected, an error category, or the class of the answer
	// that stayed invalid.
	Outcome string `json:"outcome"`
	// RejectedBy are the validators that rejected its answer.
	RejectedBy []string `json:"rejected_by,omitempty"`
	Calls      int      `json:"calls"`
	// Repairs and Codes, the corrective generations and the codes of all rejections, are there only under attempts: full.
	Repairs int      `json:"repairs,omitempty"`
	Codes   []string `json:"codes,omitempty"`
}

// Kinds of a generation.
const (
	GenerationInitial = "initial"
	GenerationRepair  = "repair"
)

// Timing in milliseconds. Total runs from publication to settlement.
type Timing struct {
	Queued  int64 `json:"queued"`
	Waiting int64 `json:"waiting"`
	Model   int64 `json:"model"`
	Total   int64 `json:"total"`
}

// RequestRef ties a result to the request message that it answers.
type RequestRef struct {
	// SHA256 is the fingerprint: SHA-256 over the backend, a zero byte and the body, in hex.
	SHA256   string `json:"sha256,omitempty"`
	Seq      uint64 `json:"seq,omitempty"`
	Delivery uint64 `json:"delivery,omitempty"`
}
