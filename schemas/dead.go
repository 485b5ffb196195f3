package schemas

import (
	"encoding/json"
	"time"
)

// DeadQuery asks the dead letters of a queue: a list, or one letter when ID is given.
type DeadQuery struct {
	ID string `json:"id,omitempty"`
	// Seq names one of several letters of an id; 0 is the latest.
	Seq uint64 `json:"seq,omitempty"`
	// Reason lists only the letters of an error category.
	Reason string `json:"reason,omitempty"`
	// After continues a list behind the letter with this sequence; Limit bounds it, 0 is 100, at most 1000.
	After uint64 `json:"after,omitempty"`
	Limit int    `json:"limit,omitempty"`
}

// DeadEntry is one dead letter without its content. What stood in headers is absent where the body left them no room.
type DeadEntry struct {
	Queue string `json:"queue"`
	ID    string `json:"id"`
	// Seq is the letter's own sequence.
	Seq uint64 `json:"seq"`
	// Reason is the error category, Error what was wrong in one line.
	Reason  string `json:"reason,omitempty"`
	Error   string `json:"error,omitempty"`
	Backend string `json:"backend,omitempty"`
	// Pipeline is the name of a pipeline run's, which has no backend.
	Pipeline string `json:"pipeline,omitempty"`
	Worker   string `json:"worker,omitempty"`
	// Published is when the request was stored, At when it was given up.
	Published time.Time `json:"published,omitzero"`
	At        time.Time `json:"at"`
	Bytes     int       `json:"bytes"`
}

// DeadList is the answer of dead-letters without an ID, oldest first.
type DeadList struct {
	Letters []DeadEntry `json:"letters"`
	// More says that the list goes on behind After.
	More  bool   `json:"more,omitempty"`
	After uint64 `json:"after,omitempty"`
}

// DeadDetail is the answer of dead-letters for one letter.
type DeadDetail struct {
	DeadEntry
	// Outcome is the status of the result that is stored under the id now; "" if there is none.
	Outcome string `json:"outcome,omitempty"`
	// Request is the body if it is one JSON value, else BodyBase64 has it. Neither stands where the letter is too large for an
	// answer.
	Request    json.RawMessage `json:"request,omitempty"`
	BodyBase64 string          `json:"body_base64,omitempty"`
}

// Replay publishes a dead letter anew under its id: the body of replay. What is given replaces what the request has.
type Replay struct {
	ID string `json:"id"`
	// Seq is the letter that was seen; 0 is the latest of the id.
	Seq uint64 `json:"seq,omitempty"`
	// Prompt is id@version. Backend may be left out where the profile names it.
	Prompt  string `json:"prompt,omitempty"`
	Profile string `json:"profile,omitempty"`
	Backend string `json:"backend,omitempty"`
}

// Replayed is the answer of replay: the request is stored, and its letter removed.
type Replayed struct {
	Queue string `json:"queue"`
	ID    string `json:"id"`
	// Seq is the request's sequence, Letter the dead letter's.
	Seq     uint64 `json:"seq"`
	Letter  uint64 `json:"letter"`
	Backend string `json:"backend"`
	// Changed names what is not as in the letter: prompt, profile, backend, deadline (one that had passed is taken out).
	Changed []string `json:"changed,omitempty"`
}

// Purge removes dead letters of a queue for good: the body of purge. What is given must all hold; nothing given removes
// nothing, All everything.
type Purge struct {
	ID     string `json:"id,omitempty"`
	Seq    uint64 `json:"seq,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Before are letters that were given up before this time.
	Before *time.Time `json:"before,omitempty"`
	All    bool       `json:"all,omitempty"`
	// After goes on behind the letter with this sequence.
	After uint64 `json:"after,omitempty"`
}

// Purged is the answer of purge. One call looks at most at 1000 letters; More says to ask again behind After.
type Purged struct {
	Removed int    `json:"removed"`
	More    bool   `json:"more,omitempty"`
	After   uint64 `json:"after,omitempty"`
}

// DecodeDeadQuery decodes the body of dead-letters; an empty one asks for a list. Errors are as of DecodeRequest.
func DecodeDeadQuery(body []byte) (DeadQuery, error) {
	if len(body) == 0 {
		return DeadQuery{}, nil
	}
	return decode[DeadQuery](body)
}

// DecodeReplay decodes the body of replay; errors are as of DecodeRequest.
func DecodeReplay(body []byte) (Replay, error) { return decode[Replay](body) }

// DecodePurge decodes the body of purge; errors are as of DecodeRequest.
func DecodePurge(body []byte) (Purge, error) { return decode[Purge](body) }
