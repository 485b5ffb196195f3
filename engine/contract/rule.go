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
// written as paths of the display form: confidence, items[2].price, meta["a.b"], (root); [*] or [] stands for every
// item. Compile holds them against the schema and refuses what it does not know.
//
// Rules run beside the findings of the schema, on every candidate that parses. A rule is skipped where a field that it
// reads is missing, has a type that the schema or the bounds do not allow, or lies under a finding of its type. A rule
// with [*] is judged for each item, and each item that breaks it is a finding; all its fields speak of the same item.
type Rule struct {
	// CEL is an expression that is true of a good candidate. The members of the schema's root are its variables: an
	// integer is int, a number double, an object a map, a member of several types dyn; output is the whole value, and
	// the only variable in mode json. Numbers are exact whatever their CEL type: 0.1 + 0.2 == 0.3, and no digit of a
	// candidate is rounded away. The pattern of matches is a literal. It is skipped where an item lacks what it reads,
	// unless the other items decide; what it asks for with has() may be missing. Where it cannot
	// be evaluated on what a candidate holds, such as a division by zero or a text that is no time, it has failed, or is
	// skipped if the schema refuses the candidate anyway; more work than the budget allows is Verdict.Err.
	CEL string
	// Field must keep Bounds.
	Field  string
	Bounds Bounds
	// Where every clause of If holds, every clause of Then must.
	If, Then []Clause
	// Message says what is wrong, for the model and for people; if it is empty, one is made of the bounds and the value.
	Message string
	// Fields are what may be changed to mend it; empty means the fields that the rule reads, with If and Then those of
	// Then that are broken, and of an expression over items the list.
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
