package prompts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"

	"gopkg.in/yaml.v3"
)

// list is a sequence of one kind.
type list struct {
	of       kind
	min, max int
	// unique refuses a value that stands twice.
	unique bool
}

func (k list) read(r *report, n *yaml.Node, at string, v reflect.Value) {
	if n.Kind != yaml.SequenceNode {
		r.fault(at, "must be a list, not %s", nodeKind(n))
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, c := range n.Content {
		if _, free := k.of.(anyValue); isNull(c) && !free {
			r.faultOn(c.Line, index(at, i), "must not be null; remove the entry")
			continue
		}
		readInto(r, k.of, c, index(at, i), out.Index(i))
	}
	v.Set(out)
}

func (k list) check(r *report, at string, v reflect.Value) {
	if n := v.Len(); n < k.min || n > k.max {
		r.fault(at, "has %d entries; allowed are %d to %d", n, k.min, k.max)
	}
	for i := range v.Len() {
		elem := v.Index(i)
		if r.bad[index(at, i)] {
			continue
		}
		k.of.check(r, index(at, i), elem)
		for j := range i {
			if k.unique && reflect.DeepEqual(elem.Interface(), v.Index(j).Interface()) {
				r.fault(index(at, i), "stands twice")
				break
			}
		}
	}
}

func (k list) schema() ordered {
	s := ordered{{"type", "array"}, {"items", k.of.schema()}}
	if k.min > 0 {
		s = append(s, member{"minItems", k.min})
	}
	return append(s, member{"maxItems", k.max})
}

func (k list) words() string { return "list of " + k.of.words() }

// dict is a mapping from free names to one kind.
type dict struct {
	of   kind
	name *regexp.Regexp
	// what says in words what a name may be.
	what string
}

// maxEntries bounds a mapping.
const maxEntries = 1000

func (k dict) read(r *report, n *yaml.Node, at string, v reflect.Value) {
	out := reflect.MakeMap(v.Type())
	eachMember(r, n, at, func(key string, line int, val *yaml.Node) {
		path := join(at, key)
		elem := reflect.New(v.Type().Elem()).Elem()
		r.lines[path] = line
		readInto(r, k.of, val, path, elem)
		r.lines[path] = line
		out.SetMapIndex(reflect.ValueOf(key), elem)
	})
	v.Set(out)
}

func (k dict) check(r *report, at string, v reflect.Value) {
	if v.Len() > maxEntries {
		r.fault(at, "has %d entries, allowed are %d", v.Len(), maxEntries)
	}
	names := make([]string, 0, v.Len())
	for _, name := range v.MapKeys() {
		names = append(names, name.String())
	}
	slices.Sort(names)
	for _, name := range names {
		path := join(at, name)
		if !k.name.MatchString(name) {
			r.fault(path, "the name must be %s", k.what)
			continue
		}
		elem := reflect.New(v.Type().Elem()).Elem()
		elem.Set(v.MapIndex(reflect.ValueOf(name)))
		if !r.bad[path] {
			k.of.check(r, path, elem)
		}
	}
}

func (k dict) schema() ordered {
	return ordered{{"type", "object"}, {"additionalProperties", k.of.schema()}, {"maxProperties", maxEntries}}
}

func (k dict) words() string { return "mapping of " + k.of.words() }

// anyValue is any JSON value, kept as compact JSON.
type anyValue struct{}

func (anyValue) read(r *report, n *yaml.Node, at string, v reflect.Value) {
	v.SetBytes(jsonOf(r, n, at))
}

func (anyValue) check(r *report, at string, v reflect.Value) {
	if !json.Valid(v.Bytes()) {
		r.fault(at, "must be a JSON value")
	}
}

func (anyValue) schema() ordered { return ordered{} }
func (anyValue) words() string   { return "any value" }

// options is a mapping of any values, which somebody else checks.
type options struct{}

func (options) read(r *report, n *yaml.Node, at string, v reflect.Value) {
	if n.Kind != yaml.MappingNode {
		r.fault(at, "must be a mapping, not %s", nodeKind(n))
		return
	}
	before := len(r.problems)
	eachMember(newReport(""), n, at, func(key string, line int, _ *yaml.Node) { r.lines[join(at, key)] = line })
	raw := jsonOf(r, n, at)
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var m map[string]any
	if err := dec.Decode(&m); err != nil && len(r.problems) == before {
		r.fault(at, "has no JSON form")
	}
	maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
	v.Set(reflect.ValueOf(m))
}

func (options) check(*report, string, reflect.Value) {}
func (options) schema() ordered                      { return ordered{{"type", "object"}} }
func (options) words() string                        { return "mapping of the dialect's options" }

// textOr is a text, or a mapping of another kind: a literal or the place of a secret, a file name or an inline schema.
type textOr struct {
	text  text
	other kind
	// parts are the struct fields of the two forms.
	literal, form string
}

func (k textOr) read(r *report, n *yaml.Node, at string, v reflect.Value) {
	if n.Kind == yaml.MappingNode {
		k.other.read(r, n, at, v.FieldByName(k.form))
		return
	}
	if !isText(n) {
		r.fault(at, "must be %s, not %s", k.words(), nodeKind(n))
		return
	}
	v.FieldByName(k.literal).SetString(n.Value)
}

func (k textOr) check(r *report, at string, v reflect.Value) {
	literal, form := v.FieldByName(k.literal), v.FieldByName(k.form)
	if form.IsZero() {
		k.text.check(r, at, literal)
		return
	}
	if !literal.IsZero() {
		r.fault(at, "must be %s, not both", k.words())
		return
	}
	k.other.check(r, at, form)
}

func (k textOr) schema() ordered {
	s := ordered{{"type", []string{"string", "object"}}}
	for _, m := range k.other.schema() {
		if m.key != "type" {
			s = append(s, m)
		}
	}
	return s
}

func (k textOr) words() string { return fmt.Sprintf("%s, or %s", k.text.words(), k.other.words()) }
