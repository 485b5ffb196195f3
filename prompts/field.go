package prompts

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// kind is one sort of value: it reads itself from YAML, knows its bounds, and describes itself to schema and reference.
type kind interface {
	// read fills v from a node that is not null; v is no pointer.
	read(r *report, n *yaml.Node, at string, v reflect.Value)
	// check tells what is wrong with a value that was given; it works for values that no file holds, too.
	check(r *report, at string, v reflect.Value)
	// schema is the kind's JSON Schema, words its name in the reference.
	schema() ordered
	words() string
}

// field is one row of the table of an object.
type field struct {
	name string
	kind kind
	doc  string
	// def is the default in YAML; "" is none.
	def string
	// required fields must be given.
	required bool
	// keepZero says that a program's zero value is meant, so that the default only stands for files.
	keepZero bool
	// noNull refuses a null, which equals an absent field elsewhere.
	noNull bool
}

// object is a kind: a mapping with a table of fields, bound to a Go struct by yaml tags.
type object struct {
	name, doc string
	fields    []field
	// later are names of the design that this version refuses.
	later []string
	// scalar answers a value that stands in place of the mapping, without showing it; "" is the usual words.
	scalar string
	// also checks what concerns several fields; v is the struct.
	also func(r *report, at string, v any)
}

func (o *object) names() []string {
	names := make([]string, len(o.fields))
	for i, f := range o.fields {
		names[i] = f.name
	}
	return names
}

func (o *object) lookup(name string) (field, bool) {
	for _, f := range o.fields {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

// slot finds the struct field of a name.
func slot(v reflect.Value, name string) reflect.Value {
	if s := find(v, name); s.IsValid() {
		return s
	}
	panic(fmt.Sprintf("prompts: %s has no field for %s", v.Type(), name)) // TestTablesMatchTypes has seen it
}

// find looks in embedded structs too.
func find(v reflect.Value, name string) reflect.Value {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if tag, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); tag == name {
			return v.Field(i)
		}
		if f.Anonymous {
			if s := find(v.Field(i), name); s.IsValid() {
				return s
			}
		}
	}
	return reflect.Value{}
}

func (o *object) read(r *report, n *yaml.Node, at string, v reflect.Value) {
	if o.scalar != "" && n.Kind == yaml.ScalarNode {
		r.fault(at, "%s", o.scalar)
		return
	}
	eachMember(r, n, at, func(key string, line int, val *yaml.Node) {
		f, ok := o.lookup(key)
		if !ok {
			r.faultOn(line, join(at, key), "%s", o.unknown(key))
			return
		}
		if f.noNull && isNull(val) {
			r.faultOn(line, join(at, key), "must not be null; remove it, so that it is inherited")
			return
		}
		readInto(r, f.kind, val, join(at, key), slot(v, f.name))
	})
}

func (o *object) unknown(key string) string {
	if slices.Contains(o.later, key) {
		return key + " is not supported by this version; remove it"
	}
	return "unknown field" + nearest(key, o.names())
}

func (o *object) check(r *report, at string, v reflect.Value) {
	for _, f := range o.fields {
		path, s := join(at, f.name), slot(v, f.name)
		if f.required && s.IsZero() && !r.given(path) && !r.bad[path] {
			r.fault(path, "is missing: %s", f.doc)
			continue
		}
		checkValue(r, f.kind, path, s)
	}
	if o.also != nil && !r.bad[at] {
		o.also(r, at, v.Interface())
	}
}

// fill sets the defaults of what neither file nor program gives.
func (o *object) fill(r *report, at string, v reflect.Value, program bool) {
	for _, f := range o.fields {
		path, s := join(at, f.name), slot(v, f.name)
		if f.def != "" && s.IsZero() && !r.given(path) && !r.bad[path] && !(program && f.keepZero) {
			readInto(newReport(""), f.kind, defaultNode(f), path, s)
		}
		fillBelow(r, f.kind, path, s, program)
	}
}

// fillBelow goes down to the objects in objects and in mappings of objects.
func fillBelow(r *report, k kind, at string, v reflect.Value, program bool) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	switch k := k.(type) {
	case *object:
		k.fill(r, at, v, program)
	case dict:
		o, ok := k.of.(*object)
		if !ok {
			return
		}
		for _, name := range v.MapKeys() {
			elem := reflect.New(v.Type().Elem()).Elem()
			elem.Set(v.MapIndex(name))
			o.fill(r, join(at, name.String()), elem, program)
			v.SetMapIndex(name, elem)
		}
	}
}

func defaultNode(f field) *yaml.Node {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(f.def), &doc); err != nil || len(doc.Content) != 1 {
		panic(fmt.Sprintf("prompts: the default of %s is no YAML value", f.name)) // TestDefaultsAreInBounds has seen it
	}
	return doc.Content[0]
}

// readInto notes the line and reads a node; a null is as if the field were absent.
func readInto(r *report, k kind, n *yaml.Node, at string, v reflect.Value) {
	if _, free := k.(anyValue); isNull(n) && !free {
		return
	}
	r.lines[at] = max(n.Line, 1)
	if v.Kind() == reflect.Pointer {
		p := reflect.New(v.Type().Elem())
		k.read(r, n, at, p.Elem())
		v.Set(p)
		return
	}
	k.read(r, n, at, v)
}

// checkValue checks what is given: a zero that the file does not give is absent.
func checkValue(r *report, k kind, at string, v reflect.Value) {
	if r.bad[at] {
		return
	}
	if v.Kind() == reflect.Pointer {
		if !v.IsNil() {
			k.check(r, at, v.Elem())
		}
		return
	}
	if _, isObject := k.(*object); isObject || !v.IsZero() || r.given(at) {
		k.check(r, at, v)
	}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }
