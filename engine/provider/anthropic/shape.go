package anthropic

import (
	"slices"
	"strings"

	"emend/engine/provider"
	"emend/engine/provider/wireschema"
)

// shaper cuts a schema down to what the API compiles (providers.md, and the API's own list of limits).
type shaper struct {
	// defined are the pointers of the root's definitions.
	defined map[string]bool
	lost    provider.Losses
	// refused is the reason for which nothing goes out; nil while something can.
	refused []string
	// changed says that the wire schema is not the original.
	changed          bool
	optional, unions int
	// refs are the definitions that each definition names; "" is the root.
	refs map[string][]string
}

// node is one schema while its edit is made.
type node struct {
	*shaper
	wireschema.Place
	edit wireschema.Edit
	// moved are members that go into the description.
	moved []byte
	// object says that it describes an object, chooses that anyOf is what shapes it.
	object, chooses bool
}

func (s *shaper) edit(p wireschema.Place) wireschema.Edit {
	n := node{shaper: s, Place: p}
	if p.Schema.Kind() != provider.Object {
		s.refuse(p.At, "a schema that is true or false cannot be expressed")
		return n.edit
	}
	if ref := p.Schema.Get("$ref"); ref.Kind() != provider.Absent {
		n.reference(ref)
		return n.edit
	}
	n.object = n.has("properties") || hasType(p.Schema, "object")
	n.chooses = !n.has("type") && !n.has("properties") && !n.has("enum") && !n.has("const")
	for key, value := range p.Schema.Members() {
		name, _ := key.Text()
		n.keyword(name, value)
	}
	if !slices.ContainsFunc(typing, n.left) {
		s.refuse(p.At, "has no type that can be compiled")
	}
	if n.object {
		n.closeObject()
	}
	n.describe()
	return n.edit
}

func (n *node) has(keyword string) bool { return n.Schema.Get(keyword).Kind() != provider.Absent }

// typing are the keywords of which the API demands one. They go out under their names here only if it compiles them.
var typing = []string{"type", "enum", "const", "anyOf", "oneOf", "allOf"}

// left reports that a keyword stands in the schema and goes out.
func (n *node) left(keyword string) bool { return n.has(keyword) && !n.edit.Fates[keyword].Drop }

// Keywords that stay, and those that enforce nothing and tell the model something. Others that enforce nothing, such as
// $schema, are left out in silence.
var (
	kept = []string{"title", "description", "required", "$defs", "definitions"}
	told = []string{"default", "examples", "deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType"}
)

// keyword decides what becomes of one keyword.
func (n *node) keyword(name string, value provider.Value) {
	switch {
	case name == "type" && n.valuesDecide(value):
		n.edit.Drop(name)
		n.changed = true
	case slices.Contains(kept, name) || n.stays(name, value):
	case name == "additionalProperties" && n.object:
		n.additional(value)
	case name == "oneOf" && !n.has("anyOf") && n.choice(value):
		n.lost.Add(n.At, "oneOf goes out as anyOf, so that an answer may fit several branches")
		n.edit.Set(name, wireschema.Fate{Name: "anyOf"})
		n.changed = true
	default:
		n.leaveOut(name, value)
	}
}

// stays tells of a keyword whether the API compiles it with that value. It counts what the API limits.
func (n *node) stays(name string, value provider.Value) bool {
	switch name {
	case "type":
		if value.Kind() == provider.Array {
			n.unions++
		}
		return true
	case "properties":
		return value.Kind() == provider.Object
	case "items":
		return value.Kind() == provider.Object
	case "enum":
		return allPlain(value)
	case "const":
		return value.Kind() < provider.Array
	case "minItems":
		return string(value.Raw()) == "0" || string(value.Raw()) == "1"
	case "format":
		word, _ := value.Text()
		return slices.Contains(formats, word)
	case "pattern":
		text, _ := value.Text()
		return simplePattern(text)
	case "anyOf":
		return n.choice(value)
	case "allOf":
		return mergeable(value)
	}
	return false
}

// valuesDecide: the API refuses an enum or a const beside a type that is not the one type of all its values, such as that of
// a nullable enum (report S13). Without the type they say as much, unless a value is of none of the types.
func (n *node) valuesDecide(kinds provider.Value) bool {
	values := n.values()
	fit := !slices.ContainsFunc(values, func(v provider.Value) bool { return !ofType(v, n.Schema) })
	if !fit {
		n.lost.Add(n.At, "type is not enforced beside values of another")
	}
	return !fit || len(values) > 0 && kinds.Kind() == provider.Array
}

