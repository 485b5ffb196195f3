package contract

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"emend/schemas"
)

// field is a path of a rule with what the schema says of its place.
type field struct {
	path  fieldPath
	parts []part
	kinds kinds
}

// newField reads a path and holds it against the schema, which may be nil.
func (s *schema) newField(text string) (field, error) {
	path, err := parsePath(text)
	if err != nil {
		return field{}, err
	}
	return s.fieldAt(path)
}

// fieldAt holds a path against the schema: a place that the schema refuses or does not know is an error.
func (s *schema) fieldAt(path fieldPath) (field, error) {
	f := field{path: path, kinds: anyKind}
	if s == nil {
		return f, nil
	}
	f.parts = []part{{s.top, true}}
	for i, t := range path {
		next, err := s.advance(f.parts, path[:i], t)
		if err != nil {
			return field{}, err
		}
		f.parts = next
	}
	f.kinds = s.kindsAt(f.parts)
	return f, nil
}

// advance steps from parts, which stand at the path before, to t. Digits in brackets are an index or, in an object, a
// key, as the display form does not tell them apart.
func (s *schema) advance(parts []part, before fieldPath, t token) ([]part, error) {
	k := s.kindsAt(parts)
	var items, members []part
	var hasItem, hasMember bool
	list, object := k&arrayKind != 0 && (t.every || t.index), k&objectKind != 0 && !t.every
	if list {
		items, hasItem = item(parts, t.number())
	}
	if object {
		members, hasMember = member(parts, t.name)
	}
	switch {
	case !list && !object:
		return nil, wrongContainer(k, before, t)
	case hasItem && hasMember:
		return doubtful(slices.Concat(items, members)), nil
	case hasItem:
		return items, nil
	case hasMember:
		return members, nil
	case object:
		return nil, errors.New("the schema does not know this field" + nearestField(parts, before, t.name))
	}
	return nil, fmt.Errorf("the schema allows no item %s in %s; correct the index", t.name, before)
}

// number is the index, or -1 for every item.
func (t token) number() int {
	n, err := strconv.Atoi(t.name)
	if err != nil || t.every {
		return -1
	}
	return n
}

func doubtful(parts []part) []part {
	for i := range parts {
		parts[i].certain = false
	}
	return parts
}

func wrongContainer(k kinds, before fieldPath, t token) error {
	if t.every || t.index {
		return fmt.Errorf("the schema makes %s %s, which has no items; correct the path", before, k)
	}
	return fmt.Errorf("the schema makes %s %s, which has no keys; correct the path", before, k)
}

// maxKnown bounds how many fields a message lists.
const maxKnown = 16

// nearestField proposes the field that was meant, or lists the known ones if they are few.
func nearestField(parts []part, before fieldPath, name string) string {
	names := namesOf(parts)
	best, least := "", 2+len(name)/4
	for _, n := range names {
		if d := schemas.Distance(strings.ToLower(name), strings.ToLower(n)); d < least {
			best, least = n, d
		}
	}
	switch {
	case best != "":
		return "; did you mean " + append(slices.Clone(before), token{name: best}).String() + "?"
	case len(names) > maxKnown || len(names) == 0:
		return "; correct the path or add it to the schema"
	}
	return "; known there are " + excerptOf(strings.Join(names, ", "), 4*maxExcerpt)
}

// namesOf lists the keys that parts name, sorted.
func namesOf(parts []part) []string {
	names := map[string]bool{}
	for _, p := range inPlaceOf(parts) {
		for name := range p.Properties {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// form is the sub-schema of the field: the certain one, or the only one.
func (f field) form() *jsonschema.Schema {
	for _, p := range f.parts {
		if p.certain || len(f.parts) == 1 {
			return p.Schema
		}
	}
	return nil
}

// allows reports whether the schema may let a value stand in the field.
func (s *schema) allows(f field, value []byte) bool {
	for _, p := range f.parts {
		if p.certain && p.Bool == nil && s.refuses(p.Location, value) {
			return false
		}
	}
	return true
}
