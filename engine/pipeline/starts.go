package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
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

// fromStarts makes the chunks that a chunk prompt's answer asks for; the first begins with the document whatever it says.
func fromStarts(d Document, answer json.RawMessage) ([]Span, error) {
	var said struct {
		Starts []int `json:"starts"`
	}
	if err := json.Unmarshal(answer, &said); err != nil {
		return nil, errors.New("the chunk plan has no starts")
	}
	wanted := map[int]bool{}
	lines := Lines(d.Text)
	for _, n := range said.Starts {
		if n < 1 || n > lines {
			return nil, fmt.Errorf("the chunk plan begins a chunk in line %d of %d", n, lines)
		}
		wanted[n] = true
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
