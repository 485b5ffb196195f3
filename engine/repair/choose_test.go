package repair_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"emend/engine/contract"
	"emend/engine/repair"
)

const ab = `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a","b"],"additionalProperties":false}`

// The table of design section 5 under the default options.
func TestChooseFollowsTheTable(t *testing.T) {
	for _, c := range []struct {
		name, schema, text, style, targets string
	}{
		{"blank", ab, " ", "conversation", ""},
		{"not JSON", ab, `{'a':1}`, "conversation", ""},
		{"several values", ab, `{"a":"x","b":1}{}`, "conversation", ""},
		{"duplicate key", ab, `{"a":"x","a":"y","b":1}`, "conversation", ""},
		{"lone surrogate", ab, `{"a":"\ud82c","b":1}`, "conversation", ""},
		{"too deep", ab, strings.Repeat("[", 300) + strings.Repeat("]", 300), "conversation", ""},
		{"number out of range", ab, `{"a":"x","b":1e9999}`, "conversation", ""},
		{"fence", ab, "```json\n{}\n```", "conversation", ""},
		{"value at a path", ab, `{"a":1,"b":1}`, "targeted", "/a"},
		{"missing key", ab, `{"a":"x"}`, "targeted", "/b"},
		{"S15, L08: nothing there at all", ab, `{}`, "targeted", "/a /b"},
		{"extra key", ab, `{"a":"x","b":1,"c/d":2}`, "targeted", "/c~1d"},
		{"values and keys", ab, `{"a":1,"c":2}`, "targeted", "/c /b /a"},
		{"two faults of one place", `{"properties":{"k":{"pattern":"^b","maxLength":2}}}`, `{"k":"aaaa"}`, "targeted", "/k"},
		{"S06: an item of the root", `{"items":{"maxLength":3}}`, `["abcd","x"]`, "targeted", "/0"},
		{"name of a key", `{"properties":{"o":{"propertyNames":{"pattern":"^[a-z]+$"}}}}`, `{"o":{"A":1}}`, "targeted", "/o"},
		{"name of a key of the root", `{"propertyNames":{"pattern":"^[a-z]+$"}}`, `{"A":1}`, "conversation", ""},
		{"wrong root type", ab, `[{"a":"x","b":1}]`, "conversation", ""},
		{"union at the root", `{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{"c":1}`, "conversation", ""},
		{"union below", `{"properties":{"u":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"u":1}`, "targeted", "/u"},
		{"not at the root", `{"not":{"required":["a"]}}`, `{"a":1}`, "conversation", ""},
		{"nothing is allowed", `false`, `{"a":1}`, "conversation", ""},
		{"too few keys of the root", `{"minProperties":2}`, `{"a":1}`, "conversation", ""},
		{"value of the root", `{"type":"string","minLength":5}`, `"abc"`, "conversation", ""},
		{"W13", `{"type":"object","properties":{"steps":{"type":"array"}},"required":["steps"],"additionalProperties":false}`,
			`{"tool_name":"out","parameters":{"steps":[]}}`, "conversation", ""},
		{"W14", ab, `{"Answer":{"a":"x","b":1}}`, "conversation", ""},
		{"all required keys are missing, an optional one is there", `{"properties":{"a":{},"n":{}},"required":["a"]}`, `{"n":1}`, "targeted", "/a"},
		{"W16", `{"properties":{"edits":{"type":"array"}},"required":["edits"]}`, `{"edits":"[]"}`, "targeted", "/edits"},
		{"too many", wide(9), wrong(9), "conversation", ""},
		{"as many as allowed", wide(8), wrong(8), "targeted", "/k0 /k1 /k2 /k3 /k4 /k5 /k6 /k7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := repair.Choose([]byte(c.text), judge(t, c.schema, c.text), repair.Options{})
			if got.Style != c.style || !sameSet(got.Targets, strings.Fields(c.targets)) {
				t.Errorf("%+v, expected %s %q", got, c.style, c.targets)
			}
		})
	}
}

// wide asks for n integers, wrong gives texts.
func wide(n int) string {
	return fmt.Sprintf(`{"properties":{%s}}`, each(n, func(i int) string { return fmt.Sprintf(`"k%d":{"type":"integer"}`, i) }))
}

func wrong(n int) string {
	return "{" + each(n, func(i int) string { return fmt.Sprintf(`"k%d":"x"`, i) }) + "}"
}

func each(n int, f func(int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = f(i)
	}
	return strings.Join(parts, ",")
}

