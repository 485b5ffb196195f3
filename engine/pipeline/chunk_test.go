package pipeline

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func cut(t *testing.T, c Chunker, text string) []string {
	t.Helper()
	d := Document{Text: text}
	spans, err := c.Cut(d)
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	var out []string
	for _, s := range spans {
		out = append(out, text[s.Start:s.End])
	}
	return out
}

func TestChunkers(t *testing.T) {
	for name, c := range map[string]struct {
		chunker Chunker
		text    string
		want    []string
	}{
		"size at white space":       {Chunker{By: BySize, Size: 20}, "aaaa bbbb cccc dddd eeee ffff", []string{"aaaa bbbb cccc dddd ", "eeee ffff"}},
		"size without white space":  {Chunker{By: BySize, Size: 16}, strings.Repeat("x", 33), []string{strings.Repeat("x", 16), strings.Repeat("x", 16), "x"}},
		"size between characters":   {Chunker{By: BySize, Size: 16}, strings.Repeat("ü", 9), []string{strings.Repeat("ü", 8), "ü"}},
		"overlap":                   {Chunker{By: BySize, Size: 16, Overlap: 4}, strings.Repeat("0123456789", 3), []string{"0123456789012345", "2345678901234567", "456789"}},
		"one chunk":                 {Chunker{By: BySize, Size: 100}, "short", []string{"short"}},
		"headings":                  {Chunker{By: ByHeadings, Level: 2}, "before\n# A\na\n## B\nb\n### C\nc\n", []string{"before\n", "# A\na\n", "## B\nb\n### C\nc\n"}},
		"headings with blank start": {Chunker{By: ByHeadings, Level: 1}, "\n\n# A\na\n# B", []string{"\n\n# A\na\n", "# B"}},
		"no heading in a fence":     {Chunker{By: ByHeadings, Level: 1}, "# A\n```\n# no\n```\n#tag\n# B\n", []string{"# A\n```\n# no\n```\n#tag\n", "# B\n"}},
		"paragraphs are packed":     {Chunker{By: ByParagraphs, Size: 16}, "one\n\ntwo\n\nthree three\n\nfour\n", []string{"one\n\ntwo\n\n", "three three\n\n", "four\n"}},
		"lines of JSON":             {Chunker{By: ByJSONLines, Per: 2}, "1\n\n2\r\n{\"a\": 3}\n", []string{"1\n\n2\r\n", "{\"a\": 3}\n"}},
	} {
		if got := cut(t, c.chunker, c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestRecords(t *testing.T) {
	d, err := ReadDocument(json.RawMessage(`[{"a": 1.50}, 2, "x"]`), ByRecords)
	if err != nil {
		t.Fatal(err)
	}
	spans, err := Chunker{By: ByRecords, Per: 2}.Cut(d)
	if err != nil || len(spans) != 2 {
		t.Fatalf("%v %v", spans, err)
	}
	for i, want := range []string{`[{"a":1.50},2]`, `"x"`} {
		if got, err := d.value(spans[i]); err != nil || string(got) != want {
			t.Errorf("%s %v, want %s", got, err, want)
		}
	}
}

func TestDocumentsThatCannotBeCut(t *testing.T) {
	for want, c := range map[string]struct {
		chunker Chunker
		raw     string
	}{
		"there is no chunk to extract from":           {Chunker{By: BySize, Size: 16}, `""`},
		"the document is empty":                       {Chunker{By: ByRecords}, `[]`},
		"must be a JSON array":                        {Chunker{By: ByRecords}, `{}`},
		"must be text":                                {Chunker{By: ByHeadings}, `null`},
		"chunk 2 has 22 bytes, allowed are 20":        {Chunker{By: ByParagraphs, Size: 20}, `"one\n\n` + strings.Repeat("x", 22) + `"`},
		"chunk 1 has 23 bytes, allowed are 16":        {Chunker{By: ByHeadings, Size: 16}, `"# A\nabcdefghijklmnopqrs"`},
		"line 2 of the document is no JSON value":     {Chunker{By: ByJSONLines}, `"1\nx\n"`},
		"there is no chunker \"pages\"":               {Chunker{By: "pages"}, `"x"`},
		"the document has 100001 chunks, allowed are": {Chunker{By: ByJSONLines}, `"` + strings.Repeat(`1\n`, MaxChunks+1) + `"`},
	} {
		d, err := ReadDocument(json.RawMessage(c.raw), c.chunker.By)
		if err == nil {
			_, err = c.chunker.Cut(d)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A chunker that loses text is found out.
func TestCovers(t *testing.T) {
	for _, spans := range [][]Span{
		{{0, 0, 4}},             // the end is missing
		{{0, 0, 4}, {5, 5, 9}},  // a byte between is
		{{1, 1, 9}},             // the first is
		{{0, 0, 5}, {4, 4, 9}},  // one stands twice
		{{0, 0, 5}, {6, 5, 9}},  // the chunk begins behind what is new
		{{0, 0, 9}, {9, 9, 9}},  // nothing is new
		{{0, 0, 9}, {9, 9, 10}}, // beyond the end
		{{0, 0, 5}, {-1, 5, 9}}, // before the beginning
	} {
		if err := Covers(spans, 9); err == nil || !strings.Contains(err.Error(), "text would be lost") {
			t.Errorf("%v: %v", spans, err)
		}
	}
	if err := Covers([]Span{{0, 0, 5}, {3, 5, 9}}, 9); err != nil {
		t.Error(err)
	}
}

// Whatever a document holds, what is fresh in the chunks is the document, no chunk is larger than it may be, and none cuts a
// character.
func FuzzCut(f *testing.F) {
	f.Add("one two\n\nthree\n# four\n", uint8(0), uint16(20), uint16(4))
	f.Add("ü\xff\xf0\x9f", uint8(1), uint16(16), uint16(8))
	f.Add("{}\n[]\n", uint8(3), uint16(1), uint16(0))
	f.Fuzz(func(t *testing.T, text string, by uint8, size, overlap uint16) {
		c := Chunker{By: Chunkers[int(by)%4], Size: 16 + int(size)%500, Level: 1 + int(size)%6, Per: 1 + int(overlap)%5}
		if c.By == BySize {
			c.Overlap = int(overlap) % (c.Size/2 + 1)
		}
		spans, err := c.Cut(Document{Text: text})
		if err != nil {
			return
		}
		var whole strings.Builder
		for _, s := range spans {
			whole.WriteString(text[s.Fresh:s.End])
			if s.End-s.Start > c.Size {
				t.Errorf("%+v: a chunk has %d bytes", c, s.End-s.Start)
			}
			if utf8.ValidString(text) && !utf8.ValidString(text[s.Start:s.End]) {
				t.Errorf("%+v: a character is cut", c)
			}
		}
		if whole.String() != text {
			t.Errorf("%+v loses text: %q", c, whole.String())
		}
	})
}

func FuzzStarts(f *testing.F) {
	f.Add("a\nb\nc", `{"starts":[1,3]}`)
	f.Add("a", `{"starts":[2]}`)
	f.Fuzz(func(t *testing.T, text, answer string) {
		spans, err := fromStarts(Document{Text: text}, json.RawMessage(answer))
		if err == nil && text != "" && Covers(spans, len(text)) != nil {
			t.Errorf("%q %s loses text", text, answer)
		}
	})
}

func TestStarts(t *testing.T) {
	text := "a\nb\nc\nd"
	for answer, want := range map[string][]string{
		`{"starts":[1]}`:       {"a\nb\nc\nd"},
		`{"starts":[3,1,3]}`:   {"a\nb\n", "c\nd"},
		`{"starts":[2]}`:       {"a\n", "b\nc\nd"},
		`{"starts":[1,2,3,4]}`: {"a\n", "b\n", "c\n", "d"},
	} {
		spans, err := fromStarts(Document{Text: text}, json.RawMessage(answer))
		var got []string
		for _, s := range spans {
			got = append(got, text[s.Start:s.End])
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q %v", answer, got, err)
		}
	}
	for _, answer := range []string{`{"starts":[5]}`, `{"starts":[0]}`, `[]`, `{"starts":["1"]}`} {
		if _, err := fromStarts(Document{Text: text}, json.RawMessage(answer)); err == nil {
			t.Errorf("%s is taken", answer)
		}
	}
	if Lines(text) != 4 || Lines("a\n") != 1 || Numbered("a\nb") != "1\ta\n2\tb" {
		t.Errorf("%d %d %q", Lines(text), Lines("a\n"), Numbered("a\nb"))
	}
}
