package contract

import (
	"reflect"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A shortened judge reaches the same verdict with the same findings, and charges the same for them, in fewer steps of
// the library: where a part of a value is described by nothing but a reference, its target stands in the reference's
// place; and a union of types, constants and lists, as a nullable value is written, is held by the gate of the union.

// patience is how many texts are judged before a shortened judge is made: a schema that came with one request is not
// compiled once more for it.
const patience = 2

// shorten takes those steps out of a judge that nobody has used yet.
func (j *judge) shorten() {
	if slices.ContainsFunc(j.parts, dynamic) {
		return
	}
	for _, part := range j.parts {
		j.union(part)
	}
	direct := &redirection{j: j, to: map[*jsonschema.Schema]*jsonschema.Schema{}}
	for _, part := range j.parts {
		direct.children(part)
	}
	direct.settle()
}

// dynamic tells sub-schemas whose meaning depends on the way by which a value was reached.
func dynamic(s *jsonschema.Schema) bool { return s.DynamicRef != nil || s.RecursiveRef != nil }

// union lets the gate of s hold its alternatives, if each is a matter of a gate and s asks for nothing else.
func (j *judge) union(s *jsonschema.Schema) {
	if len(s.AnyOf) == 0 || !only(s, "AnyOf") {
		return
	}
	var alternatives []*gate
	for _, branch := range s.AnyOf {
		target, via := j.follow(branch)
		g := j.gates[target]
		if g == nil || !only(target) || g.format != nil || g.any != nil {
			return
		}
		alternatives = append(alternatives, g.after(via))
	}
	j.gates[s].any, s.AnyOf = alternatives, nil
}

// follow walks references that stand alone, and returns their gates beside the target.
func (j *judge) follow(s *jsonschema.Schema) (target *jsonschema.Schema, via []*gate) {
	for s.Ref != nil && only(s, "Ref") && j.gates[s] != nil && j.gates[s].idle() {
		via = append(via, j.gates[s])
		s = s.Ref
	}
	return s, via
}

// after returns the gate as it is entered by way of others, which charge for themselves.
func (g *gate) after(via []*gate) *gate {
	if len(via) == 0 {
		return g
	}
	entered := *g
	entered.via = slices.Concat(via, g.via)
	return &entered
}

// silent are the fields of a compiled schema that judge nothing, and the format, behind which stands the gate.
var silent = []string{"DraftVersion", "Location", "Format", "Anchor", "Title", "Description", "Default", "Comment",
	"ReadOnly", "WriteOnly", "Examples", "Deprecated"}

// only reports whether nothing but the gate and these fields of s judges.
func only(s *jsonschema.Schema, fields ...string) bool {
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.IsExported() && !v.Field(i).IsZero() && !slices.Contains(silent, f.Name) && !slices.Contains(fields, f.Name) {
			return false
		}
	}
	return true
}

// redirection puts targets in the place of references to them. Each place gets a copy, whose gate charges for the
// references that are left out.
type redirection struct {
	j       *judge
	to      map[*jsonschema.Schema]*jsonschema.Schema // by reference
	targets []redirected
}

type redirected struct {
	copy, target *jsonschema.Schema
	via          []*gate
}

// children redirects the sub-schemas of s that describe parts of a value.
func (r *redirection) children(s *jsonschema.Schema) {
	for name, child := range s.Properties {
		s.Properties[name] = r.direct(child)
	}
	for pattern, child := range s.PatternProperties {
		s.PatternProperties[pattern] = r.direct(child)
	}
	for i, child := range s.PrefixItems {
		s.PrefixItems[i] = r.direct(child)
	}
	for _, child := range []**jsonschema.Schema{&s.Items2020, &s.Contains, &s.UnevaluatedItems, &s.UnevaluatedProperties} {
		*child = r.direct(*child)
	}
	s.AdditionalProperties, s.AdditionalItems, s.Items = r.either(s.AdditionalProperties), r.either(s.AdditionalItems), r.either(s.Items)
}

// either redirects what may be a sub-schema, a list of them, or a boolean.
func (r *redirection) either(child any) any {
	switch c := child.(type) {
	case *jsonschema.Schema:
		return r.direct(c)
	case []*jsonschema.Schema:
		for i := range c {
			c[i] = r.direct(c[i])
		}
	}
	return child
}

// direct returns what stands in the place of s: s itself, or the copy of what it refers to, still empty.
func (r *redirection) direct(s *jsonschema.Schema) *jsonschema.Schema {
	if s == nil || r.to[s] != nil {
		return r.to[s]
	}
	r.to[s] = s
	if target, via := r.j.follow(s); len(via) > 0 && r.j.gates[target] != nil {
		r.to[s] = &jsonschema.Schema{}
		r.targets = append(r.targets, redirected{r.to[s], target, via})
	}
	return r.to[s]
}

// settle fills the copies, when all that they are copies of is redirected.
func (r *redirection) settle() {
	for _, c := range r.targets {
		*c.copy = *c.target
		c.copy.Format = &jsonschema.Format{Name: c.target.Format.Name, Validate: r.j.gates[c.target].after(c.via).check}
	}
}
