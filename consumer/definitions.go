package consumer

import (
	"sync"
	"time"
	"unicode/utf8"
)

// Definitions are those that a worker runs by, and what it refused in their place.
type Definitions struct {
	// Catalog is their number, 0 for those of a folder; Prompts is how many there are, Since when the worker took them.
	Catalog int       `json:"catalog,omitempty"`
	Prompts int       `json:"prompts"`
	Since   time.Time `json:"since"`
	// Refused are newer ones that the worker did not take; nil for none.
	Refused *RefusedDefinitions `json:"refused,omitempty"`
}

// RefusedDefinitions are definitions that a worker could not use.
type RefusedDefinitions struct {
	// Catalog is their number, 0 for those of a folder.
	Catalog int       `json:"catalog,omitempty"`
	At      time.Time `json:"at"`
	// Error names files, lines and fields; a long one is cut.
	Error string `json:"error"`
}

// maxRefusal bounds the words of a refusal: every worker answers with its own in one message.
const maxRefusal = 2 << 10

// definitions notes when a worker's were taken, and what was refused since.
type definitions struct {
	mu      sync.Mutex
	since   time.Time
	refused *RefusedDefinitions
}

func (d *definitions) taken(at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.since, d.refused = at, nil
}

// Refused notes that newer definitions could not be used, those of a catalog or, for 0, of a folder: until Reload, the worker tells
// so in its status.
func (w *Worker) Refused(catalog int, err error) {
	w.definitions.mu.Lock()
	defer w.definitions.mu.Unlock()
	w.definitions.refused = &RefusedDefinitions{Catalog: catalog, At: time.Now().UTC(), Error: cutText(err.Error(), maxRefusal)}
}

// Definitions tells by which definitions the worker runs.
func (w *Worker) Definitions() Definitions {
	s := w.engine.Load().Snapshot()
	w.definitions.mu.Lock()
	defer w.definitions.mu.Unlock()
	return Definitions{Catalog: s.Config().Catalog, Prompts: len(s.Prompts()), Since: w.definitions.since, Refused: w.definitions.refused}
}

// cutText is the beginning of a text, at most n bytes, and a sign that more was there.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + " ..."
}
