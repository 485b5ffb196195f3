package repair

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"emend/engine/contract"
)

// pathLimit bounds a path that is shown, in bytes: a model may have invented its keys.
const pathLimit = 256

// targetedMessage names the places to mend, what each should be, and that nothing else may change (seed 001).
func targetedMessage(candidate []byte, v contract.Verdict, s Style) string {
	all := first(group(v.Findings), limit(s.MaxTargets))
	lines, blocks, left := render(all, s)
	var b strings.Builder
	b.WriteString(targetedOpening(len(all), s))
	writeReceived(&b, candidate, s)
	b.WriteString("FINDINGS\n")
	writeFindings(&b, strings.Join(lines, "")+notice(left+omitted(v, all)))
	for _, block := range blocks {
		b.WriteString(block)
	}
	writeHints(&b, candidate, v, s)
	b.WriteString("RULE\n" + targetedRule(judged(candidate, v), all, s))
	return b.String()
}

// render returns the findings and the block of every target that fits into FeedbackLimit, in order, and how many
// findings were left out. A first target that is too large by itself keeps its block, and its findings are cut.
func render(all []target, s Style) (lines, blocks []string, left int) {
	room := FeedbackLimit - noticeRoom
	for i, t := range all {
		line, block := strings.Join(each(t.findings, s.line), ""), s.block(t, i, len(all))
		if room -= len(line) + len(block); room < 0 {
			if i == 0 {
				line = cut(line, FeedbackLimit-2*noticeRoom-len(block)) + "\n(the rest of this finding was left out)\n"
				lines, blocks = append(lines, line), append(blocks, block)
				i++
			}
			for _, t := range all[i:] {
				left += len(t.findings)
			}
			return lines, blocks, left
		}
		lines, blocks = append(lines, line), append(blocks, block)
	}
	return lines, blocks, 0
}

// omitted counts the findings of a verdict that none of the targets holds.
func omitted(v contract.Verdict, all []target) int {
	n := len(v.Findings) + v.Omitted
	for _, t := range all {
		n -= len(t.findings)
	}
	return n
}

func targetedOpening(n int, s Style) string {
	what := "one place"
	if n > 1 {
		what = fmt.Sprintf("%d places", n)
	}
	where := " It is your previous answer, the message before this one."
	if s.Received {
		where = ""
	}
	return fmt.Sprintf("You are correcting %s in the JSON you produced earlier.%s%s\n\n", what, where, s.count())
}

// line is a finding among the findings of a targeted correction: its place is said once.
func (s Style) line(f contract.Finding) string {
	message := f.Message
	if f.Key == "" {
		message = strings.TrimPrefix(message, contract.DisplayPath(f.Pointer)+" ")
	}
	return fmt.Sprintf("- %s: %s%s\n", s.paths(places(f)), oneLine(message), before(f))
}

// block is the FAILING PATH and the EXPECTED SHAPE of one target.
func (s Style) block(t target, i, n int) string {
	number := ""
	if n > 1 {
		number = fmt.Sprintf(" %d of %d", i+1, n)
	}
	shape := cut(strings.Join(expected(t), "\n"), shapeLimit)
	return fmt.Sprintf("FAILING PATH%s\n%s\n\nEXPECTED SHAPE\n%s\n\n", number, s.paths(t.pointers), shape)
}

func (s Style) paths(pointers []string) string {
	return some(each(pointers, s.path), ", ")
}

// path shows a pointer. A key that is no plain word stands in JSON quotes, so that it cannot pass for Emend's words.
func (s Style) path(pointer string) string {
	path := contract.DisplayPath(pointer)
	switch {
	case !s.Arguments:
	case pointer == "":
		path = "arguments"
	case strings.HasPrefix(path, "["):
		path = "arguments" + path
	default:
		path = "arguments." + path
	}
	if len(path) > pathLimit {
		return cut(path, pathLimit) + "..."
	}
	return path
}

