package openai

import (
	"bytes"
	"fmt"
	"slices"

	"emend/engine/provider"
)

// strictDepth is how deep objects may nest in strict mode.
const strictDepth = 10

// strictKeywords are the keywords that strict mode is known to carry. OpenAI's documents disagree on lengths, pattern,
// format, bounds and item counts, so those count as not carried.
var strictKeywords = []string{"$schema", "$defs", "definitions", "$ref", "type", "properties", "required",
	"additionalProperties", "items", "enum", "const", "anyOf", "title", "description"}

// Forms of OpenAI's native constraint.
const (
	formStrict = "response_format with strict: true"
	formLoose  = "response_format with strict: false"
)

// Carry sends every object schema whole: with strict: true if it already fits OpenAI's strict subset, else with strict:
// false, which the provider takes as a hint and does not enforce. It never rewrites one: a property that is made required
// and nullable is answered with null where nothing was meant (providers.md, "Which schemas survive").
func Carry(options map[string]any, schema []byte) provider.Carried {
	return carry(&provider.Endpoint{Options: options}, schema)
}

func carry(ep *provider.Endpoint, schema []byte) provider.Carried {
	if ep.Word(optStrict) == "never" {
		return carryLoose(schema)
	}
	return carryAuto(schema)
}

var (
	carryAuto = provider.Remembered(func(schema []byte) provider.Carried {
		if !provider.WellFormed(schema, provider.Object) {
			return notAnObject
		}
		if why := fitsStrict(schema); why != nil {
			return provider.Carried{Schema: bytes.Clone(schema), Form: formLoose, Hint: true, Weakened: why}
		}
		return provider.Carried{Schema: bytes.Clone(schema), Form: formStrict, Whole: true}
	})
	carryLoose = provider.Remembered(func(schema []byte) provider.Carried {
		if !provider.WellFormed(schema, provider.Object) {
			return notAnObject
		}
		var lost provider.Losses
		lost.Add("", "options.strict is never, so the provider enforces nothing")
		return provider.Carried{Schema: bytes.Clone(schema), Form: formLoose, Hint: true, Weakened: lost.Clauses()}
	})
	notAnObject = provider.NotCarried("the schema is not an object in well-formed JSON")
)

// fitsStrict returns every reason why a schema does not fit the strict subset as it stands; nil if it does.
func fitsStrict(schema []byte) []string {
	root, _ := provider.Parse(schema)
	w := strictWalk{defined: definitions(root)}
	if kind, _ := root.Get("type").Text(); kind != "object" {
		w.lost.Add("", "the root is not of type object")
	}
	if root.Get("anyOf").Kind() != provider.Absent {
		w.lost.Add("", "the root has anyOf")
	}
	w.schema("", root, 1)
	return w.lost.Clauses()
}

type strictWalk struct {
	// defined are the references that name an object schema among the root's definitions.
	defined map[string]bool
	lost    provider.Losses
}

func definitions(root provider.Value) map[string]bool {
	out := map[string]bool{"#": true}
	for _, under := range []string{"$defs", "definitions"} {
		for key, schema := range root.Get(under).Members() {
			name, _ := key.Text()
			out[provider.Pointer("#/"+under, name)] = schema.Kind() == provider.Object
		}
	}
	return out
}

func (w *strictWalk) schema(at string, s provider.Value, depth int) {
	switch {
	case s.Kind() != provider.Object:
		w.lost.Add(at, "is not an object schema")
		return
	case depth > strictDepth:
		w.lost.Add(at, "is nested deeper than %d levels", strictDepth)
		return
	}
	for key := range s.Members() {
		if name, _ := key.Text(); !slices.Contains(strictKeywords, name) {
			w.lost.Add(at, "strict mode does not carry %s", provider.Keyword(name))
		}
	}
	w.shape(at, s)
	w.below(at, s, depth)
}

// shape checks one schema without those below it.
func (w *strictWalk) shape(at string, s provider.Value) {
	if ref := s.Get("$ref"); ref.Kind() != provider.Absent {
		w.reference(at, s, ref)
		return
	}
	if !s.Get("type").Present() && !s.Get("anyOf").Present() {
		w.lost.Add(at, "has neither type nor anyOf")
	}
	if isObject(s) {
		w.object(at, s)
	}
	if hasType(s, "array") && s.Get("items").Kind() != provider.Object {
		w.lost.Add(at, "is an array without an items schema")
	}
}

func (w *strictWalk) reference(at string, s, ref provider.Value) {
	target, _ := ref.Text()
	if !w.defined[target] {
		w.lost.Add(at, "$ref does not name a definition of this schema")
	}
	for key := range s.Members() {
		if name, _ := key.Text(); name != "$ref" && at != "" {
			w.lost.Add(at, "%s stands beside $ref", provider.Keyword(name))
		}
	}
}

func isObject(s provider.Value) bool {
	return hasType(s, "object") || s.Get("properties").Present()
}

func hasType(s provider.Value, name string) bool {
	kinds := s.Get("type")
	if word, ok := kinds.Text(); ok {
		return word == name
	}
	for kind := range kinds.Elements() {
		if word, _ := kind.Text(); word == name {
			return true
		}
	}
	return false
}

func (w *strictWalk) object(at string, s provider.Value) {
	if string(s.Get("additionalProperties").Raw()) != "false" {
		w.lost.Add(at, "additionalProperties is not false")
	}
	required := map[string]bool{}
	for element := range s.Get("required").Elements() {
		name, _ := element.Text()
		required[name] = true
	}
	for key := range s.Get("properties").Members() {
		if name, _ := key.Text(); !required[name] {
			w.lost.Add(provider.Pointer(at+"/properties", name), "is not in required")
		}
	}
}

func (w *strictWalk) below(at string, s provider.Value, depth int) {
	for _, keyword := range []string{"properties", "$defs", "definitions"} {
		step := depth + 1
		if at == "" && keyword != "properties" {
			step = depth
		}
		for key, sub := range s.Get(keyword).Members() {
			name, _ := key.Text()
			w.schema(provider.Pointer(at+"/"+keyword, name), sub, step)
		}
	}
	if items := s.Get("items"); items.Kind() != provider.Absent {
		w.schema(at+"/items", items, depth+1)
	}
	i := 0
	for branch := range s.Get("anyOf").Elements() {
		w.schema(fmt.Sprintf("%s/anyOf/%d", at, i), branch, depth+1)
		i++
	}
}
