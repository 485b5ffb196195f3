package prompts

import (
	"errors"
	"time"

	"emend/engine/run"
	"emend/schemas"
)

// Origin is what the carrier knows of a request and the request itself cannot say.
type Origin struct {
	ID, Queue, Backend string
	// Published is when the request was stored; zero means now.
	Published time.Time
	// Library lifts what belongs to queues and subjects: no allow list, any backend.
	Library bool
}

// Plan checks a request and fixes everything that its run needs. Its error is a *RequestError that lists every fault.
func (s *Snapshot) Plan(req schemas.Request, from Origin) (*run.Plan, error) {
	return nil, errors.New("prompts: not built")
}
