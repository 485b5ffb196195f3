package prompts

import (
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// readKind reads a YAML text as one value of a kind and checks it.
func readKind[T any](k kind, yaml string) (T, []string) {
	var v T
	r := newReport("")
	root, err := parseDocument([]byte("x: " + yaml))
	if err != nil || root == nil {
		return v, []string{"no YAML"}
	}
	readInto(r, k, root.Content[1], "x", reflect.ValueOf(&v).Elem())
	checkValue(r, k, "x", reflect.ValueOf(&v).Elem())
	var out []string
	for _, p := range r.problems {
		out = append(out, p.Path+": "+p.Message)
	}
	return v, out
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		kind text
		yaml string
		want string
	}{
		{text{}, "a b", ""},
		{text{}, "''", "x: must not be empty"},
		{text{empty: true}, "''", ""},
		{text{}, "5", "x: must be text, not a number; put it in quotes"},
		{text{}, "'5'", ""},
		{text{}, "true", "x: must be text, not true or false; put it in quotes"},
		{text{}, "on", ""},
		{text{}, "2024-01-01", ""},
		{text{}, "[]", "x: must be text, not a list"},
		{text{}, "\"a\\nb\"", "x: must be one line without control characters"},
		{text{lines: true}, "\"a\\nb\"", ""},
		{text{}, "\"a\\x7f\"", "x: must be one line without control characters"},
		{text{lines: true}, strings.Repeat("x", maxText+1), "x: has 262145 bytes, allowed are 262144"},
		{text{oneOf: []string{"wait", "fail"}}, "wait", ""},
		{text{oneOf: []string{"wait", "fail"}}, "fial", "x: must be one of wait, fail; did you mean fail?"},
		{text{oneOf: []string{"wait", "fail"}}, "Wait", "x: must be one of wait, fail; did you mean wait?"},
		{text{oneOf: []string{"a"}, later: []string{"b"}}, "b", "x: b is not supported by this version; use one of a"},
		{text{pattern: regexp.MustCompile("^[a-z]+$"), what: "letters"}, "abc", ""},
		{text{pattern: regexp.MustCompile("^[a-z]+$"), what: "letters"}, "a1", "x: must be letters"},
	} {
		_, got := readKind[string](c.kind, c.yaml)
		if strings.Join(got, "|") != c.want {
			t.Errorf("%.40s: %v; want %s", c.yaml, got, c.want)
		}
	}
}

func TestWhole(t *testing.T) {
	free := whole{math.MinInt64, math.MaxInt64}
	for _, c := range []struct {
		kind whole
		yaml string
		want string
	}{
		{whole{0, 3}, "0", ""},
		{whole{0, 3}, "3", ""},
		{whole{1, 3}, "0", "x: is 0; it must be a whole number from 1 to 3"},
		{whole{0, 3}, "-1", "x: is -1; it must be a whole number from 0 to 3"},
		{whole{1, math.MaxInt64}, "0", "x: is 0; it must be a whole number of at least 1"},
		{whole{0, 3}, "1.0", "x: must be a whole number from 0 to 3, not a number"},
		{whole{0, 3}, "'1'", "x: must be a whole number from 0 to 3, not text"},
		{whole{0, 3}, "{}", "x: must be a whole number from 0 to 3, not a mapping"},
		{whole{0, 300}, "0x10", "x: must be a whole number from 0 to 300, in decimal digits"},
		{whole{0, 300}, "1_0", "x: must be a whole number from 0 to 300, in decimal digits"},
		{free, "-9223372036854775808", ""},
		{free, "9223372036854775808", "x: must be a whole number, in decimal digits"},
	} {
		_, got := readKind[int64](c.kind, c.yaml)
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s: %v; want %s", c.yaml, got, c.want)
		}
	}
	if v, got := readKind[*int](whole{0, 3}, "0"); v == nil || *v != 0 || got != nil {
		t.Errorf("a zero that is given is there: %v, %v", v, got)
	}
	if v, got := readKind[*int](whole{1, 3}, "~"); v != nil || got != nil {
		t.Errorf("a null is absent: %v, %v", v, got)
	}
}

