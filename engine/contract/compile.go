package contract

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"emend/schemas"
)

// DefaultMaxBytes bounds a candidate; MaxSchemaBytes bounds a schema.
const (
	DefaultMaxBytes = 16 << 20
	MaxSchemaBytes  = 1 << 20
)

// Contract is a compiled output contract. It is safe for concurrent use.
type Contract struct {
	mode     string
	lastWins bool
	maxBytes int
	local    string  // one of the Local constants
	schema   *schema // nil unless the mode is json_schema
	rules    *rules  // nil without rules
	also     func(value json.RawMessage) []Finding
}

// KeywordChunk is the keyword of the findings of a chunk plan whose chunks cannot be used.
const KeywordChunk = "chunk"

// With is the contract with a check beside the schema's, on values that the schema accepts. It must be pure; its findings make
// the candidate SchemaInvalid.
func (c *Contract) With(check func(value json.RawMessage) []Finding) *Contract {
	with := *c
	with.also = check
	return &with
}

// CompileError says where a contract or its schema is unusable, and what to do.
type CompileError struct {
	// Pointer leads to the sub-schema, "" for the root; Keyword is the keyword at fault, "" if none.
	Pointer, Keyword string
	// Rule is the number of the rule at fault, from 1; 0 for a fault of anything else. Reason then names the field.
	Rule int
	// Reason is one sentence with the way out.
	Reason string
}

// Error implements error.
func (e *CompileError) Error() string {
	switch {
	case e.Rule > 0:
		return fmt.Sprintf("contract: rule %d: %s", e.Rule, e.Reason)
	case e.Keyword == "" && e.Pointer == "":
		return "contract: " + e.Reason
	case e.Keyword == "":
		return fmt.Sprintf("contract: schema at %s: %s", DisplayPath(e.Pointer), e.Reason)
	}
	return fmt.Sprintf("contract: schema at %s, keyword %s: %s", DisplayPath(e.Pointer), e.Keyword, e.Reason)
}

// Faults lists what an error of Compile is made of: one fault of the contract, or one of each broken rule, in their order.
func Faults(err error) []*CompileError {
	if many, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); ok {
		var out []*CompileError
		for _, one := range many.Unwrap() {
			out = append(out, Faults(one)...)
		}
		return out
	}
	if one, ok := errors.AsType[*CompileError](err); ok {
		return []*CompileError{one}
	}
	return nil
}

// Compile makes a Contract of spec, or returns an error that Faults takes apart and errors.As finds a *CompileError in. The same spec is compiled once and shared; the cache
// is bounded. A schema speaks draft 2020-12 unless `$schema` names another draft from draft-04 on. An unknown format
// is an annotation and never asserted, as are contentEncoding and contentMediaType; every known format is asserted.
func Compile(spec Spec) (*Contract, error) {
	if err := checkSpec(spec); err != nil {
		return nil, err
	}
	return compiled.get(spec)
}

func checkSpec(spec Spec) error {
	has := len(bytes.TrimSpace(spec.Schema)) > 0
	switch spec.Mode {
	case schemas.ModeNone, schemas.ModeBasic, schemas.ModeJSON:
		if has {
			return &CompileError{Reason: "mode " + spec.Mode + " takes no schema; remove it or use mode json_schema"}
		}
	case schemas.ModeJSONSchema:
		if !has {
			return &CompileError{Reason: "mode json_schema needs a schema; add one or use mode json"}
		}
	default:
		return &CompileError{Reason: fmt.Sprintf("unknown mode %q; use none, basic, json or json_schema",
			excerpt(spec.Mode))}
	}
	if err := checkLocal(spec); err != nil {
		return err
	}
	if len(spec.Rules) > 0 && (spec.Mode == schemas.ModeNone || spec.Mode == schemas.ModeBasic) {
		return &CompileError{Rule: 1, Reason: "mode " + spec.Mode + " takes any text, so a rule has no fields; remove the rules or use mode json_schema"}
	}
	if spec.MaxBytes < 0 {
		return &CompileError{Reason: "the size bound of a candidate is negative; use 0 for the default"}
	}
	return nil
}

func checkLocal(spec Spec) error {
	switch spec.Local {
	case "", LocalNone:
		return nil
	case LocalUnwrap, LocalSyntax:
		if spec.Mode == schemas.ModeNone || spec.Mode == schemas.ModeBasic {
			return &CompileError{Reason: "mode " + spec.Mode + " takes any text, so there is nothing to mend; remove local " +
				spec.Local + " or use mode json"}
		}
		return nil
	}
	return &CompileError{Reason: fmt.Sprintf("unknown local %q; use none, unwrap or syntax", excerpt(spec.Local))}
}

// build compiles without the cache.
func build(spec Spec) (*Contract, error) {
	c := &Contract{mode: spec.Mode, lastWins: spec.LastWins, maxBytes: spec.MaxBytes, local: cmp.Or(spec.Local, LocalNone)}
	if c.maxBytes == 0 {
		c.maxBytes = DefaultMaxBytes
	}
	var err error
	if spec.Mode == schemas.ModeJSONSchema {
		if c.schema, err = newSchema(spec.Schema); err != nil {
			return nil, err
		}
	}
	if c.rules, err = newRules(spec.Rules, c.schema); err != nil {
		return nil, err
	}
	return c, nil
}

// Mode returns the contract's mode, one of the schemas.Mode constants.
func (c *Contract) Mode() string { return c.mode }
