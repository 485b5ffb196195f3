package prompts

import (
	"math"
	"reflect"
	"regexp"
	"slices"

	"gopkg.in/yaml.v3"

	"emend/engine/contract"
	"emend/engine/repair"
	"emend/schemas"
)

var inputName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

const inputWords = "A-Z a-z 0-9 _, beginning with a letter or _, at most 64"

// maxInput bounds what an input may be allowed to hold.
const maxInput = Size(schemas.MaxBytes)

// settingsObject checks requests, too. Its bounds are the providers' widest.
var settingsObject = &object{name: "settings", doc: "Settings of a generation. What is absent is not sent.", fields: []field{
	{name: "temperature", kind: number{0, 2}, doc: "randomness"},
	{name: "top_p", kind: number{0, 1}, doc: "nucleus sampling"},
	{name: "max_output_tokens", kind: whole{1, math.MaxInt32}, doc: "the token limit of an answer"},
	{name: "seed", kind: whole{math.MinInt64, math.MaxInt64}, doc: "a seed, where the provider knows one"},
	{name: "stop", kind: list{of: text{lines: true}, max: 16}, doc: "texts that end an answer"},
	{name: "frequency_penalty", kind: number{-2, 2}, doc: "against words that stand already"},
	{name: "presence_penalty", kind: number{-2, 2}, doc: "against topics that stand already"},
	{name: "reasoning_effort", kind: text{oneOf: []string{"none", "minimal", "low", "medium", "high", "xhigh"}}, doc: "how much a reasoning model thinks"},
}}

var inputObject = &object{name: "input", doc: "One input of a prompt.", also: checkInput, fields: []field{
	{name: "max", kind: amount{1, maxInput}, doc: "its largest size: a text's bytes, another value's compact JSON", def: "1MiB"},
	{name: "default", kind: anyValue{}, doc: "its value when a request gives none"},
	{name: "required", kind: boolean{}, doc: "whether a request must give it; true without a default. Without either it is an empty text"},
	{name: "description", kind: text{lines: true, empty: true}, doc: "what it is"},
}}

var modes = []string{schemas.ModeNone, schemas.ModeBasic, schemas.ModeJSON, schemas.ModeJSONSchema}

// Words of an output contract.
const (
	duplicatesReject   = "reject"
	duplicatesLastWins = "last_wins"
	exhaustedReturn    = "return"
	exhaustedEscalate  = "escalate"
	exhaustedFail      = "fail"
)

var outputObject = &object{name: "output", doc: "The output contract.",
	fields: []field{
		{name: "mode", kind: text{oneOf: modes}, doc: "what an answer must be: anything, not blank, one JSON value, or JSON that a schema accepts", def: schemas.ModeNone},
		{name: "schema", kind: schemaRef, doc: "for json_schema: a file beside the prompts, or the schema itself"},
		{name: "repair_attempts", kind: whole{0, MaxRepairAttempts}, doc: "corrective calls after an answer that is not", def: "0"},
		{name: "duplicate_keys", kind: text{oneOf: []string{duplicatesReject, duplicatesLastWins}}, doc: "what a name given twice is", def: duplicatesReject},
		{name: "on_exhausted", kind: text{oneOf: []string{exhaustedReturn, exhaustedEscalate, exhaustedFail}},
			doc: "whether an answer that stays invalid is returned with its findings, looked at by judges and people, or fails the run", def: exhaustedReturn},
		{name: "repair", kind: repairObject, doc: "how corrections are made"},
	}}

// repairObject checks requests, too. Its defaults are the first words.
var repairObject = &object{name: "repair", doc: "How an answer that breaks its contract is corrected.", fields: []field{
	{name: "style", kind: text{oneOf: []string{repair.StyleAuto, repair.StyleConversation, repair.StyleTargeted}},
		doc: "auto names the failing places where that is enough, and else shows all findings"},
	{name: "local", kind: text{oneOf: []string{contract.LocalNone, contract.LocalUnwrap, contract.LocalSyntax}},
		doc: "what is mended without a call: nothing, what wraps the answer, or its JSON syntax too"},
	{name: "candidate", kind: text{oneOf: []string{"assistant", "received_block"}}, doc: "where a correction shows the answer: as the assistant's turn or in a block"},
	{name: "on_shape", kind: text{oneOf: []string{repair.OnShapeRepair, repair.OnShapeRegenerate}}, doc: "what becomes of an answer of another shape"},
	{name: "missing_path", kind: text{oneOf: []string{repair.MissingPathParent, repair.MissingPathRegenerate}},
		doc: "whether a missing key may be added in place, or the answer is asked for anew"},
	{name: "preserve", kind: text{oneOf: []string{"report", "enforce", "none"}},
		doc: "whether what a targeted correction changed unasked is reported, must be put back, or is not looked at"},
	{name: "max_targets", kind: whole{1, repair.DefaultMaxTargets}, doc: "places that one targeted correction names at most; 8 by default"},
}}

