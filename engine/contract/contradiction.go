package contract

import (
	"fmt"
	"slices"
)

// Contradictions lists the keys that the schema requires and never lets stand, where every answer has to pass: at the root
// and in what is required there. Such a schema compiles, and no object satisfies it; who checks files should refuse it.
func (c *Contract) Contradictions() []*CompileError {
	if c.schema == nil {
		return nil
	}
	d := &contradictions{seen: map[string]bool{}}
	d.walk([]part{{c.schema.top, true}})
	return d.list
}

type contradictions struct {
	seen map[string]bool // locations of sub-schemas
	list []*CompileError
}

// walk looks at a place and at what is required in it.
func (d *contradictions) walk(parts []part) {
	all := inPlaceOf(parts)
	for _, p := range all {
		if !p.certain || d.seen[p.Location] {
			continue
		}
		d.seen[p.Location] = true
		for _, name := range p.Required {
			if !d.refused(all, p, name) {
				next, _ := member(parts, name)
				d.walk(next)
			}
		}
	}
}

// refused notes a key that p requires and one of all never lets stand.
func (d *contradictions) refused(all []part, p part, name string) bool {
	by := slices.IndexFunc(all, func(other part) bool {
		found, _ := membersOf(other.Schema, name)
		return other.refuses(found)
	})
	if by < 0 {
		return false
	}
	why := "additionalProperties: false refuses it"
	if found, _ := membersOf(all[by].Schema, name); len(found) > 0 {
		why = "properties refuse it"
	}
	if len(d.list) < maxBadExamples {
		at, _ := location(p.Location) // the root stands for a place in another document
		d.list = append(d.list, &CompileError{Pointer: pointer(at), Keyword: "required", Reason: fmt.Sprintf(
			"the key %s is required, but %s, so that no answer is valid; add it to properties, or take it out of required", quoted(excerpt(name)), why)})
	}
	return true
}
