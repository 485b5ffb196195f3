package engine

import (
	"encoding/json"
	"fmt"
	"time"

	"emend/engine/event"
	"emend/schemas"
)

// OutputContract says what an answer must be: mode none, basic, json or json_schema, and how many corrective calls
// (RepairAttempts, 0 to 3) may follow a candidate that is not. A contract in a request replaces the prompt's whole
// contract. A positive budget with mode none is an error: nothing could ever use it.
type OutputContract = schemas.Output

// ValidationResult is the verdict on the final candidate; RepairAttempts counts the corrective calls started.
type ValidationResult = schemas.Validation

// Message is one turn of a conversation.
type Message = schemas.Message

// Settings of a generation; a nil field is not sent.
type Settings = schemas.Settings

// RunRequest asks for one run. Either Prompt (with Inputs) or Messages is given.
type RunRequest struct {
	// ID correlates events and results; it need not be unique.
	ID string
	// Prompt is "id" (its newest version) or "id@version".
	Prompt string
	// Inputs by name: a string renders as its text, json.RawMessage and any other value as compact JSON.
	Inputs map[string]any
	// Messages is an inline conversation in place of Prompt.
	Messages []Message
	// AppendedMessages extend the rendered prompt, which stays an exact prefix. They are copied.
	AppendedMessages []Message
	// Profile replaces the prompt's.
	Profile string
	// Settings override the profile's, field by field.
	Settings *Settings
	// Output replaces the prompt's whole contract.
	Output *OutputContract
	// TransientRetries overrides the engine's number of extra attempts per generation (0 to 10); nil leaves it. An
	// injected client owns its retries: the field then has no effect.
	TransientRetries *int
	// Attempts is how much RunResult.Attempts tells: schemas.AttemptsSummary (default), AttemptsNone, or AttemptsFull with all that
	// was sent beyond the prompt and all that was answered, at most run.MaxContent bytes.
	Attempts string
	// MaxCost bounds what all calls may cost, those of judges too, over a larger max_cost of the prompt; 0 does not.
	MaxCost schemas.USD
	// SessionID is carried to providers that know sessions.
	SessionID string
	Metadata  map[string]string
	// Observer receives this execution's events, synchronously and in order; nil for none.
	Observer event.Observer
}

func (r *RunRequest) wire() (schemas.Request, error) {
	out := schemas.Request{Prompt: r.Prompt, Messages: r.Messages, AppendMessages: r.AppendedMessages, Profile: r.Profile,
		Settings: r.Settings, Output: r.Output, TransientRetries: r.TransientRetries, Attempts: r.Attempts, SessionID: r.SessionID, Metadata: r.Metadata}
	if r.MaxCost != 0 {
		out.MaxCost = &r.MaxCost
	}
	if len(r.Inputs) > 0 {
		out.Inputs = make(map[string]json.RawMessage, len(r.Inputs))
	}
	for name, v := range r.Inputs {
		b, err := schemas.Marshal(v)
		if err != nil {
			return out, fmt.Errorf("%w: inputs.%s has no JSON form (%T)", ErrInvalidRequest, name, v)
		}
		out.Inputs[name] = b
	}
	return out, nil
}

// RunResult is a run that completed: with a valid candidate, or with an invalid one after its budget.
type RunResult struct {
	ID string
	// Status is succeeded, unverified (a validator came to no decision), rejected (by a validator, under reject_output) or
	// invalid.
	Status string
	// RawOutput is the final candidate, byte for byte. RawOutput, Output and Validation describe the same candidate.
	RawOutput string
	// Output is the candidate's JSON value under a JSON contract that it parsed for, else nil.
	Output     json.RawMessage
	Validation ValidationResult
	// Usage is summed over all completed calls, field by field; a field that no call reported is nil.
	Usage *schemas.Usage
	// ValidatorUsage sums the calls of validators, apart from Usage; nil without any.
	ValidatorUsage *schemas.Usage
	// Cost is what all calls cost by the price table; nil when nothing may have been billed.
	Cost     *schemas.Cost
	Counts   schemas.Counts
	Source   schemas.Source
	Attempts []schemas.Attempt
	// Stages are the stage attempts of a run that needed more than one; under AttemptsFull those of any.
	Stages []schemas.Stage
	// Duration covers the whole operation with its waits and repairs.
	Duration time.Duration
	Warnings []string
}
