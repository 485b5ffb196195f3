package contract

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/kaptinlin/jsonrepair"
)

func TestMendSyntax(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"trailing comma", `{"a":1,"b":[1,2,],}`, `{"a":1,"b":[1,2]}`},
		{"single quotes", `{'a':'it is'}`, `{"a":"it is"}`},
		{"curly quotes", `{“a”:“x”}`, `{"a":"x"}`},
		{"keys without quotes", `{a:1,b_2:{c-d:null}}`, `{"a":1,"b_2":{"c-d":null}}`},
		{"missing comma", `{"a":1 "b":[1 true "x" 2 [3] 4]}`, `{"a":1, "b":[1, true, "x", 2, [3], 4]}`},
		{"missing colon", `{"a" 1}`, `{"a": 1}`},
		{"raw control characters", "{\"a\":\"x\ty\nz\"}", `{"a":"x\ty\nz"}`},
		{"comments", "{\"a\":1, // one\n/* two */\"b\":2}", "{\"a\":1, \n\"b\":2}"},
		{"python literals", `{"a":True,"b":False,"c":None,}`, `{"a":true,"b":false,"c":null}`},
		{"escaped apostrophe", `{"a":'it\'s',}`, `{"a":"it's"}`},
		{"quotes in a string", `{"a":"he "really" said"}`, `{"a":"he \"really\" said"}`},
		{"numbers keep their lexeme", `[1.50,1E5,-0.0,12345678901234567890,]`, `[1.50,1E5,-0.0,12345678901234567890]`},
		{"surrogate pair", `['\ud83d\ude00',]`, `["\ud83d\ude00"]`},
		{"no-break space", "{\"a\":\u00a01,}", `{"a": 1}`},

		{"number in groups", `{"prices":[10 500, 20 300]}`, ""},
		{"number over two lines", "[12345678901\n234567890,]", ""},
		{"number around a comment", `[12/* and */34]`, ""},
		{"sum", `[2 -1]`, ""},
		{"NaN", `{"score":NaN,}`, ""},
		{"Infinity", `[Infinity]`, ""},
		{"undefined", `{"a":undefined}`, ""},
		{"other case", `{"a":TRUE}`, ""},
		{"value without quotes", `{"a":hello}`, ""},
		{"number with a unit", `{"a":4 USD}`, ""},
		{"leading zero", `{"a":007}`, ""},
		{"number without its end", `{"a":1.}`, ""},
		{"number without its start", `{"a":.5}`, ""},
		{"regular expression", `{"a":/x/g}`, ""},
		{"call", `{"a":ObjectId("x")}`, ""},
		{"concatenation", `{"a":"x" + "y"}`, ""},
		{"ellipsis", `[1,2,...]`, ""},
		{"hole", `[1,,2]`, ""},
		{"two commas at the end", `[1,,]`, ""},
		{"leading comma", `[,1]`, ""},
		{"missing value", `{"a":}`, ""},
		{"missing end", `{"a":[1,2}`, ""},
		{"end too many", `{"a":1}}`, ""},
		{"string without an end", `{"a":"x}`, ""},
		{"cut", `{"a":["x","y`, ""},
		{"swallowed member", `{"a":"x","y":"z" ","b":1}`, ""},
		{"quote that may end the string", `{"a":"he said "no", twice"}`, ""},
		{"dropped backslash", `{"a":"\d+"}`, ""},
		{"path", `{"a":"C:\Users\new",}`, ""},
		{"known stack overflow", `{"a": "y"\, "b": "z"}`, ""},
		{"two values", `{"a":1},{"b":2}`, ""},
		{"lines", "{\"a\":1}\n{\"b\":2}", ""},
		{"duplicate key", `{"a":1,"a":2,}`, ""},
		{"scalar", `'x'`, ""},
		{"prose", `The answer is {"a":1}`, ""},
		{"lone surrogate", `{'a':'\ud800'}`, ""},
	} {
		v := mustCompile(t, Spec{Mode: "json", Local: LocalSyntax}).Judge([]byte(c.text))
		if got := string(v.Derived); got != c.want || v.Valid() != (c.want != "") || (v.Mended == LocalSyntax) != (c.want != "") {
			t.Errorf("%s: %q (%s), want %q", c.name, got, v.Mended, c.want)
		}
	}
}

// TestMendSyntaxNeedsAValidValue: what does not satisfy the schema is judged as it came; a failed rule is one more
// finding of a value that stands.
func TestMendSyntaxNeedsAValidValue(t *testing.T) {
	c := mustCompile(t, Spec{Mode: "json_schema", Schema: json.RawMessage(`{"properties":{"a":{"type":"string"}}}`), Local: LocalSyntax})
	if v := c.Judge([]byte(`{"a":1,}`)); v.Class != NotJSON || v.Mended != "" || v.Findings[0].Keyword != string(NotJSON) {
		t.Errorf("%+v", v)
	}
	if v := c.Judge([]byte(`{"a":"1",}`)); !v.Valid() || v.Mended != LocalSyntax || string(v.Value) != `{"a":"1"}` {
		t.Errorf("%+v", v)
	}
	if v := c.Judge([]byte("```\n{\"a\":\"1\",}\n```")); !v.Valid() || v.Mended != LocalSyntax || string(v.Derived) != `{"a":"1"}` {
		t.Errorf("%+v", v)
	}
	last := mustCompile(t, Spec{Mode: "json", Local: LocalSyntax, LastWins: true})
	if v := last.Judge([]byte(`{"a":1,"a":2,}`)); !v.Valid() || string(v.Derived) != `{"a":1,"a":2}` {
		t.Errorf("%+v", v)
	}
}

