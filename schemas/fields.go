package schemas

import (
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

var (
	rawType     = reflect.TypeFor[json.RawMessage]()
	messageType = reflect.TypeFor[Message]()
	timeType    = reflect.TypeFor[time.Time]()
	stringType  = reflect.TypeFor[string]()
	dollarType  = reflect.TypeFor[USD]()
)

// field of a message type on the wire.
type field struct {
	name     string
	index    int
	typ      reflect.Type
	optional bool
}

var fieldCache sync.Map // reflect.Type -> []field

// fieldsOf lists the fields of a struct type by their JSON names.
func fieldsOf(t reflect.Type) []field {
	if t == messageType {
		t = reflect.TypeFor[messageWire]()
	}
	if known, ok := fieldCache.Load(t); ok {
		return known.([]field)
	}
	var out []field
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			out = append(out, field{name, f.Index[0], f.Type, strings.Contains(options, "omit")})
		}
	}
	fieldCache.Store(t, out)
	return out
}

func indexOf(fields []field, name string) int {
	return slices.IndexFunc(fields, func(f field) bool { return f.name == name })
}

// known yields the members of an object that its type knows, and reports the others and the repeated ones.
func (d *decoder) known(raw []byte, path string, fields []field) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		seen := make([]bool, len(fields))
		for name, m := range members(raw) {
			i := indexOf(fields, name)
			switch {
			case i < 0:
				d.unknown(join(path, name), name, fields)
			case seen[i]:
				d.problem(join(path, name), "given more than once")
			default:
				seen[i] = true
				if !yield(name, m) {
					return
				}
			}
		}
	}
}

// unknown reports a field with a proposal, which costs something: only for what the error will list.
func (d *decoder) unknown(at, name string, fields []field) {
	if len(d.problems) == maxProblems {
		d.more++
		return
	}
	d.problem(at, "unknown field%s", hint(name, names(fields), d.root))
}

func names(fields []field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.name
	}
	return out
}

// leaf reports whether a type is one JSON value without parts of its own.
func leaf(t reflect.Type) bool {
	if t == timeType {
		return true
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Uint64, reflect.Float64:
		return true
	}
	return false
}

// expected describes a leaf to a reader, and names its JSON type.
func expected(t reflect.Type) (want, jsonKind string) {
	switch {
	case t == timeType:
		return "an RFC 3339 time such as 2026-12-01T00:00:00Z", "a string"
	case t == dollarType:
		return "a number of US dollars from 0 to 1000000", "a number"
	case t.Kind() == reflect.String:
		return "a string", "a string"
	case t.Kind() == reflect.Bool:
		return "true or false", "a boolean"
	case t.Kind() == reflect.Float64:
		return "a number that a double can hold", "a number"
	}
	return "a whole number of at most 64 bits", "a number"
}

// join appends a name to a field path; one that is no plain word is quoted, and a long one cut.
func join(path, name string) string {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-$") != "" || name == "" || len(name) > 64 {
		return path + "[" + quote(name) + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

func quote(s string) string {
	if len(s) > 64 {
		return fmt.Sprintf("%+q... (%d bytes)", s[:64], len(s))
	}
	return fmt.Sprintf("%+q", s)
}
