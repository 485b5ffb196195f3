// Command site makes a web site of the documents: one page each, links between them kept, nothing from elsewhere.
package main

import (
	"bytes"
	_ "embed" // the page around a document
	"errors"
	"flag"
	"fmt"
	"html/template"
	"io/fs"
	"log"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

func main() {
	log.SetFlags(0)
	root := flag.String("root", ".", "the repository")
	out := flag.String("out", "build/site", "where the site goes")
	flag.Parse()
	n, err := build(os.DirFS(*root), *out)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d pages in %s\n", n, *out)
}

// order is that of the navigation; what is not named follows by name.
var order = []string{"README.md", "docs/requester.md", "docs/definitions.md", "docs/output.md", "docs/pipelines.md", "docs/providers.md", "docs/operator.md", "docs/library.md",
	"docs/guarantees.md", "docs/security.md", "docs/performance.md", "docs/reference.md", "docs/messages.md", "docs/cli.md", "docs/metrics.md"}

// entry is a line of the navigation.
type entry struct {
	Title, Href string
	Here        bool
}

type page struct {
	Title, Root string
	Nav         []entry
	Body        template.HTML
}

// build writes all pages and what they link to, and returns how many pages there are.
func build(src fs.FS, out string) (int, error) {
	names, err := documents(src)
	if err != nil {
		return 0, err
	}
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()), goldmark.WithRendererOptions(html.WithUnsafe()))
	titles := map[string]string{}
	for _, n := range names {
		b, err := fs.ReadFile(src, n)
		if err != nil {
			return 0, err
		}
		titles[n] = titleOf(b, n)
	}
	for _, n := range names {
		if err := write(src, md, n, names, titles, out); err != nil {
			return 0, fmt.Errorf("%s: %w", n, err)
		}
	}
	return len(names), nil
}

func documents(src fs.FS) ([]string, error) {
	var out []string
	for _, pattern := range []string{"README.md", "CHANGELOG.md", "docs/*.md", "docs/adr/*.md", "deploy/README.md", "examples/README.md"} {
		found, err := fs.Glob(src, pattern)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	rank := func(n string) int {
		if i := slices.Index(order, n); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(out, func(a, b string) int { return rank(a) - rank(b) })
	return out, nil
}

var heading = regexp.MustCompile(`(?m)^# (.+)$`)

func titleOf(text []byte, name string) string {
	if m := heading.FindSubmatch(text); m != nil {
		return strings.NewReplacer("`", "", "*", "").Replace(string(m[1]))
	}
	return name
}

// href is where a document's page is.
func href(name string) string {
	if name == "README.md" {
		return "index.html"
	}
	return strings.TrimSuffix(name, ".md") + ".html"
}

func write(src fs.FS, md goldmark.Markdown, name string, names []string, titles map[string]string, out string) error {
	text, err := fs.ReadFile(src, name)
	if err != nil {
		return err
	}
	linked, files, err := relink(src, text, name, names)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	if err := md.Convert(linked, &body); err != nil {
		return err
	}
	root := strings.Repeat("../", strings.Count(name, "/"))
	p := page{Title: titles[name], Root: root, Body: template.HTML(body.String())} // our own documents
	for _, n := range names {
		if !strings.HasPrefix(n, "docs/adr/") || n == "docs/adr/README.md" || n == name {
			p.Nav = append(p.Nav, entry{titles[n], root + href(n), n == name})
		}
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p); err != nil {
		return err
	}
	if err := put(out, href(name), b.Bytes()); err != nil {
		return err
	}
	for _, f := range files {
		raw, err := fs.ReadFile(src, f)
		if err != nil {
			return err
		}
		if err := put(out, copyName(f), raw); err != nil {
			return err
		}
	}
	return nil
}

// copyName is where a file that is no document goes: Go files under another name, so that no Go command takes a copy for a package.
func copyName(file string) string {
	if strings.HasSuffix(file, ".go") {
		return file + ".txt"
	}
	return file
}

func put(out, name string, text []byte) error {
	to := filepath.Join(out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}

var link = regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)\s]*)?\)`)

// relink has links between documents lead to their pages, and returns the other files that are linked to. A link to a folder
// leads to its README, or is no link.
func relink(src fs.FS, text []byte, name string, names []string) (linked []byte, files []string, err error) {
	out := link.ReplaceAllFunc(text, func(m []byte) []byte {
		parts := link.FindSubmatch(m)
		target := path.Join(path.Dir(name), string(parts[1]))
		up := strings.Repeat("../", strings.Count(name, "/"))
		if slices.Contains(names, target) {
			return fmt.Appendf(nil, "](%s%s%s)", up, href(target), parts[2])
		}
		switch info, e := fs.Stat(src, target); {
		case e != nil:
			err = errors.Join(err, fmt.Errorf("it links to %s, which is not there", target))
		case info.IsDir() && slices.Contains(names, target+"/README.md"):
			return fmt.Appendf(nil, "](%s%s)", up, href(target+"/README.md"))
		case info.IsDir():
			return []byte("]( )")
		default:
			files = append(files, target)
			return fmt.Appendf(nil, "](%s%s)", up, copyName(target))
		}
		return m
	})
	return bytes.ReplaceAll(out, []byte("]( )"), []byte("](#)")), files, err
}
