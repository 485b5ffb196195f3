package repair

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestShapeIsSaidInPlainWords(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`{"type":"number","exclusiveMinimum":0,"multipleOf":0.01}`,
			"Type: number (a JSON number: no quotes, no unit, no currency symbol).\nConstraint: greater than 0.\nConstraint: at most 2 decimal places (a multiple of 0.01)."},
		{`{"type":"integer","minimum":1,"maximum":5}`, "Type: integer (a whole JSON number: no quotes, no unit).\nConstraint: at least 1.\nConstraint: at most 5."},
		{`{"exclusiveMaximum":5,"multipleOf":5}`, "Constraint: less than 5.\nConstraint: a multiple of 5."},
		{`{"minimum":1,"exclusiveMinimum":true,"maximum":2,"exclusiveMaximum":false}`, "Constraint: greater than 1.\nConstraint: at most 2."},
		{`{"multipleOf":0.03}`, "Constraint: a multiple of 0.03."},
		{`{"type":["string","null"]}`, "Type: string or null (null without quotes)."},
		{`{"type":["string","integer"]}`, "Type: string or integer."},
		{`{"enum":["X","Y",null,{"a": 1}]}`, `Constraint: one of "X", "Y", null, {"a":1}.`},
		{`{"const":"b"}`, "Constraint: exactly \"b\"."},
		{`{"type":"string","minLength":20,"maxLength":30,"pattern":"^a+\\d$"}`,
			"Type: string (in double quotes).\nConstraint: at least 20 characters.\nConstraint: at most 30 characters.\nConstraint: matches the regular expression `^a+\\d$`."},
		{`{"format":"date","description":"ISO 8601 date,\nthe day of the invoice"}`, "Constraint: a date as YYYY-MM-DD.\nDescription: ISO 8601 date, the day of the invoice"},
		{`{"format":"postcode"}`, "Constraint: has the format postcode."},
		{`{"type":"array","minItems":1,"maxItems":2,"uniqueItems":true,"items":{"type":"string","enum":["a"]}}`,
			"Type: array (a JSON array, not text that holds one).\nConstraint: at least 1 item.\nConstraint: at most 2 items.\n" +
				"Constraint: no two items are equal.\nConstraint: each item is: string, one of \"a\"."},
		{`{"type":"object","properties":{"old":{"type":"string"},"n":{"type":"integer","minimum":0}},"required":["old","x"],"additionalProperties":false}`,
			"Type: object (a JSON object, not text that holds one).\nConstraint: keys: old (string, required); n (integer, at least 0).\n" +
				"Constraint: must have the keys \"x\".\nConstraint: no other keys."},
		{`{"additionalProperties":{"type":"string"},"patternProperties":{"^x":{"type":"null"}},"propertyNames":{"maxLength":3},"minProperties":1}`,
			"Constraint: at least 1 key.\nConstraint: every other key is: string.\nConstraint: keys that match a pattern: ^x (null).\n" +
				"Constraint: the name of every key: at most 3 characters."},
		{`{"anyOf":[{"type":"string"},{"type":"object","properties":{"a":{}}}]}`, "Constraint: one of these: string; or object, keys: a (any value)."},
		{`{"allOf":[{"type":"string"},{"minLength":2}]}`, "Type: string (in double quotes).\nConstraint: at least 2 characters."},
		{`{"not":{"const":"null"}}`, `Constraint: does not match the schema {"const":"null"}.`},
		{`{"$ref":"#/$defs/n"}`, "Constraint: as #/$defs/n of the schema says."},
		{`{"prefixItems":[{"type":"string"},true],"items":false,"contains":{"const":1}}`,
			"Constraint: the items are, in this order: string; any value.\nConstraint: no further items.\nConstraint: at least one item is: exactly 1."},
		{`{"items":[{"type":"string"}]}`, "Constraint: the items are, in this order: string."},
		{`{"items":true,"additionalProperties":true,"uniqueItems":false,"enum":[]}`, ""},
		{`{}`, ""}, {`true`, ""}, {`false`, ""}, {``, ""}, {`{"type":7,"minimum":null}`, ""},
	} {
		if got := strings.Join(shapeLines(json.RawMessage(c.schema)), "\n"); got != c.want {
			t.Errorf("%s\n%s\nexpected\n%s", c.schema, got, c.want)
		}
	}
}

// A shape that repeats itself or has a thousand keys stays short, and is cut at a rune.
func TestShapeIsBounded(t *testing.T) {
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"é%d":{"type":"object","properties":{"a":{"enum":["ü","ö"]}}}`, i)
	}
	wide := `{"properties":{` + strings.Join(keys, ",") + `}}`
	deep := strings.Repeat(`{"items":`, 100) + `{"type":"string"}` + strings.Repeat(`}`, 100)
	long := `{"description":"` + strings.Repeat("語", 2000) + `","enum":["` + strings.Repeat("語", 2000) + `"],"pattern":"` + strings.Repeat("a|", 2000) + `"}`
	for _, schema := range []string{wide, deep, long} {
		got := strings.Join(shapeLines(json.RawMessage(schema)), "\n")
		if len(got) > shapeLimit || !utf8.ValidString(got) {
			t.Errorf("%.30s: %d bytes, valid %v", schema, len(got), utf8.ValidString(got))
		}
	}
	if got := strings.Join(shapeLines(json.RawMessage(wide)), ""); !strings.Contains(got, "more") {
		t.Errorf("keys are left out unsaid: %s", got)
	}
}
