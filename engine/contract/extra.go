package contract

import (
	"encoding/json"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// extra takes over what must not end a sub-schema early: propertyNames, whose location the library overwrites,
// uniqueItems, whose hash collides, and the numeric keywords, which it computes as rational numbers.
type extra struct {
	m        *meter
	location string
	names    *jsonschema.Schema
	unique   bool
	bounds   []bound
}

// newExtra moves the keywords of s, which obj is the source of, into an extension, nil if s has none of them.
func newExtra(m *meter, s *jsonschema.Schema, obj map[string]any) jsonschema.SchemaExt {
	e := &extra{m: m, location: s.Location, names: s.PropertyNames, unique: s.UniqueItems, bounds: takeBounds(s, obj)}
	s.PropertyNames, s.UniqueItems = nil, false
	if e.names == nil && !e.unique && e.bounds == nil {
		return nil
	}
	return e
}

// Validate implements jsonschema.SchemaExt.
func (e *extra) Validate(ctx *jsonschema.ValidatorContext, v any) {
	switch v := v.(type) {
	case json.Number:
		if e.bounds != nil {
			e.number(ctx, e.m.number(string(v)))
		}
	case []any:
		if e.unique {
			e.items(ctx, v)
		}
	case map[string]any:
		if e.names != nil {
			e.keys(ctx, v)
		}
	}
}

func (e *extra) number(ctx *jsonschema.ValidatorContext, n number) {
	for _, b := range e.bounds {
		if b.broken(n, b.limit) {
			ctx.AddError(b.kind)
		}
	}
}

func (e *extra) items(ctx *jsonschema.ValidatorContext, list []any) {
	seen := make(map[string]int, len(list))
	for i, item := range list {
		key := e.m.canon(item)
		e.m.charge(1)
		if first, twice := seen[string(key)]; twice {
			ctx.AddError(&kind.UniqueItems{Duplicates: [2]int{first, i}})
			return
		}
		seen[string(key)] = i
	}
}

func (e *extra) keys(ctx *jsonschema.ValidatorContext, obj map[string]any) {
	for name := range obj {
		e.m.charge(e.m.visit)
		if e.names.Validate(name) == nil {
			continue
		}
		ctx.AddErr(&jsonschema.ValidationError{
			SchemaURL:        e.location,
			InstanceLocation: slices.Clone(ctx.ValueLocation()),
			ErrorKind:        &kind.PropertyNames{Property: name},
		})
	}
}
