package contract

import "encoding/json"

// RuleFailed is the class of a candidate that its schema accepts and a rule does not.
const RuleFailed Class = "rule_failed"

// NotPreserved is the class of a candidate that satisfies its contract, made by a targeted correction that changed what
// it was not asked to change, under preserve: enforce. Whoever compares the two makes the verdict.
const NotPreserved Class = "not_preserved"

// KeywordPreserve is the keyword of the findings of such a candidate: Expected is the value that stood there before.
const KeywordPreserve = "preserve"

// KeywordRule is the keyword of a finding that a rule made.
const KeywordRule = "rule"

// Rule is a business rule of tier 2 (seed 002): one of CEL, Field with Bounds, or If with Then is given. Fields are
// written as paths of the display form: confidence, items[2].price, meta["a.b"].
type Rule struct {
	// CEL is an expression that is true of a good candidate. The top-level properties of the schema are its variables,
	// output is the whole value.
	CEL string
	// Field must keep Bounds.
	Field  string
	Bounds Bounds
	// Where every clause of If holds, every clause of Then must.
	If, Then []Clause
	// Message says what is wrong, for the model and for people.
	Message string
	// Fields are what may be changed to mend it; empty means the fields that the rule reads, for If/Then those of Then.
	Fields []string
}

// Clause is a field with its bounds.
type Clause struct {
	Field  string
	Bounds Bounds
}

// Bounds of one value; what is nil or empty is not asked. Numbers are compared exactly, lengths are counted in Unicode
// characters.
type Bounds struct {
	// Equals and Values compare JSON values: numbers by value, objects without order.
	Equals                                   json.RawMessage
	Values                                   []json.RawMessage
	Min, Max, ExclusiveMin, ExclusiveMax     json.Number
	MinLength, MaxLength, MinItems, MaxItems *int
	// Pattern is RE2 and not anchored.
	Pattern string
}
