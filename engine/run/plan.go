// Package run is the step machine of a run: pure transitions from (state, event) to (state, action), a Drive that
// performs the actions, and the Plan that fixes everything a run will need before its first call. A run can be put
// down at any step and taken up again from its State.
package run

import (
	"encoding/json"
	"time"

	"emend/engine/contract"
	"emend/schemas"
)

// Plan is everything that is decided before the first call. It is immutable once made and safe to share.
type Plan struct {
	// ID and Queue are empty for a library run without one.
	ID, Queue string
	// Prompt is "id@version", or "" for inline messages; PromptSHA256 covers rendered messages, contract and target.
	Prompt, PromptSHA256 string
	Catalog              int
	Profile, Backend     string
	Model                string
	// Messages is the rendered prompt followed by the appended messages.
	Messages []schemas.Message
	Settings schemas.Settings
	Session  string
	// Output is the effective contract, Contract its compiled form.
	Output   schemas.Output
	Contract *contract.Contract
	// NativeSchema goes to the provider as its native constraint; nil sends none.
	NativeSchema json.RawMessage
	NativeName   string
	// TransientRetries are extra attempts per generation.
	TransientRetries int
	// ExtraStatuses are retried besides 429, 500, 502, 503 and 504.
	ExtraStatuses []int
	// Deadline bounds the whole run; zero means none.
	Deadline time.Time
	Metadata map[string]string
	Warnings []string
}

// MaxCalls is the most provider calls that the plan allows: (R+1)(P+1), seed 003.
func (p *Plan) MaxCalls() int {
	return (p.TransientRetries + 1) * (p.Output.RepairAttempts + 1)
}
