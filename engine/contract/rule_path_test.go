package contract

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestParsePath(t *testing.T) {
	for text, want := range map[string]string{
		"total":                  "/total",
		"(root)":                 "",
		"items[2].price":         "/items/2/price",
		`meta["a.b"].c`:          "/meta/a.b/c",
		`["a/b"]["~"]`:           "/a~1b/~0",
		`[""]`:                   "/",
		`["*"]`:                  "/*",
		`["a\"\u00e9\\"]`:        `/a"é\`,
		"[0][10]":                "/0/10",
		`["0"]`:                  "/0",
		"größe.$id._x1":          "/größe/$id/_x1",
		"$.a":                    "/$/a",
		"items[999999999].x":     "/items/999999999/x",
		"a.b.c":                  "/a/b/c",
		`a["` + "\U0001F600]\"]": "/a/\U0001F600]",
	} {
		path, err := parsePath(text)
		if err != nil || pointer(path.tokens()) != want || path.wild() != 0 {
			t.Errorf("%s: %q, %v; want %q", text, path.tokens(), err, want)
		}
	}
	for text, want := range map[string]string{
		"": "is empty", ".a": "no plain key", "a.": "no plain key", "a..b": "no plain key", "a-b": "should be a dot", "a b": "should be a dot",
		"a.1": "no plain key", "1a": "no plain key", "a[": "closing bracket", "a[1": "closing bracket", "a[-1]": "no index", "a[01]": "no index",
		"a[x]": "no index", "a['b']": "no index", `a["b]`: "no quoted key", `a["b"`: "no quoted key", `a["\x"]`: "no quoted key",
		`a["\ud800"]`: "no quoted key", "a[1]b": "should be a dot", "items.*": "no plain key", "*": "no plain key", "a[9999999999]": "no index",
		strings.Repeat("[0]", maxDepth+1): "deeper",
	} {
		if path, err := parsePath(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %q", text, path, err, want)
		}
	}
}

func TestEveryItem(t *testing.T) {
	value := scan([]byte(`{"rows":[{"cells":[1,2]},{"cells":[]},{"cells":[3]},{"other":0}],"one":{"cells":[7]},"none":[]}`), true, false).value
	for _, c := range []struct {
		path, want string
		whole      bool
	}{
		{"rows[*]", "[0] [1] [2] [3]", true},
		{"rows[].name", "[0] [1] [2] [3]", true},
		{"rows[*].cells[*]", "[0 0] [0 1] [2 0]", false},
		{"rows[0].cells[*]", "[0] [1]", true},
		{"one.cells[*].x", "[0]", true},
		{"none[*]", "", true},
		{"one[*]", "", false},
		{"lost[*]", "", false},
		{"one", "[]", true},
	} {
		path, err := parsePath(c.path)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		whole := path.each(value, func(items []int) { got = append(got, fmt.Sprint(items)) })
		if strings.Join(got, " ") != c.want || whole != c.whole {
			t.Errorf("%s: %s, whole %t", c.path, got, whole)
		}
	}
}

func TestPathAt(t *testing.T) {
	path, err := parsePath("a[*].b[].c")
	if err != nil {
		t.Fatal(err)
	}
	if got := path.at([]int{3, 0}).String(); got != "a[3].b[0].c" || path.String() != "a[*].b[*].c" || path.wild() != 4 {
		t.Errorf("%s of %s", got, path)
	}
	prefix, other := path[:2], fieldPath{{name: "a"}, {name: "0", index: true}}
	if !path.startsWith(prefix) || !path.startsWith(nil) || path.startsWith(other) || prefix.startsWith(path) {
		t.Error("startsWith is wrong")
	}
}

func FuzzPath(f *testing.F) {
	for _, text := range []string{"items[2].price", `meta["a.b"]`, "a[*].b[]", "(root)", "größe", `["\ud83d\ude00"]`, "a.b[0][", strings.Repeat("\x84", 200)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path, err := parsePath(text)
		if err != nil {
			if path != nil || err.Error() == "" {
				t.Fatalf("%q: path %v beside error %v", text, path, err)
			}
			return
		}
		again, err := parsePath(path.String())
		if err != nil || !slices.Equal(again, path) {
			t.Fatalf("%q is %s, which is %v, %v", text, path, again, err)
		}
	})
}
