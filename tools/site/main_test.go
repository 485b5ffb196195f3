package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

var anchor = regexp.MustCompile(`(?:href|src)="([^"#:]*)(#[^"]*)?"`)

// The site of this repository has a page for every document, and no link in it is dead.
func TestTheSiteHasNoDeadLink(t *testing.T) {
	out := t.TempDir()
	n, err := build(os.DirFS("../.."), out)
	if err != nil || n < 20 {
		t.Fatalf("%d pages: %v", n, err)
	}
	links := 0
	err = filepath.WalkDir(out, func(p string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(p, ".html") {
			return err
		}
		b, err := os.ReadFile(p)
		for _, m := range anchor.FindAllStringSubmatch(string(b), -1) {
			if links++; m[1] == "" {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(p), m[1])); err != nil {
				t.Errorf("%s: dead link %s", p, m[1])
			}
		}
		return err
	})
	if err != nil || links < 100 {
		t.Errorf("%d links, %v", links, err)
	}
}

func TestADeadLinkIsAnError(t *testing.T) {
	_, err := build(fstest.MapFS{"README.md": {Data: []byte("# A\n[x](docs/none.md)\n")}}, t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "docs/none.md, which is not there") {
		t.Error(err)
	}
}

func TestADocumentBecomesAPage(t *testing.T) {
	out := t.TempDir()
	_, err := build(fstest.MapFS{"README.md": {Data: []byte("# First `page`\n[next](docs/b.md#part), [file](x/y.json)\n")}, "docs/b.md": {Data: []byte("# B\n## Part\n| a | b |\n|---|---|\n| 1 | <2 |\n[back](../README.md)\n")},
		"x/y.json": {Data: []byte("{}")}}, out)
	if err != nil {
		t.Fatal(err)
	}
	for file, wants := range map[string][]string{"index.html": {"<title>First page · Emend</title>", `href="docs/b.html#part"`, `href="x/y.json"`, `aria-current="page"`},
		"docs/b.html": {`<h2 id="part">`, "<td>&lt;2</td>", `href="../index.html"`}, "x/y.json": {"{}"}} {
		b, err := os.ReadFile(filepath.Join(out, file))
		for _, want := range wants {
			if err != nil || !strings.Contains(string(b), want) {
				t.Errorf("%s lacks %q (%v)\n%s", file, want, err, b)
			}
		}
	}
}