func TestNumber(t *testing.T) {
	for yaml, want := range map[string]string{
		"0":     "",
		"2":     "",
		"0.5":   "",
		"1e-3":  "",
		"2.1":   "x: is 2.1; it must be a number from 0 to 2",
		"-0.1":  "x: is -0.1; it must be a number from 0 to 2",
		".inf":  "x: must be a number from 0 to 2, in decimal digits",
		".nan":  "x: must be a number from 0 to 2, in decimal digits",
		"0x1":   "x: must be a number from 0 to 2, in decimal digits",
		"1_0.0": "x: must be a number from 0 to 2, in decimal digits",
		"'1'":   "x: must be a number from 0 to 2, not text",
		"false": "x: must be a number from 0 to 2, not true or false",
		"[1]":   "x: must be a number from 0 to 2, not a list",
	} {
		if _, got := readKind[float64](number{0, 2}, yaml); strings.Join(got, "|") != want {
			t.Errorf("%s: %v; want %s", yaml, got, want)
		}
	}
}

func TestBoolean(t *testing.T) {
	for yaml, want := range map[string]bool{"true": true, "True": true, "TRUE": true, "false": false, "FALSE": false} {
		if v, got := readKind[bool](boolean{}, yaml); v != want || got != nil {
			t.Errorf("%s: %v, %v", yaml, v, got)
		}
	}
	for _, yaml := range []string{"on", "off", "yes", "no", "y", "1", "0", "'true'", "[true]", "{}", "tRue"} {
		if v, got := readKind[bool](boolean{}, yaml); v || len(got) != 1 || !strings.HasPrefix(got[0], "x: must be true or false, not ") {
			t.Errorf("%s: %v, %v", yaml, v, got)
		}
	}
}

func TestList(t *testing.T) {
	k := list{of: whole{1, 9}, min: 1, max: 3, unique: true}
	for yaml, want := range map[string]string{
		"[1, 2]":       "",
		"[]":           "x: has 0 entries; allowed are 1 to 3",
		"[1, 2, 3, 4]": "x: has 4 entries; allowed are 1 to 3",
		"[1, 1]":       "x[1]: stands twice",
		"[0, 1]":       "x[0]: is 0; it must be a whole number from 1 to 9",
		"[a, ~, 5]":    "x[0]: must be a whole number from 1 to 9, not text|x[1]: must not be null; remove the entry",
		"5":            "x: must be a list, not a number",
	} {
		if _, got := readKind[[]int](k, yaml); strings.Join(got, "|") != want {
			t.Errorf("%s: %v; want %s", yaml, got, want)
		}
	}
}

func TestDict(t *testing.T) {
	k := dict{of: whole{1, 9}, name: subjectName, what: "a name"}
	for yaml, want := range map[string]string{
		"{a: 1, b: 2}":  "",
		"{A: 1}":        "x.A: the name must be a name",
		"{a: 0}":        "x.a: is 0; it must be a whole number from 1 to 9",
		"{a: 1, a: 2}":  "x.a: is given more than once",
		"{a: x, b: 10}": "x.a: must be a whole number from 1 to 9, not text|x.b: is 10; it must be a whole number from 1 to 9",
		"[a]":           "x: must be a mapping, not a list",
	} {
		if _, got := readKind[map[string]int](k, yaml); strings.Join(got, "|") != want {
			t.Errorf("%s: %v; want %s", yaml, got, want)
		}
	}
	many := map[string]int{}
	for i := range maxEntries + 1 {
		many["n"+strings.Repeat("x", i%40)+string(rune('a'+i%26))+string(rune('a'+i/26%26))+string(rune('a'+i/676))] = 1
	}
	r := newReport("")
	checkValue(r, k, "x", reflect.ValueOf(many))
	if len(r.problems) != 1 || r.problems[0].Message != "has 1001 entries, allowed are 1000" {
		t.Errorf("%d entries: %v", len(many), r.problems)
	}
}

