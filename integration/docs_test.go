package integration

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"emend/engine/run"
	"emend/prompts"
	"emend/schemas"
)

// update writes what is generated into the documents: go test ./integration -run Docs -update.
var update = flag.Bool("update", false, "write the generated parts of the documents")

// generated are the parts of documents that the code writes, each between <!-- NAME:begin --> and <!-- NAME:end -->.
var generated = []struct {
	file, name string
	text       func() string
}{
	{"architecture.md", "diagram", func() string { return "```mermaid\n" + run.Diagram() + "```\n" }},
	{"reference.md", "reference", func() string { return strings.TrimPrefix(prompts.ReferenceMarkdown(), "# Fields of the files\n\n") }},
	{"messages.md", "messages", schemas.ReferenceMarkdown},
}

func TestDocsGeneratedPartsAreCurrent(t *testing.T) {
	for _, g := range generated {
		path := filepath.Join("..", "docs", g.file)
		doc := read(t, path)
		begin, end := "<!-- "+g.name+":begin -->\n", "<!-- "+g.name+":end -->"
		before, rest, ok1 := strings.Cut(doc, begin)
		have, after, ok2 := strings.Cut(rest, end)
		if !ok1 || !ok2 {
			t.Fatalf("%s has no markers %q and %q", path, begin, end)
		}
		if have == g.text() {
			continue
		}
		if !*update {
			t.Errorf("the part %s of %s is not what the code says; go test ./integration -run Docs -update writes it", g.name, path)
			continue
		}
		if err := os.WriteFile(path, []byte(before+begin+g.text()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)\s]*)?\)`)

func TestDocsLinksLeadSomewhere(t *testing.T) {
	for _, path := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, path), -1) {
			target := filepath.Join(filepath.Dir(path), m[1])
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
				continue
			}
			if m[2] != "" && strings.HasSuffix(target, ".md") && !hasHeading(read(t, target), m[2][1:]) {
				t.Errorf("%s links to %s%s, but there is no such heading", path, m[1], m[2])
			}
		}
	}
}

// hasHeading looks for a heading by the anchor that Markdown hosts make of it.
func hasHeading(doc, anchor string) bool {
	drop := regexp.MustCompile(`[^a-z0-9 _-]`)
	for line := range strings.Lines(doc) {
		text, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if ok && strings.HasPrefix(line, "#") &&
			strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(strings.TrimSpace(text)), ""), " ", "-") == anchor {
			return true
		}
	}
	return false
}

// way is a row of "One run's way": functions, then the files that hold them.
var way = regexp.MustCompile(`(?m)^\| \d+\. .* \| (.*) \| (.*) \|$`)

var (
	named  = regexp.MustCompile("`(?:[A-Za-z]+\\.)?([A-Za-z]+)`")
	linked = regexp.MustCompile(`\]\(([^)#]+)\)`)
)

func TestDocsWayOfARunIsInTheCode(t *testing.T) {
	rows := way.FindAllStringSubmatch(read(t, "../docs/architecture.md"), -1)
	if len(rows) < 10 {
		t.Fatalf("architecture.md has %d rows", len(rows))
	}
	for _, row := range rows {
		var code strings.Builder
		for _, file := range linked.FindAllStringSubmatch(row[2], -1) {
			code.WriteString(read(t, filepath.Join("../docs", file[1])))
		}
		for _, name := range named.FindAllStringSubmatch(row[1], -1) {
			if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + name[1] + `\(`).MatchString(code.String()) {
				t.Errorf("architecture.md names %s, which is not in the files of its row: %s", name[0], row[2])
			}
		}
	}
}

// promised is the name of a test that shows a promise.
var promised = regexp.MustCompile("`(Test[A-Za-z0-9_]+)`")

func TestDocsGuaranteesNameTestsThatAreThere(t *testing.T) {
	var code strings.Builder
	for _, pattern := range []string{"*_test.go", "../consumer/*_test.go", "../engine/*_test.go", "../engine/run/*_test.go", "../capacity/*_test.go", "../cmd/emend/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			code.WriteString(read(t, file))
		}
	}
	names := promised.FindAllStringSubmatch(read(t, "../docs/guarantees.md"), -1)
	if len(names) < 20 {
		t.Errorf("guarantees.md names %d tests", len(names))
	}
	for _, m := range names {
		if !strings.Contains(code.String(), "\nfunc "+m[1]+"(t *testing.T) {") {
			t.Errorf("guarantees.md names %s, which is no test", m[1])
		}
	}
}

// direct is a direct requirement of a go.mod or a tool line.
var direct = regexp.MustCompile(`(?m)^(?:\t|require |tool )([a-z0-9.-]+\.[a-z]+/\S+)[^/\n]*$`)

func TestDocsNameEveryDependency(t *testing.T) {
	doc := read(t, "../docs/dependencies.md")
	for _, mod := range []string{"../go.mod", "../tools/go.mod", "../tools/natscli/go.mod"} {
		for _, m := range direct.FindAllStringSubmatch(read(t, mod), -1) {
			if !strings.Contains(doc, "`"+m[1]+"`") {
				t.Errorf("docs/dependencies.md does not say what %s of %s is for", m[1], mod)
			}
		}
	}
}

// documents are the Markdown files of the project, the README first.
func documents(t *testing.T) []string {
	t.Helper()
	out := []string{"../README.md", "../CHANGELOG.md"}
	for _, pattern := range []string{"../docs/*.md", "../docs/adr/*.md", "../deploy/*.md", "../examples/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, found...)
	}
	return out
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestDocsExampleFoldersAreSound(t *testing.T) {
	folders, err := filepath.Glob("../examples/*/emend.yaml")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no example folder: %v", err)
	}
	for _, file := range append(folders, "../deploy/compose/worker/emend.yaml", "foreign/testdata/worker/emend.yaml") {
		if _, err := prompts.LoadDir(filepath.Dir(file)); err != nil {
			t.Errorf("%s: %v", filepath.Dir(file), err)
		}
	}
}
