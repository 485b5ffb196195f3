// Package schemas is the wire of Emend: the Go types of a run's request, its result and its events, beside the JSON
// Schemas (draft 2020-12) and the AsyncAPI document that describe the same messages to other languages.
//
// Rules that hold for every message (design section 4): a null equals an absent field; an absent field and a zero one
// differ, so optional numbers are pointers; unknown fields are refused, all of them in one error.
//
// The package does no I/O and imports nothing of Emend.
package schemas
