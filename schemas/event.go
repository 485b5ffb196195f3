package schemas

import (
	"encoding/json"
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
	EventWaiting        = "waiting"
	EventSuperseded     = "superseded"
	EventFinished       = "finished"
)

// EventKinds lists every kind, in the order in which a run can show them.
var EventKinds = []string{EventStarted, EventAttemptStarted, EventAttempt, EventRetry, EventValidation, EventRepair, EventWaiting, EventSuperseded, EventFinished}

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
	// Outcome is completed, an error category, a class of a verdict, or in finished the status.
	Outcome string `json:"outcome,omitempty"`
	// Category is the error category of a finished run that failed.
	Category string `json:"category,omitempty"`
	// Status is the provider's HTTP status.
	Status int `json:"status,omitempty"`
	// Cause says why a run waits: a status, a category, draining.
	Cause      string         `json:"cause,omitempty"`
	Findings   []EventFinding `json:"findings,omitempty"`
	WaitMS     *int64         `json:"wait_ms,omitempty"`
	DurationMS *int64         `json:"duration_ms,omitempty"`
	Usage      *Tokens        `json:"usage,omitempty"`
	Totals     *Totals        `json:"totals,omitempty"`
}

// EventFinding is a finding without content: a key that the schema does not name is shown as "*".
type EventFinding struct {
	Pointer  string          `json:"pointer"`
	Keyword  string          `json:"keyword"`
	Expected json.RawMessage `json:"expected,omitempty"`
}

// Totals of one run, in finished and superseded.
type Totals struct {
	Counts   Counts `json:"counts"`
	Usage    *Usage `json:"usage,omitempty"`
	TimingMS Timing `json:"timing_ms"`
}
