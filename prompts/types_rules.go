package prompts

import (
	"encoding/json"
	"maps"
	"slices"
)

// Bounds of one value; what is absent is not asked.
type Bounds struct {
	Equals       json.RawMessage   `yaml:"equals"`
	Values       []json.RawMessage `yaml:"values"`
	Min          json.Number       `yaml:"min"`
	Max          json.Number       `yaml:"max"`
	ExclusiveMin json.Number       `yaml:"exclusive_min"`
	ExclusiveMax json.Number       `yaml:"exclusive_max"`
	MinLength    *int              `yaml:"min_length"`
	MaxLength    *int              `yaml:"max_length"`
	MinItems     *int              `yaml:"min_items"`
	MaxItems     *int              `yaml:"max_items"`
	Pattern      string            `yaml:"pattern"`
}

// Rule is a business rule (seed 002): CEL, Field with Bounds, or If with Then.
type Rule struct {
	CEL   string `yaml:"rule"`
	Field string `yaml:"field"`
	Bounds
	// If and Then are bounds by field path.
	If      map[string]Bounds `yaml:"if"`
	Then    map[string]Bounds `yaml:"then"`
	Message string            `yaml:"message"`
	// Fields may change to mend it; nil means those that the rule reads.
	Fields []string `yaml:"fields"`
	// Code names the rule where it votes beside judges; "" for rule_ and its number among the rules.
	Code string `yaml:"code"`
}

// CheckSpec is an entry of checks: a rule, a judge, or a function.
type CheckSpec struct {
	Rule
	// Go is the name of a validator that a program of the operator's own brings (engine.WithValidators).
	Go string `yaml:"go"`
	// Judge is a prompt, as id or id@version, that approves or rejects a valid answer.
	Judge string `yaml:"judge"`
	// Retries of a judge that came to no decision.
	Retries int `yaml:"retries"`
	// RepairAttempts are a judge's own corrective calls after an answer that is no decision, in each try.
	RepairAttempts int `yaml:"repair_attempts"`
}

// ValidationPolicy says what follows when a judge does not approve (seed 004).
type ValidationPolicy struct {
	// ProducerStructuralFailure is fail_run or reject_output, "" for the default of runs with judges: fail_run.
	ProducerStructuralFailure string `yaml:"producer_structural_failure"`
	// SemanticRejection is fail_run or reject_output, ValidatorFailure warn_continue or fail_run.
	SemanticRejection string `yaml:"semantic_rejection"`
	ValidatorFailure  string `yaml:"validator_failure"`
}

// OutputField is one field of the short form outputs (seed 002).
type OutputField struct {
	Name string `yaml:"-"`
	// Type is enum, string, number, integer, boolean, array or object.
	Type string `yaml:"type"`
	// Values of an enum.
	Values []json.RawMessage `yaml:"values"`
	// Range of a number: least and greatest value.
	Range       []json.Number `yaml:"range"`
	Description string        `yaml:"description"`
	// Required is true unless it is set to false.
	Required *bool `yaml:"required"`
}

// Governance is seed 002's output_governance: a budget, and whether an answer that stays invalid is looked at.
type Governance struct {
	// MaxRetries is repair_attempts under its other name; nil is 2.
	MaxRetries *int `yaml:"max_retries"`
	// EscalateOnFailure is on_exhausted: escalate; nil is true.
	EscalateOnFailure *bool `yaml:"escalate_on_failure"`
}

// Escalation says where answers go that stay invalid under on_exhausted: escalate.
type Escalation struct {
	// Sink is none or review.
	Sink string `yaml:"sink"`
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
