package contract

import (
	"encoding/json"
	"fmt"
	"regexp/syntax"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A gate stands at the entry of one compiled sub-schema. The library calls the format check of a sub-schema before
// everything that recurses, so the gate sits there: it charges the meter for the visit and takes over the checks whose
// cost the library does not bound (type and enum by exact rational numbers, uniqueItems by a hash that collides).
type gate struct {
	m       *meter
	types   []string
	allowed map[string]bool // canonical values of enum, nil without enum
	fixed   string          // canonical value of const
	isFixed bool
	format  func(any) error
	static  int64   // cost of a visit whatever the value
	perKey  int64   // cost for each key or item
	numeric bool    // the sub-schema has numeric keywords
	via     []*gate // of a shortened judge: references by way of which the gate is entered
	any     []*gate // of a shortened judge: alternatives, one of which must let the value in
}

// entryFault is a failed check of a gate; it travels as the error of a format.
type entryFault struct{ keyword, got string }

// Error implements error.
func (f *entryFault) Error() string { return f.keyword }

// newGate moves the entry checks of s into a gate and puts the gate at the entry of s.
func newGate(m *meter, s *jsonschema.Schema) *gate {
	g := &gate{m: m}
	ignored := s.DraftVersion < draft2019 && s.Ref != nil // such a draft ignores what stands beside $ref
	if s.Types != nil && !ignored {
		g.types = s.Types.ToStrings()
	}
	if s.Enum != nil && !ignored {
		g.allowed = make(map[string]bool, len(s.Enum.Values))
		for _, v := range s.Enum.Values {
			g.allowed[string(appendCanon(nil, v))] = true
		}
	}
	if s.Const != nil && !ignored {
		g.fixed, g.isFixed = string(appendCanon(nil, *s.Const)), true
	}
	name := ""
	if s.Format != nil && !ignored {
		name, g.format = s.Format.Name, s.Format.Validate
	}
	if name == "regex" {
		g.format = parseRegex
	}
	g.costs(s)
	s.Types, s.Enum, s.Const = nil, nil, nil
	s.Format = &jsonschema.Format{Name: name, Validate: g.check}
	return g
}

func (g *gate) costs(s *jsonschema.Schema) {
	g.static = int64(len(s.AllOf)+len(s.AnyOf)+len(s.OneOf)+len(s.DependentSchemas)+len(s.DependentRequired)+
		len(s.Dependencies)+len(s.PrefixItems)) + int64(len(s.Required))/4
	if s.DynamicRef != nil || s.RecursiveRef != nil {
		g.static += 200
	}
	g.perKey = 1 + int64(len(s.PatternProperties))
	g.numeric = s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil ||
		s.MultipleOf != nil
}

// check is the entry check. A failure costs as much again as the visit: its path is kept.
func (g *gate) check(v any) error {
	for _, reference := range g.via {
		reference.enter(v)
	}
	g.enter(v)
	if err := g.holds(v); err != nil {
		g.m.charge(g.m.visit)
		return err
	}
	return g.alternatives(v)
}

// enter charges for the visit.
func (g *gate) enter(v any) { g.m.charge(g.m.visit + g.static + g.size(v)) }

// idle reports whether the gate lets everything in.
func (g *gate) idle() bool {
	return g.types == nil && g.allowed == nil && !g.isFixed && g.format == nil && g.any == nil
}

// alternatives asks the gates of a union one after the other, as the library asks its branches.
func (g *gate) alternatives(v any) error {
	if g.any == nil || slices.ContainsFunc(g.any, func(a *gate) bool { return a.check(v) == nil }) {
		return nil
	}
	return &entryFault{"anyOf", noAlternative}
}

func (g *gate) holds(v any) error {
	if g.types != nil && !g.hasType(v) {
		return &entryFault{"type", typeName(v)}
	}
	if g.isFixed && string(g.m.canon(v)) != g.fixed {
		return &entryFault{"const", ""}
	}
	if g.allowed != nil && !g.allowed[string(g.m.canon(v))] {
		return &entryFault{"enum", ""}
	}
	if g.format != nil {
		return g.format(v)
	}
	return nil
}

// size is the cost of v's own keys, items, characters or digits.
func (g *gate) size(v any) int64 {
	switch v := v.(type) {
	case string:
		return int64(len(v)) / 32
	case []any:
		return int64(len(v))
	case map[string]any:
		return int64(len(v)) * g.perKey
	case json.Number:
		if g.numeric {
			return numberCost(g.m.number(string(v)))
		}
	}
	return 0
}

// numberCost covers a division of the largest numbers that the scan lets through.
func numberCost(n number) int64 {
	return 2 + int64(len(n.digits)+max(n.exp, -n.exp))/4
}

// canon renders v in the meter's buffer and charges for it.
func (m *meter) canon(v any) []byte {
	m.key = appendCanon(m.key[:0], v)
	m.charge(int64(len(m.key)) / 8)
	return m.key
}

func (g *gate) hasType(v any) bool {
	name := typeName(v)
	if slices.Contains(g.types, name) {
		return true
	}
	n, ok := v.(json.Number)
	return ok && slices.Contains(g.types, "integer") && isInteger(string(n))
}

func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

// maxRegex bounds a text that must be a regular expression.
const maxRegex = 4096

// parseRegex is the format "regex": the expression must parse; it is not compiled, which could take much memory.
func parseRegex(v any) error {
	s, ok := v.(string)
	if !ok {
		return nil
	}
	if len(s) > maxRegex {
		return fmt.Errorf("it is longer than %d bytes", maxRegex)
	}
	_, err := syntax.Parse(s, syntax.Perl)
	return err
}
