package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"emend/engine/contract"
	"emend/schemas"
)

// StateVersion is written into every State; a State of another version is not resumed.
const StateVersion = 1

// Phase says what a run is waiting for.
type Phase string

// Phases. A run starts in New and ends in Done.
const (
	New     Phase = "new"
	Calling Phase = "calling"
	Waiting Phase = "waiting"
	Judging Phase = "judging"
	Done    Phase = "done"
)

// Phases lists every phase in the order of a run's way.
var Phases = []Phase{New, Calling, Waiting, Judging, Done}

// Styles of a corrective generation.
const (
	StyleConversation = "conversation"
	StyleRegenerate   = "regenerate"
)

// Budgets are what a run has left.
type Budgets struct {
	// Transient is for the current generation.
	Transient int `json:"transient"`
	Repair    int `json:"repair"`
}

// Candidate is the text that a completed generation returned.
type Candidate struct {
	Text string `json:"text"`
	// Finish is the provider's stop reason in Emend's words; "length" is evidence of truncation.
	Finish string `json:"finish,omitempty"`
	Model  string `json:"model,omitempty"`
}

// Judged is a verdict as a State keeps it.
type Judged struct {
	Class    contract.Class     `json:"class"`
	Findings []contract.Finding `json:"findings,omitempty"`
	Omitted  int                `json:"omitted,omitempty"`
	CutOff   bool               `json:"cut_off,omitempty"`
	Value    json.RawMessage    `json:"-"`
}

// Valid reports whether the candidate satisfies its contract.
func (j *Judged) Valid() bool { return j != nil && j.Class == contract.OK }

// Verdict returns the form that package repair reads.
func (j *Judged) Verdict() contract.Verdict {
	return contract.Verdict{Class: j.Class, Findings: j.Findings, Omitted: j.Omitted, CutOff: j.CutOff, Value: j.Value}
}

// Failure is why a call or a run failed. Its texts are Emend's own words.
type Failure struct {
	// Category is one of the schemas.Category words.
	Category string `json:"category"`
	Message  string `json:"message"`
	Status   int    `json:"status,omitempty"`
	Code     string `json:"code,omitempty"`
	// RetryAfter is the provider's minimum wait.
	RetryAfter time.Duration `json:"retry_after,omitempty"`
	// Permanent: waiting cannot help this request. Account: the fault is the backend's or the account's. NotSent: the
	// request provably never left. Billed: the provider may charge for the call.
	Permanent bool `json:"permanent,omitempty"`
	Account   bool `json:"account,omitempty"`
	NotSent   bool `json:"not_sent,omitempty"`
	Billed    bool `json:"billed,omitempty"`
	// Attempts of the generation that failed, and whether transient retries were used up.
	Attempts  int  `json:"attempts,omitempty"`
	Exhausted bool `json:"exhausted,omitempty"`
	// Cause is the Go error in a process that still has it.
	Cause error `json:"-"`
}

// State is a run between two steps. It is a value: Step never changes its argument. It serialises to JSON.
type State struct {
	V     int   `json:"v"`
	Phase Phase `json:"phase"`
	// PromptSHA256 binds a saved State to the plan that it was made under.
	PromptSHA256 string `json:"prompt_sha256"`
	// Generation counts from 1 (the initial one); Attempt counts the calls started in it.
	Generation int `json:"generation"`
	Attempt    int `json:"attempt"`
	// Style of the current generation; "" for the initial one.
	Style       string  `json:"style,omitempty"`
	Left        Budgets `json:"left"`
	Regenerated bool    `json:"regenerated,omitempty"`
	// Candidate and Judged are the latest completed generation's.
	Candidate *Candidate `json:"candidate,omitempty"`
	Judged    *Judged    `json:"judged,omitempty"`
	// Failure is the latest failed attempt's; it decides the wait, and with Done the result.
	Failure  *Failure          `json:"failure,omitempty"`
	Usage    schemas.UsageSum  `json:"usage"`
	Counts   schemas.Counts    `json:"counts"`
	Attempts []schemas.Attempt `json:"attempts,omitempty"`
	// Model and Waited are the time in provider calls and in waits for permits and retries.
	Model  time.Duration `json:"model"`
	Waited time.Duration `json:"waited"`
	// PutDowns counts how often the run was handed back for its backend's trouble.
	PutDowns int `json:"put_downs,omitempty"`
	// Status is the result status, set with Done.
	Status string `json:"status,omitempty"`
}

// Start is the State of a run that has done nothing.
func (p *Plan) Start() State {
	return State{V: StateVersion, Phase: New, PromptSHA256: p.PromptSHA256,
		Left: Budgets{Transient: p.TransientRetries, Repair: p.Output.RepairAttempts}}
}

// PutDown returns the State that takes up the current generation from its beginning, with a full transient budget: what
// is stored when a run is handed back. Completed generations, their usage and all counts stay.
func (p *Plan) PutDown(s State) State {
	if s.Phase == Done || s.Phase == Waiting {
		s.Phase = Calling
	}
	if s.Generation == 0 {
		s.Phase = New
	}
	s.Attempt, s.Failure, s.Status = 0, nil, ""
	s.Left.Transient = p.TransientRetries
	return s
}

// Fits reports whether a saved State may be taken up under the plan; if not, the run starts anew.
func (p *Plan) Fits(s State) error {
	switch {
	case s.V != StateVersion:
		return fmt.Errorf("saved state has version %d, this worker knows %d", s.V, StateVersion)
	case s.PromptSHA256 != p.PromptSHA256:
		return errors.New("saved state belongs to another rendering of the prompt")
	case !slices.Contains(Phases, s.Phase):
		return fmt.Errorf("saved state has the unknown phase %q", s.Phase)
	}
	return nil
}

// MaxNow is the number of calls that the State can still start.
func (p *Plan) MaxNow(s State) int {
	if s.Phase == Done {
		return 0
	}
	if s.Generation == 0 {
		return p.MaxCalls()
	}
	calls := s.Left.Repair * (p.TransientRetries + 1)
	if s.Phase != Judging {
		calls += s.Left.Transient
	}
	if s.Phase == Calling {
		calls++
	}
	return calls
}
