package contract

import (
	"errors"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// leaf is one located fault as the library reports it.
type leaf struct {
	at      []string // path to the value
	keyword string
	key     string   // missing or extra key
	keyed   bool     // key counts, even if empty
	note    string   // what only the library knows: the type found, the items that are equal
	schema  []string // path to the sub-schema that holds the keyword
	foreign bool     // the sub-schema is in an embedded metaschema, schema is nothing
	broken  bool     // no fault of the value: the schema refers to itself without end
}

// flatten walks the causes of an invalid verdict down to its located faults. It never returns none.
func flatten(e *jsonschema.ValidationError) []leaf {
	switch k := e.ErrorKind.(type) {
	case *kind.Schema:
		return below(e, e.SchemaURL)
	case *kind.Group:
		return below(e, e.SchemaURL)
	case *kind.AllOf:
		return below(e, "")
	case *kind.Reference:
		return below(e, k.URL)
	case *kind.AnyOf:
		return union(e, "anyOf")
	case *kind.OneOf:
		if k.Subschemas == nil {
			return union(e, "oneOf")
		}
		return one(e, "oneOf", "more than one alternative matches")
	}
	return single(e)
}

// below flattens the causes of e. The unevaluated keywords of the sub-schema at address are not believed beside a
// failed sub-schema in place: a key is unevaluated only because the sub-schema that describes it failed elsewhere.
func below(e *jsonschema.ValidationError, address string) []leaf {
	doubtful := address != "" && slices.ContainsFunc(e.Causes, func(c *jsonschema.ValidationError) bool {
		return failedInPlace(c, address)
	})
	var all []leaf
	for _, cause := range e.Causes {
		if doubtful && strings.HasPrefix(cause.SchemaURL, address+"/unevaluated") {
			continue
		}
		all = append(all, flatten(cause)...)
	}
	if len(all) == 0 {
		return single(e)
	}
	return all
}

func failedInPlace(e *jsonschema.ValidationError, address string) bool {
	switch e.ErrorKind.(type) {
	case *kind.AllOf, *kind.AnyOf, *kind.OneOf, *kind.Reference:
		return e.SchemaURL == address
	}
	rest, inside := strings.CutPrefix(e.SchemaURL, address+"/")
	first, _, _ := strings.Cut(rest, "/")
	return inside && slices.Contains([]string{"then", "else", "dependentSchemas"}, first)
}

// union reports a failed anyOf or oneOf: the faults of the one branch that the value clearly means, else one fault at
// the union. A branch is ruled out by type, const or enum at the union's own place, or by const or enum of a key there
// (a discriminator).
func union(e *jsonschema.ValidationError, keyword string) []leaf {
	var meant []leaf
	count := 0
	for _, cause := range e.Causes {
		branch := flatten(cause)
		if !ruledOut(branch, e.InstanceLocation) {
			meant = branch
			count++
		}
	}
	if count == 1 {
		return meant
	}
	return one(e, keyword, noAlternative)
}

// noAlternative is the note of a union none of whose branches holds or is meant.
const noAlternative = "no alternative matches"

func ruledOut(branch []leaf, at []string) bool {
	return slices.ContainsFunc(branch, func(l leaf) bool {
		valued := l.keyword == "const" || l.keyword == "enum"
		switch len(l.at) - len(at) {
		case 0:
			return valued || l.keyword == "type" || l.keyword == "anyOf" || l.keyword == "oneOf" || l.keyword == "not"
		case 1:
			return valued
		}
		return false
	})
}

func one(e *jsonschema.ValidationError, keyword, note string) []leaf {
	l := newLeaf(e)
	l.keyword, l.note = keyword, note
	return []leaf{l}
}

func newLeaf(e *jsonschema.ValidationError) leaf {
	tokens, ok := location(e.SchemaURL)
	return leaf{at: e.InstanceLocation, schema: tokens, foreign: !ok}
}

// perKey makes one leaf per missing or extra key.
func perKey(e *jsonschema.ValidationError, keyword string, keys []string) []leaf {
	leaves := make([]leaf, len(keys))
	for i, key := range keys {
		leaves[i] = newLeaf(e)
		leaves[i].keyword, leaves[i].key, leaves[i].keyed = keyword, key, true
	}
	return leaves
}

// single flattens an error whose causes do not count.
func single(e *jsonschema.ValidationError) []leaf {
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return perKey(e, "required", k.Missing)
	case *kind.AdditionalProperties:
		return perKey(e, "additionalProperties", k.Properties)
	case *kind.Dependency:
		return perKey(e, "dependencies", k.Missing)
	case *kind.DependentRequired:
		return perKey(e, "dependentRequired", k.Missing)
	case *kind.PropertyNames:
		return perKey(e, "propertyNames", []string{k.Property})
	case *kind.Not:
		return one(e, "not", "")
	case *kind.UniqueItems:
		return one(e, "uniqueItems", uniqueNote(k))
	case *kind.FalseSchema:
		return refused(e)
	case *kind.Format:
		return entryLeaf(e, k)
	case *kind.RefCycle, *kind.InvalidJsonValue:
		l := newLeaf(e)
		l.broken = true
		return []leaf{l}
	}
	return named(e)
}

// named takes the keyword from the error itself.
func named(e *jsonschema.ValidationError) []leaf {
	if path := e.ErrorKind.KeywordPath(); len(path) > 0 {
		return one(e, path[0], "")
	}
	return one(e, "schema", "")
}

// entryLeaf tells the checks of a gate from a failed format.
func entryLeaf(e *jsonschema.ValidationError, k *kind.Format) []leaf {
	if f, ok := errors.AsType[*entryFault](k.Err); ok {
		return one(e, f.keyword, f.got)
	}
	return one(e, "format", k.Err.Error())
}

// refused reports a value under the schema false. For a member of an object it is an extra key; the keyword is the one
// that holds the schema false.
func refused(e *jsonschema.ValidationError) []leaf {
	l := newLeaf(e)
	l.keyword = "false"
	if l.foreign || len(l.schema) == 0 {
		return []leaf{l}
	}
	var named bool
	l.schema, l.keyword, named = holder(l.schema)
	switch {
	case l.keyword == "dependentSchemas" || l.keyword == "dependencies":
		tokens, _ := location(e.SchemaURL)
		l.key, l.keyed = tokens[len(tokens)-1], true
	case named || l.keyword == "additionalProperties" || l.keyword == "unevaluatedProperties":
		last := len(l.at) - 1
		l.at, l.key, l.keyed = l.at[:last], l.at[last], true
	}
	return []leaf{l}
}

// holder splits the path of a sub-schema into the path of the schema that holds it and the keyword under which it
// does; named says that the sub-schema is one of the members of properties or patternProperties.
func holder(tokens []string) (parent []string, key string, named bool) {
	at := 0
	for i := 0; i < len(tokens); {
		at, key = i, tokens[i]
		i++
		switch s := keywords[key].shape; {
		case s == mapShape, s == listShape, s == eitherShape && i < len(tokens) && isIndex(tokens[i]):
			i++
		}
	}
	named = key == "properties" || key == "patternProperties"
	return tokens[:at], key, named
}
