package contract

import (
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// Drafts by the year or number that the judge uses.
const (
	draft4    = 4
	draft6    = 6
	draft7    = 7
	draft2019 = 2019
	draft2020 = 2020
)

// shape says how a keyword holds sub-schemas.
type shape int

const (
	leafShape   shape = iota // none
	oneShape                 // a schema
	listShape                // an array of schemas
	mapShape                 // an object of schemas
	eitherShape              // a schema or an array of them
)

// keyword is one row of the table of keywords: the drafts that know it and where its sub-schemas are. Keywords that
// only annotate are not listed: they do nothing in any draft.
type keyword struct {
	from, to int
	shape    shape
	advice   string // what to write instead in a draft that does not know it
}

var keywords = map[string]keyword{
	"id":                    {draft4, draft4, leafShape, "use $id"},
	"$id":                   {draft6, draft2020, leafShape, "use id"},
	"$anchor":               {draft2019, draft2020, leafShape, "point to the sub-schema with a JSON pointer"},
	"$recursiveRef":         {draft2019, draft2019, leafShape, "use $ref or $dynamicRef"},
	"$recursiveAnchor":      {draft2019, draft2019, leafShape, "use $dynamicAnchor"},
	"$dynamicRef":           {draft2020, draft2020, leafShape, "use $ref"},
	"$dynamicAnchor":        {draft2020, draft2020, leafShape, "use $ref and a JSON pointer"},
	"const":                 {draft6, draft2020, leafShape, "use enum with one value"},
	"minContains":           {draft2019, draft2020, leafShape, "declare draft 2020-12"},
	"maxContains":           {draft2019, draft2020, leafShape, "declare draft 2020-12"},
	"dependentRequired":     {draft2019, draft2020, leafShape, "use dependencies"},
	"dependentSchemas":      {draft2019, draft2020, mapShape, "use dependencies"},
	"dependencies":          {draft4, draft7, mapShape, "use dependentRequired or dependentSchemas"},
	"additionalItems":       {draft4, draft2019, oneShape, "use items beside prefixItems"},
	"prefixItems":           {draft2020, draft2020, listShape, "use items with an array"},
	"unevaluatedItems":      {draft2019, draft2020, oneShape, "use additionalItems"},
	"unevaluatedProperties": {draft2019, draft2020, oneShape, "use additionalProperties"},
	"contains":              {draft6, draft2020, oneShape, "declare a newer draft"},
	"propertyNames":         {draft6, draft2020, oneShape, "declare a newer draft"},
	"if":                    {draft7, draft2020, oneShape, "declare a newer draft"},
	"then":                  {draft7, draft2020, oneShape, "declare a newer draft"},
	"else":                  {draft7, draft2020, oneShape, "declare a newer draft"},
	"items":                 {draft4, draft2020, eitherShape, ""},
	"additionalProperties":  {draft4, draft2020, oneShape, ""},
	"not":                   {draft4, draft2020, oneShape, ""},
	"allOf":                 {draft4, draft2020, listShape, ""},
	"anyOf":                 {draft4, draft2020, listShape, ""},
	"oneOf":                 {draft4, draft2020, listShape, ""},
	"properties":            {draft4, draft2020, mapShape, ""},
	"patternProperties":     {draft4, draft2020, mapShape, ""},
	"definitions":           {draft4, draft2020, mapShape, ""},
	"$defs":                 {draft4, draft2020, mapShape, ""},
}

// drafts maps `$schema` values, without scheme and fragment, to drafts.
var drafts = map[string]int{
	"json-schema.org/draft-04/schema":      draft4,
	"json-schema.org/draft-06/schema":      draft6,
	"json-schema.org/draft-07/schema":      draft7,
	"json-schema.org/draft/2019-09/schema": draft2019,
	"json-schema.org/draft/2020-12/schema": draft2020,
	"json-schema.org/schema":               draft2020,
}

func draftName(d int) string {
	if d < draft2019 {
		return fmt.Sprintf("draft-%02d", d)
	}
	return map[int]string{draft2019: "draft 2019-09", draft2020: "draft 2020-12"}[d]
}

// Bounds of a schema.
const (
	maxSubSchemas = 10_000
	maxCount      = 1 << 31 // of minLength and its like: the judge holds them in an int
)

var counts = []string{
	"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains",
}

// checker walks a schema document and refuses what the judge would silently ignore or misread.
type checker struct {
	seen  map[string]bool // pointers of checked sub-schemas
	names map[string]bool // property names that the schema mentions
}

// schema checks the sub-schema at tokens and everything below it.
func (c *checker) schema(v any, tokens []string, draft int) error {
	obj, ok := v.(map[string]any)
	at := pointer(tokens)
	if !ok || c.seen[at] {
		return nil
	}
	c.seen[at] = true
	if len(c.seen) > maxSubSchemas {
		return refuse(tokens, "", "the schema has more than %d sub-schemas; split the contract", maxSubSchemas)
	}
	draft, err := c.draft(obj, tokens, draft)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		if err := c.keyword(obj, key, tokens, draft); err != nil {
			return err
		}
	}
	return c.values(obj, tokens, draft)
}

