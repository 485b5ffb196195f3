package contract

import "errors"

// Contract is a compiled output contract. It is safe for concurrent use.
type Contract struct{ spec Spec }

// CompileError says where a contract or its schema is unusable, and what to do.
type CompileError struct {
	// Pointer leads to the sub-schema, "" for the root; Keyword is the keyword at fault, "" if none.
	Pointer, Keyword string
	// Reason is one sentence with the way out.
	Reason string
}

// Error implements error.
func (e *CompileError) Error() string { return e.Reason }

// Compile makes a Contract of spec.
func Compile(spec Spec) (*Contract, error) { return &Contract{spec: spec}, nil }

// Mode returns the contract's mode.
func (c *Contract) Mode() string { return c.spec.Mode }

// Judge judges one text.
func (c *Contract) Judge([]byte) Verdict { return Verdict{Err: errors.New("not built yet")} }
