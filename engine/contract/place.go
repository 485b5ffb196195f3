package contract

import (
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// part is a sub-schema that speaks about one place of a value. It is certain if every valid value satisfies it there,
// and not if it stands in a branch.
type part struct {
	*jsonschema.Schema
	certain bool
}

// inPlaceOf adds to parts what they apply to the same value: certain sub-schemas through $ref and allOf, the others as
// branches. Each stands once. What stands under not is no part: it says what a value is not.
func inPlaceOf(parts []part) []part {
	c := &closure{seen: map[*jsonschema.Schema]bool{}}
	for _, p := range parts {
		if p.certain {
			c.sure(p.Schema)
		}
	}
	for _, p := range slices.Clone(c.all) {
		c.branches(p.Schema)
	}
	for _, p := range parts {
		c.maybe(p.Schema)
	}
	return c.all
}

type closure struct {
	seen map[*jsonschema.Schema]bool
	all  []part
}

func (c *closure) add(s *jsonschema.Schema, certain bool) bool {
	if c.seen[s] {
		return false
	}
	c.seen[s] = true
	c.all = append(c.all, part{s, certain})
	return true
}

func (c *closure) sure(s *jsonschema.Schema) {
	if !c.add(s, true) {
		return
	}
	for _, next := range certainly(s) {
		c.sure(next)
	}
}

func (c *closure) maybe(s *jsonschema.Schema) {
	if c.add(s, false) {
		c.branches(s)
	}
}

func (c *closure) branches(s *jsonschema.Schema) {
	for _, next := range inPlace(s) {
		if next != s.Not {
			c.maybe(next)
		}
	}
}

// certainly lists the sub-schemas that every value of s satisfies. A dynamic reference may lead elsewhere.
func certainly(s *jsonschema.Schema) []*jsonschema.Schema {
	switch {
	case s.Ref == nil:
		return s.AllOf
	case s.DraftVersion < draft2019:
		return []*jsonschema.Schema{s.Ref}
	}
	return append([]*jsonschema.Schema{s.Ref}, s.AllOf...)
}

// member steps from parts to the key name. ok is false if the key is refused for certain, or if keys are listed, no
// word is said about others, and name is not among them.
func member(parts []part, name string) (next []part, ok bool) {
	listed, open := false, false
	for _, p := range inPlaceOf(parts) {
		found, others := membersOf(p.Schema, name)
		if p.refuses(found) {
			return nil, false
		}
		for _, f := range found {
			next = append(next, part{f, p.certain})
		}
		open = open || others
		listed = listed || len(p.Properties)+len(p.PatternProperties) > 0 || p.AdditionalProperties != nil
	}
	return next, open || len(next) > 0 || !listed
}

// refuses reports whether p never lets a key stand, of which it says found.
func (p part) refuses(found []*jsonschema.Schema) bool {
	return p.certain && (len(found) == 0 && p.AdditionalProperties == false || slices.ContainsFunc(found, isFalse))
}

// membersOf lists what one sub-schema says of a key; others is true if it lets any key pass.
func membersOf(s *jsonschema.Schema, name string) (found []*jsonschema.Schema, others bool) {
	if f := s.Properties[name]; f != nil {
		found = append(found, f)
	}
	for pattern, f := range s.PatternProperties {
		if matchFree(pattern, name) {
			found = append(found, f)
		}
	}
	if len(found) > 0 {
		slices.SortFunc(found, func(a, b *jsonschema.Schema) int { return strings.Compare(a.Location, b.Location) })
		return found, false
	}
	return rest(s.AdditionalProperties, s.UnevaluatedProperties)
}

// rest reads the keyword for what is not listed, and the one for what is not evaluated.
func rest(additional any, unevaluated *jsonschema.Schema) (found []*jsonschema.Schema, others bool) {
	switch a := additional.(type) {
	case *jsonschema.Schema:
		return []*jsonschema.Schema{a}, false
	case bool:
		return nil, a
	}
	if unevaluated != nil && !isFalse(unevaluated) {
		return []*jsonschema.Schema{unevaluated}, false
	}
	return nil, false
}

// matchFree matches without charging a meter: names in schemas and rules are the author's, and bounded.
func matchFree(re jsonschema.Regexp, name string) bool {
	p, ok := re.(pattern)
	return ok && p.Regexp.MatchString(name)
}

func isFalse(s *jsonschema.Schema) bool { return s.Bool != nil && !*s.Bool }

// item steps from parts to the item at index, or to every item if index is negative. ok is false if there certainly is
// no such item.
func item(parts []part, index int) (next []part, ok bool) {
	for _, p := range inPlaceOf(parts) {
		heads, tail := itemsOf(p.Schema)
		switch {
		case index >= 0 && index < len(heads):
			next = append(next, part{heads[index], p.certain})
		case tail != nil && isFalse(tail) && p.certain && index >= len(heads):
			return nil, false
		case index >= 0 && tail != nil:
			next = append(next, part{tail, p.certain})
		case index < 0:
			next = append(next, everyItem(p, heads, tail)...)
		}
	}
	return next, true
}

func everyItem(p part, heads []*jsonschema.Schema, tail *jsonschema.Schema) (all []part) {
	for _, h := range heads {
		all = append(all, part{h, false})
	}
	if tail != nil && !isFalse(tail) {
		all = append(all, part{tail, p.certain && len(heads) == 0})
	}
	return all
}

// itemsOf returns the sub-schemas of the first items, and the one of those after them, nil if there is none.
func itemsOf(s *jsonschema.Schema) (heads []*jsonschema.Schema, tail *jsonschema.Schema) {
	heads, tail = s.PrefixItems, s.Items2020
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		tail = items
	case []*jsonschema.Schema:
		heads = items
	}
	if tail == nil {
		found, _ := rest(s.AdditionalItems, s.UnevaluatedItems)
		if len(found) > 0 {
			tail = found[0]
		}
	}
	return heads, tail
}
