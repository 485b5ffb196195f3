package corrupt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"emend/engine/contract"
)

// maxDepth bounds how deep an instance is built; beyond it only what is required is made.
const maxDepth = 6

// Instance makes an answer that the contract accepts from its schema: an example or a default of the schema itself, or a
// value built from its keywords. What it cannot build (a rule between fields, a union whose first branch does not fit, a
// pattern beside a length) is an error that names the first fault: a good answer has to be given then.
func Instance(c *contract.Contract, schema json.RawMessage) (json.RawMessage, error) {
	root := decode(schema)
	b := &builder{root: root}
	var candidates []any
	if s, ok := root.(object); ok {
		given, _ := s["examples"].([]any)
		candidates = append(candidates, given...)
		if v, ok := s["default"]; ok {
			candidates = append(candidates, v)
		}
		own := maps.Clone(s)
		delete(own, "examples")
		delete(own, "default")
		root = own
	}
	candidates = append(candidates, b.value(root, 0))
	var last contract.Verdict
	for _, v := range candidates {
		text, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		if last = c.Judge(text); last.Valid() {
			return text, nil
		}
	}
	return nil, fmt.Errorf("%w: none could be made from the schema: %s", ErrNotGood, why(last))
}

func decode(raw json.RawMessage) (v any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// builder builds values of the sub-schemas of one document. work counts the sub-schemas that it looked at.
type builder struct {
	root any
	work int
}

// maxWork bounds what one instance may cost: schemas may refer to themselves in many places.
const maxWork = 20_000

type object = map[string]any

// schema follows the references of a sub-schema into the same document and lays allOf and the first branch of anyOf and
// oneOf over it.
func (b *builder) schema(v any, depth int) object {
	s, _ := v.(object)
	if b.work++; s == nil || depth > 4*maxDepth || b.work > maxWork {
		return object{}
	}
	out := maps.Clone(s)
	parts, _ := s["allOf"].([]any)
	parts = append(slices.Clone(parts), first(s["anyOf"]), first(s["oneOf"]))
	if ref, ok := s["$ref"].(string); ok {
		parts = append(parts, b.find(ref))
	}
	for _, p := range parts {
		for keyword, value := range b.schema(p, depth+1) {
			out[keyword] = both(out[keyword], value)
		}
	}
	return out
}

// both joins what two schemas say by one keyword: properties and what is required are added up, of all else the first counts.
func both(a, b any) any {
	switch a := a.(type) {
	case nil:
		return b
	case object:
		if more, ok := b.(object); ok {
			out := maps.Clone(more)
			maps.Copy(out, a)
			return out
		}
	case []any:
		if more, ok := b.([]any); ok {
			return append(slices.Clone(a), more...)
		}
	}
	return a
}

func first(v any) any {
	if list, _ := v.([]any); len(list) > 0 {
		return list[0]
	}
	return nil
}

// find returns the sub-schema under a reference such as #/$defs/n, nil for any other.
func (b *builder) find(ref string) any {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	at := b.root
	for t := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if s, ok := at.(object); ok && t != "" {
			at = s[strings.NewReplacer("~1", "/", "~0", "~").Replace(t)]
		}
	}
	return at
}

// value builds a value of a sub-schema.
func (b *builder) value(v any, depth int) any {
	s := b.schema(v, 0)
	for _, keyword := range []string{"const", "default"} {
		if given, ok := s[keyword]; ok {
			return given
		}
	}
	for _, keyword := range []string{"enum", "examples"} {
		if list, ok := s[keyword].([]any); ok && len(list) > 0 {
			return list[0]
		}
	}
	switch kindOf(s) {
	case "object":
		return b.members(s, depth)
	case "array":
		return b.items(s, depth)
	case "string":
		return text(s)
	case "number", "integer":
		return number(s)
	case "boolean":
		return true
	}
	return nil
}

// keywordsOf lists keywords that are about one type.
var keywordsOf = []struct {
	kind     string
	keywords []string
}{
	{"object", []string{"properties", "required", "minProperties"}}, {"array", []string{"items", "prefixItems", "minItems"}},
	{"string", []string{"minLength", "pattern", "format"}}, {"number", []string{"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"}},
}

// kindOf is the type that is built: the first that is not null, or what the keywords are about.
func kindOf(s object) string {
	if name, ok := s["type"].(string); ok {
		return name
	}
	types, _ := s["type"].([]any)
	for _, t := range types {
		if name, ok := t.(string); ok && name != "null" {
			return name
		}
	}
	for _, about := range keywordsOf {
		if slices.ContainsFunc(about.keywords, func(k string) bool { return s[k] != nil }) {
			return about.kind
		}
	}
	if len(types) > 0 {
		return "null"
	}
	return "object"
}

func (b *builder) members(s object, depth int) object {
	out := object{}
	properties, _ := s["properties"].(object)
	required, _ := s["required"].([]any)
	for _, name := range required {
		if key, ok := name.(string); ok && depth < 4*maxDepth {
			out[key] = b.value(properties[key], depth+1)
		}
	}
	for key, sub := range properties {
		if _, done := out[key]; !done && depth < maxDepth && sub != false {
			out[key] = b.value(sub, depth+1)
		}
	}
	for i := len(out); i < count(s, "minProperties", 0); i++ {
		out[fmt.Sprintf("key%d", i)] = b.value(s["additionalProperties"], depth+1)
	}
	return out
}

// items builds one item, or as many as must be, each different where they have to be.
func (b *builder) items(s object, depth int) []any {
	prefix, _ := s["prefixItems"].([]any)
	if list, ok := s["items"].([]any); ok {
		prefix = list
	}
	out := []any{}
	for _, p := range prefix {
		out = append(out, b.value(p, depth+1))
	}
	least := count(s, "minItems", 1)
	if depth >= maxDepth {
		least = count(s, "minItems", 0)
	}
	for len(out) < min(least, count(s, "maxItems", least)) {
		item := b.value(s["items"], depth+1)
		if s["uniqueItems"] == true {
			item = different(item, len(out))
		}
		out = append(out, item)
	}
	return out
}

// different makes the nth of values that must not be equal.
func different(v any, n int) any {
	switch v := v.(type) {
	case string:
		return v + strings.Repeat("x", n)
	case json.Number:
		return json.Number(sum(string(v), int64(n)))
	}
	return v
}
