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

// Finding is one located fault. A State keeps it as JSON; what is nil is left out, since null is a value.
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
	Value json.RawMessage `json:",omitempty"`
	// Expected is the keyword's own value in the schema, Schema the sub-schema that applied. Nil for scan findings.
	Expected, Schema json.RawMessage `json:",omitempty"`
	// Shape is the sub-schema that the value at the failing path must satisfy, with a reference that stands alone
	// followed: for a missing key that of the key, else Schema. Example is a value of it that the schema itself gives
	// (const, enum, examples, default) and that satisfies it. Both may be nil.
	Shape, Example json.RawMessage `json:",omitempty"`
	// Fields are the pointers that may be changed to mend a failed rule, in the rule's order; nil for all others.
	Fields []string
	// Rule is the number of the failed rule, from 1; 0 for all others.
	Rule int `json:",omitempty"`
}

// Path is the pointer of the value to be mended: Pointer, or its child Key for a missing or an extra key.
func (f Finding) Path() string {
	if f.Key == "" && !keyed[f.Keyword] {
		return f.Pointer
	}
	return f.Pointer + "/" + escapeToken(f.Key)
}

// keyed are the keywords whose findings are about a key, which may be empty.
var keyed = map[string]bool{
	"required": true, "dependentRequired": true, "dependencies": true, "dependentSchemas": true, "properties": true,
	"patternProperties": true, "additionalProperties": true, "unevaluatedProperties": true, "propertyNames": true,
	string(DuplicateKey): true,
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
	// Mended says what made a value of a text that was none: LocalUnwrap or LocalSyntax; "" if the text is judged as it
	// came. Derived is then the text that was judged in its place.
	Mended  string
	Derived []byte
	// Rules counts what became of the rules, Failed numbers those that failed, from 1 and ascending.
	Rules  RuleCounts
	Failed []int
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
	// Local says what may be mended without a call: LocalNone (as ""), LocalUnwrap or LocalSyntax, which includes it.
	Local string
	// Rules run on every candidate that parses; only a JSON mode has any.
	Rules []Rule
}

// Local mending (design section 9).
const (
	LocalNone = "none"
	// LocalUnwrap takes away one fence, byte order mark or closed think block that encloses the whole.
	LocalUnwrap = "unwrap"
	// LocalSyntax also lets jsonrepair correct the syntax, behind guards.
	LocalSyntax = "syntax"
)

// RuleCounts says how many rules held, failed, and were skipped because their fields are missing or of a wrong type.
type RuleCounts struct {
	Held    int `json:"held,omitempty"`
	Failed  int `json:"failed,omitempty"`
	Skipped int `json:"skipped,omitempty"`
}

// Change is a place that differs between two values outside the places that were allowed to change.
type Change struct {
	// Pointer and Masked are as in Finding. For a key that was added or removed it is the key's own place.
	Pointer, Masked string
	// Before is the value that stood there, nil if there was none.
	Before json.RawMessage
}
