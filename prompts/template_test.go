package prompts

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

var testInputs = map[string]string{
	"text": `"a <b> \"c\" {{ .num }}"`, "empty": `""`, "num": `1.50`, "zero": `-0.0e5`, "big": `12345678901234567890.10`, "yes": `true`, "no": `false`, "null": `null`,
	"list": `[1, "b", {"c": 2.0}]`, "none": `[]`, "order": `{"total": 56.750, "lines": [{"n": 1}, {"n": 2}], "b": {"c": null}}`, "hollow": `{}`, "a": `"x"`, "b": `"x"`,
}

func renderTest(text string) (string, []error, *inputFault) {
	var names []string
	values := map[string]*value{}
	for name, raw := range testInputs {
		names = append(names, name)
		values[name] = newValue("inputs."+name, json.RawMessage(raw))
	}
	tmpl, faults := parseTemplate(text, names)
	if len(faults) > 0 {
		return "", faults, nil
	}
	steps := 0
	out, fault := tmpl.render(values, &steps)
	return out, nil, fault
}

func TestRender(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"plain\n", "plain\n"},
		{"{{ .text }}", `a <b> "c" {{ .num }}`},
		{"{{ .num }} {{ .big }} {{ .zero }}", "1.50 12345678901234567890.10 -0.0e5"},
		{"{{ .yes }}{{ .no }}{{ .null }}", "truefalsenull"},
		{"{{ .list }} {{ .order.b }}", `[1,"b",{"c":2.0}] {"c":null}`},
		{"{{ .order.total }}", "56.750"},
		{"{{ range .list }}<{{ . }}>{{ end }}", `<1><b><{"c":2.0}>`},
		{"{{ range .none }}x{{ else }}none{{ end }}", "none"},
		{"{{ range .null }}x{{ else }}null{{ end }}", "null"},
		{"{{ range .empty }}x{{ else }}empty{{ end }}", "empty"},
		{"{{ range .hollow }}x{{ else }}hollow{{ end }}", "hollow"},
		{
			"{{ range $i, $x := .list }}{{ $i }}={{ $x }};{{ end }}",
			`0=1;1=b;2={"c":2.0};`,
		},
		{
			"{{ range $x := .order.lines }}{{ $x.n }}{{ .n }}{{ $.a }}{{ end }}",
			"11x22x",
		},
		{"{{ range $k, $v := .order }}{{ $k }} {{ end }}", "b lines total "},
		{
			"{{ range .order.lines }}{{ range $.list }}{{ . }}{{ end }}|{{ end }}",
			`1b{"c":2.0}|1b{"c":2.0}|`,
		},
		{
			"{{ if .yes }}a{{ else }}b{{ end }}{{ if .zero }}a{{ else if .num }}c{{ end }}",
			"ac",
		},
		{
			"{{ if .empty }}1{{ end }}{{ if .none }}2{{ end }}{{ if .null }}3{{ end }}{{ if .no }}4{{ end }}{{ if .hollow }}5{{ end }}{{ if .list }}6{{ end }}{{ if .order }}7{{ end }}{{ if .text }}8{{ end }}",
			"678",
		},
		{
			"{{ if eq .a .b }}same{{ end }}{{ if ne .a `y` }} other{{ end }}{{ if eq .a 1 2 \"x\" }} any{{ end }}",
			"same other any",
		},
		{
			"{{ if eq .num 1.5 }}1{{ end }}{{ if eq .num 2 }}2{{ end }}{{ if eq .yes true }}3{{ end }}{{ if eq .null .null }}4{{ end }}{{ if eq .num `1.5` }}5{{ end }}",
			"134",
		},
		{
			"{{ if and .yes .a }}1{{ end }}{{ if or .no .empty }}2{{ end }}{{ or .empty .a }}{{ and .no .a }}{{ if not .no }}3{{ end }}",
			"1xfalse3",
		},
		{
			"{{ if or .yes .order.nothere }}short{{ end }}{{ if and .no .order.nothere }}x{{ end }}",
			"short",
		},
		{
			"{{ len .list }}{{ len .text }}{{ len .order }}{{ if eq (len .none) 0 }}!{{ end }}",
			"3203!",
		},
		{"a {{- .a -}} b{{/* no */}}", "axb"},
		{"{{ \"{{\" }} {{ 5 }} {{ +1 }} {{ true }}", "{{ 5 1 true"},
	} {
		if got, faults, fault := renderTest(c.text); got != c.want || faults != nil || fault != nil {
			t.Errorf("%s: %q, %v, %v; want %q", c.text, got, faults, fault, c.want)
		}
	}
}

func TestCheckerRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{{", "line 1 of the template: unclosed action"},
		{"\n{{ if .a }}", "line 2 of the template: unexpected EOF"},
		{"{{ .nothere }}", ".nothere is no input of this prompt"},
		{"{{ range .list }}{{ $.nothere }}{{ end }}", ".nothere is no input"},
		{"{{ . }}", "the dot alone is all inputs"},
		{"{{ $ }}", "$ alone is all inputs"},
		{"{{ $x := .a }}{{ $x }}", "variables are only allowed in range"},
		{"{{ if $x := .a }}{{ end }}", "variables are only allowed in range"},
		{"{{ .a | len }}", "pipelines are not allowed"},
		{"{{ printf \"%s\" .a }}", "\"printf\" is no function here"},
		{"{{ html .a }}", "\"html\" is no function here"},
		{"{{ js .a }}", "\"js\" is no function here"},
		{"{{ call .a }}", "\"call\" is no function here"},
		{"{{ index .list 0 }}", "\"index\" is no function here"},
		{"{{ nil }}", "nil is not allowed here"},
		{"{{ eq .a nil }}", "nil is not allowed here"},
		{"{{ define \"x\" }}y{{ end }}", "define and block are not allowed"},
		{"{{ block \"x\" .a }}y{{ end }}", "define and block are not allowed"},
		{"{{ template \"x\" }}", "template is not allowed"},
		{"{{ with .a }}{{ end }}", "with is not allowed"},
		{"{{ range .list }}{{ break }}{{ end }}", "break is not allowed"},
		{"{{ range .list }}{{ continue }}{{ end }}", "continue is not allowed"},
		{"{{ (or .order .a).total }}", "is not allowed here"},
		{"{{ .a .b }}", "an input takes no arguments"},
		{"{{ eq .a }}", "eq has 1 arguments"},
		{"{{ ne .a .b .a }}", "ne has 3 arguments"},
		{"{{ not }}", "not has 0 arguments"},
		{"{{ len .a .b }}", "len has 2 arguments"},
		{"{{ eq .num 0x10 }}", "the number 0x10 has no JSON form"},
		{"{{ eq .num 'x' }}", "the number 'x' has no JSON form"},
		{"{{ eq .num 1i }}", "the number 1i has no JSON form"},
		{"{{ eq and .a }}", "and is not allowed here"},
		{"{{ undefined }}", "\"undefined\" is no function here"},
		{"{{ $y }}", "undefined variable"},
	} {
		_, faults, _ := renderTest(c.text)
		found := false
		for _, f := range faults {
			found = found || strings.Contains(f.Error(), c.want)
		}
		if !found {
			t.Errorf("%s: %v; want %s", c.text, faults, c.want)
		}
	}
	if _, faults, _ := renderTest("{{ .x }}\n{{ with .a }}{{ end }}\n{{ .y }}"); len(faults) != 3 || !strings.HasPrefix(faults[2].Error(), "line 3") {
		t.Errorf("not every fault is told: %v", faults)
	}
}

func TestRenderFaults(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{
			"{{ .order.nothere }}",
			`inputs.order: has no "nothere", which the prompt uses`,
		},
		{
			"{{ .order.b.c.d }}",
			`inputs.order.b.c: must be an object with "d": the prompt uses it`,
		},
		{
			"{{ .text.x }}",
			`inputs.text: must be an object with "x": the prompt uses it`,
		},
		{
			"{{ range .list }}{{ .c }}{{ end }}",
			`inputs.list[0]: must be an object with "c": the prompt uses it`,
		},
		{
			"{{ range .order }}{{ .c }}{{ end }}",
			`inputs.order.*: must be an object with "c": the prompt uses it`,
		},
		{
			"{{ range .text }}{{ end }}",
			"inputs.text: must be an array or an object: the prompt ranges over it",
		},
		{
			"{{ range .num }}{{ end }}",
			"inputs.num: must be an array or an object: the prompt ranges over it",
		},
		{
			"{{ range .yes }}{{ end }}",
			"inputs.yes: must be an array or an object: the prompt ranges over it",
		},
		{
			"{{ len .num }}",
			"inputs.num: must be a text, an array or an object: the prompt asks for its length",
		},
		{
			"{{ eq .list .list }}",
			"inputs.list: must be a text, a number, a boolean or null: the prompt compares it",
		},
		{
			"{{ eq .a .order }}",
			"inputs.order: must be a text, a number, a boolean or null: the prompt compares it",
		},
	} {
		out, faults, fault := renderTest(c.text)
		if out != "" || faults != nil || fault == nil || fault.Error() != c.want {
			t.Errorf("%s: %q, %v, %v", c.text, out, faults, fault)
		}
	}
}

