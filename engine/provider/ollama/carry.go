package ollama

import (
	"strings"

	"emend/engine/provider"
	"emend/engine/provider/wireschema"
)

// form is the native constraint, and the field that carries it.
const form = "format"

// repetitions is how often a grammar may repeat a thing. A minLength of 2500 crashes Ollama's runner (providers.md), newer
// ones refuse 2000; this is well below both.
const repetitions = 1000

const tooOften = "a repetition this long crashes Ollama's runner"

// anything is what stands for a schema that allows every value: Ollama takes {} for an object and refuses true.
const anything = `"type":["object","array","string","number","boolean","null"]`

// Carry sends a schema as it is, but for what Ollama answers 500 to, crashes on or misreads, and says what it will not
// enforce. Facts: providers.md where tried, else the reader that Ollama takes from llama.cpp, json-schema-to-grammar.
func Carry(_ map[string]any, schema []byte) provider.Carried { return carry(schema) }

var carry = provider.Remembered(func(schema []byte) provider.Carried {
	root, _ := provider.Parse(schema)
	if !provider.WellFormed(schema, provider.Object) {
		return provider.NotCarried("the schema is not an object in well-formed JSON")
	}
	c := carrier{defined: definitions(root), merged: map[string]bool{}}
	wire, ok := wireschema.Write(schema, c.edit)
	if !ok {
		return provider.NotCarried("the schema nests too deep")
	}
	lost := c.lost.Clauses()
	return provider.Carried{Schema: wire, Form: form, Whole: lost == nil, Weakened: lost}
})

type carrier struct {
	// defined is the root's definitions by the reference that names each.
	defined map[string]provider.Value
	// merged says of a reference whether allOf can take what it names.
	merged map[string]bool
	lost   provider.Losses
}

func definitions(root provider.Value) map[string]provider.Value {
	out := map[string]provider.Value{}
	for _, under := range []string{"$defs", "definitions", "properties"} {
		for key, value := range root.Get(under).Members() {
			if name, _ := key.Text(); !strings.ContainsAny(name, "~/%") {
				out["#/"+under+"/"+name] = value
			}
		}
	}
	return out
}

// node is one schema object under edit.
type node struct {
	at  string
	has map[string]provider.Value // what is left of its keywords
	wireschema.Edit
}

func (c *carrier) edit(p wireschema.Place) wireschema.Edit {
	if p.Schema.Kind() != provider.Object {
		return c.boolean(p)
	}
	n := &node{at: p.At, has: map[string]provider.Value{}}
	for key, value := range p.Schema.Members() {
		name, _ := key.Text()
		n.has[name] = value
	}
	c.reference(n)
	c.tuple(n)
	c.limits(n)
	c.bounds(n)
	c.pattern(n)
	c.properties(n)
	c.unions(n)
	c.drop(n, "Ollama does not read it", unread...)
	types := n.types()
	if len(types) == len(everyType) && !n.is("type") && !n.decided() {
		n.First = anything
	}
	c.report(n, types)
	return n.Edit
}

// boolean: Ollama refuses a schema that is a boolean, but for additionalProperties.
func (c *carrier) boolean(p wireschema.Place) wireschema.Edit {
	if p.Keyword == "additionalProperties" {
		return wireschema.Edit{}
	}
	if string(p.Schema.Raw()) != "true" {
		c.lost.Add(p.At, "a schema that is false is not enforced")
	}
	return wireschema.Edit{Whole: "{" + anything + "}"}
}

func (n *node) is(keyword string) bool { _, ok := n.has[keyword]; return ok }

// drop leaves keywords out, and says so of those that assert something.
func (c *carrier) drop(n *node, why string, keywords ...string) {
	for _, keyword := range keywords {
		value, ok := n.has[keyword]
		if !ok {
			continue
		}
		n.Drop(keyword)
		delete(n.has, keyword)
		if wireschema.Asserts(keyword, value) {
			c.lost.Add(n.at, "%s is not sent: %s", keyword, why)
		}
	}
}

// reference: Ollama finds no reference but those to the root's members, and none within definitions that stand beside one.
func (c *carrier) reference(n *node) {
	ref, ok := n.has["$ref"]
	if !ok {
		return
	}
	text, _ := ref.Text()
	if _, known := c.defined[text]; !known {
		c.drop(n, "it names no definition of the root by a plain name", "$ref")
		return
	}
	if n.is("$defs") || n.is("definitions") {
		n.Set("$ref", wireschema.Fate{Name: "anyOf", Value: `[{"$ref":` + string(ref.Raw()) + `}]`})
	}
}

// tuple: prefixItems is answered with 500 (providers.md), and items beside it would mean something else alone.
func (c *carrier) tuple(n *node) {
	if n.is("prefixItems") || n.has["items"].Kind() == provider.Array {
		c.drop(n, "Ollama refuses tuples", "prefixItems", "items", "additionalItems")
	}
}

func (c *carrier) limits(n *node) {
	for _, keyword := range []string{"minLength", "maxLength", "minItems", "maxItems"} {
		if f, ok := n.has[keyword].Float(); ok && f > repetitions {
			c.drop(n, tooOften, keyword)
		}
	}
}

// bounds must be whole numbers of 64 bits; the older drafts' booleans are misread.
func (c *carrier) bounds(n *node) {
	for _, keyword := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} {
		f, ok := n.has[keyword].Float()
		if n.is(keyword) && (!ok || f > 1<<62 || f < -1<<62 || f != float64(int64(f))) {
			c.drop(n, "it is no whole number", keyword)
		}
	}
}

func (c *carrier) pattern(n *node) {
	text, ok := n.has["pattern"].Text()
	if fault := patternFault(text); ok && fault != "" {
		c.drop(n, fault, "pattern")
	}
}

// properties: an object that names its properties is closed unless it says otherwise, so that patternProperties, which are
// not known, must leave it open.
func (c *carrier) properties(n *node) {
	if !n.is("patternProperties") {
		return
	}
	switch value, ok := n.has["additionalProperties"]; {
	case !ok && n.is("properties"):
		n.First = `"additionalProperties":true`
	case ok && string(value.Raw()) != "true":
		n.Set("additionalProperties", wireschema.Fate{Value: "true"})
		delete(n.has, "additionalProperties")
		c.lost.Add(n.at, "additionalProperties is not enforced beside patternProperties")
	}
}
