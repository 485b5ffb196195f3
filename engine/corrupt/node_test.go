package corrupt

import (
	"slices"
	"strings"
	"testing"
)

// doc has every kind of value, odd keys, and white space in odd places.
const doc = `{"a/b" : [ 1 ,-2.50e3,"x\"]},",  true,null] ,"~" :{ } ,"é":{"":[[]]}}`

func TestParsePlacesEveryValue(t *testing.T) {
	var got []string
	parse([]byte(doc)).walk(func(n *node) bool {
		got = append(got, n.pointer+" "+n.kind+" "+string(n.text()))
		return true
	})
	want := []string{
		" object " + doc,
		`/a~1b array [ 1 ,-2.50e3,"x\"]},",  true,null]`,
		`/a~1b/0 number 1`,
		`/a~1b/1 number -2.50e3`,
		`/a~1b/2 string "x\"]},"`,
		`/a~1b/3 boolean true`,
		`/a~1b/4 null null`,
		`/~0 object { }`,
		`/é object {"":[[]]}`,
		`/é/ array [[]]`,
		`/é//0 array []`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("values\n%s\nexpected\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestParseOfScalars(t *testing.T) {
	for text, kind := range map[string]string{`1`: "number", `"a"`: "string", `true`: "boolean", `false`: "boolean", `null`: "null", `[]`: "array", `{}`: "object"} {
		if n := parse([]byte(text)); n.kind != kind || string(n.text()) != text || n.pointer != "" || len(n.children) != 0 {
			t.Errorf("%s: %+v", text, n)
		}
	}
}

func TestWalkStopsWhenItIsTold(t *testing.T) {
	n := 0
	parse([]byte(doc)).walk(func(*node) bool { n++; return n < 4 })
	if n != 4 {
		t.Errorf("%d values", n)
	}
}

func TestWithReplacesOnePlace(t *testing.T) {
	root := parse([]byte(doc))
	for pointer, want := range map[string]string{
		"":        `NEW`,
		"/a~1b/1": strings.Replace(doc, "-2.50e3", "NEW", 1),
		"/~0":     strings.Replace(doc, "{ }", "NEW", 1),
		"/é//0":   strings.Replace(doc, "[[]]", "[NEW]", 1),
	} {
		found := false
		root.walk(func(n *node) bool {
			if n.pointer == pointer {
				found = true
				if got := string(root.with(n, "NEW")); got != want {
					t.Errorf("%s: %s, expected %s", pointer, got, want)
				}
			}
			return true
		})
		if !found {
			t.Errorf("no value at %s", pointer)
		}
	}
}

func TestMembersKeepTheirTexts(t *testing.T) {
	root := parse([]byte(`{ "a" : 1.50 , "b\u0041" : [ 1, 2 ] }`))
	for _, c := range []struct {
		keep func(*node) bool
		more []string
		want string
	}{
		{everyOne, nil, `{"a":1.50,"b\u0041":[ 1, 2 ]}`},
		{everyOne, []string{`"c":3`}, `{"a":1.50,"b\u0041":[ 1, 2 ],"c":3}`},
		{func(n *node) bool { return n.kind != "number" }, nil, `{"b\u0041":[ 1, 2 ]}`},
		{func(*node) bool { return false }, nil, `{}`},
		{func(*node) bool { return false }, []string{`"c":3`}, `{"c":3}`},
	} {
		if got := root.members(c.keep, c.more...); got != c.want {
			t.Errorf("%s, expected %s", got, c.want)
		}
	}
}
