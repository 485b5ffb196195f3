package provider

import (
	"strings"
)

// schemaWords are what a provider's text names when a 400 is about the schema that went out.
var schemaWords = []string{"schema", "response_format", "response format", "grammar", "output_config", "output_format", "structured output"}

// AboutSchema reports whether a provider's text speaks of the schema.
func AboutSchema(text string) bool {
	text = strings.ToLower(text)
	for _, word := range schemaWords {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// RefuseSchema makes e the refusal of a request's schema: permanent, with the keyword that the provider's text names.
// A dialect calls it where StatusError cannot know, such as for a provider that answers 500 to a bad schema.
func (e *Error) RefuseSchema(text string) {
	e.Schema, e.Permanent, e.Keyword = true, true, namedKeyword(text)
	e.Reason = "the provider refused the schema"
	if e.Keyword != "" {
		e.Reason += " for its " + e.Keyword
	}
	e.Reason += ": emend validate --portability shows what each provider carries, native: none sends no schema"
}

// plainKeywords are also English words or types, so they count only in quotation marks.
var plainKeywords = wordSet("type properties required items enum const not if then else format pattern default examples title description contains")

// ownKeywords are words that only a schema uses.
var ownKeywords = wordSet("$schema $id $ref $defs $anchor $dynamicRef $dynamicAnchor $comment $recursiveRef definitions additionalProperties " +
	"patternProperties propertyNames minProperties maxProperties dependentRequired dependentSchemas dependencies unevaluatedProperties " +
	"unevaluatedItems prefixItems additionalItems minItems maxItems uniqueItems minContains maxContains minLength maxLength minimum maximum " +
	"exclusiveMinimum exclusiveMaximum multipleOf anyOf oneOf allOf contentEncoding contentMediaType contentSchema readOnly writeOnly deprecated nullable")

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// namedKeyword finds the keyword that a text complains of: the first one in quotation marks, else the first that is no
// other word. Nothing else of a provider's text is repeated.
func namedKeyword(text string) string {
	text = withoutContext(Detail(text))
	bare := ""
	for at := 0; at < len(text); {
		end := at
		for end < len(text) && wordByte(text[end]) {
			end++
		}
		if word := text[at:end]; ownKeywords[word] || plainKeywords[word] {
			if quotedAt(text, at, end) {
				return word
			}
			if bare == "" && ownKeywords[word] {
				bare = word
			}
		}
		at = max(end, at+1)
	}
	return bare
}

func wordByte(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '$' }

func quotedAt(text string, from, to int) bool {
	const marks = "'\"`"
	return from > 0 && to < len(text) && strings.IndexByte(marks, text[from-1]) >= 0 && strings.IndexByte(marks, text[to]) >= 0
}

// withoutContext drops OpenAI's path into the schema, context=('properties', 'a'), whose words are places, not faults.
func withoutContext(text string) string {
	before, rest, found := strings.Cut(text, "context=(")
	if !found {
		return text
	}
	_, after, _ := strings.Cut(rest, ")")
	return before + after
}