func sameSet(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

func TestChooseObeysItsOptions(t *testing.T) {
	const shape, missing, value, ten = `{"Answer":{"a":"x","b":1}}`, `{"a":"x"}`, `{"a":1,"b":1}`, ""
	for _, c := range []struct {
		name, text string
		o          repair.Options
		style      string
		targets    int
	}{
		{"shape", shape, repair.Options{OnShape: "repair"}, "conversation", 0},
		{"shape", shape, repair.Options{OnShape: "regenerate"}, "regenerate", 0},
		{"shape", shape, repair.Options{OnShape: "regenerate", Style: "conversation"}, "regenerate", 0},
		{"shape", shape, repair.Options{Style: "targeted"}, "conversation", 0},
		{"missing", missing, repair.Options{MissingPath: "parent"}, "targeted", 1},
		{"missing", missing, repair.Options{MissingPath: "regenerate"}, "regenerate", 0},
		{"missing", missing, repair.Options{MissingPath: "regenerate", Style: "targeted"}, "regenerate", 0},
		{"value", value, repair.Options{MissingPath: "regenerate", OnShape: "regenerate"}, "targeted", 1},
		{"value", value, repair.Options{Style: "auto"}, "targeted", 1},
		{"value", value, repair.Options{Style: "conversation"}, "conversation", 0},
		{"too many", ten, repair.Options{}, "conversation", 0},
		{"too many", ten, repair.Options{OnShape: "regenerate"}, "regenerate", 0},
		{"too many", ten, repair.Options{Style: "targeted"}, "targeted", 8},
		{"too many", ten, repair.Options{Style: "targeted", MaxTargets: 3}, "targeted", 3},
		{"as many as allowed", ten, repair.Options{MaxTargets: 10}, "targeted", 10},
	} {
		schema, text := ab, c.text
		if text == ten {
			schema, text = wide(10), wrong(10)
		}
		got := repair.Choose([]byte(text), judge(t, schema, text), c.o)
		if got.Style != c.style || len(got.Targets) != c.targets {
			t.Errorf("%s under %+v: %+v, expected %s with %d targets", c.name, c.o, got, c.style, c.targets)
		}
	}
}

// A rule's fields may all change; findings that were left out make it too many, whatever is listed.
func TestChooseOfRulesAndOmissions(t *testing.T) {
	v := contract.Verdict{Class: contract.RuleFailed, Findings: []contract.Finding{
		{Keyword: contract.KeywordRule, Fields: []string{"/verdict", "/confidence"}}, {Keyword: contract.KeywordRule, Fields: []string{"/confidence"}}}}
	text := []byte(`{"verdict":"fail","confidence":0.8}`)
	if got := repair.Choose(text, v, repair.Options{}); got.Style != repair.StyleTargeted || !slices.Equal(got.Targets, []string{"/verdict", "/confidence"}) {
		t.Errorf("rules: %+v", got)
	}
	if got := repair.Choose(text, v, repair.Options{Style: "targeted", MaxTargets: 1}); !slices.Equal(got.Targets, []string{"/verdict", "/confidence"}) {
		t.Errorf("the first target is whole: %+v", got)
	}
	v.Omitted = 1
	if got := repair.Choose(text, v, repair.Options{}); got.Style != repair.StyleConversation {
		t.Errorf("omitted: %+v", got)
	}
}

// What local mending derived is what the findings are about.
func TestChooseReadsTheDerivedText(t *testing.T) {
	text := `{"Answer":{"a":"x","b":1}}`
	v := judge(t, ab, text)
	v.Mended, v.Derived = contract.LocalUnwrap, []byte(text)
	if got := repair.Choose([]byte("```json\n"+text+"\n```"), v, repair.Options{OnShape: "regenerate"}); got.Style != repair.StyleRegenerate {
		t.Errorf("%+v", got)
	}
}

// A State keeps findings as JSON.
func TestChooseSurvivesASavedState(t *testing.T) {
	text := `{"a":1,"c":2}`
	v := judge(t, ab, text)
	want := repair.Choose([]byte(text), v, repair.Options{})
	b, err := json.Marshal(v.Findings)
	if err != nil {
		t.Fatal(err)
	}
	var saved contract.Verdict
	saved.Class = v.Class
	if err := json.Unmarshal(b, &saved.Findings); err != nil {
		t.Fatal(err)
	}
	if got := repair.Choose([]byte(text), saved, repair.Options{}); got.Style != want.Style || !slices.Equal(got.Targets, want.Targets) {
		t.Errorf("%+v, before saving %+v", got, want)
	}
}
