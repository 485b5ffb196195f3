package anthropic

import (
	"bytes"
	"fmt"
	"slices"

	"emend/engine/provider"
	"emend/engine/provider/wireschema"
)

// Limits of a grammar, beyond which the API answers 400; a schema that is under them may still be "too large".
const (
	maxOptional = 24
	maxUnions   = 16
)

// Carry sends a schema in the part of JSON Schema that the API compiles into a grammar, with what is left out told in the
// descriptions, so that the model may still heed it; or as a forced tool, whose input_schema is shown to the model whole
// and enforced in nothing. An optional property is never made a required one. A schema that the grammar cannot express at
// all (recursive, without types, over the API's limits) goes out as a tool with native_fallback: tool, else not at all.
func Carry(options map[string]any, schema []byte) provider.Carried {
	return carry(&provider.Endpoint{Options: options}, schema, false)
}

// carry also answers for the second form of a request that is sent again.
func carry(ep *provider.Endpoint, schema []byte, second bool) provider.Carried {
	form := ep.Word(optForm)
	if form == formTool || second {
		return asTool(schema)
	}
	carried := asGrammar(schema)
	if carried.Schema == nil && ep.Word(optFallback) == formTool {
		return asTool(schema)
	}
	if carried.Schema != nil && form == formOld {
		carried.Form = formOld
	}
	return carried
}

// Forms in the provider's words.
const (
	carriedGrammar = "output_config.format"
	carriedTool    = "a forced tool"
)

var notAnObject = provider.NotCarried("the schema is not an object in well-formed JSON")

// asTool sends the schema whole. The API wants an object at the root, without a choice there.
var asTool = provider.Remembered(func(schema []byte) provider.Carried {
	if !provider.WellFormed(schema, provider.Object) {
		return notAnObject
	}
	root, _ := provider.Parse(schema)
	if kind, _ := root.Get("type").Text(); kind != "object" {
		return provider.NotCarried("is not of type object, which a tool's input must be")
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		if root.Get(keyword).Kind() != provider.Absent {
			return provider.NotCarried("has " + keyword + ", which a tool's input may not have at the root")
		}
	}
	var lost provider.Losses
	lost.Add("", "a tool's schema is shown to the model and not enforced")
	return provider.Carried{Schema: bytes.Clone(schema), Form: carriedTool, Weakened: lost.Clauses()}
})

var asGrammar = provider.Remembered(func(schema []byte) provider.Carried {
	root, _ := provider.Parse(schema)
	s := shaper{refs: map[string][]string{}, defined: definitions(root)}
	wire, ok := wireschema.Write(schema, s.edit)
	switch {
	case !ok && !provider.WellFormed(schema, provider.Object):
		return notAnObject
	case !ok:
		s.refuse("", "nests deeper than %d levels", wireschema.Depth)
	case s.optional > maxOptional:
		s.refuse("", "has %d optional properties, and the API compiles at most %d", s.optional, maxOptional)
	case s.unions > maxUnions:
		s.refuse("", "has %d unions (anyOf, or several types), and the API compiles at most %d", s.unions, maxUnions)
	case s.recursive():
		s.refuse("", "is recursive, which a grammar cannot be")
	}
	if s.refused != nil {
		return provider.Carried{Form: provider.FormNone, Weakened: s.refused}
	}
	if !s.changed {
		wire = bytes.Clone(schema)
	}
	lost := s.lost.Clauses()
	return provider.Carried{Schema: wire, Form: carriedGrammar, Whole: lost == nil, Weakened: lost}
})

// refuse notes the first reason for which nothing can go out.
func (s *shaper) refuse(at, format string, args ...any) {
	if s.refused == nil {
		var why provider.Losses
		why.Add(at, "%s: native_form or native_fallback: tool would send it as a tool", fmt.Sprintf(format, args...))
		s.refused = why.Clauses()
	}
}

// recursive looks for a definition that leads back to itself.
func (s *shaper) recursive() bool {
	state := map[string]int{}
	var leads func(name string) bool
	leads = func(name string) bool {
		switch state[name] {
		case 1:
			return true
		case 2:
			return false
		}
		state[name] = 1
		if slices.ContainsFunc(s.refs[name], leads) {
			return true
		}
		state[name] = 2
		return false
	}
	for name := range s.refs {
		if leads(name) {
			return true
		}
	}
	return false
}
