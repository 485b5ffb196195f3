package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// docBlock is a fenced block of a document: its language and its text.
type docBlock struct{ lang, text string }

func docBlocks(t *testing.T, path string) []docBlock {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []docBlock
	for i, part := range strings.Split("\n"+string(b), "\n```") {
		if lang, text, _ := strings.Cut(part, "\n"); i%2 == 1 {
			out = append(out, docBlock{lang, text + "\n"})
		}
	}
	return out
}

// fileLine is the first line of a block that is a file of the example's folder.
var fileLine = regexp.MustCompile(`^# ((?:prompts/)?[a-z0-9@.-]+\.yaml)\n`)

// commandLine is a command of a console block, with what it reads.
var commandLine = regexp.MustCompile(`^(?:echo '([^']*)' \| )?emend (.*)$`)

// The examples of output.md make one folder; its commands run there and print what the document says. A line "..." stands
// for any lines.
func TestExamplesOfOutputRun(t *testing.T) {
	blocks := docBlocks(t, "../../docs/output.md")
	dir := t.TempDir()
	for _, b := range blocks {
		if m := fileLine.FindStringSubmatch(b.text); m != nil {
			write(t, filepath.Join(dir, m[1]), b.text)
		}
	}
	t.Chdir(dir)
	ran := 0
	for _, b := range blocks {
		if b.lang != "console" {
			continue
		}
		for _, session := range strings.Split("\n"+b.text, "\n$ ")[1:] {
			line, want, _ := strings.Cut(session, "\n")
			m := commandLine.FindStringSubmatch(line)
			if m == nil {
				t.Errorf("no command that a test can run: %s", line)
				continue
			}
			got := emend(t, m[1]+"\n", words(m[2])...)
			if !printed(got.out+got.err, strings.TrimSuffix(want, "\n")) {
				t.Errorf("$ %s\n%s%s\nthe document says\n%s", line, got.out, got.err, want)
			}
			ran++
		}
	}
	if ran < 8 {
		t.Errorf("%d commands ran", ran)
	}
}

// words splits a command line as a shell does, with single quotes alone.
func words(line string) []string {
	var out []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 0 {
			out = append(out, strings.Fields(part)...)
		} else {
			out = append(out, part)
		}
	}
	return out
}

// printed reports whether an output is the text of a document, in which a line "..." stands for any lines.
func printed(got, want string) bool {
	got = strings.TrimRight(got, "\n")
	var expr strings.Builder
	for i, line := range strings.Split(strings.TrimRight(want, "\n"), "\n") {
		switch {
		case line == "...":
			expr.WriteString(`(?:\n?[^\n]*)*?`)
		case i == 0:
			expr.WriteString(regexp.QuoteMeta(line))
		default:
			expr.WriteString(`\n` + regexp.QuoteMeta(line))
		}
	}
	return regexp.MustCompile(`\A` + expr.String() + `\z`).MatchString(got)
}

func TestPrintedTellsOutputsApart(t *testing.T) {
	for _, c := range []struct {
		got, want string
		same      bool
	}{{"a\nb\nc\n", "a\nb\nc", true}, {"a\nb\nc", "a\n...\nc", true}, {"a\nc", "a\n...\nc", true}, {"a\nb\nc", "a\n...", true}, {"x\nb", "...\nb", true},
		{"a\nb\nc", "a\nc", false}, {"a\nb", "a", false}, {"a.c", "abc", false}, {"", "", true}, {"a", "", false}} {
		if printed(c.got, c.want) != c.same {
			t.Errorf("%q for %q", c.got, c.want)
		}
	}
}
