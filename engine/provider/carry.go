package provider

import "encoding/json"

// Carried is how a dialect carries a schema as its provider's native constraint (tier 0): the pure answer of a dialect's
// Carry function, used by Build, by the plan, by emend check and by emend validate --portability. The full schema is
// judged by Emend whatever is carried.
type Carried struct {
	// Schema goes out, with the property order of the original; nil when nothing does.
	Schema json.RawMessage
	// Form is the native form in the provider's words: "response_format strict", "response_format", "output_config.format",
	// "forced tool", "responseJsonSchema", "format", or "none".
	Form string
	// Whole says that the provider enforces every keyword of the original.
	Whole bool
	// Weakened lists what the provider will not enforce and why, in document order: bounded, each one clause that begins
	// with the place ("at /properties/price: minimum is not enforced").
	Weakened []string
}

// Carry says how a dialect carries a schema, given the backend's checked options. It is pure and safe for concurrent
// use, and it does not fail: what cannot be carried at all has Form "none" and its reason in Weakened.
type Carry func(options map[string]any, schema []byte) Carried