// targetedRule limits what may change. What stands in a finding is no part of it, only paths are.
func targetedRule(text []byte, all []target, s Style) string {
	return fmt.Sprintf("%s Return the complete %s with every other key and value byte-identical to %s, even where something else "+
		"looks inconsistent. Return JSON only, without Markdown fences or explanation.",
		s.allowed(all), container(text), either(s.Received, "RECEIVED", "your previous answer"))
}

// edits are the ways in which a place may change, with how the only one is asked for.
var edits = map[string]string{"change": "Change only the value at %s.", "add": "Add only the key %s.", "remove": "Remove only %s.",
	"restore": "Restore only %s."}

// ruleLimit bounds the paths in the rule, in bytes.
const ruleLimit = 2048

// allowed says what may be done, and where.
func (s Style) allowed(all []target) string {
	places := each(all, func(t target) string { return some(each(t.pointers, s.path), " or ") })
	if len(all) == 1 {
		return fmt.Sprintf(edits[edit(all[0])], places[0])
	}
	for i, t := range all {
		places[i] = edit(t) + " " + places[i]
	}
	list := strings.Join(places, "; ")
	if len(list) > ruleLimit {
		return "Correct only the places that are named above."
	}
	return "Correct only these places: " + list + "."
}

func edit(t target) string {
	switch {
	case slices.ContainsFunc(t.findings, func(f contract.Finding) bool { return f.Keyword == contract.KeywordPreserve }):
		return "restore"
	case slices.ContainsFunc(t.findings, missing):
		return "add"
	case slices.ContainsFunc(t.findings, removed):
		return "remove"
	}
	return "change"
}

func container(text []byte) string {
	return either(bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")), "array", "object")
}

// expected says what a target should be.
func expected(t target) []string {
	var lines []string
	for _, f := range t.findings {
		lines = append(lines, action(f)...)
	}
	lines = unique(lines)
	for _, f := range t.findings {
		if ex := example(f); ex != "" {
			return append(lines, "Example of a valid value for this path: "+ex)
		}
	}
	return lines
}

func action(f contract.Finding) []string {
	switch {
	case f.Keyword == contract.KeywordRule:
		return ruleLines(f)
	case f.Keyword == contract.KeywordPreserve && f.Expected == nil:
		return []string{"What stood here in the answer before, or nothing if nothing did."}
	case f.Keyword == contract.KeywordPreserve:
		return []string{"The value that stood here before; it is given among the findings."}
	case f.Keyword == "propertyNames":
		return []string{"Constraint: a key has a name that is not allowed; give it one that is, or remove it."}
	case missing(f):
		return append([]string{"The key is missing: add it."}, shapeLines(f.Shape)...)
	case removed(f):
		return []string{"Nothing is allowed here: remove it."}
	}
	if lines := shapeLines(f.Shape); len(lines) > 0 {
		return lines
	}
	return []string{"A value without the fault that stands among the findings."}
}

// ruleLines say a rule as its author wrote it. The shape is that of its one field; of several none is said.
func ruleLines(f contract.Finding) []string {
	line := "Constraint: the rule that stands among the findings must hold."
	if words := text(f.Expected); words != "" {
		line = "Constraint: this rule must hold: " + words
	}
	if len(f.Fields) > 1 {
		return []string{line}
	}
	return append(shapeLines(f.Shape), line)
}

// removed reports an extra key, or an item where none may be.
func removed(f contract.Finding) bool {
	if f.Key != "" {
		return !missing(f) && f.Keyword != "propertyNames"
	}
	return strings.HasSuffix(strings.ToLower(f.Keyword), "items") && string(f.Expected) == "false"
}

func unique(lines []string) []string {
	var out []string
	for _, l := range lines {
		if !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}

// example is the schema's own example of a target, "" if there is none that is short enough.
func example(f contract.Finding) string {
	if len(f.Example) > excerptLimit || removed(f) || f.Keyword == contract.KeywordPreserve {
		return ""
	}
	return compact(f.Example)
}
