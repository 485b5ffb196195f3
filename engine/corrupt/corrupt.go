// Package corrupt makes bad answers from good ones, each in one named way that models are known for, and good ones from
// schemas (issue 4: "a generator of corrupted answers"). It is deterministic and does no I/O.
package corrupt

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"emend/engine/contract"
)

// Bounds of what is made of one answer.
const (
	// MaxPerName is how many places one way of corrupting is tried at, in the order of the text.
	MaxPerName = 3
	// MaxAnswer bounds a good answer in bytes.
	MaxAnswer = 256 << 10
	// maxTried bounds how many texts one way may offer.
	maxTried = 64
)

// Corruption is a good answer made bad.
type Corruption struct {
	// Name says in which way: one of Names.
	Name string
	// Pointer is the place, as RFC 6901 writes it; "" for the whole text.
	Pointer string
	Text    []byte
	// Cut says that the text ends too early, as at a token limit.
	Cut bool
}

// ErrNotGood says that an answer is not one that the contract accepts, so that nothing can be said of its corruptions.
var ErrNotGood = errors.New("the answer to be corrupted is not valid itself")

// All makes the corruptions of a good answer under a contract, each of which the contract refuses: what it accepts or
// mends without a call is left out. The schema is only echoed, it may be nil. The order is that of Names, then of the text.
func All(c *contract.Contract, schema json.RawMessage, good []byte) ([]Corruption, error) {
	if len(good) > MaxAnswer {
		return nil, fmt.Errorf("%w: it has %d bytes, the bound is %d", ErrNotGood, len(good), MaxAnswer)
	}
	v := c.Judge(good)
	if !v.Valid() || v.Value == nil {
		return nil, fmt.Errorf("%w: %s", ErrNotGood, why(v))
	}
	doc := parse(v.Value)
	var out []Corruption
	for _, w := range ways {
		out = append(out, w.take(c, w.make(doc, schema))...)
	}
	return out, nil
}

// take keeps the first corruption of each place that the contract refuses.
func (w way) take(c *contract.Contract, made iter.Seq[Corruption]) (out []Corruption) {
	tried := 0
	for m := range made {
		if tried++; tried > maxTried || len(out) == MaxPerName {
			break
		}
		same := func(o Corruption) bool { return o.Pointer == m.Pointer }
		if !slices.ContainsFunc(out, same) && w.proven(c.Judge(m.Text)) {
			m.Name = w.name
			out = append(out, m)
		}
	}
	return out
}

// why names the first fault of a verdict.
func why(v contract.Verdict) string {
	switch {
	case v.Err != nil:
		return v.Err.Error()
	case len(v.Findings) > 0:
		return v.Findings[0].Message
	}
	return "it is no JSON value under a JSON contract"
}

// Names lists the ways in which answers are corrupted.
func Names() []string {
	out := make([]string, len(ways))
	for i, w := range ways {
		out[i] = w.name
	}
	return out
}

// way is one way of corrupting. make gives what it makes of a document, more than is needed; keywords are those of which
// one must be found for the corruption to be the one that is meant, nil for any.
type way struct {
	name     string
	make     func(*node, json.RawMessage) iter.Seq[Corruption]
	keywords []string
}

var ways = []way{
	{"wrong type", at(wrongType), nil},
	{"number with a currency", at(currency), nil},
	{"number with a decimal comma", at(decimalComma), nil},
	{"null", at(null), nil},
	{"missing key", each(lacking), []string{"required", "dependentRequired", "dependencies"}},
	{"extra key", each(crowded), []string{"additionalProperties", "unevaluatedProperties", "maxProperties", "propertyNames"}},
	{"out of bound", at(outside), []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
		"minLength", "maxLength", "minItems", "maxItems", "pattern", "format", contract.KeywordRule}},
	{"not in the enum", at(offEnum), []string{"enum", "const"}},
	{"container as text", at(asText), nil},
	{"fence", whole(fence), nil},
	{"think block", whole(think), nil},
	{"prose around", whole(prose), nil},
	{"trailing comma", whole(trailingComma), nil},
	{"single quotes", whole(singleQuotes), nil},
	{"cut", cutOff, nil},
	{"duplicate key", each(duplicate), []string{string(contract.DuplicateKey)}},
	{"two values", whole(two), nil},
	{"NaN", each(notANumber), nil},
	{"wrapped in a key", whole(wrapped), nil},
	{"schema echoed", echoed, nil},
}

// proven reports whether a verdict refuses the text, and in the way that is meant.
func (w way) proven(v contract.Verdict) bool {
	if v.Err != nil || v.Valid() {
		return false
	}
	return w.keywords == nil || slices.ContainsFunc(v.Findings, func(f contract.Finding) bool { return slices.Contains(w.keywords, f.Keyword) })
}

// at replaces single values. what returns the texts that may stand in a value's place, the likeliest first.
func at(what func(*node) []string) func(*node, json.RawMessage) iter.Seq[Corruption] {
	return each(func(doc, n *node, yield func(Corruption) bool) bool {
		for _, text := range what(n) {
			if !yield(Corruption{Pointer: n.pointer, Text: doc.with(n, text)}) {
				return false
			}
		}
		return true
	})
}

// each asks every value of a document, in the order of the text, for what can be made of it.
func each(of func(doc, n *node, yield func(Corruption) bool) bool) func(*node, json.RawMessage) iter.Seq[Corruption] {
	return func(doc *node, _ json.RawMessage) iter.Seq[Corruption] {
		return func(yield func(Corruption) bool) {
			doc.walk(func(n *node) bool { return of(doc, n, yield) })
		}
	}
}

// whole changes the text as a whole.
func whole(change func(string) string) func(*node, json.RawMessage) iter.Seq[Corruption] {
	return func(doc *node, _ json.RawMessage) iter.Seq[Corruption] {
		return func(yield func(Corruption) bool) {
			if text := change(string(doc.text())); text != "" {
				yield(Corruption{Text: []byte(text)})
			}
		}
	}
}
