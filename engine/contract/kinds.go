package contract

import (
	"encoding/json"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// kinds is a set of JSON types, integers apart from other numbers.
type kinds uint8

const (
	nullKind kinds = 1 << iota
	boolKind
	integerKind
	fractionKind
	stringKind
	arrayKind
	objectKind

	numberKind = integerKind | fractionKind
	anyKind    = 1<<7 - 1
)

var kindNames = map[string]kinds{
	"null": nullKind, "boolean": boolKind, "integer": integerKind, "number": numberKind, "string": stringKind, "array": arrayKind,
	"object": objectKind,
}

// kindOf is the kind of one decoded value.
func kindOf(v any) kinds {
	if n, ok := v.(json.Number); ok {
		if isInteger(string(n)) {
			return integerKind
		}
		return fractionKind
	}
	return kindNames[typeName(v)]
}

// String lists the types for messages.
func (k kinds) String() string {
	if k == 0 {
		return "no type"
	}
	var names []string
	for _, name := range []string{"number", "integer", "string", "boolean", "array", "object", "null"} {
		if set := kindNames[name]; k&set == set {
			names = append(names, name)
			k &^= set
		}
	}
	if k != 0 {
		names = append(names, "number")
	}
	return strings.Join(names, " or ")
}

// kindsAt says of which types a value may be for which parts speak: never too few.
func (s *schema) kindsAt(parts []part) kinds {
	k := kinds(anyKind)
	known := map[*jsonschema.Schema]kinds{}
	for _, p := range parts {
		if p.certain {
			k &= s.kindsOf(p.Schema, known)
		}
	}
	return k
}

// kindsOf says of which types the values of one sub-schema may be; known keeps what is computed. References in place
// form no cycle.
func (s *schema) kindsOf(at *jsonschema.Schema, known map[*jsonschema.Schema]kinds) kinds {
	if k, ok := known[at]; ok {
		return k
	}
	k := kinds(anyKind)
	if isFalse(at) {
		k = 0
	}
	for _, next := range certainly(at) {
		k &= s.kindsOf(next, known)
	}
	if at.DraftVersion >= draft2019 || at.Ref == nil {
		k &= s.ownKinds(at) & s.unionKinds(at.AnyOf, known) & s.unionKinds(at.OneOf, known)
	}
	known[at] = k
	return k
}

func (s *schema) unionKinds(branches []*jsonschema.Schema, known map[*jsonschema.Schema]kinds) kinds {
	if len(branches) == 0 {
		return anyKind
	}
	var k kinds
	for _, b := range branches {
		k |= s.kindsOf(b, known)
	}
	return k
}

// ownKinds reads type, const and enum from the source: the gates have taken them out of the compiled sub-schema.
func (s *schema) ownKinds(at *jsonschema.Schema) kinds {
	tokens, ok := location(at.Location)
	if !ok {
		return anyKind
	}
	source, _ := lookup(s.doc, tokens)
	obj, _ := source.(map[string]any)
	k := kinds(anyKind)
	switch t := obj["type"].(type) {
	case string:
		k &= kindNames[t]
	case []any:
		k &= joined(t, func(v any) kinds { return kindNames[v.(string)] })
	}
	if v, ok := obj["const"]; ok {
		k &= kindOf(v)
	}
	if list, ok := obj["enum"].([]any); ok {
		k &= joined(list, kindOf)
	}
	return k
}

func joined(list []any, of func(any) kinds) (k kinds) {
	for _, v := range list {
		k |= of(v)
	}
	return k
}
