package prompts

import (
	"encoding/json"

	"emend/engine/repair"
	"emend/schemas"
)

// Test is an example of a prompt: inputs, the model's answers in order, and what comes of it.
type Test struct {
	Name    string                     `yaml:"name"`
	Inputs  map[string]json.RawMessage `yaml:"inputs"`
	Answers []string                   `yaml:"answers"`
	Expect  Expect                     `yaml:"expect"`
}

// Expect is the outcome that a test asserts; a zero field asserts nothing.
type Expect struct {
	Status string `yaml:"status"`
	// Calls counts all calls, Repairs the corrective ones.
	Calls   int  `yaml:"calls"`
	Repairs *int `yaml:"repairs"`
	// Style is that of the last correction.
	Style string `yaml:"style"`
	// Findings are all that was found in the last answer that was invalid, in any order; an empty list says that there
	// was none.
	Findings []ExpectFinding `yaml:"findings"`
	// Output is the result's: a JSON value, or the text of a text contract.
	Output json.RawMessage `yaml:"output"`
}

// ExpectFinding is one expected finding. Path is in the form that people and models see: items[2].price, (root); for a
// missing or an extra key it is the key's own.
type ExpectFinding struct {
	Path    string `yaml:"path"`
	Keyword string `yaml:"keyword"`
}

var expectFindingObject = &object{name: "expect_finding", doc: "One expected finding.", fields: []field{
	{name: "path", kind: text{}, doc: "the place, such as items[2].price or (root); a missing or an extra key's own", required: true},
	{name: "keyword", kind: text{}, doc: "the keyword that failed, rule, or the class of an answer that is no JSON", required: true},
}}

var expectObject = &object{name: "expect", doc: "What a test asserts.", fields: []field{
	{name: "status", kind: text{oneOf: []string{schemas.StatusSucceeded, schemas.StatusUnverified, schemas.StatusInvalid, schemas.StatusRejected, schemas.StatusFailed}},
		doc: "the status of the result"},
	{name: "calls", kind: whole{1, 100}, doc: "the number of calls"},
	{name: "repairs", kind: whole{0, MaxRepairAttempts}, doc: "the number of corrective calls"},
	{name: "style", kind: text{oneOf: []string{repair.StyleConversation, repair.StyleTargeted, repair.StyleRegenerate}}, doc: "the style of the last correction"},
	{name: "findings", kind: list{of: expectFindingObject, max: 100}, doc: "all that was found in the last answer that was invalid"},
	{name: "output", kind: anyValue{}, doc: "the output of the result"},
}}

var testObject = &object{name: "test", doc: "An example that emend prompts test and emend check run without a provider.", fields: []field{
	{name: "name", kind: text{}, doc: "its name", required: true},
	{name: "inputs", kind: dict{of: anyValue{}, name: inputName, what: inputWords}, doc: "the inputs of the request"},
	{name: "answers", kind: list{of: text{lines: true, empty: true}, max: 100}, doc: "the model's answers, in order"},
	{name: "expect", kind: expectObject, doc: "what comes of it"},
}}
