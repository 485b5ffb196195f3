package gemini

import (
	"slices"
	"strings"

	"emend/engine/provider"
	"emend/engine/provider/wireschema"
)

// form is the native constraint, and the field that carries it.
const form = "responseJsonSchema"

// keywords are those of responseJsonSchema (providers.md). Any other may be answered with 400.
var keywords = []string{"$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems",
	"minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties", "required"}

// formats are those that Google's documentation names for texts.
var formats = []string{"date-time", "date", "time"}

// Carry leaves out of a schema what responseJsonSchema does not know, and says so of whatever that loosens. Nothing is made
// narrower: a keyword that only makes sense beside one that is left out goes with it.
func Carry(_ map[string]any, schema []byte) provider.Carried { return carry(schema) }

var carry = provider.Remembered(func(schema []byte) provider.Carried {
	root, _ := provider.Parse(schema)
	if !provider.WellFormed(schema, provider.Object) {
		return provider.NotCarried("the schema is not an object in well-formed JSON")
	}
	c := carrier{root: root, refs: references(root)}
	wire, ok := wireschema.Write(schema, c.edit)
	if !ok {
		return provider.NotCarried("the schema nests too deep")
	}
	lost := c.lost.Clauses()
	return provider.Carried{Schema: wire, Form: form, Whole: lost == nil, Weakened: lost}
})

type carrier struct {
	root provider.Value
	refs map[string]fate
	lost provider.Losses
}

func (c *carrier) edit(p wireschema.Place) (e wireschema.Edit) {
	if p.Schema.Kind() != provider.Object {
		return c.boolean(p)
	}
	ref := p.Schema.Get("$ref").Present() && c.refs[p.At] != cut
	for key, value := range p.Schema.Members() {
		name, _ := key.Text()
		switch {
		case ref && !strings.HasPrefix(name, "$") && name != "definitions":
			c.drop(&e, p, name, value, " beside $ref")
		default:
			c.keyword(&e, p, name, value)
		}
	}
	return e
}

// boolean: no schema of the wire is a boolean, but for additionalProperties.
func (c *carrier) boolean(p wireschema.Place) wireschema.Edit {
	allowed := string(p.Schema.Raw()) == "true"
	if p.Keyword == "additionalProperties" {
		return wireschema.Edit{}
	}
	if !allowed {
		c.lost.Add(p.At, "a schema that is false is not enforced")
	}
	return wireschema.Edit{Whole: "{}"}
}

// drop leaves a keyword out, and says so if that loosens anything.
func (c *carrier) drop(e *wireschema.Edit, p wireschema.Place, name string, value provider.Value, where string) {
	e.Drop(name)
	if wireschema.Asserts(name, value) {
		c.lost.Add(p.At, "%s is not enforced%s", provider.Keyword(name), where)
	}
}

func (c *carrier) keyword(e *wireschema.Edit, p wireschema.Place, name string, value provider.Value) {
	switch name {
	case "$ref":
		c.reference(e, p)
	case "definitions":
		c.definitions(e, p, value)
	case "const":
		c.constant(e, p, value)
	case "enum":
		c.enum(e, p, value)
	case "required":
		c.required(e, p, value)
	case "items":
		c.items(e, p, value)
	case "format":
		if word, _ := value.Text(); !slices.Contains(formats, word) {
			c.lost.Add(p.At, "this format is sent, but it is not known that it is enforced")
		}
	case "oneOf":
		c.oneOf(e, p, value)
	case "additionalProperties":
		if p.Schema.Get("patternProperties").Present() {
			c.drop(e, p, name, value, " beside patternProperties")
		}
	default:
		if !slices.Contains(keywords, name) {
			c.drop(e, p, name, value, "")
		}
	}
}
