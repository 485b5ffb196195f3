package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"emend/schemas"
)

// Words of a chunker.
const (
	BySize       = "size"
	ByHeadings   = "headings"
	ByParagraphs = "paragraphs"
	ByJSONLines  = "json_lines"
	ByRecords    = "records"
)

// Chunkers lists them.
var Chunkers = []string{BySize, ByHeadings, ByParagraphs, ByJSONLines, ByRecords}

// Chunker cuts a document without a model.
type Chunker struct {
	By string
	// Size is the most bytes of a chunk; 0 is no bound but that of the prompts. Overlap is what a chunk by size repeats of the
	// one before it.
	Size, Overlap int
	// Level is the deepest heading that begins a chunk, Per the lines or records of a chunk.
	Level, Per int
}

// Span is one chunk: the bytes of a text, or the records of a list, from Start to End. What is before Fresh repeats the
// chunk before it.
type Span struct{ Start, Fresh, End int }

// Document is what is cut: a text, or with Records a list.
type Document struct {
	Text    string
	Records []json.RawMessage
	list    bool
}

// errNoText says that a document has nothing to extract from.
var errNoText = errors.New("the document is empty: there is no chunk to extract from")

// ReadDocument reads the JSON of a document for a chunker.
func ReadDocument(raw json.RawMessage, by string) (Document, error) {
	if by == ByRecords {
		d := Document{list: true}
		if err := json.Unmarshal(raw, &d.Records); err != nil || d.Records == nil {
			return d, errors.New("must be a JSON array: the pipeline cuts by records")
		}
		return d, nil
	}
	var d Document
	if err := json.Unmarshal(raw, &d.Text); err != nil || len(bytes.TrimSpace(raw)) == 0 || bytes.TrimSpace(raw)[0] != '"' {
		return d, errors.New("must be text")
	}
	return d, nil
}

// size is what spans count in.
func (d Document) size() int {
	if d.list {
		return len(d.Records)
	}
	return len(d.Text)
}

// value is the JSON of one chunk: its text, its record, or an array of its records.
func (d Document) value(s Span) (json.RawMessage, error) {
	switch {
	case !d.list:
		return schemas.AppendString(nil, d.Text[s.Start:s.End]), nil
	case s.End-s.Start == 1:
		return d.Records[s.Start], nil
	}
	return schemas.Marshal(d.Records[s.Start:s.End])
}

// bytesOf is how large a chunk is.
func (d Document) bytesOf(s Span) (n int) {
	if !d.list {
		return s.End - s.Start
	}
	for _, r := range d.Records[s.Start:s.End] {
		n += len(r)
	}
	return n
}

// Cut makes the chunks, and checks that nothing of the document is lost.
func (c Chunker) Cut(d Document) ([]Span, error) {
	if d.list && len(d.Records) == 0 || !d.list && strings.TrimSpace(d.Text) == "" {
		return nil, errNoText
	}
	var spans []Span
	var err error
	switch c.By {
	case BySize:
		spans = c.bySize(d.Text)
	case ByHeadings:
		spans = between(d.Text, headings(d.Text, max(c.Level, 1)))
	case ByParagraphs:
		spans = c.packed(d.Text)
	case ByJSONLines:
		spans, err = c.lines(d.Text)
	case ByRecords:
		spans = grouped(len(d.Records), max(c.Per, 1))
	default:
		err = fmt.Errorf("there is no chunker %q", c.By)
	}
	if err != nil {
		return nil, err
	}
	return spans, c.check(d, spans)
}

// check refuses chunks that lose text, that are too many, and that are larger than Size.
func (c Chunker) check(d Document, spans []Span) error {
	if err := Covers(spans, d.size()); err != nil {
		return err
	}
	if len(spans) > MaxChunks {
		return fmt.Errorf("the document has %d chunks, allowed are %d; make them larger", len(spans), MaxChunks)
	}
	for i, s := range spans {
		if n := d.bytesOf(s); c.Size > 0 && n > c.Size {
			return fmt.Errorf("chunk %d has %d bytes, allowed are %d: cut by size, raise size, or shorten it in the document", i+1, n, c.Size)
		}
	}
	return nil
}

// Covers checks that the fresh parts of the spans are the whole, in order, each part once.
func Covers(spans []Span, size int) error {
	at := 0
	for i, s := range spans {
		if s.Fresh != at || s.Start > s.Fresh || s.Start < 0 || s.End <= s.Fresh || s.End > size {
			return fmt.Errorf("chunk %d does not go on where the one before it ends (%d): text would be lost", i+1, at)
		}
		at = s.End
	}
	if at != size {
		return fmt.Errorf("the chunks end at %d of %d: text would be lost", at, size)
	}
	return nil
}

