package contract

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// genJSON draws JSON texts with every kind of token.
func genJSON(depth int) *rapid.Generator[string] {
	leaf := rapid.SampledFrom([]string{
		`null`, `true`, `false`, `0`, `-1.5e+7`, `12`, `""`, `"é\u00e9\ud83d\ude00"`, `"a\\\"b"`, `"]}"`, `[]`, `{}`, `"\/"`, ` 7 `,
	})
	if depth == 0 {
		return leaf
	}
	inner := genJSON(depth - 1)
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(inner, 0, 3).Draw(t, "parts")
		if rapid.Bool().Draw(t, "list") {
			return "[" + strings.Join(parts, ", ") + "]"
		}
		for i, p := range parts {
			parts[i] = `"` + string(rune('a'+i)) + `\u0041" : ` + p
		}
		return "{" + strings.Join(parts, ",\n") + "}"
	})
}

// TestEveryPrefixIsCut: a container that ends anywhere before its end is cut, whatever the place.
func TestEveryPrefixIsCut(t *testing.T) {
	c := mustCompile(t, Spec{Mode: "json"})
	rapid.Check(t, func(t *rapid.T) {
		text := "[" + genJSON(rapid.IntRange(0, 3).Draw(t, "depth")).Draw(t, "text") + "]"
		if v := c.Judge([]byte(text)); !v.Valid() || v.CutOff {
			t.Fatalf("%s: %+v", text, v)
		}
		for i := 1; i < len(text); i++ {
			v := c.Judge([]byte(text[:i]))
			if !v.CutOff || v.Valid() || v.Value != nil {
				t.Fatalf("%q: class %q, cut %t", text[:i], v.Class, v.CutOff)
			}
			if v.Class != NotJSON && v.Class != InvalidUTF8 {
				t.Fatalf("%q: class %q", text[:i], v.Class)
			}
		}
	})
}

// TestTwoValues: a container after a value makes several values, a container cut there makes none, and is cut.
func TestTwoValues(t *testing.T) {
	c := mustCompile(t, Spec{Mode: "json"})
	rapid.Check(t, func(t *rapid.T) {
		first := genJSON(2).Draw(t, "first")
		second := "[" + genJSON(1).Draw(t, "second") + "]"
		gap := rapid.SampledFrom([]string{"", " ", "\n\n"}).Draw(t, "gap")
		if v := c.Judge([]byte(first + gap + second)); v.Class != MultipleJSON || v.CutOff {
			t.Fatalf("%s%s%s: class %q, cut %t", first, gap, second, v.Class, v.CutOff)
		}
		v := c.Judge([]byte(first + gap + second[:len(second)-1]))
		if v.Class != NotJSON || !v.CutOff {
			t.Fatalf("%s%s%s cut: class %q, cut %t", first, gap, second, v.Class, v.CutOff)
		}
	})
}

// TestWhiteSpaceIsOutside: the value is the exact bytes between white space.
func TestWhiteSpaceIsOutside(t *testing.T) {
	c := mustCompile(t, Spec{Mode: "json"})
	rapid.Check(t, func(t *rapid.T) {
		value := strings.TrimSpace(genJSON(3).Draw(t, "value"))
		space := rapid.SampledFrom([]string{"", " ", "\r\n\t "})
		text := space.Draw(t, "before") + value + space.Draw(t, "after")
		if v := c.Judge([]byte(text)); string(v.Value) != value {
			t.Fatalf("%q: value %q", text, v.Value)
		}
	})
}

