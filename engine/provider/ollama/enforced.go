package ollama

import (
	"slices"

	"emend/engine/provider"
	"emend/engine/provider/wireschema"
)

// everyType is what a schema without a type allows.
var everyType = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

// familiar are the keywords that assert something of one type alone.
var familiar = map[string][]string{
	"object": {"properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties",
		"dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties"},
	"array":   {"items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems"},
	"string":  {"pattern", "minLength", "maxLength", "format"},
	"number":  {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
	"integer": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
}

// formats are those that Ollama enforces: date was tried, the others are its reader's.
var formats = []string{"date", "time", "date-time", "uuid"}

// types are those that a schema allows as Ollama reads it: where none is named, the first keyword of one family decides.
func (n *node) types() []string {
	if kind, ok := n.has["type"]; ok {
		if word, isText := kind.Text(); isText {
			return []string{word}
		}
		var out []string
		for element := range kind.Elements() {
			word, _ := element.Text()
			out = append(out, word)
		}
		return out
	}
	switch {
	case n.decided():
		return everyType
	case n.closed(), n.is("allOf"):
		return []string{"object"}
	case n.is("items"):
		return []string{"array"}
	case n.is("pattern"), n.knownFormat():
		return []string{"string"}
	}
	return everyType
}

// decided reports that a keyword decides alone, whatever stands beside it.
func (n *node) decided() bool {
	return n.is("$ref") || n.is("anyOf") || n.is("const") || n.is("enum")
}

// closed reports that the object is written property by property.
func (n *node) closed() bool {
	more, ok := n.has["additionalProperties"]
	return n.is("properties") || ok && string(more.Raw()) != "true"
}

func (n *node) knownFormat() bool {
	word, _ := n.has["format"].Text()
	return slices.Contains(formats, word)
}

// report says of every keyword that is left whether Ollama enforces it, for each type that it concerns.
func (c *carrier) report(n *node, types []string) {
	alone := n.alone()
	for _, keyword := range wireschema.Assertions() {
		value, ok := n.has[keyword]
		if !ok || keyword == "type" || alone == "const" || !wireschema.Asserts(keyword, value) {
			continue
		}
		if !n.enforced(keyword, alone, types) {
			c.lost.Add(n.at, "%s is not enforced", keyword)
		}
	}
	c.required(n)
}

// alone is the keyword that decides alone, in Ollama's order.
func (n *node) alone() string {
	for _, keyword := range []string{"$ref", "anyOf", "const", "enum"} {
		if n.is(keyword) {
			return keyword
		}
	}
	return ""
}

func (n *node) enforced(keyword, alone string, types []string) bool {
	if alone != "" {
		return keyword == alone
	}
	if keyword == "allOf" {
		other := func(kind string) bool { return kind != "object" && kind != "string" }
		return !n.closed() && !slices.ContainsFunc(types, other)
	}
	concerns := false
	for kind, keywords := range familiar {
		if !slices.Contains(keywords, keyword) {
			continue
		}
		concerns = true
		if slices.Contains(types, kind) && !slices.Contains(n.enforcedOf(kind), keyword) {
			return false
		}
	}
	return concerns
}

// enforcedOf lists what is enforced of one type: the first keyword that applies decides which others do.
func (n *node) enforcedOf(kind string) []string {
	switch {
	case kind == "object" && n.closed():
		return []string{"properties", "required", "additionalProperties"}
	case kind == "array" && n.is("items"):
		return []string{"items", "minItems", "maxItems"}
	case kind == "string" && n.is("pattern"):
		return []string{"pattern"}
	case kind == "string" && n.knownFormat():
		return []string{"format"}
	case kind == "string":
		return []string{"minLength", "maxLength"}
	case kind == "integer":
		return n.integerBounds()
	}
	return nil
}

// integerBounds: an exclusive bound counts only where no other stands at that end.
func (n *node) integerBounds() []string {
	out := []string{"minimum", "maximum"}
	if !n.is("minimum") {
		out[0] = "exclusiveMinimum"
	}
	if !n.is("maximum") {
		out[1] = "exclusiveMaximum"
	}
	return out
}

// required: only what properties describes can be required.
func (c *carrier) required(n *node) {
	if n.alone() != "" || !n.closed() {
		return
	}
	described := map[string]bool{}
	for key := range n.has["properties"].Members() {
		name, _ := key.Text()
		described[name] = true
	}
	for member := range n.has["required"].Elements() {
		if name, _ := member.Text(); !described[name] {
			c.lost.Add(n.at, "required is not enforced for what properties does not describe")
			return
		}
	}
}

// unread are the keywords with schemas within that Ollama passes by. They do not go out: what is left out of a schema that
// is negated or a condition would make it narrower.
var unread = []string{"not", "if", "then", "else", "contains", "propertyNames", "dependentSchemas", "dependencies", "patternProperties",
	"unevaluatedItems", "unevaluatedProperties", "additionalItems", "contentSchema"}

// unions keeps allOf, anyOf and oneOf where they mean to Ollama what they say. Beside properties anyOf and oneOf would
// replace them; allOf takes only properties, each as a required one, and enums from its branches.
func (c *carrier) unions(n *node) {
	switch {
	case n.is("$ref"):
		c.drop(n, "it stands beside $ref", "oneOf", "anyOf", "allOf")
		return
	case n.is("oneOf") && n.is("anyOf"):
		c.drop(n, "Ollama reads one union alone", "oneOf")
	case n.is("oneOf") && !n.is("properties"):
		c.lost.Add(n.at, "oneOf is enforced as anyOf")
		n.Set("oneOf", wireschema.Fate{Name: "anyOf"})
		n.has["anyOf"] = n.has["oneOf"]
		delete(n.has, "oneOf")
	}
	if n.is("properties") {
		c.drop(n, "it would replace the properties beside it", "anyOf", "oneOf", "allOf")
		return
	}
	for branch := range n.has["allOf"].Elements() {
		if !c.mergeable(branch) {
			c.drop(n, "a branch is no object all of whose properties are required, and no enum", "allOf")
			return
		}
	}
}

func (c *carrier) mergeable(branch provider.Value) bool {
	ref, ok := branch.Get("$ref").Text()
	if !ok {
		return mergeable(branch)
	}
	fits, known := c.merged[ref]
	if !known {
		fits = mergeable(c.defined[ref])
		c.merged[ref] = fits
	}
	return fits
}

func mergeable(branch provider.Value) bool {
	if branch.Get("properties").Kind() != provider.Object {
		return branch.Get("enum").Present() && !branch.Get("$ref").Present()
	}
	required := map[string]bool{}
	for member := range branch.Get("required").Elements() {
		name, _ := member.Text()
		required[name] = true
	}
	for key := range branch.Get("properties").Members() {
		if name, _ := key.Text(); !required[name] {
			return false
		}
	}
	return true
}