var schemaRef = textOr{text: text{what: "the name of a JSON file beside the prompts"}, other: inlineSchema{}, literal: "File", form: "Inline"}

// inlineSchema is a JSON Schema in YAML.
type inlineSchema struct{ anyValue }

func (inlineSchema) words() string { return "a JSON Schema" }

var promptObject = &object{name: "prompt", doc: "One version of a prompt: prompts/<id>@<version>.yaml.",
	also: checkPrompt,
	fields: []field{
		{name: "description", kind: text{lines: true, empty: true}, doc: "what it is for"},
		{name: "profile", kind: text{pattern: looseName, what: looseWords}, doc: "a name of profiles; a request may name another, and must if this is absent"},
		{name: "inputs", kind: dict{of: inputObject, name: inputName, what: inputWords}, doc: "inputs by name"},
		{name: "messages", kind: list{of: messageKind{}, min: 1, max: 100}, doc: "the conversation, each message a template", required: true},
		{name: "output", kind: outputObject, doc: "the output contract"},
		{name: "outputs", kind: outputsKind{}, doc: "the short form of a json_schema contract: fields by name, with type, values and range"},
		{name: "output_governance", kind: governanceObject, doc: "budget and escalation under their other names"},
		{name: "checks", kind: list{of: checkObject, max: 100}, doc: "rules on the answer and judges of it, in order"},
		{name: "validation_rules", kind: list{of: ruleObject, max: 100}, doc: "rules on the answer, after those of checks"},
		{name: "retries", kind: whole{0, MaxStageRetries}, doc: "further stage attempts, each with a whole repair budget: for answers that judges reject, that stay invalid, and for errors", def: "0"},
		{name: "validation_policy", kind: policyObject, noNull: true, doc: "what follows when a judge does not approve, and when an answer stays invalid"},
		{name: "settings", kind: settingsObject, doc: "settings that go over the profile's"},
		{name: "transient_retries", kind: whole{0, MaxTransientRetries}, doc: "extra attempts per generation in place of emend.yaml's"},
		{name: "max_cost", kind: budgetKind, doc: "US dollars that all calls of a run may cost: the call that could exceed it is not made. It needs the model's price, and max_output_tokens"},
		{name: "tests", kind: list{of: testObject, max: 1000}, doc: "examples"},
	}}

var roles = []string{schemas.RoleDeveloper, schemas.RoleSystem, schemas.RoleUser, schemas.RoleAssistant}

// messageKind is {role: text} with an optional cache.
type messageKind struct{}

var cacheKind = span{Duration(oneSecond), Duration(day)}

var templateKind = text{lines: true, empty: true}

func (messageKind) read(r *report, n *yaml.Node, at string, v reflect.Value) {
	t := v.Addr().Interface().(*Template)
	eachMember(r, n, at, func(key string, line int, val *yaml.Node) {
		path := join(at, key)
		switch {
		case key == "cache":
			readInto(r, cacheKind, val, path, v.FieldByName("Cache"))
		case !slices.Contains(roles, key):
			r.faultOn(line, path, "unknown role%s", nearest(key, append(slices.Clone(roles), "cache")))
		case t.Role != "":
			r.faultOn(line, path, "a message has one role, and this one has %s already; begin a new list entry", t.Role)
		case !isNull(val):
			t.Role = key
			readInto(r, templateKind, val, path, v.FieldByName("Text"))
		}
	})
}

func (messageKind) check(r *report, at string, v reflect.Value) {
	t := v.Interface().(Template)
	if !slices.Contains(roles, t.Role) {
		r.fault(at, "needs one of the roles developer, system, user, assistant, as in - user: Hello")
		return
	}
	if t.Cache != 0 || r.given(join(at, "cache")) {
		checkValue(r, cacheKind, join(at, "cache"), v.FieldByName("Cache"))
	}
	checkValue(r, templateKind, join(at, t.Role), v.FieldByName("Text"))
}

func (messageKind) schema() ordered {
	props := ordered{}
	for _, role := range roles {
		props = append(props, member{role, ordered{{"type", "string"}, {"description", "the text of a " + role + " message, a template"}}})
	}
	cache := append(cacheKind.schema(), member{"description", "how long the provider may cache the conversation up to here"})
	return ordered{{"type", "object"}, {"properties", append(props, member{"cache", cache})}, {"additionalProperties", false},
		{"minProperties", 1}, {"maxProperties", 2}}
}

func (messageKind) words() string {
	return "messages {developer, system, user or assistant: text, cache: duration}"
}
