package openai

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"emend/engine/provider"
)

// strictDepth is how deep objects may nest in strict mode.
const strictDepth = 10

// strictKeywords are the keywords that strict mode is known to carry. OpenAI's documents disagree on lengths, pattern,
// format, bounds and item counts, so those count as not carried.
var strictKeywords = []string{"$schema", "$defs", "definitions", "$ref", "type", "properties", "required",
	"additionalProperties", "items", "enum", "const", "anyOf", "title", "description"}

// FitsStrict reports whether a schema already fits OpenAI's strict subset, and every reason why it does not, by JSON
// pointer. One that does not goes out whole with strict: false and is never rewritten: a property that is made required
// and nullable is answered with null where nothing was meant (providers.md, "Which schemas survive").
func FitsStrict(schema []byte) (bool, []string) {
	facts := remembered.of(schema)
	return facts.strict, slices.Clone(facts.reasons)
}

func fitsStrict(schema []byte) (bool, []string) {
	root, ok := provider.Parse(schema)
	if !ok || root.Kind() != provider.Object {
		return false, []string{"the schema is not a JSON object"}
	}
	w := strictWalk{root: root}
	if kind, _ := root.Get("type").Text(); kind != "object" {
		w.add("", "the root is not of type object")
	}
	if root.Get("anyOf").Kind() != provider.Absent {
		w.add("", "the root has anyOf")
	}
	w.schema("", root, 1)
	return len(w.reasons) == 0, w.reasons
}

type strictWalk struct {
	root    provider.Value
	reasons []string
}

func (w *strictWalk) add(at, what string) {
	if at == "" {
		at = "/"
	}
	w.reasons = append(w.reasons, at+": "+what)
}

func (w *strictWalk) schema(at string, s provider.Value, depth int) {
	switch {
	case s.Kind() != provider.Object:
		w.add(at, "is not an object schema")
		return
	case depth > strictDepth:
		w.add(at, fmt.Sprintf("is nested deeper than %d levels", strictDepth))
		return
	}
	for key := range s.Members() {
		if name, _ := key.Text(); !slices.Contains(strictKeywords, name) {
			w.add(at+"/"+escape(name), "strict mode does not carry this keyword")
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
		w.add(at, "has neither type nor anyOf")
	}
	if isObject(s) {
		w.object(at, s)
	}
	if hasType(s, "array") && s.Get("items").Kind() != provider.Object {
		w.add(at, "is an array without an items schema")
	}
}

func (w *strictWalk) reference(at string, s, ref provider.Value) {
	target, _ := ref.Text()
	if target != "#" && !w.resolves(target) {
		w.add(at+"/$ref", "does not name a definition of this schema")
	}
	for key := range s.Members() {
		if name, _ := key.Text(); name != "$ref" && at != "" {
			w.add(at+"/"+escape(name), "stands beside $ref")
		}
	}
}

func (w *strictWalk) resolves(target string) bool {
	for _, under := range []string{"$defs", "definitions"} {
		if name, ok := strings.CutPrefix(target, "#/"+under+"/"); ok {
			name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
			return w.root.Get(under).Get(name).Kind() == provider.Object
		}
	}
	return false
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
		w.add(at, "additionalProperties is not false")
	}
	var required []string
	for element := range s.Get("required").Elements() {
		name, _ := element.Text()
		required = append(required, name)
	}
	for key := range s.Get("properties").Members() {
		if name, _ := key.Text(); !slices.Contains(required, name) {
			w.add(at+"/properties/"+escape(name), "is not in required")
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
			w.schema(at+"/"+keyword+"/"+escape(name), sub, step)
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

func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// memo remembers what is costly to know of a schema. A process has few schemas and sends each many times.
type memo struct {
	mu    sync.Mutex
	known map[string]schemaFacts
}

type schemaFacts struct {
	wellFormed, strict bool
	reasons            []string
}

// remembered is shared by all endpoints: plans ask what calls ask. It is a cache and nothing else.
var remembered memo

// memoSize bounds the memo; when it is full it starts anew.
const memoSize = 64

func (m *memo) of(schema []byte) schemaFacts {
	m.mu.Lock()
	defer m.mu.Unlock()
	if facts, ok := m.known[string(schema)]; ok {
		return facts
	}
	facts := schemaFacts{wellFormed: wellFormed(schema, provider.Object)}
	facts.strict, facts.reasons = fitsStrict(schema)
	if m.known == nil || len(m.known) >= memoSize {
		m.known = make(map[string]schemaFacts, memoSize)
	}
	m.known[string(schema)] = facts
	return facts
}
