package schemas

import (
	"encoding/json"
	"fmt"
	"time"
)

// EventVersion is the v of every event.
const EventVersion = 1

// Kinds of an event; the last token of its subject.
const (
	EventStarted        = "started"
	EventAttemptStarted = "attempt_started"
	EventAttempt        = "attempt"
	EventRetry          = "retry"
	EventValidation     = "validation"
	EventRepair         = "repair"
	EventStage          = "stage"
	EventValidator      = "validator"
	EventWaiting        = "waiting"
	EventEscalated      = "escalated"
	EventSuperseded     = "superseded"
	EventFinished       = "finished"
)

// EventKinds lists every kind, in the order in which a run can show them.
var EventKinds = []string{EventStarted, EventAttemptStarted, EventAttempt, EventRetry, EventValidation, EventRepair, EventStage, EventValidator, EventWaiting, EventEscalated, EventSuperseded, EventFinished}

// Event tells one step of a run: metadata only, never content, credentials or provider text. An attempt carries its
// own waits and usage, finished and superseded carry totals: never add totals to parts.
type Event struct {
	V     int    `json:"v"`
	RunID string `json:"run_id"`
	Queue string `json:"queue"`
	Kind  string `json:"kind"`
	// Seq counts from 1 within one delivery.
	Seq      int       `json:"seq"`
	At       time.Time `json:"at"`
	Worker   string    `json:"worker,omitempty"`
	Delivery uint64    `json:"delivery,omitempty"`
	Prompt   string    `json:"prompt,omitempty"`
	Profile  string    `json:"profile,omitempty"`
	Backend  string    `json:"backend,omitempty"`
	Model    string    `json:"model,omitempty"`
	// StageAttempt, Generation and Attempt count from 1; 0 is "none yet".
	StageAttempt   int    `json:"stage_attempt,omitempty"`
	Generation     int    `json:"generation,omitempty"`
	GenerationKind string `json:"generation_kind,omitempty"`
	Attempt        int    `json:"attempt,omitempty"`
	// Validator is the judge whose call or vote this is, or whose backend is waited for; model and backend are then the judge's.
	Validator string `json:"validator,omitempty"`
	// Outcome is completed, an error category, a class of a verdict, a validator's vote, the sink of an escalation, why a
	// further stage attempt begins, a decision on a pipeline's stage or running, or in finished the status.
	Outcome string `json:"outcome,omitempty"`
	// Category is the error category of a finished run that failed.
	Category string `json:"category,omitempty"`
	// Status is the provider's HTTP status.
	Status int `json:"status,omitempty"`
	// Cause says why a run waits: a status, a category, draining.
	Cause    string         `json:"cause,omitempty"`
	Findings []EventFinding `json:"findings,omitempty"`
	// Mended is unwrap or syntax when the candidate was mended locally; Changed are places, as in findings, that a
	// targeted correction changed though it was not asked to.
	Mended  string   `json:"mended,omitempty"`
	Changed []string `json:"changed,omitempty"`
	// Codes are a judge's reason codes, only with audit: full.
	Codes      []string `json:"codes,omitempty"`
	WaitMS     *int64   `json:"wait_ms,omitempty"`
	DurationMS *int64   `json:"duration_ms,omitempty"`
	Usage      *Tokens  `json:"usage,omitempty"`
	// Cost is what an attempt cost, where that is known.
	Cost   *USD    `json:"cost_usd,omitempty"`
	Totals *Totals `json:"totals,omitempty"`
	// Pipeline, Stage, Lane and Jobs are of a pipeline run: its stage in a lane has so many jobs.
	Pipeline string     `json:"pipeline,omitempty"`
	Stage    string     `json:"stage,omitempty"`
	Lane     string     `json:"lane,omitempty"`
	Jobs     *JobCounts `json:"jobs,omitempty"`
}

// EventFinding is a finding without content: a key that the schema does not name is shown as "*".
type EventFinding struct {
	Pointer  string          `json:"pointer"`
	Keyword  string          `json:"keyword"`
	Expected json.RawMessage `json:"expected,omitempty"`
	// Value is the offending value, bounded, only with audit: full.
	Value json.RawMessage `json:"value,omitempty"`
}

// Totals of one run, in finished and superseded. Those of a pipeline run are the sums of its jobs, which tell their own too.
type Totals struct {
	Counts Counts `json:"counts"`
	Usage  *Usage `json:"usage,omitempty"`
	// ValidatorUsage sums the calls of validators, apart from Usage.
	ValidatorUsage *Usage `json:"validator_usage,omitempty"`
	// Cost is what all calls cost, those of validators too.
	Cost     *Cost  `json:"cost,omitempty"`
	TimingMS Timing `json:"timing_ms"`
}

// WaitCause is why a run was handed back, in an event of kind waiting: with whose backend it waits for, where that is a judge's.
func (e Event) WaitCause() string {
	if e.Validator == "" {
		return e.Cause
	}
	return fmt.Sprintf("%s at backend %s of judge %s", e.Cause, e.Backend, e.Validator)
}
