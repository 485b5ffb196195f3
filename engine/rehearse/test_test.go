package rehearse_test

import (
	"strings"
	"testing"

	"emend/engine/rehearse"
)

const (
	good = `{"items":[{"price":1},{"price":4.25}]}`
	bad  = `{"items":[{"price":1},{"price":"4.25 USD"}]}`
)

// A test of a prompt says what it expects; what came out otherwise is told in one line.
func TestTests(t *testing.T) {
	for _, c := range []struct{ name, test, fault string }{
		{"all is as expected", `{inputs: {document: x}, answers: ['` + bad + `', '` + good + `'], expect: {status: succeeded, calls: 2, repairs: 1,
			style: targeted, findings: [{path: 'items[1].price', keyword: type}], output: {items: [{price: 1.0}, {price: 4.25}]}}}`, ""},
		{"nothing is expected", `{inputs: {document: x}, answers: ['` + good + `']}`, ""},
		{"only rendered", `{inputs: {document: x}}`, ""},
		{"status", `{inputs: {document: x}, answers: ['` + good + `'], expect: {status: invalid}}`, "status is succeeded, expected invalid"},
		{"calls", `{inputs: {document: x}, answers: ['` + good + `'], expect: {calls: 2}}`, "the number of calls is 1, expected 2"},
		{"repairs", `{inputs: {document: x}, answers: ['` + bad + `', '` + good + `'], expect: {repairs: 0}}`, "the number of corrective calls is 1, expected 0"},
		{"style", `{inputs: {document: x}, answers: ['` + bad + `', '` + good + `'], expect: {style: regenerate}}`,
			"the style of the last correction is targeted, expected regenerate"},
		{"no correction", `{inputs: {document: x}, answers: ['` + good + `'], expect: {style: targeted}}`, "the style of the last correction is none, expected targeted"},
		{"findings", `{inputs: {document: x}, answers: ['` + bad + `', '` + good + `'], expect: {findings: [{path: total, keyword: required}]}}`,
			"what was found is items[1].price type, expected total required"},
		{"a missing and an extra key", `{inputs: {document: x}, answers: ['{"x":1}', '` + good + `'],
			expect: {findings: [{path: x, keyword: additionalProperties}, {path: items, keyword: required}], style: conversation}}`, ""},
		{"no findings", `{inputs: {document: x}, answers: ['` + bad + `', '` + good + `'], expect: {findings: []}}`, "expected nothing"},
		{"no findings at all", `{inputs: {document: x}, answers: ['` + good + `'], expect: {findings: []}}`, ""},
		{"output", `{inputs: {document: x}, answers: ['` + good + `'], expect: {output: {items: []}}}`, `output is {"items":`},
		{"text in place of output", `{inputs: {document: x}, answers: ['no', 'no', 'no'], expect: {status: invalid, output: 'no', findings: [{path: (root), keyword: not_json}]}}`, ""},
		{"no further answer", `{inputs: {document: x}, answers: ['` + bad + `'], expect: {status: failed}}`, "call 2 was made, and the test lists 1 answers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			test := strings.Replace(c.test, "{", "{name: t, ", 1)
			snap := load(t, map[string]string{"invoice@1.yaml": invoice + "tests:\n  - " + test + "\n"})
			got, err := rehearse.Tests(t.Context(), snap)
			if err != nil || len(got) != 1 {
				t.Fatalf("%+v, %v", got, err)
			}
			if o := got[0]; o.OK != (c.fault == "") || !strings.Contains(o.Fault, c.fault) || o.Prompt != "invoice@1" || o.Name != "t" {
				t.Errorf("%+v, expected fault %q", o, c.fault)
			}
		})
	}
}

func TestTestsOfNamedPrompts(t *testing.T) {
	one := "\ntests: [{name: t, inputs: {document: x}}]\n"
	snap := load(t, map[string]string{"a@1.yaml": invoice + one, "a@2.yaml": invoice + one, "b@1.yaml": invoice + one})
	for names, want := range map[string]int{"": 3, "a": 2, "a@2": 1, "a@2 b": 2} {
		got, err := rehearse.Tests(t.Context(), snap, strings.Fields(names)...)
		if err != nil || len(got) != want {
			t.Errorf("%q: %d tests, %v; expected %d", names, len(got), err, want)
		}
	}
	if _, err := rehearse.Tests(t.Context(), snap, "a", "c@7"); err == nil || !strings.Contains(err.Error(), "c@7") {
		t.Errorf("an unknown prompt: %v", err)
	}
}

// A prompt that leaves its profile to requests cannot be played: its tests name none.
func TestTestsNeedAProfile(t *testing.T) {
	for _, test := range []string{`{name: t, inputs: {document: x}}`, `{name: t, inputs: {document: x}, answers: [a]}`} {
		snap := load(t, map[string]string{"a@1.yaml": strings.Replace(invoice, "profile: fast", "", 1) + "tests: [" + test + "]\n"})
		got, err := rehearse.Tests(t.Context(), snap)
		if err != nil || len(got) != 1 || got[0].OK || !strings.Contains(got[0].Fault, "profile") {
			t.Errorf("%s: %+v, %v", test, got, err)
		}
	}
}
