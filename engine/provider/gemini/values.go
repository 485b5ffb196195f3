package gemini

import (
	"strings"

	"emend/engine/provider"
	"emend/engine/provider/wireschema"
)

// definitions is the older name of $defs, which alone is known; references follow.
func (c *carrier) definitions(e *wireschema.Edit, p wireschema.Place, value provider.Value) {
	if renamed(c.root) && p.At == "" {
		e.Set("definitions", wireschema.Fate{Name: "$defs"})
		return
	}
	e.Drop("definitions")
}

// renamed reports whether the root's definitions go out as $defs.
func renamed(root provider.Value) bool {
	return root.Get("definitions").Kind() == provider.Object && root.Get("$defs").Kind() == provider.Absent
}

// constant goes out as an enum of one, which is the same and is known.
func (c *carrier) constant(e *wireschema.Edit, p wireschema.Place, value provider.Value) {
	known := value.Kind() == provider.String || value.Kind() == provider.Number
	if !known || p.Schema.Get("enum").Kind() != provider.Absent {
		c.drop(e, p, "const", value, "")
		return
	}
	e.Set("const", wireschema.Fate{Name: "enum", Value: "[" + string(value.Raw()) + "]"})
}

// enum carries texts or numbers. A null among them breaks the request and is said by the type instead (report S13); where no
// type stands, one is added.
func (c *carrier) enum(e *wireschema.Edit, p wireschema.Place, value provider.Value) {
	var members []string
	kind, null, mixed := provider.Absent, false, false
	for member := range value.Elements() {
		if member.Kind() == provider.Null {
			null = true
			continue
		}
		mixed = mixed || kind != provider.Absent && kind != member.Kind()
		kind = member.Kind()
		members = append(members, string(member.Raw()))
	}
	named := map[provider.ValueKind]string{provider.String: "string", provider.Number: "number"}[kind]
	switch {
	case mixed || named == "":
		c.drop(e, p, "enum", value, ", since it is not of texts or of numbers alone")
	case null:
		e.Set("enum", wireschema.Fate{Value: "[" + strings.Join(members, ",") + "]"})
		if p.Schema.Get("type").Kind() == provider.Absent {
			e.First = `"type":["` + named + `","null"]`
		}
	}
}

// required may only name properties that are described.
func (c *carrier) required(e *wireschema.Edit, p wireschema.Place, value provider.Value) {
	var known []string
	described, unknown := map[string]bool{}, 0
	for key := range p.Schema.Get("properties").Members() {
		name, _ := key.Text()
		described[name] = true
	}
	for member := range value.Elements() {
		name, _ := member.Text()
		if !described[name] {
			unknown++
			continue
		}
		known = append(known, string(member.Raw()))
	}
	switch {
	case unknown == 0:
		return
	case len(known) == 0:
		e.Drop("required")
	default:
		e.Set("required", wireschema.Fate{Value: "[" + strings.Join(known, ",") + "]"})
	}
	c.lost.Add(p.At, "required is not enforced for what properties does not describe")
}

// oneOf is read as anyOf, so that is what goes out: branches that lost something may overlap.
func (c *carrier) oneOf(e *wireschema.Edit, p wireschema.Place, value provider.Value) {
	if p.Schema.Get("anyOf").Kind() != provider.Absent {
		c.drop(e, p, "oneOf", value, " beside anyOf")
		return
	}
	c.lost.Add(p.At, "oneOf is enforced as anyOf")
	e.Set("oneOf", wireschema.Fate{Name: "anyOf"})
}

// items: the list of older drafts is what prefixItems is now, and a boolean is unknown.
func (c *carrier) items(e *wireschema.Edit, p wireschema.Place, value provider.Value) {
	switch value.Kind() {
	case provider.Array:
		e.Set("items", wireschema.Fate{Name: "prefixItems"})
	case provider.Bool:
		c.drop(e, p, "items", value, "")
	}
}
