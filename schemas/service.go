package schemas

// RunRef names a run in requests to emend.get and emend.cancel.
type RunRef struct {
	Queue string `json:"queue"`
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