// bySize cuts at white space where there is some in the last fifth of a chunk, else between two characters.
func (c Chunker) bySize(text string) (out []Span) {
	start := 0
	for fresh := 0; fresh < len(text); {
		end := cutBefore(text, fresh, min(start+c.Size, len(text)))
		out = append(out, Span{start, fresh, end})
		fresh = end
		start = runeStart(text, max(end-c.Overlap, 0))
	}
	return out
}

// cutBefore finds where a chunk that begins with from may end, at most at limit and behind from.
func cutBefore(text string, from, limit int) int {
	if limit >= len(text) {
		return len(text)
	}
	if at := strings.LastIndexAny(text[from+(limit-from)*4/5:limit], " \t\r\n"); at >= 0 {
		return from + (limit-from)*4/5 + at + 1
	}
	for limit > from && !utf8.RuneStart(text[limit]) {
		limit--
	}
	if limit == from { // one character alone is larger than the chunk: it stays whole
		_, n := utf8.DecodeRuneInString(text[from:])
		return from + n
	}
	return limit
}

// runeStart is the next place at or behind at where a character begins.
func runeStart(text string, at int) int {
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return at
}

// between makes a chunk from each start to the next; the first begins at 0.
func between(text string, starts []int) (out []Span) {
	at := 0
	for _, s := range append(starts, len(text)) {
		if s > at {
			out = append(out, Span{at, at, s})
			at = s
		}
	}
	return out
}

// headings are where lines with # to #...# (level of them) begin, outside of fenced blocks. Text before the first belongs
// to a chunk of its own, unless it is blank.
func headings(text string, level int) (out []int) {
	fence, seen := "", false
	at := 0
	for line := range strings.Lines(text) {
		switch mark := fenceOf(line); {
		case fence != "" && mark == fence:
			fence = ""
		case fence == "" && mark != "":
			fence, seen = mark, true
		case fence == "" && isHeading(line, level):
			if seen {
				out = append(out, at)
			}
			seen = true
		case strings.TrimSpace(line) != "":
			seen = true
		}
		at += len(line)
	}
	return out
}

func fenceOf(line string) string {
	for _, mark := range []string{"```", "~~~"} {
		if strings.HasPrefix(strings.TrimLeft(line, " "), mark) {
			return mark
		}
	}
	return ""
}

func isHeading(line string, level int) bool {
	n := len(line) - len(strings.TrimLeft(line, "#"))
	return n >= 1 && n <= level && (n == len(strings.TrimRight(line, "\r\n")) || line[n] == ' ' || line[n] == '\t')
}

// packed puts as many paragraphs into a chunk as Size allows; blank lines belong to the paragraph before them.
func (c Chunker) packed(text string) []Span {
	var starts []int
	begin := 0
	for _, p := range between(text, paragraphs(text)) {
		if c.Size > 0 && p.End-begin > c.Size && p.Start > begin {
			starts = append(starts, p.Start)
			begin = p.Start
		}
	}
	if c.Size == 0 {
		starts = paragraphs(text)
	}
	return between(text, starts)
}

// paragraphs are where a line follows a blank one.
func paragraphs(text string) (out []int) {
	at, blank, any := 0, false, false
	for line := range strings.Lines(text) {
		empty := strings.TrimSpace(line) == ""
		if !empty && blank && any {
			out = append(out, at)
		}
		any = any || !empty
		blank = empty
		at += len(line)
	}
	return out
}

// lines makes chunks of Per JSON lines; blank ones belong to the line before them.
func (c Chunker) lines(text string) ([]Span, error) {
	var starts []int
	at, n, number := 0, 0, 0
	for line := range strings.Lines(text) {
		number++
		if strings.TrimSpace(line) != "" {
			if !json.Valid([]byte(line)) {
				return nil, fmt.Errorf("line %d of the document is no JSON value: the pipeline cuts by json_lines", number)
			}
			if n > 0 && n%max(c.Per, 1) == 0 {
				starts = append(starts, at)
			}
			n++
		}
		at += len(line)
	}
	return between(text, starts), nil
}

// grouped makes spans of per of n.
func grouped(n, per int) (out []Span) {
	for at := 0; at < n; at += per {
		out = append(out, Span{at, at, min(at+per, n)})
	}
	return out
}
