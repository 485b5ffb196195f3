package prompts

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"emend/engine/contract"
	"emend/engine/run"
)

// Types of an output field.
const (
	typeEnum    = "enum"
	typeNumber  = "number"
	typeInteger = "integer"
)

var outputFieldObject = &object{name: "output_field", doc: "One field of outputs.", also: checkOutputField, fields: []field{
	{name: "type", kind: text{oneOf: []string{typeEnum, "string", typeNumber, typeInteger, "boolean", "array", "object"}}, doc: "what it is", required: true},
	{name: "values", kind: list{of: anyValue{}, min: 1, max: 1000}, doc: "the values of an enum"},
	{name: "range", kind: list{of: numeral{}, min: 2, max: 2}, doc: "the least and the greatest value of a number"},
	{name: "description", kind: text{lines: true, empty: true}, doc: "what it is, for the model"},
	{name: "required", kind: boolean{}, doc: "whether it must be there; true if absent"},
}}

func checkOutputField(r *report, at string, v any) {
	f := v.(OutputField)
	if (f.Type == typeEnum) != (len(f.Values) > 0) {
		r.once(at, "values belong to type enum, and an enum needs them")
	}
	if len(f.Range) > 0 && f.Type != typeNumber && f.Type != typeInteger {
		r.once(join(at, "range"), "belongs to type number or integer")
	}
	if len(f.Range) == 2 && !r.bad[join(at, "range")] && contract.Above(f.Range[0], f.Range[1]) {
		r.once(join(at, "range"), "runs from %s to %s, so that no number is in it; write the lesser one first", f.Range[0], f.Range[1])
	}
}

// outputsKind is a mapping of fields that keeps their order: it is generation order.
type outputsKind struct{}

func (outputsKind) read(r *report, n *yaml.Node, at string, v reflect.Value) {
	var out []OutputField
	eachMember(r, n, at, func(key string, line int, val *yaml.Node) {
		f := OutputField{Name: key}
		r.lines[join(at, key)] = line
		readInto(r, outputFieldObject, val, join(at, key), reflect.ValueOf(&f).Elem())
		r.lines[join(at, key)] = line
		out = append(out, f)
	})
	v.Set(reflect.ValueOf(out))
}

const maxOutputs = 200

func (outputsKind) check(r *report, at string, v reflect.Value) {
	fields := v.Interface().([]OutputField)
	if len(fields) == 0 || len(fields) > maxOutputs {
		r.fault(at, "has %d fields; allowed are 1 to %d", len(fields), maxOutputs)
	}
	for i, f := range fields {
		path := join(at, bounded(f.Name))
		if f.Name == "" || slices.ContainsFunc(fields[:i], func(o OutputField) bool { return o.Name == f.Name }) {
			r.fault(path, "must have a name of its own")
		}
		outputFieldObject.check(r, path, reflect.ValueOf(f))
	}
}

func (outputsKind) schema() ordered {
	return ordered{{"type", "object"}, {"additionalProperties", outputFieldObject.schema()}, {"maxProperties", maxOutputs}}
}

func (outputsKind) words() string { return "mapping of output_field" }

var governanceObject = &object{name: "output_governance", doc: "Seed words for repair_attempts and on_exhausted.", fields: []field{
	{name: "max_retries", kind: whole{0, MaxRepairAttempts}, doc: "corrective calls, the same number as output.repair_attempts; 2 where the block stands without it"},
	{name: "escalate_on_failure", kind: boolean{}, doc: "whether an answer that stays invalid is looked at by judges and people; true where the block stands without it"},
}}

var escalationObject = &object{name: "escalation", doc: "Who looks at answers that stay invalid.", fields: []field{
	{name: "sink", kind: text{oneOf: []string{run.SinkNone, run.SinkReview}}, doc: "nobody besides judges, or people, through the stream of reviews", def: run.SinkNone},
}}

// jsonType is the type of a field in JSON Schema; "" for an enum of several. Providers constrain an enum only with its type.
func (f OutputField) jsonType() string {
	if f.Type != typeEnum {
		return f.Type
	}
	types := map[string]bool{}
	for _, v := range f.Values {
		types[scalarType(v)] = true
	}
	if types[typeNumber] {
		delete(types, typeInteger) // which is a number too
	}
	for t := range types {
		if len(types) == 1 {
			return t
		}
	}
	return ""
}

// scalarType is the JSON Schema type of a value; "" for null, arrays and objects.
func scalarType(v json.RawMessage) string {
	text := strings.TrimSpace(string(v))
	switch {
	case text == "true" || text == "false":
		return "boolean"
	case strings.HasPrefix(text, `"`):
		return "string"
	case text == "" || strings.ContainsAny(text[:1], "n[{"):
		return ""
	case strings.ContainsAny(text, ".eE"):
		return typeNumber
	}
	return typeInteger
}

// schemaOf is the contract's schema of the short form. Further keys are allowed in an answer, as the validator of seed 002
// allows them.
func schemaOf(fields []OutputField) ([]byte, error) {
	props, required := ordered{}, []string{}
	for _, f := range fields {
		s := ordered{}
		if t := f.jsonType(); t != "" {
			s = append(s, member{"type", t})
		}
		if f.Type == typeEnum {
			s = append(s, member{"enum", f.Values})
		}
		if len(f.Range) == 2 {
			s = append(s, member{"minimum", f.Range[0]}, member{"maximum", f.Range[1]})
		}
		if f.Description != "" {
			s = append(s, member{"description", f.Description})
		}
		props = append(props, member{f.Name, s})
		if f.Required == nil || *f.Required {
			required = append(required, f.Name)
		}
	}
	return ordered{{"type", "object"}, {"properties", props}, {"required", required}}.MarshalJSON()
}
