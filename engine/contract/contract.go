// Package contract judges a candidate text under an output contract: a strict scan for exactly one sound JSON value,
// then a JSON Schema. Text in, verdict out; no I/O, no clock, no state that a caller can see.
package contract

import "encoding/json"

// Class says what a text is, coarsely; it chooses the style of a repair.
type Class string

// Classes of a verdict (design section 5; `emend validate --json` prints them).
const (
	OK             Class = "ok"
	EmptyOutput    Class = "empty_output"
	NotJSON        Class = "not_json"
	MultipleJSON   Class = "multiple_json"
	DuplicateKey   Class = "duplicate_key"
	InvalidUTF8    Class = "invalid_utf8"
	LoneSurrogate  Class = "lone_surrogate"
	NumberOutRange Class = "number_out_of_range"
	TooDeep        Class = "too_deep"
	SchemaInvalid  Class = "schema_invalid"
)

// Finding is one located fault.
type Finding struct {
	// Pointer is an RFC 6901 pointer; "" is the root. For a missing or an extra key it is the containing object.
	Pointer string
	// Masked is Pointer with every key that the schema names nowhere (in properties, required and their like) shown
	// as "*"; indices stay.
	Masked string
	// Keyword is the failed JSON Schema keyword, or the class of the scan.
	Keyword string
	// Message is one sentence without the instance's text beyond a bounded excerpt.
	Message string
	// Key is the missing or extra key of required, additionalProperties and their like.
	Key string
	// Value is the offending value, exact bytes, nil where there is none.
	Value json.RawMessage
	// Expected is the keyword's own value in the schema, Schema the sub-schema that applied. Nil for scan findings.
	Expected, Schema json.RawMessage
}

// Verdict is the judgement of one text. Findings are sorted by pointer, keyword, key.
type Verdict struct {
	Class    Class
	Findings []Finding
	// Value is the one JSON value of a JSON mode, exact bytes without surrounding white space; nil if the scan refused
	// the text.
	Value json.RawMessage
	// Omitted counts the findings beyond the first 1,000, which are not listed.
	Omitted int
	// CutOff says that the text ended inside a value, whatever its class: evidence of truncation whatever the stop reason says.
	CutOff bool
	// Err is set when the text could not be judged (a bound was hit, the judge failed): neither valid nor invalid.
	Err error
}

// Valid reports whether the text satisfies the contract.
func (v Verdict) Valid() bool { return v.Err == nil && v.Class == OK }

// Spec is a contract as its author wrote it.
type Spec struct {
	// Mode is one of the schemas.Mode constants.
	Mode string
	// Schema is required for json_schema and refused for the other modes.
	Schema json.RawMessage
	// LastWins accepts duplicate keys, the last one counting (design section 9, duplicate_keys: last_wins).
	LastWins bool
	// MaxBytes bounds a candidate; a larger one is not judged (Verdict.Err). 0 means DefaultMaxBytes.
	MaxBytes int
}
