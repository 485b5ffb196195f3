package schemas

import (
	"encoding/json"
	"time"
)

// RunRef names a run in requests to get and cancel.
type RunRef struct {
	// Queue may be absent where the subject names it.
	Queue string `json:"queue,omitempty"`
	ID    string `json:"id"`
}

// Submitted is the answer of emend.submit: the request is stored.
type Submitted struct {
	Queue string `json:"queue"`
	ID    string `json:"id"`
	Seq   uint64 `json:"seq"`
}

// States of a run that has no result yet.
const (
	StateQueued   = "queued"
	StateRunning  = "running"
	StateWaiting  = "waiting"
	StateInReview = "in_review"
	StateNotFound = "not_found"
)

// Progress is the answer of emend.get for a run without a result.
type Progress struct {
	ID    string `json:"id"`
	Queue string `json:"queue"`
	// State is queued, running, waiting, in_review or not_found.
	State string `json:"state"`
	// Cause says why it waits, also why its backend is closed.
	Cause string `json:"cause,omitempty"`
	// Place is at most how many requests are ahead of a queued one.
	Place int64 `json:"place,omitempty"`
}

// CancelNotFound is the status of a cancel that found neither request nor result.
const CancelNotFound = "not_found"

// CancelReply is the answer of emend.cancel: what really happened.
type CancelReply struct {
	ID    string `json:"id"`
	Queue string `json:"queue"`
	// Cancelled says that this call settled the run as cancelled; else Status is how it had ended, or not_found.
	Cancelled bool   `json:"cancelled"`
	Status    string `json:"status"`
}

// ReviewQuery asks the reviews of a queue: a list, or one run when ID is given.
type ReviewQuery struct {
	ID string `json:"id,omitempty"`
	// After continues a list behind the entry with this sequence; Limit bounds it, 0 is 100, at most 1000.
	After uint64 `json:"after,omitempty"`
	Limit int    `json:"limit,omitempty"`
}

// ReviewEntry is one run that waits for a person.
type ReviewEntry struct {
	Queue string `json:"queue"`
	ID    string `json:"id"`
	// Seq binds a decision to what the reviewer saw.
	Seq      uint64    `json:"seq"`
	Prompt   string    `json:"prompt,omitempty"`
	Class    string    `json:"class"`
	Findings int       `json:"findings"`
	Since    time.Time `json:"since"`
}

// ReviewList is the answer of reviews without an ID, oldest first.
type ReviewList struct {
	Reviews []ReviewEntry `json:"reviews"`
	// More says that the list goes on behind its last entry.
	More bool `json:"more,omitempty"`
}

// ReviewDetail is the answer of reviews for one run: all that a person needs to decide, content included.
type ReviewDetail struct {
	ReviewEntry
	// Messages is the conversation that the candidate answers.
	Messages  []Message       `json:"messages"`
	Mode      string          `json:"mode"`
	Schema    json.RawMessage `json:"schema,omitempty"`
	Candidate string          `json:"candidate"`
	Verdict   *Validation     `json:"verdict"`
}

// Decision is a person's word on a run: the body of decide.
type Decision struct {
	ID string `json:"id"`
	// Seq is the entry that was seen; 0 decides whatever is there.
	Seq uint64 `json:"seq,omitempty"`
	// Decision is approve, reject or edit; an edit brings Output, or OutputText for a text contract.
	Decision   string          `json:"decision"`
	By         string          `json:"by"`
	Note       string          `json:"note,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
	OutputText *string         `json:"output_text,omitempty"`
}
