// Package telemetry holds sinks for the events of runs. A sink only counts; it holds no content, and its labels are
// bounded: prompts come from definitions, keywords from JSON Schema.
package telemetry

import (
	"maps"
	"sync"

	"emend/engine/event"
)

// Verdicts counts candidates and their faults per prompt: a validation failure rate that moves is the first sign of a
// model that changed (seed 001). It is safe for concurrent use; the zero value is ready.
type Verdicts struct {
	mu      sync.Mutex
	prompts map[string]*PromptVerdicts
}

// PromptVerdicts are the counts of one prompt since the process started. A judge's own answers count under its own name.
type PromptVerdicts struct {
	// Candidates were judged, Invalid of them broke their contract, Unjudged could not be judged.
	Candidates int64 `json:"candidates"`
	Invalid    int64 `json:"invalid"`
	Unjudged   int64 `json:"unjudged,omitempty"`
	// Mended were mended locally, without a call.
	Mended int64 `json:"mended,omitempty"`
	// Keywords counts the invalid candidates that had a finding of a keyword, each candidate once a keyword; a text that
	// is no JSON counts under its class.
	Keywords map[string]int64 `json:"keywords,omitempty"`
}

// Inline is the name under which runs without a prompt are counted, None that of requests that came to no run: of which prompt
// they were to be is not known, or is no name of a definition.
const (
	Inline = "(inline)"
	None   = "(none)"
)

// Count takes one event; all but verdicts are ignored.
func (v *Verdicts) Count(e event.Event) {
	verdict, ok := e.(event.Validation)
	if !ok {
		return
	}
	name := verdict.Prompt
	if name == "" {
		name = Inline
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.prompts == nil {
		v.prompts = map[string]*PromptVerdicts{}
	}
	p := v.prompts[name]
	if p == nil {
		p = &PromptVerdicts{Keywords: map[string]int64{}}
		v.prompts[name] = p
	}
	p.count(verdict)
}

func (p *PromptVerdicts) count(v event.Validation) {
	p.Candidates++
	if v.Mended != "" {
		p.Mended++
	}
	switch {
	case v.Valid:
		return
	case v.Class == "":
		p.Unjudged++
		return
	}
	p.Invalid++
	seen := map[string]bool{}
	for _, f := range v.Findings {
		if !seen[f.Keyword] {
			seen[f.Keyword] = true
			p.Keywords[f.Keyword]++
		}
	}
}

// Snapshot is a copy of all counts by prompt.
func (v *Verdicts) Snapshot() map[string]PromptVerdicts {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := make(map[string]PromptVerdicts, len(v.prompts))
	for name, p := range v.prompts {
		c := *p
		c.Keywords = maps.Clone(p.Keywords)
		out[name] = c
	}
	return out
}