func TestRenderingIsBounded(t *testing.T) {
	many := "[" + strings.TrimSuffix(strings.Repeat("1,", 3000), ",") + "]"
	huge := `"` + strings.Repeat("x", 1<<20) + `"`
	for text, want := range map[string]string{
		"{{ range .v }}{{ range $.v }}{{ end }}{{ end }}":                           "more than 2000000 steps",
		"{{ range .v }}{{ $.h }}{{ end }}":                                          "more than 16777216 bytes",
		"{{ range .v }}{{ if eq $.h $.h }}{{ end }}{{ len $.h }}{{ end }}":          "more than 2000000 steps",
		"{{ range .v }}{{ range $.v }}{{ if eq . $.h }}{{ end }}{{ end }}{{ end }}": "more than 2000000 steps",
	} {
		tmpl, faults := parseTemplate(text, []string{"v", "h"})
		if faults != nil {
			t.Fatal(faults)
		}
		steps := 0
		_, fault := tmpl.render(map[string]*value{
			"v": newValue("inputs.v", json.RawMessage(many)),
			"h": newValue("inputs.h", json.RawMessage(huge)),
		}, &steps)
		if fault == nil || !strings.Contains(fault.message, want) {
			t.Errorf("%s: %v", text, fault)
		}
	}
}

func TestUses(t *testing.T) {
	tmpl, faults := parseTemplate("{{ .b }}{{ range .a }}{{ .x }}{{ $.c }}{{ end }}{{ if or .d (not .e) }}{{ end }}", []string{
		"a",
		"b",
		"c",
		"d",
		"e",
		"f",
	})
	if faults != nil || strings.Join(tmpl.uses, "") != "abcde" {
		t.Errorf("%v, %v", tmpl, faults)
	}
}

// FuzzRender: an input's text stands in the message exactly, whatever it says, and never acts.
func FuzzRender(f *testing.F) {
	for _, s := range []string{
		"",
		"plain",
		"{{ .secret }}",
		"{{",
		"}}",
		"{{/*",
		"\x00\u2028</document>",
		"{{ range .x }}",
		"%s %!d(MISSING)",
		`\"`,
		"\ufffd",
	} {
		f.Add(s)
	}
	c := &compiled{def: Prompt{
		ID:      "x",
		Version: 1,
		Messages: []Template{{
			Role: "user",
			Text: "[{{ .doc }}]{{ if .doc }}{{ end }}{{ range .list }}<{{ . }}>{{ end }}",
		}},
		Inputs: map[string]Input{
			"doc":    {Max: 1 << 20},
			"list":   {Max: 1 << 20},
			"secret": {Max: 100},
		},
	}}
	tmpl, faults := parseTemplate(c.def.Messages[0].Text, []string{
		"doc",
		"list",
		"secret",
	})
	if faults != nil {
		f.Fatal(faults)
	}
	c.templates = []*template{tmpl}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			s = strings.ToValidUTF8(s, "?")
		}
		list := append(append(json.RawMessage("["), jsonString(s)...), ']')
		out, problems := c.render(map[string]json.RawMessage{
			"doc":    jsonString(s),
			"list":   list,
			"secret": json.RawMessage(`"canary-8315"`),
		})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if want := "[" + s + "]<" + s + ">"; out[0].Content != want {
			t.Errorf("got %q, want %q", out[0].Content, want)
		}
	})
}

func FuzzParseTemplate(f *testing.F) {
	for _, s := range []string{
		"{{ .a }}",
		"{{ range $i, $x := .a }}{{ $x.y }}{{ else }}{{ end }}",
		"{{ if (eq .a 1) }}",
		"{{ define \"x\" }}",
		"{{ (.a).b }}",
	} {
		f.Add(s, `{"y":[1,{"z":null}]}`)
	}
	f.Fuzz(func(t *testing.T, text, input string) {
		tmpl, faults := parseTemplate(text, []string{"a"})
		if len(faults) > 0 || !json.Valid([]byte(input)) {
			return
		}
		steps := maxSteps - 10000
		_, _ = tmpl.render(map[string]*value{"a": newValue("inputs.a", json.RawMessage(input))}, &steps)
	})
}