// TestAddedFaults puts one fault into a sound text: its class must come out.
func TestAddedFaults(t *testing.T) {
	c := mustCompile(t, Spec{Mode: "json"})
	for _, f := range []struct {
		fault string
		want  Class
	}{
		{`{"x":1,"x":1}`, DuplicateKey},
		{`"\ud800"`, LoneSurrogate},
		{`1e5000`, NumberOutRange},
		{"\"\xfe\"", InvalidUTF8},
		{`undefined`, NotJSON},
		{`'single'`, NotJSON},
		{`01`, NotJSON},
		{strings.Repeat("[", 200) + strings.Repeat("]", 200), TooDeep},
	} {
		rapid.Check(t, func(t *rapid.T) {
			text := "[" + genJSON(2).Draw(t, "before") + "," + f.fault + "," + genJSON(2).Draw(t, "after") + "]"
			v := c.Judge([]byte(text))
			if v.Class != f.want || v.CutOff || len(v.Findings) != 1 ||
				f.want != InvalidUTF8 && !strings.HasPrefix(v.Findings[0].Pointer, "/1") {
				t.Fatalf("%s: class %q, cut %t, findings %+v", text, v.Class, v.CutOff, v.Findings)
			}
		})
	}
}

func TestSpans(t *testing.T) {
	text := `{"a" : [1, {"b\u0021":"x\"y"} , -2.5e3],"":{},"c":null}`
	root := spans(text)
	for _, c := range []struct {
		want string
		path []string
	}{
		{text, nil},
		{`[1, {"b\u0021":"x\"y"} , -2.5e3]`, []string{"a"}},
		{`1`, []string{"a", "0"}},
		{`"x\"y"`, []string{"a", "1", "b!"}},
		{`-2.5e3`, []string{"a", "2"}},
		{`{}`, []string{""}},
		{`null`, []string{"c"}},
		{``, []string{"a", "3"}},
		{``, []string{"a", "-1"}},
		{``, []string{"a", "x"}},
		{``, []string{"none", "0"}},
		{``, []string{"c", "d"}},
	} {
		got := root.find(c.path...).raw([]byte(text))
		if string(got) != c.want || (got == nil) != (c.want == "") {
			t.Errorf("%q: %s, want %s", c.path, got, c.want)
		}
	}
}

func TestMasked(t *testing.T) {
	text := `{"known":[{"3":{"known":1}}],"secret":{"known":[[1]]},"7":1}`
	names := map[string]bool{"known": true}
	root := spans(text)
	for path, want := range map[string]string{
		"/known":              "/known",
		"/known/0":            "/known/0",
		"/known/0/3":          "/known/0/*",
		"/known/0/3/known":    "/known/0/*/known",
		"/secret/known/0/0":   "/*/known/0/0",
		"/7":                  "/*",
		"/secret/~0tilde/a~1": "/*/*/*",
	} {
		var tokens []string
		for token := range strings.SplitSeq(path[1:], "/") {
			tokens = append(tokens, unescapeToken(token))
		}
		if got := root.masked(tokens, names); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// TestScanFindingsAreMasked: a scan knows the names of the schema too.
func TestScanFindingsAreMasked(t *testing.T) {
	c := schemaContract(t, `{"properties":{"known":{"items":{"required":["also"]}}}}`)
	f := c.Judge([]byte(`{"known":[{"also":{"own":{"k":1,"k":1}}}]}`)).Findings[0]
	if f.Pointer != "/known/0/also/own" || f.Masked != "/known/0/also/*" {
		t.Errorf("finding %+v", f)
	}
	f = mustCompile(t, Spec{Mode: "json"}).Judge([]byte(`{"known":[nul`)).Findings[0]
	if f.Pointer != "/known/0" || f.Masked != "/*/0" {
		t.Errorf("finding %+v", f)
	}
}

func TestExcerpt(t *testing.T) {
	if got := excerpt("short"); got != "short" {
		t.Error(got)
	}
	for n := range 5 {
		long := strings.Repeat("x", n) + strings.Repeat("😀", 100)
		got := excerpt(long)
		if len(got) > maxExcerpt+3 || !strings.HasSuffix(got, "...") || !json.Valid([]byte(`"`+got+`"`)) {
			t.Errorf("%q", got)
		}
	}
}
