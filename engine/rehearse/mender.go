package rehearse

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"

	"emend/engine"
	"emend/engine/contract"
	"emend/schemas"
)

// mender is a client that stands for a model that mends exactly what a correction names, by what the correction says,
// and nothing else. It knows neither the contract nor the good answer. What the words do not tell it, it leaves as it is.
type mender struct {
	// syntax mends texts that are no JSON.
	syntax *contract.Contract
	// anew counts the corrections that ask for a new answer, which it cannot give.
	anew int
}

func newMender() (*mender, error) {
	c, err := contract.Compile(contract.Spec{Mode: schemas.ModeJSON, Local: contract.LocalSyntax, LastWins: true})
	return &mender{syntax: c}, err
}

// Generate reads the correction and answers it.
func (m *mender) Generate(_ context.Context, r *engine.GenerateRequest) (*engine.GenerateResponse, error) {
	message := r.Messages[len(r.Messages)-1].Content
	text, shown := candidate(r.Messages)
	switch {
	case !shown:
		m.anew++
		return &engine.GenerateResponse{Text: text}, nil
	case strings.Contains(message, "\nFAILING PATH"):
		text = targets(text, message)
	default:
		text = m.talk(text, message)
	}
	return &engine.GenerateResponse{Text: text}, nil
}

// candidate is the answer that a correction is about: the turn before the message, or the block in it.
func candidate(messages []schemas.Message) (text string, shown bool) {
	if n := len(messages) - 2; n >= 0 && messages[n].Role == schemas.RoleAssistant {
		return messages[n].Content, true
	}
	_, rest, found := strings.Cut(messages[len(messages)-1].Content, "\nRECEIVED\n")
	_, rest, _ = strings.Cut(rest, "\n<")
	tag, rest, _ := strings.Cut(rest, ">\n")
	text, _, whole := strings.Cut(rest, "\n</"+tag+">")
	return text, found && whole
}

// targets mends the places that a targeted correction names.
func targets(text, message string) string {
	v, err := decode(json.RawMessage(text))
	if err != nil {
		return text
	}
	for _, block := range strings.Split(message, "\nFAILING PATH")[1:] {
		_, block, _ = strings.Cut(block, "\n")
		where, rest, _ := strings.Cut(block, "\n")
		_, rest, _ = strings.Cut(rest, "EXPECTED SHAPE\n")
		shape, _, _ := strings.Cut(rest, "\n\n")
		path, ok := tokens(where)
		if !ok {
			continue
		}
		old, there := lookup(v, path)
		if value, known := wanted(old, there, strings.Split(shape, "\n")); known {
			v = put(v, path, value)
		}
	}
	return encoded(v, text)
}

func encoded(v any, otherwise string) string {
	b, err := schemas.Marshal(v)
	if err != nil {
		return otherwise
	}
	return string(b)
}

// inside is a hint's sentence about an envelope.
var inside = regexp.MustCompile(`stands inside the key ("(?:[^"\\]|\\.)*")`)

// talk mends what a correction in words is about: what stands around the JSON, its syntax, and an envelope that a hint
// names.
func (m *mender) talk(text, message string) string {
	text = m.value(text)
	v, err := decode(json.RawMessage(text))
	if err != nil {
		return text
	}
	var key string
	if found := inside.FindStringSubmatch(message); found != nil && json.Unmarshal([]byte(found[1]), &key) == nil {
		if inner, ok := lookup(v, []string{key}); ok {
			return encoded(inner, text)
		}
	}
	if inner, ok := v.(string); ok && strings.Contains(message, "is given as text") {
		return inner
	}
	return encoded(v, text)
}

// value finds the one JSON value of a text: the whole mended, or what lies between the first bracket and the last one.
func (m *mender) value(text string) string {
	if v := m.syntax.Judge([]byte(text)); v.Valid() {
		return string(v.Value)
	}
	if _, after, closed := strings.Cut(text, "</think>"); closed {
		text = after
	}
	begin, end := strings.IndexAny(text, "{["), strings.LastIndexAny(text, "}]")
	if begin < 0 || end < begin {
		return text
	}
	text = text[begin : end+1]
	if v := m.syntax.Judge([]byte(text)); v.Valid() {
		return string(v.Value)
	}
	var one json.RawMessage
	if json.NewDecoder(strings.NewReader(text)).Decode(&one) == nil {
		return string(one)
	}
	return text
}
