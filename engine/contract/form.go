package contract

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// form is what a finding says of the value that is wanted: Shape and Example.
type form struct{ text, example json.RawMessage }

// exampleBudget is the work that one value of a schema may take to be held against its sub-schema; maxExamples bounds
// how many of `examples` are looked at.
const (
	exampleBudget = budget / 100
	maxExamples   = 8
)

// formOf returns the form of a compiled sub-schema, made once for each; none for a part of an embedded metaschema.
func (s *schema) formOf(at *jsonschema.Schema) form {
	if at == nil {
		return form{}
	}
	tokens, ok := location(at.Location)
	if !ok {
		return form{}
	}
	if f, ok := s.forms.Load(at.Location); ok {
		return f.(form)
	}
	f := form{text: s.follow(at, tokens)}
	f.example = s.example(at.Location, f.text)
	s.forms.Store(at.Location, f)
	return f
}

// annotations are the keywords that may stand beside a reference that is followed: they say nothing of validity.
var annotations = []string{"title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly"}

// follow returns the text of a sub-schema. Where it is a reference with nothing but annotations beside it, the text is
// that of the target with these annotations. References in place do not form a cycle (chains), so this ends.
func (s *schema) follow(at *jsonschema.Schema, tokens []string) json.RawMessage {
	own := s.root.find(tokens...)
	if own == nil || own.members == nil || at.Ref == nil || own.members["$ref"] == nil {
		return s.raw(tokens...)
	}
	beside := slices.DeleteFunc(slices.Clone(own.keys), func(key string) bool { return key == "$ref" })
	target, ok := location(at.Ref.Location)
	if !ok || slices.ContainsFunc(beside, func(key string) bool { return !slices.Contains(annotations, key) }) {
		return s.raw(tokens...)
	}
	below := s.follow(at.Ref, target)
	if len(beside) == 0 {
		return below
	}
	return overlay(s.text, own, beside, below)
}

// overlay writes the members keys of top, then those of the object below that top does not have.
func overlay(text []byte, top *span, keys []string, below []byte) json.RawMessage {
	under := spans(string(below))
	if under.members == nil {
		return below
	}
	var out []string
	for _, key := range keys {
		out = append(out, quoted(key)+": "+string(top.members[key].raw(text)))
	}
	for _, key := range under.keys {
		if !slices.Contains(keys, key) {
			out = append(out, quoted(key)+": "+string(under.members[key].raw(below)))
		}
	}
	return json.RawMessage("{" + strings.Join(out, ", ") + "}")
}

// example returns the first of const, enum, examples and default in a form that satisfies the sub-schema at address.
func (s *schema) example(address string, form json.RawMessage) json.RawMessage {
	root := spans(string(form))
	wanted := []*span{root.child("const"), root.find("enum", "0")}
	if list := root.child("examples"); list != nil {
		wanted = append(wanted, list.items[:min(len(list.items), maxExamples)]...)
	}
	wanted = append(wanted, root.child("default"))
	for _, w := range wanted {
		if w != nil && s.fits(address, w.raw(form)) {
			return w.raw(form)
		}
	}
	return nil
}

// fits reports whether a value satisfies the compiled sub-schema at address; refuses, whether it certainly does not.
// Between them stands a value that takes too much work.
func (s *schema) fits(address string, value []byte) bool { return s.tryAt(address, value) == nil }

func (s *schema) refuses(address string, value []byte) bool {
	_, invalid := errors.AsType[*jsonschema.ValidationError](s.tryAt(address, value))
	return invalid
}

func (s *schema) tryAt(address string, value []byte) error {
	j, err := s.borrow()
	if err != nil {
		return err
	}
	defer s.giveBack(j)
	at := slices.IndexFunc(j.parts, func(p *jsonschema.Schema) bool { return p.Location == address })
	if at < 0 {
		return errors.New("there is no sub-schema at " + address)
	}
	return j.try(j.parts[at], value)
}

// formAt returns the form of the value that a fault asks for: of the missing key, nothing for a key that must go, else
// of the sub-schema that applied.
func (s *schema) formAt(l leaf, missing bool) form {
	at := s.parts[pointer(l.schema)]
	switch {
	case l.foreign || l.keyed && !missing:
		return form{}
	case !l.keyed:
		return s.formOf(at)
	}
	if found := s.memberForm(at, l.key); found.text != nil {
		return found
	}
	return s.formOf(s.schemaAt(append(slices.Clone(l.at), l.key)))
}

// memberForm looks only at the sub-schema that asks for the key.
func (s *schema) memberForm(at *jsonschema.Schema, key string) form {
	if at == nil {
		return form{}
	}
	found, _ := membersOf(at, key)
	for _, f := range found {
		if form := s.formOf(f); form.text != nil {
			return form
		}
	}
	return form{}
}

// schemaAt returns the sub-schema that speaks about a place of a value for certain, else the only one that may, else nil.
func (s *schema) schemaAt(tokens []string) *jsonschema.Schema {
	parts := []part{{s.top, true}}
	for _, t := range tokens {
		parts = onward(parts, t)
	}
	if len(parts) == 0 || !parts[0].certain && len(parts) > 1 {
		return nil
	}
	return parts[0].Schema
}

// onward steps to a key, or to an item where token is an index.
func onward(parts []part, token string) []part {
	next, _ := member(parts, token)
	if i, err := strconv.Atoi(token); err == nil && isIndex(token) {
		items, _ := item(parts, i)
		next = append(next, items...)
	}
	slices.SortStableFunc(next, func(a, b part) int { return cmp.Compare(rank(a), rank(b)) })
	return next
}

func rank(p part) int {
	if p.certain {
		return 0
	}
	return 1
}
