package repair_test

import (
	"encoding/json"
	"strings"
	"testing"

	"emend/engine/contract"
	"emend/engine/repair"
	"emend/schemas"
)

// Keywords that ask for a key, or forbid one, wherever they come from.
func TestKeysOfEveryKeyword(t *testing.T) {
	const draft7 = `"$schema":"http://json-schema.org/draft-07/schema#",`
	for _, c := range []struct{ name, schema, text, targets, rule string }{
		{"dependentRequired", `{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, "/b", "Add only the key b."},
		{"dependencies on keys", `{` + draft7 + `"dependencies":{"a":["b"]}}`, `{"a":1}`, "/b", "Add only the key b."},
		{"unevaluatedProperties", `{"properties":{"a":{}},"unevaluatedProperties":false}`, `{"a":1,"b":2}`, "/b", "Remove only b."},
		{"a property that is forbidden", `{"properties":{"a":false}}`, `{"a":1,"b":2}`, "/a", "Remove only a."},
		{"a pattern that is forbidden", `{"patternProperties":{"^x-":false}}`, `{"x-a":1,"b":2}`, "/x-a", `Remove only ["x-a"].`},
		{"an object that is no place for keys", `{"properties":{"o":{"additionalProperties":false}}}`, `{"o":{"k":1}}`, "/o/k", "Remove only o.k."},
		{"too many keys below", `{"properties":{"o":{"maxProperties":1}}}`, `{"o":{"a":1,"b":2}}`, "/o", "Change only the value at o."},
		{"a union below", `{"properties":{"u":{"oneOf":[{"type":"string"},{"type":"number"}]}}}`, `{"u":[]}`, "/u", "Change only the value at u."},
		{"an item that is one too many", `{"properties":{"l":{"prefixItems":[{}],"items":false}}}`, `{"l":[1,2]}`, "/l/1", "Remove only l[1]."},
		{"a key of odd characters", `{"properties":{"a/b~c":{"type":"string"}}}`, `{"a/b~c":1}`, "/a~1b~0c", `Change only the value at ["a/b~c"].`},
		{"a key of digits", `{"properties":{"0":{"type":"string"}}}`, `{"0":1}`, "/0", "Change only the value at [0]."},
	} {
		v := judge(t, c.schema, c.text)
		choice := repair.Choose([]byte(c.text), v, repair.Options{})
		if choice.Style != repair.StyleTargeted || strings.Join(choice.Targets, " ") != c.targets {
			t.Errorf("%s: %+v, expected %s", c.name, choice, c.targets)
			continue
		}
		message := repair.Message([]byte(c.text), v, repair.Style{Style: choice.Style})
		if got := section(t, message, "RULE"); !strings.HasPrefix(got, c.rule) {
			t.Errorf("%s: rule %s, expected %s", c.name, got, c.rule)
		}
	}
}

// Two sub-schemas at one place are said together, and a line that both say is said once.
func TestShapesOfOnePlaceAreSaidTogether(t *testing.T) {
	message := targeted(t, `{"properties":{"k":{"allOf":[{"type":"string","pattern":"^b"},{"type":"string","maxLength":2}]}}}`, `{"k":"aaaa"}`, repair.Style{})
	shape := section(t, message, "EXPECTED SHAPE")
	for _, want := range []string{"regular expression `^b`", "at most 2 characters"} {
		if !strings.Contains(shape, want) {
			t.Errorf("no %q in\n%s", want, shape)
		}
	}
	if strings.Count(shape, "Type: string") != 1 || strings.Count(message, "FAILING PATH") != 1 {
		t.Errorf("said twice:\n%s", message)
	}
}

// A description travels into the correction (seed 001: "the cheapest permanent fix").
func TestDescriptionIsSaid(t *testing.T) {
	message := targeted(t, `{"properties":{"d":{"type":"string","format":"date","description":"ISO 8601 date string, for example 2026-03-15"}}}`, `{"d":"15.3.2026"}`, repair.Style{})
	if got := section(t, message, "EXPECTED SHAPE"); !strings.Contains(got, "Description: ISO 8601 date string, for example 2026-03-15") {
		t.Errorf("shape\n%s", got)
	}
}

// An example comes from the schema, and only one that it accepts itself.
func TestExampleIsTheSchemasOwn(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties":{"k":{"type":"integer","examples":["no",4]}}}`: "Example of a valid value for this path: 4",
		`{"properties":{"k":{"type":"integer","default":7}}}`:         "Example of a valid value for this path: 7",
		`{"properties":{"k":{"type":"integer","examples":["no"]}}}`:   "",
		`{"properties":{"k":{"type":"integer"}}}`:                     "",
	} {
		shape := section(t, targeted(t, schema, `{"k":"x"}`, repair.Style{}), "EXPECTED SHAPE")
		if strings.Contains(shape, "Example") != (want != "") || !strings.Contains(shape, want) {
			t.Errorf("%s\n%s", schema, shape)
		}
	}
	long := `{"properties":{"k":{"type":"string","examples":["` + strings.Repeat("x", 2000) + `"]}}}`
	if shape := section(t, targeted(t, long, `{"k":1}`, repair.Style{}), "EXPECTED SHAPE"); strings.Contains(shape, "Example") {
		t.Errorf("a long example:\n%.200s", shape)
	}
}

// A text that is no UTF-8 is echoed as JSON can carry it; the caller's bytes stay.
func TestInvalidUTF8IsEchoedAsItCanBeSent(t *testing.T) {
	text := []byte("{\"a\":\"\xff\"}")
	v := judge(t, ab, string(text))
	for _, s := range []repair.Style{{}, {Received: true}} {
		got := repair.Correct(base, text, v, s)
		body, err := json.Marshal(got)
		if err != nil || !strings.Contains(string(body), "\ufffd") && !strings.Contains(string(body), `\ufffd`) {
			t.Errorf("%s, %v", body, err)
		}
	}
	if string(text) != "{\"a\":\"\xff\"}" {
		t.Errorf("the candidate became %q", text)
	}
}

// Modes tell what a correction asks for.
func TestRulesOfTheModes(t *testing.T) {
	c, err := contract.Compile(contract.Spec{Mode: schemas.ModeJSON})
	if err != nil {
		t.Fatal(err)
	}
	message := repair.Message([]byte("nope"), c.Judge([]byte("nope")), repair.Style{Mode: schemas.ModeJSON, N: 2, M: 3})
	for _, want := range []string{"Output mode: json. Correction 2 of 3.", "not_json", "JSON only, without Markdown fences"} {
		if !strings.Contains(message, want) {
			t.Errorf("no %q in\n%s", want, message)
		}
	}
	if none := repair.Message([]byte("nope"), c.Judge([]byte("nope")), repair.Style{Mode: schemas.ModeJSON}); strings.Contains(none, "Correction") {
		t.Errorf("no budget, no number:\n%s", none)
	}
}

// A style that does not fit its verdict still gives a sound message: a State may have been saved by another version.
func TestTargetedWithoutPlacesIsAConversation(t *testing.T) {
	for _, text := range []string{"", " ", "nope"} {
		v := judge(t, ab, text)
		if got := repair.Message([]byte(text), v, repair.Style{Style: repair.StyleTargeted}); got == "" || strings.Contains(got, "%!") {
			t.Errorf("%q:\n%s", text, got)
		}
	}
	if got := repair.Message([]byte("{}"), contract.Verdict{Class: contract.SchemaInvalid}, repair.Style{Style: repair.StyleTargeted}); strings.Contains(got, "FAILING PATH") {
		t.Errorf("no findings:\n%s", got)
	}
}
