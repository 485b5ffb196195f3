// Package wireschema rewrites a JSON Schema into the part of it that a provider takes, for dialects whose provider refuses
// or misreads the rest (providers.md, "Which schemas survive"). Members keep their order, since property order is
// generation order, and values that nobody changes keep their bytes.
package wireschema

import (
	"encoding/json"
	"fmt"
	"slices"

	"emend/engine/provider"
)

// Depth bounds how deep schemas may nest: far more than a provider takes.
const Depth = 100

// Place is one schema within a schema.
type Place struct {
	// At is its JSON pointer; "" is the root.
	At string
	// Keyword is the one of the schema around it under which it stands; "" for the root.
	Keyword string
	// Schema is an object, or a boolean where the draft allows one.
	Schema provider.Value
}

// Edit is what becomes of one schema. The zero Edit leaves it as it is.
type Edit struct {
	// Whole replaces the schema; nothing below it is looked at.
	Whole string
	// First is members to put before all others, as JSON without braces.
	First string
	// Fates are those of keywords that do not stay as they are.
	Fates map[string]Fate
}

// Fate is what becomes of a keyword.
type Fate struct {
	// Drop leaves it out.
	Drop bool
	// Name is its new name, Value its new value as JSON; "" keeps the old one. What a new value holds is not looked at.
	Name, Value string
}

// Set adds a fate to the edit.
func (e *Edit) Set(keyword string, f Fate) {
	if e.Fates == nil {
		e.Fates = map[string]Fate{}
	}
	e.Fates[keyword] = f
}

// Drop leaves a keyword out.
func (e *Edit) Drop(keyword string) { e.Set(keyword, Fate{Drop: true}) }

// Write asks edit about every schema within schema, from the outside in and in document order, and returns what is left.
// False means that schema is not one object in well-formed JSON, or nests deeper than Depth.
func Write(schema []byte, edit func(Place) Edit) (json.RawMessage, bool) {
	root, _ := provider.Parse(schema)
	if !provider.WellFormed(schema, provider.Object) {
		return nil, false
	}
	w := writer{edit: edit}
	w.enc.Grow(len(schema))
	w.schema("", "", root, 0)
	return w.enc.Bytes(), !w.deep
}

type writer struct {
	enc  provider.Encoder
	edit func(Place) Edit
	deep bool
}

func (w *writer) schema(at, keyword string, s provider.Value, depth int) {
	if depth > Depth {
		w.deep = true
		w.enc.Raw(s.Raw())
		return
	}
	e := w.edit(Place{At: at, Keyword: keyword, Schema: s})
	switch {
	case e.Whole != "":
		w.enc.Raw([]byte(e.Whole))
		return
	case s.Kind() != provider.Object:
		w.enc.Raw(s.Raw())
		return
	}
	w.enc.Open('{')
	if e.First != "" {
		w.enc.Raw([]byte(e.First))
	}
	for key, value := range s.Members() {
		name, _ := key.Text()
		f := e.Fates[name]
		switch {
		case f.Drop:
			continue
		case f.Name != "":
			w.enc.Key(f.Name)
		default:
			w.enc.RawKey(key.Raw())
		}
		w.value(at, name, value, f, depth)
	}
	w.enc.Close('}')
}

func (w *writer) value(at, name string, value provider.Value, f Fate, depth int) {
	if f.Value != "" {
		w.enc.Raw([]byte(f.Value))
		return
	}
	at = provider.Pointer(at, name)
	switch {
	case slices.Contains(named, name) && value.Kind() == provider.Object:
		w.named(at, name, value, depth)
	case slices.Contains(listed, name) && value.Kind() == provider.Array:
		w.listed(at, name, value, depth)
	case slices.Contains(single, name) && value.Kind() != provider.Array:
		w.schema(at, name, value, depth+1)
	default:
		w.enc.Raw(value.Raw())
	}
}

func (w *writer) named(at, keyword string, value provider.Value, depth int) {
	w.enc.Open('{')
	for key, sub := range value.Members() {
		name, _ := key.Text()
		w.enc.RawKey(key.Raw())
		w.schema(provider.Pointer(at, name), keyword, sub, depth+1)
	}
	w.enc.Close('}')
}

func (w *writer) listed(at, keyword string, value provider.Value, depth int) {
	w.enc.Open('[')
	n := 0
	for sub := range value.Elements() {
		w.schema(fmt.Sprintf("%s/%d", at, n), keyword, sub, depth+1)
		n++
	}
	w.enc.Close(']')
}
