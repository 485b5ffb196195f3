package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"emend/engine/contract"
)

// StartsSchema is the contract of a chunk prompt for a document of so many lines: in which lines chunks begin. Whatever it
// accepts is a plan that loses nothing, since a chunk goes on to where the next begins. lines 0 leaves the number open.
func StartsSchema(lines int) json.RawMessage {
	bound := ""
	if lines > 0 {
		bound = fmt.Sprintf(`,"maximum":%d`, lines)
	}
	return json.RawMessage(`{"type":"object","properties":{"starts":{"type":"array","minItems":1,"description":"the numbers of the lines in which chunks begin",` +
		`"items":{"type":"integer","minimum":1` + bound + `}}},"required":["starts"],"additionalProperties":false}`)
}

// StartsInstruction ends the conversation of a chunk prompt.
const StartsInstruction = `Answer with JSON only: {"starts": [1, ...]}, the numbers of the lines in which chunks begin. A chunk goes on to the line before the next start.`

// Lines counts the lines of a text.
func Lines(text string) int {
	n := strings.Count(text, "\n")
	if !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// Numbered is the text with its lines numbered, for a model to name them.
func Numbered(text string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/8)
	n := 0
	for line := range strings.Lines(text) {
		n++
		b.WriteString(strconv.Itoa(n) + "\t" + line)
	}
	return b.String()
}

// Unnumbered is the text that Numbered numbered.
func Unnumbered(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for line := range strings.Lines(text) {
		_, rest, _ := strings.Cut(line, "\t")
		b.WriteString(rest)
	}
	return b.String()
}

// StartsCheck says what of a chunk plan for a text cannot be used, besides what its schema says: a chunk that is larger than a
// prompt of the plan's lanes takes.
func (p *Plan) StartsCheck(text string) func(answer json.RawMessage) []contract.Finding {
	limit := p.chunkLimit()
	return func(answer json.RawMessage) []contract.Finding {
		finding := contract.Finding{Pointer: "/starts", Masked: "/starts", Keyword: contract.KeywordChunk}
		spans, err := fromStarts(Document{Text: text}, answer)
		if err != nil {
			finding.Message = err.Error()
			return []contract.Finding{finding}
		}
		var findings []contract.Finding
		line := 1
		for _, s := range spans {
			next := line + strings.Count(text[s.Start:s.End], "\n")
			if n := s.End - s.Start; limit > 0 && n > limit && len(findings) < maxChunkFindings {
				finding.Message = fmt.Sprintf("the chunk that begins in line %d and ends before line %d has %d bytes, allowed are %d: begin further chunks in it", line, next, n, limit)
				findings = append(findings, finding)
			}
			line = next
		}
		return findings
	}
}

// maxChunkFindings bounds the chunks that one correction names.
const maxChunkFindings = 50

// chunkLimit is the most bytes that every lane's prompt takes of a chunk; 0 is no bound.
func (p *Plan) chunkLimit() int {
	limit := 0
	for _, l := range p.Lanes {
		if n, bounded := l.Extract.Inputs[InputChunk]; bounded && n > 0 && (limit == 0 || n < limit) {
			limit = n
		}
	}
	return limit
}

// lines checks before anything is paid that a model can cut the text: a chunk has at least one line.
func (p *Plan) lines(text string) error {
	limit, n := p.chunkLimit(), 0
	for line := range strings.Lines(text) {
		n++
		if limit > 0 && len(line) > limit {
			return fmt.Errorf("line %d has %d bytes, and a chunk of a prompt has whole lines of at most %d: break it, or raise the max of input chunk", n, len(line), limit)
		}
	}
	return nil
}

// fromStarts makes the chunks that a chunk prompt's answer asks for; the first begins with the document whatever it says.
func fromStarts(d Document, answer json.RawMessage) ([]Span, error) {
	var said struct {
		Starts []float64 `json:"starts"` // 1.0 is an integer of JSON Schema, too
	}
	if err := json.Unmarshal(answer, &said); err != nil {
		return nil, errors.New("the chunk plan has no starts that are numbers of lines")
	}
	wanted := map[int]bool{}
	lines := Lines(d.Text)
	for _, n := range said.Starts {
		if n != math.Trunc(n) || n < 1 || n > float64(lines) {
			return nil, fmt.Errorf("the chunk plan begins a chunk in line %v of %d", n, lines)
		}
		wanted[int(n)] = true
	}
	var starts []int
	at, n := 0, 0
	for line := range strings.Lines(d.Text) {
		n++
		if wanted[n] && at > 0 {
			starts = append(starts, at)
		}
		at += len(line)
	}
	spans := between(d.Text, starts)
	return spans, Chunker{}.check(d, spans)
}
