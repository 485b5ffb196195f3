package gemini

import (
	"slices"
	"strconv"
	"strings"

	"emend/engine/provider"
	"emend/engine/provider/wireschema"
)

// fate is what becomes of a reference, by the place of the schema that holds it.
type fate byte

const (
	kept     fate = iota
	unrolled      // part of a recursion, which is enforced to a limited depth
	cut           // left out
)

// edge is a reference between two definitions; the root is one, by the name "".
type edge struct {
	at, from, to string
	// forced: no optional property stands between from and the reference.
	forced bool
}

type graph struct {
	defined map[string]bool // the places of definitions
	renamed bool
	edges   []edge
	fates   map[string]fate
}

// references decides on every reference. Gemini unrolls a recursion to a limited depth, and only within properties that are
// not required; it resolves the root and what $defs holds. What is neither is cut: left in, it would be answered with 400.
func references(root provider.Value) map[string]fate {
	g := &graph{defined: map[string]bool{}, renamed: renamed(root), fates: map[string]fate{}}
	for _, under := range []string{"$defs", "definitions"} {
		for key := range root.Get(under).Members() {
			name, _ := key.Text()
			g.defined[provider.Pointer("/"+under, name)] = true
		}
	}
	g.walk("", root, "", true, 0)
	for _, e := range cyclic(g.edges) {
		g.fates[e.at] = unrolled
	}
	forced := slices.DeleteFunc(slices.Clone(g.edges), func(e edge) bool { return !e.forced })
	for _, e := range cyclic(forced) {
		g.fates[e.at] = cut
	}
	return g.fates
}

// walk gathers the references below a schema that stands within the definition from.
func (g *graph) walk(at string, s provider.Value, from string, forced bool, depth int) {
	if depth > wireschema.Depth || s.Kind() != provider.Object {
		return
	}
	ref := s.Get("$ref")
	if ref.Present() {
		to, ok := g.target(ref)
		if ok {
			g.edges = append(g.edges, edge{at, from, to, forced})
		} else {
			g.fates[at] = cut
		}
	}
	for key, value := range s.Members() {
		name, _ := key.Text()
		if ref.Present() && g.fates[at] != cut && name != "$defs" && name != "definitions" {
			continue
		}
		g.member(provider.Pointer(at, name), name, s, value, from, forced, depth)
	}
}

func (g *graph) member(at, name string, s, value provider.Value, from string, forced bool, depth int) {
	switch name {
	case "properties":
		required := texts(s.Get("required"))
		for key, sub := range value.Members() {
			property, _ := key.Text()
			g.walk(provider.Pointer(at, property), sub, from, forced && required[property], depth+1)
		}
	case "$defs", "definitions":
		for key, sub := range value.Members() {
			definition, _ := key.Text()
			below := provider.Pointer(at, definition)
			g.walk(below, sub, below, true, depth+1)
		}
	case "anyOf", "oneOf", "prefixItems", "items":
		i := 0
		for sub := range value.Elements() {
			g.walk(provider.Pointer(at, strconv.Itoa(i)), sub, from, forced, depth+1)
			i++
		}
		g.walk(at, value, from, forced, depth+1)
	case "additionalProperties":
		g.walk(at, value, from, false, depth+1)
	}
}

func texts(list provider.Value) map[string]bool {
	set := map[string]bool{}
	for member := range list.Elements() {
		text, _ := member.Text()
		set[text] = true
	}
	return set
}

// target is the place of the definition that a reference names.
func (g *graph) target(ref provider.Value) (string, bool) {
	text, _ := ref.Text()
	if text == "#" {
		return "", true
	}
	at, isPointer := strings.CutPrefix(text, "#")
	if strings.HasPrefix(at, "/definitions/") && !g.renamed {
		return "", false
	}
	return at, isPointer && g.defined[at]
}

// reference writes a reference as Gemini reads it.
func (c *carrier) reference(e *wireschema.Edit, p wireschema.Place) {
	switch c.refs[p.At] {
	case cut:
		e.Drop("$ref")
		c.lost.Add(p.At, "$ref is not enforced: it names no member of the root's $defs, or it is a recursion through required properties")
		return
	case unrolled:
		c.lost.Add(p.At, "a recursion is enforced to a limited depth")
	}
	if text, _ := p.Schema.Get("$ref").Text(); strings.HasPrefix(text, "#/definitions/") {
		var enc provider.Encoder
		enc.String("#/$defs/" + strings.TrimPrefix(text, "#/definitions/"))
		e.Set("$ref", wireschema.Fate{Value: string(enc.Bytes())})
	}
}
