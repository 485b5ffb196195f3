package schemas

import (
	"encoding/json"
	"time"
)

// Request asks for one run. It is the body of a message on a run subject, of emend.ask and of emend.submit. Either
// Prompt (with Inputs) or Messages is given, never both.
type Request struct {
	// Prompt names a definition: "id" (its newest version) or "id@version".
	Prompt string `json:"prompt,omitempty"`
	// Inputs by name. A JSON string renders as its text, any other value as compact JSON.
	Inputs map[string]json.RawMessage `json:"inputs,omitempty"`
	// Messages is an inline conversation in place of Prompt.
	Messages []Message `json:"messages,omitempty"`
	// AppendMessages extend the rendered prompt, which stays an exact prefix.
	AppendMessages []Message `json:"append_messages,omitempty"`
	// Profile replaces the prompt's; it must belong to the backend whose subject carried the request.
	Profile string `json:"profile,omitempty"`
	// Settings override the profile's, field by field.
	Settings *Settings `json:"settings,omitempty"`
	// Output replaces the prompt's whole output contract.
	Output *Output `json:"output,omitempty"`
	// TransientRetries are extra attempts per generation, 0 to 10; nil leaves the engine's default, 0 disables.
	TransientRetries *int `json:"transient_retries,omitempty"`
	// TimeoutS bounds the whole run from its publication, in seconds, above 0.
	TimeoutS *float64 `json:"timeout_s,omitempty"`
	// Deadline bounds the whole run with its waits; the earlier of it and TimeoutS wins.
	Deadline *time.Time `json:"deadline,omitempty"`
	// MaxCost bounds what all calls of the run may cost, in US dollars, above 0: the call that could exceed it is not made.
	MaxCost *USD `json:"max_cost,omitempty"`
	// Attempts is how much the result tells of the run's calls: summary (default), none or full.
	Attempts string `json:"attempts,omitempty"`
	// SessionID is carried to providers that know sessions; at most 256 bytes.
	SessionID string `json:"session_id,omitempty"`
	// Stage says that the run is a job of a pipeline run, which publishes it.
	Stage *StageRef `json:"stage,omitempty"`
	// Metadata comes back in the result; at most 16 entries, 64 bytes a key, 512 bytes a value.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// Settings of a generation. A nil field is not sent; a zero one is.
type Settings struct {
	Temperature      *float64 `json:"temperature,omitempty" yaml:"temperature,omitempty"`
	TopP             *float64 `json:"top_p,omitempty" yaml:"top_p,omitempty"`
	MaxOutputTokens  *int64   `json:"max_output_tokens,omitempty" yaml:"max_output_tokens,omitempty"`
	Seed             *int64   `json:"seed,omitempty" yaml:"seed,omitempty"`
	Stop             []string `json:"stop,omitempty" yaml:"stop,omitempty"`
	FrequencyPenalty *float64 `json:"frequency_penalty,omitempty" yaml:"frequency_penalty,omitempty"`
	PresencePenalty  *float64 `json:"presence_penalty,omitempty" yaml:"presence_penalty,omitempty"`
	// ReasoningEffort is none, minimal, low, medium, high or xhigh.
	ReasoningEffort *string `json:"reasoning_effort,omitempty" yaml:"reasoning_effort,omitempty"`
}

// Over returns s with every field that o sets replaced by o's. Neither argument is changed.
func (s Settings) Over(o *Settings) Settings {
	if o == nil {
		return s
	}
	pick(&s.Temperature, o.Temperature)
	pick(&s.TopP, o.TopP)
	pick(&s.MaxOutputTokens, o.MaxOutputTokens)
	pick(&s.Seed, o.Seed)
	pick(&s.FrequencyPenalty, o.FrequencyPenalty)
	pick(&s.PresencePenalty, o.PresencePenalty)
	pick(&s.ReasoningEffort, o.ReasoningEffort)
	if o.Stop != nil {
		s.Stop = o.Stop
	}
	return s
}

func pick[T any](dst **T, v *T) {
	if v != nil {
		*dst = v
	}
}

// Modes of an output contract (seed 000): what a candidate must be.
const (
	ModeNone       = "none"
	ModeBasic      = "basic"
	ModeJSON       = "json"
	ModeJSONSchema = "json_schema"
)

// Output is an output contract.
type Output struct {
	// Mode is none, basic, json or json_schema.
	Mode string `json:"mode"`
	// Schema is the JSON Schema of mode json_schema, byte for byte: its property order is generation order.
	Schema json.RawMessage `json:"schema,omitempty"`
	// RepairAttempts is the number of corrective calls after the initial one, 0 to 3. Never clamped.
	RepairAttempts int `json:"repair_attempts,omitempty"`
	// DuplicateKeys is reject (default) or last_wins.
	DuplicateKeys string `json:"duplicate_keys,omitempty"`
	// OnExhausted is return (default), escalate or fail.
	OnExhausted string `json:"on_exhausted,omitempty"`
	// Repair says how corrections are made; nil leaves all of its defaults.
	Repair *Repair `json:"repair,omitempty"`
}

// Repair says how a contract corrects an answer that breaks it (design section 9). An empty field has the default,
// which is the first of its words.
type Repair struct {
	// Style is auto, conversation or targeted.
	Style string `json:"style,omitempty" yaml:"style"`
	// Local is none, unwrap or syntax: what is mended without a call.
	Local string `json:"local,omitempty" yaml:"local"`
	// Candidate is assistant or received_block: where a corrective call shows the answer.
	Candidate string `json:"candidate,omitempty" yaml:"candidate"`
	// OnShape is repair or regenerate, for an answer of another shape; MissingPath parent or regenerate, for a path that
	// the answer does not have.
	OnShape     string `json:"on_shape,omitempty" yaml:"on_shape"`
	MissingPath string `json:"missing_path,omitempty" yaml:"missing_path"`
	// Preserve is report, enforce or none: what happens when a targeted correction changed anything else.
	Preserve string `json:"preserve,omitempty" yaml:"preserve"`
	// MaxTargets bounds the places of one targeted correction, 1 to 8; 0 is 8.
	MaxTargets int `json:"max_targets,omitempty" yaml:"max_targets"`
}
