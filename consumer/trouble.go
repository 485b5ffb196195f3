package consumer

import (
	"sync"
	"time"

	"emend/engine/run"
)

// troubleLog says once that a backend is in trouble, again when the cause changes or after a while, and when it is over:
// ten thousand waiting runs are one line, not ten thousand.
type troubleLog struct {
	mu   sync.Mutex
	said map[string]saidTrouble
}

type saidTrouble struct {
	cause string
	at    time.Time
}

// troubleAgain is when the same trouble is worth another line.
const troubleAgain = 5 * time.Minute

// begins reports whether a backend's trouble is news.
func (t *troubleLog) begins(backend, cause string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, ok := t.said[backend]; ok && last.cause == cause && now.Sub(last.at) < troubleAgain {
		return false
	}
	if t.said == nil {
		t.said = map[string]saidTrouble{}
	}
	t.said[backend] = saidTrouble{cause, now}
	return true
}

// ends reports whether a backend that was said to be in trouble is out of it.
func (t *troubleLog) ends(backend string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, was := t.said[backend]
	delete(t.said, backend)
	return was
}

// sayTrouble logs why runs of a backend wait, in the engine's own words.
func (h *handler) sayTrouble(cause string, f *run.Failure) {
	if h.w.troubles.begins(h.backend, cause, time.Now()) {
		h.log().Warn().Str("cause", cause).Str("detail", f.Message).Msg("the backend is in trouble; its runs wait")
	}
}

// sayAnswers logs that a backend answers again.
func (h *handler) sayAnswers() {
	if h.w.troubles.ends(h.backend) {
		h.log().Info().Msg("the backend answers again")
	}
}