func TestAnyValue(t *testing.T) {
	for yaml, want := range map[string]string{
		"~":            "null",
		"text":         `"text"`,
		"{b: 1, a: ~}": `{"b":1,"a":null}`,
		"[1.0, 2]":     "[1.0,2]",
	} {
		if v, got := readKind[json.RawMessage](anyValue{}, yaml); string(v) != want || got != nil {
			t.Errorf("%s: %s, %v", yaml, v, got)
		}
	}
	r := newReport("")
	checkValue(r, anyValue{}, "x", reflect.ValueOf(json.RawMessage("{")))
	if len(r.problems) != 1 || r.problems[0].Message != "must be a JSON value" {
		t.Errorf("%v", r.problems)
	}
}

func TestOptionsKeepNumbers(t *testing.T) {
	v, got := readKind[map[string]any](options{}, "{a: 1.50, b: {c: [true, x]}, d: ~}")
	if _, there := v["d"]; there || got != nil || v["a"] != json.Number("1.50") {
		t.Errorf("%v, %v", v, got)
	}
}

func TestTextOr(t *testing.T) {
	for yaml, want := range map[string]Value{
		"abc":        {Literal: "abc"},
		"''":         {},
		"{env: A}":   {Secret: Secret{Env: "A"}},
		"{file: /a}": {Secret: Secret{File: "/a"}},
	} {
		if v, got := readKind[Value](headerValue, yaml); v != want || got != nil {
			t.Errorf("%s: %+v, %v", yaml, v, got)
		}
	}
	if v, err := (Value{Literal: "abc"}).Resolve(t.Context()); v != "abc" || err != nil {
		t.Errorf("%q, %v", v, err)
	}
}

// Every kind says in a schema what it is, and in words for people.
func TestKindsDescribeThemselves(t *testing.T) {
	for _, k := range []struct {
		kind   kind
		schema string
		words  string
	}{
		{text{}, `{"type":"string"}`, "text"},
		{text{oneOf: []string{"a", "b"}}, `{"type":"string","enum":["a","b"]}`, "one of a, b"},
		{text{pattern: regexp.MustCompile("^a$"), what: "an a"}, `{"type":"string","pattern":"^a$"}`, "text: an a"},
		{whole{1, 3}, `{"type":"integer","minimum":1,"maximum":3}`, "whole number from 1 to 3"},
		{whole{math.MinInt64, math.MaxInt64}, `{"type":"integer"}`, "whole number"},
		{number{0, 2}, `{"type":"number","minimum":0,"maximum":2}`, "number from 0 to 2"},
		{boolean{}, `{"type":"boolean"}`, "true or false"},
		{list{of: boolean{}, min: 1, max: 2}, `{"type":"array","items":{"type":"boolean"},"minItems":1,"maxItems":2}`, "list of true or false"},
		{dict{of: boolean{}}, `{"type":"object","additionalProperties":{"type":"boolean"},"maxProperties":1000}`, "mapping of true or false"},
		{anyValue{}, `{}`, "any value"},
		{options{}, `{"type":"object"}`, "mapping of the dialect's options"},
		{schemaRef, `{"type":["string","object"]}`, "text: the name of a JSON file beside the prompts, or a JSON Schema"},
		{amount{1, 2048}, `{"type":"string","pattern":"^[0-9]+(B|KiB|MiB|GiB|TiB)$"}`, "size from 1B to 2KiB"},
		{span{oneSecond, Duration(day)}, "", "duration from 1s to 1d"},
	} {
		raw, err := json.Marshal(k.kind.schema())
		if err != nil || k.schema != "" && string(raw) != k.schema || k.kind.words() != k.words {
			t.Errorf("%T: %s, %q, %v", k.kind, raw, k.kind.words(), err)
		}
	}
}