// draft returns the draft of a sub-schema: its own `$schema` at the root or beside an id, else its parent's.
func (c *checker) draft(obj map[string]any, tokens []string, parent int) (int, error) {
	name, ok := obj["$schema"].(string)
	if !ok || len(tokens) > 0 && obj["$id"] == nil && obj["id"] == nil {
		return parent, nil
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(name, "http://"), "https://"), "#")
	if d, ok := drafts[bare]; ok {
		return d, nil
	}
	return 0, refuse(tokens, "$schema", "%q is no draft that the judge knows; name draft-04 to 2020-12", excerpt(name))
}

func (c *checker) keyword(obj map[string]any, key string, tokens []string, draft int) error {
	k, known := keywords[key]
	if !known {
		return nil
	}
	value := obj[key]
	if draft < k.from || draft > k.to {
		if _, isName := value.(string); key != "id" || isName {
			return refuse(tokens, key, "%s does not know %s and would ignore it; %s", draftName(draft), key, k.advice)
		}
	}
	if _, isList := value.([]any); isList && key == "items" && draft == draft2020 {
		return refuse(tokens, key, "draft 2020-12 has no items with an array; use prefixItems")
	}
	return c.below(value, key, k.shape, tokens, draft)
}

// below checks the sub-schemas that a keyword holds.
func (c *checker) below(value any, key string, s shape, tokens []string, draft int) error {
	path := append(slices.Clone(tokens), key)
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			if s != listShape && s != eitherShape {
				return nil
			}
			if err := c.schema(item, append(path, fmt.Sprint(i)), draft); err != nil {
				return err
			}
		}
	case map[string]any:
		if s == oneShape || s == eitherShape {
			return c.schema(v, path, draft)
		}
		return c.members(v, key, s, path, draft)
	}
	return nil
}

func (c *checker) members(v map[string]any, key string, s shape, path []string, draft int) error {
	if s != mapShape {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if key == "properties" || key == "dependentSchemas" || key == "dependencies" {
			c.names[name] = true
		}
		if err := c.pattern(name, key == "patternProperties", path[:len(path)-1], key); err != nil {
			return err
		}
		if err := c.schema(v[name], append(slices.Clone(path), name), draft); err != nil {
			return err
		}
	}
	return nil
}

// values checks what the drafts allow and the judge cannot do: patterns outside RE2 and counts beyond an int.
func (c *checker) values(obj map[string]any, tokens []string, draft int) error {
	if expr, ok := obj["pattern"].(string); ok {
		if err := c.pattern(expr, true, tokens, "pattern"); err != nil {
			return err
		}
	}
	for _, key := range counts {
		if n, ok := obj[key].(fmt.Stringer); ok && tooLarge(n.String()) {
			return refuse(tokens, key, "%s is larger than the judge can count; use at most %d", key, maxCount)
		}
	}
	for _, key := range []string{"exclusiveMinimum", "exclusiveMaximum"} {
		if _, flag := obj[key].(bool); flag && draft != draft4 {
			return refuse(tokens, key, "only draft-04 has a boolean %s; give the bound itself", key)
		}
		if v, ok := obj[key]; ok && draft == draft4 && !isBool(v) {
			return refuse(tokens, key, "draft-04 has only a boolean %s beside its bound; declare a newer draft", key)
		}
	}
	required, _ := obj["required"].([]any)
	for _, name := range required {
		if s, ok := name.(string); ok {
			c.names[s] = true
		}
	}
	return nil
}

func isBool(v any) bool {
	_, ok := v.(bool)
	return ok
}

func tooLarge(number string) bool {
	r, ok := new(big.Rat).SetString(number)
	return ok && r.Cmp(big.NewRat(maxCount, 1)) > 0
}

func (c *checker) pattern(expr string, isPattern bool, tokens []string, key string) error {
	if !isPattern {
		return nil
	}
	if _, err := regexp.Compile(expr); err != nil {
		return refuse(tokens, key, "the pattern %q cannot run (%v); write it without lookaround, backreferences "+
			"and repetitions over 1000", excerpt(expr), err)
	}
	return nil
}

func refuse(tokens []string, key, format string, args ...any) error {
	return &CompileError{Pointer: pointer(tokens), Keyword: key, Reason: fmt.Sprintf(format, args...)}
}