// TestMendBounds: size, depth and work are bounded before the library runs.
func TestMendBounds(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + "1," + strings.Repeat("]", n) }
	long := func(n int) string { return `["` + strings.Repeat("prose ", n/6) + `",]` }
	dense := func(n int) string { return "{" + strings.Repeat(`"k":1,`, n/6) + "}" }
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"depth", deep(maxMendDepth), true}, {"too deep", deep(maxMendDepth + 1), false},
		{"size", long(maxMend - 10), true}, {"too large", long(maxMend + 10), false},
		{"work", dense(20 << 10), true}, {"too much work", dense(80 << 10), false},
		{"hidden depth", `["a" b"` + strings.Repeat("[", 40_000) + `"]`, false},
		{"hidden calls", `["` + strings.Repeat("a(", 40_000) + `"]`, false},
		{"hidden sums", `["a"` + strings.Repeat(`+""`, 40_000) + `]`, false},
		{"backslash before a comma", `["a\,",]`, false}, {"backslash before a quote", `["a\",",]`, true},
		{"backslash at the end", `["a",\`, false},
	} {
		if got := complete([]byte(c.text)) && harmless([]byte(c.text)); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func TestComplete(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: true, `[{"a":"]"}]`: true, `{'a':'}'}`: true, `{a:[1,{}]}`: true, `{"a":"it's"}`: true, `["\"]"]`: true,
		``: false, `{`: false, `{]`: false, `[}`: false, `{}{}`: false, `{} `: false, `[[]`: false, `[]]`: false, `"x"`: false, `["]`: false, `{a]}`: false,
	} {
		if got := complete([]byte(text)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// FuzzSyntax: jsonrepair never ends the process on what the guards let through, and what is taken over says the same as
// the source.
func FuzzSyntax(f *testing.F) {
	for _, text := range []string{
		`{"a": "y"\, "b": "z"}`, `{"a": "y\", "b": "z"}`, `{'a':True,}`, `["a,"b"]`, `["a" "b",'c\'d']`, `{"a":"http://x/y"z}`, "{\"a\":\"x\ny\"}",
		`[“a”,‘b’]`, `{"a":"x "y" z",}`, `["C:\\a\\b.json",]`, `[1 2 3]`, `{a:1/*x*/,b:2//y` + "\n}", `["a"+"b"]`, `[a(b(c))]`, `[/a[/]b/g]`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		fixed, ok := mendSyntax(trim(text))
		if !ok {
			return
		}
		if o := scan(fixed, false, true); o.fault != nil {
			t.Fatalf("%q became %q: %s", text, fixed, o.fault.reason)
		}
		if scan(text, false, true).fault == nil && canonOf(text) != canonOf(fixed) {
			t.Fatalf("the sound text %q became %q", text, fixed)
		}
		if a, b := skeleton(text), skeleton(fixed); len(a) < len(b) {
			t.Fatalf("%q became %q: brackets %s became %s", text, fixed, a, b)
		}
	})
}

// skeleton is the brackets of a text.
func skeleton(text []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if strings.ContainsRune("{}[]", r) {
			return r
		}
		return -1
	}, text)
}

// FuzzUnwrap: a text that is sound as it came is never touched, and what is derived is one sound value that stands in
// the text as it is.
func FuzzUnwrap(f *testing.F) {
	for _, text := range []string{
		"```json\n{}\n```", "<think>x</think>[1]", "\ufeff{}", "~~~\n1\n~~~", "{\"a\":1}", "```true\n```", "<reasoning>[]</reasoning>",
	} {
		f.Add([]byte(text))
	}
	plain := mustCompile(f, Spec{Mode: "json"})
	c := mustCompile(f, Spec{Mode: "json", Local: LocalUnwrap})
	f.Fuzz(func(t *testing.T, text []byte) {
		v := c.Judge(text)
		if plain.Judge(text).Valid() && v.Mended != "" {
			t.Fatalf("the sound text %q became %q", text, v.Derived)
		}
		if v.Mended != "" && (!v.Valid() || scan(v.Derived, false, false).fault != nil || !bytes.Contains(text, v.Derived)) {
			t.Fatalf("%q became %q", text, v.Derived)
		}
	})
}

// TestStackOverflowFamily: the library itself ends on every text of the family of case J09 that the guards let through.
// A fatal stack overflow would end the test process.
func TestStackOverflowFamily(t *testing.T) {
	parts := []string{`"`, `\`, `,`, `a`, `'`, ` `, `\"`, `\\`, `:`}
	var texts []string
	for _, a := range parts {
		for _, b := range parts {
			for _, c := range parts {
				for _, d := range parts {
					texts = append(texts, `{"k":"`+a+b+c+d+`","l":"z"}`, `["y`+a+b+c+`, `+d+`]`)
				}
			}
		}
	}
	ran := 0
	for _, text := range texts {
		if harmless([]byte(text)) {
			ran++
			_, _ = jsonrepair.Repair(text) // the outcome does not matter, only that there is one
		}
	}
	if ran < len(texts)/4 {
		t.Errorf("the guards let %d of %d texts through", ran, len(texts))
	}
}
