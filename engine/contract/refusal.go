package contract

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// compileError turns the library's refusal into one that names place, keyword and way out.
func (s *schema) compileError(err error) error {
	if own, ok := errors.AsType[*CompileError](err); ok {
		return own
	}
	if load, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return s.refError(load.URL)
	}
	if meta, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if v, ok := errors.AsType[*jsonschema.ValidationError](meta.Err); ok {
			return s.metaError(meta.URL, v)
		}
	}
	if lost, ok := errors.AsType[*jsonschema.JSONPointerNotFoundError](err); ok {
		return s.lostError(lost.URL)
	}
	if lost, ok := errors.AsType[*jsonschema.AnchorNotFoundError](err); ok {
		return s.lostError(lost.Reference)
	}
	return refuse(nil, "", "%s; correct the schema", strings.ReplaceAll(err.Error(), base, ""))
}

// refError names the reference that leads out of the schema.
func (s *schema) refError(address string) error {
	return s.atRef(address, "the reference %q leads out of the schema and nothing is loaded; copy its target into $defs "+
		"and point there", func(value string) bool {
		target, _, _ := strings.Cut(value, "#")
		return target != "" && strings.HasSuffix(address, strings.TrimLeft(target, "./"))
	})
}

// lostError names the reference whose target is not in the schema.
func (s *schema) lostError(address string) error {
	_, lost, _ := strings.Cut(address, "#")
	return s.atRef("#"+lost, "the target of the reference %q is not found in the schema; define it or correct the "+
		"reference", func(value string) bool {
		_, fragment, _ := strings.Cut(value, "#")
		plain, err := url.PathUnescape(fragment)
		want, wantErr := url.PathUnescape(lost)
		return err == nil && wantErr == nil && plain == want
	})
}

// atRef refuses the first reference that wanted picks; format takes its text, or address if there is none.
func (s *schema) atRef(address, format string, wanted func(string) bool) error {
	var at []string
	s.eachRef(s.doc, nil, func(tokens []string, value string) bool {
		if !wanted(value) {
			return false
		}
		at, address = tokens, value
		return true
	})
	if at == nil {
		return refuse(nil, "$ref", format, excerpt(address))
	}
	last := len(at) - 1
	return refuse(at[:last], at[last], format, excerpt(address))
}

// eachRef calls f for every string under $ref and its like, until f returns true.
func (s *schema) eachRef(v any, tokens []string, f func([]string, string) bool) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			path := append(slices.Clone(tokens), key)
			text, isText := v[key].(string)
			if isText && slices.Contains([]string{"$ref", "$dynamicRef", "$recursiveRef", "$schema"}, key) && f(path, text) {
				return true
			}
			if s.eachRef(v[key], path, f) {
				return true
			}
		}
	case []any:
		for i, item := range v {
			if s.eachRef(item, append(slices.Clone(tokens), strconv.Itoa(i)), f) {
				return true
			}
		}
	}
	return false
}

// metaError reports the deepest fault that the metaschema finds.
func (s *schema) metaError(address string, v *jsonschema.ValidationError) error {
	prefix, _ := location(address)
	leaf := deepest(v)
	tokens := append(slices.Clone(prefix), leaf.InstanceLocation...)
	plain := &jsonschema.ValidationError{ErrorKind: leaf.ErrorKind, InstanceLocation: leaf.InstanceLocation}
	_, reason, _ := strings.Cut(plain.Error(), ": ")
	if len(tokens) == 0 {
		return refuse(nil, "", "it is no valid JSON Schema: %s; correct it", excerpt(reason))
	}
	last := len(tokens) - 1
	return refuse(tokens[:last], tokens[last], "its value %s is not allowed: %s; correct it",
		excerpt(string(s.raw(tokens...))), excerpt(reason))
}

// deepest returns the leaf with the longest path; of equal ones the first in the order of their paths.
func deepest(v *jsonschema.ValidationError) *jsonschema.ValidationError {
	if len(v.Causes) == 0 {
		return v
	}
	var best *jsonschema.ValidationError
	for _, cause := range v.Causes {
		if leaf := deepest(cause); best == nil || deeper(leaf, best) {
			best = leaf
		}
	}
	return best
}

func deeper(a, b *jsonschema.ValidationError) bool {
	if len(a.InstanceLocation) != len(b.InstanceLocation) {
		return len(a.InstanceLocation) > len(b.InstanceLocation)
	}
	if c := slices.Compare(a.InstanceLocation, b.InstanceLocation); c != 0 {
		return c < 0
	}
	_, isType := a.ErrorKind.(*kind.Type)
	_, wasType := b.ErrorKind.(*kind.Type)
	return isType && !wasType
}

// maxChain bounds the sub-schemas that apply to one value inside each other.
const maxChain = 200

// chains measures how far references and unions nest without moving on to a part of the value.
type chains struct {
	length map[*jsonschema.Schema]int // 0 while a schema is being measured
}

func (c *chains) check(parts []*jsonschema.Schema) error {
	for _, part := range parts {
		if _, err := c.measure(part); err != nil {
			return err
		}
	}
	return nil
}

func (c *chains) measure(s *jsonschema.Schema) (int, error) {
	if n, seen := c.length[s]; seen {
		if n == 0 {
			return 0, chainError(s, "the reference leads back to itself on the same value and would never end; let the "+
				"recursion pass through properties or items")
		}
		return n, nil
	}
	c.length[s] = 0
	longest := 0
	for _, next := range inPlace(s) {
		n, err := c.measure(next)
		if err != nil {
			return 0, err
		}
		longest = max(longest, n)
	}
	c.length[s] = longest + 1
	if longest >= maxChain {
		return 0, chainError(s, "more than 200 sub-schemas apply inside each other to one value; flatten them")
	}
	return longest + 1, nil
}

func chainError(s *jsonschema.Schema, reason string) error {
	tokens, _ := location(s.Location)
	keyword := "$ref"
	if s.Ref == nil && s.DynamicRef == nil && s.RecursiveRef == nil {
		keyword = ""
	}
	return refuse(tokens, keyword, "%s", reason)
}

// inPlace lists the sub-schemas that apply to the same value as s.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	var all []*jsonschema.Schema
	if s.DraftVersion < draft2019 && s.Ref != nil {
		return append(all, s.Ref)
	}
	all = slices.Concat(s.AllOf, s.AnyOf, s.OneOf)
	for _, one := range []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else} {
		if one != nil {
			all = append(all, one)
		}
	}
	if s.DynamicRef != nil {
		all = append(all, s.DynamicRef.Ref)
	}
	for _, name := range slices.Sorted(maps.Keys(s.DependentSchemas)) {
		all = append(all, s.DependentSchemas[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Dependencies)) {
		if dep, ok := s.Dependencies[name].(*jsonschema.Schema); ok {
			all = append(all, dep)
		}
	}
	return all
}