// values lists what a const or an enum that goes out allows; nil if neither stands there.
func (n *node) values() []provider.Value {
	if fixed := n.Schema.Get("const"); fixed.Kind() != provider.Absent && n.stays("const", fixed) {
		return []provider.Value{fixed}
	}
	if enum := n.Schema.Get("enum"); n.stays("enum", enum) {
		return slices.Collect(enum.Elements())
	}
	return nil
}

func (n *node) choice(value provider.Value) bool {
	if !n.chooses || value.Kind() != provider.Array {
		return false
	}
	n.unions++
	return true
}

// leaveOut drops a keyword and tells the model of it, if it means anything.
func (n *node) leaveOut(name string, value provider.Value) {
	n.edit.Drop(name)
	n.changed = true
	asserts := wireschema.Asserts(name, value)
	if asserts {
		n.lost.Add(n.At, "%s is not enforced", provider.Keyword(name))
	}
	if asserts || slices.Contains(told, name) {
		if n.moved != nil {
			n.moved = append(n.moved, ',')
		}
		var e provider.Encoder
		e.Key(name)
		n.moved = append(append(n.moved, e.Bytes()...), value.Raw()...)
	}
}

// additional closes an object that the author left open for some members.
func (n *node) additional(value provider.Value) {
	n.edit.Set("additionalProperties", wireschema.Fate{Value: "false"})
	if string(value.Raw()) != "false" {
		n.lost.Add(n.At, "additionalProperties goes out as false, so that only named members can be answered")
		n.changed = true
	}
}

// closeObject: the API compiles closed objects alone.
func (n *node) closeObject() {
	properties, open := n.Schema.Get("properties"), string(n.Schema.Get("additionalProperties").Raw()) != "false"
	if open && !properties.Filled() {
		n.refuse(n.At, "is an object whose members have no names, which cannot be expressed")
		return
	}
	if !n.has("additionalProperties") {
		n.edit.First, n.changed = `"additionalProperties":false`, true
	}
	required, described := map[string]bool{}, map[string]bool{}
	for element := range n.Schema.Get("required").Elements() {
		name, _ := element.Text()
		required[name] = true
	}
	for key := range properties.Members() {
		name, _ := key.Text()
		if described[name] = true; !required[name] {
			n.optional++
		}
	}
	for name := range required {
		if !described[name] {
			n.refuse(n.At, "requires a member that has no schema")
		}
	}
}

// describe adds what was left out to the description.
func (n *node) describe() {
	if n.moved == nil {
		return
	}
	text, _ := n.Schema.Get("description").Text()
	if text != "" {
		text += "\n\n"
	}
	var e provider.Encoder
	e.String(text + "Constraints: {" + string(n.moved) + "}")
	if n.has("description") {
		n.edit.Set("description", wireschema.Fate{Value: string(e.Bytes())})
		return
	}
	if n.edit.First != "" {
		n.edit.First += ","
	}
	n.edit.First += `"description":` + string(e.Bytes())
}

// reference keeps a $ref alone, with the definitions if it is the root.
func (n *node) reference(ref provider.Value) {
	target, _ := ref.Text()
	name := strings.TrimPrefix(target, "#")
	if !n.defined[name] || name == target {
		n.refuse(n.At, "has a $ref that names no definition of this schema")
	}
	from := owner(n.At)
	n.refs[from] = append(n.refs[from], name)
	for key, value := range n.Schema.Members() {
		keyword, _ := key.Text()
		if keyword == "$ref" || n.At == "" && (keyword == "$defs" || keyword == "definitions") {
			continue
		}
		n.edit.Drop(keyword)
		n.changed = true
		if wireschema.Asserts(keyword, value) {
			n.lost.Add(n.At, "%s beside $ref is not enforced", provider.Keyword(keyword))
		}
	}
}

// definitions lists the pointers of the root's definitions, which alone a $ref may name.
func definitions(root provider.Value) map[string]bool {
	out := map[string]bool{}
	for _, under := range []string{"$defs", "definitions"} {
		for key := range root.Get(under).Members() {
			name, _ := key.Text()
			out[provider.Pointer("/"+under, name)] = true
		}
	}
	return out
}

// owner is the definition that a place lies in; "" is the root.
func owner(at string) string {
	parts := strings.SplitN(at, "/", 4)
	if len(parts) < 3 || parts[1] != "$defs" && parts[1] != "definitions" {
		return ""
	}
	return "/" + parts[1] + "/" + parts[2]
}
