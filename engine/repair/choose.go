package repair

import (
	"encoding/json"
	"slices"
	"strings"

	"emend/engine/contract"
)

// Styles of a correction (design section 9). StyleAuto is asked for and never chosen; StyleRegenerate is chosen and
// never asked for.
const (
	StyleAuto         = "auto"
	StyleConversation = "conversation"
	StyleTargeted     = "targeted"
	StyleRegenerate   = "regenerate"
)

// What becomes of a candidate whose shape is wrong, and of a key that is missing (design section 9).
const (
	OnShapeRepair     = "repair"
	OnShapeRegenerate = "regenerate"

	MissingPathParent     = "parent"
	MissingPathRegenerate = "regenerate"
)

// DefaultMaxTargets is how many places a targeted correction names at most unless a contract says otherwise.
const DefaultMaxTargets = 8

// Options are a contract's words about corrections; "" and 0 mean auto, repair, parent and DefaultMaxTargets.
type Options struct {
	Style, OnShape, MissingPath string
	MaxTargets                  int
}

// Choice is how a candidate is to be corrected: StyleConversation, StyleTargeted or StyleRegenerate. Targets are the RFC
// 6901 pointers that a targeted correction lets change, each once, in the order of the findings; nil for other styles.
type Choice struct {
	Style   string
	Targets []string
}

// Choose decides how a candidate that is not valid is corrected (table of design section 5). It is pure. Whether the
// candidate was cut off is the caller's question, and comes before this one.
func Choose(candidate []byte, v contract.Verdict, o Options) Choice {
	if v.Class != contract.SchemaInvalid && v.Class != contract.RuleFailed && v.Class != contract.NotPreserved {
		return Choice{Style: StyleConversation}
	}
	all := group(v.Findings)
	tooMany := v.Omitted > 0 || count(all) > limit(o.MaxTargets)
	switch {
	case wrongShape(judged(candidate, v), v.Findings), tooMany && o.Style != StyleTargeted:
		return Choice{Style: either(o.OnShape == OnShapeRegenerate, StyleRegenerate, StyleConversation)}
	case o.MissingPath == MissingPathRegenerate && slices.ContainsFunc(v.Findings, missing):
		return Choice{Style: StyleRegenerate}
	case o.Style == StyleConversation || slices.ContainsFunc(v.Findings, unlocated):
		return Choice{Style: StyleConversation}
	}
	return Choice{Style: StyleTargeted, Targets: pointers(first(all, limit(o.MaxTargets)))}
}

func either(cond bool, yes, no string) string {
	if cond {
		return yes
	}
	return no
}

func limit(maxTargets int) int {
	if maxTargets <= 0 {
		return DefaultMaxTargets
	}
	return maxTargets
}

// judged is the text that the verdict is about: what local mending made of the candidate, or the candidate.
func judged(candidate []byte, v contract.Verdict) []byte {
	if v.Mended != "" {
		return v.Derived
	}
	return candidate
}

// target is a place to be mended with all that was found there, or the places that one rule lets change together.
type target struct {
	pointers []string
	findings []contract.Finding
}

// group makes one target of the findings of one place, in their order.
func group(findings []contract.Finding) []target {
	var all []target
	index := map[string]int{}
	for _, f := range findings {
		at := places(f)
		key := strings.Join(at, "\x00")
		i, known := index[key]
		if !known {
			i = len(all)
			index[key] = i
			all = append(all, target{pointers: at})
		}
		all[i].findings = append(all[i].findings, f)
	}
	return all
}

// places are the pointers that may change to mend a finding. A key of the wrong name is mended in its object, since
// its new name is another place.
func places(f contract.Finding) []string {
	switch {
	case len(f.Fields) > 0:
		return f.Fields
	case f.Keyword == "propertyNames":
		return []string{f.Pointer}
	}
	return []string{f.Path()}
}

// first takes whole targets as long as they name no more than n places; the first is always taken.
func first(all []target, n int) []target {
	for i := range all {
		if i > 0 && count(all[:i+1]) > n {
			return all[:i]
		}
	}
	return all
}

// pointers lists the places of targets, each once.
func pointers(all []target) []string {
	var out []string
	seen := map[string]bool{}
	for _, t := range all {
		for _, p := range t.pointers {
			if !seen[p] {
				seen[p] = true
				out = append(out, p)
			}
		}
	}
	return out
}

func count(all []target) int { return len(pointers(all)) }

// unlocated reports a finding that names no place below the root: to change only the root is to change anything.
func unlocated(f contract.Finding) bool { return slices.Contains(places(f), "") }

// wrongShape reports a fault of the whole: another type at the root, no alternative of a union that the value could
// mean, or every required key missing while only keys stand there that the schema does not name (reports W13, W14).
func wrongShape(text []byte, findings []contract.Finding) bool {
	lacking := 0
	for _, f := range findings {
		if f.Pointer != "" || f.Keyword == contract.KeywordRule {
			continue
		}
		if f.Key == "" && slices.Contains(shapeKeywords, f.Keyword) {
			return true
		}
		if f.Keyword == "required" {
			lacking++
		}
	}
	return lacking > 0 && strange(text, findings, lacking)
}

// shapeKeywords are those whose failure at the root says that the whole is something else.
var shapeKeywords = []string{"type", "anyOf", "oneOf", "not", "schema", "false"}

// strange reports whether all required keys of the root are missing, lacking of them, and the keys of text are none
// that the schema names.
func strange(text []byte, findings []contract.Finding, lacking int) bool {
	for _, f := range findings {
		if f.Pointer != "" || f.Keyword != "required" {
			continue
		}
		var required []string
		if json.Unmarshal(f.Expected, &required) != nil || len(required) != lacking {
			return false
		}
		return onlyUnknown(members(text), f.Schema)
	}
	return false
}

func onlyUnknown(have []member, schema json.RawMessage) bool {
	known := lookup(members(schema), "properties")
	for _, m := range have {
		if lookup(members(known), m.key) != nil {
			return false
		}
	}
	return len(have) > 0
}

// missing reports a finding whose place does not exist in the candidate: a key that must be added.
func missing(f contract.Finding) bool {
	switch f.Keyword {
	case "required", "dependentRequired":
		return true
	case "dependencies":
		return f.Key != "" && f.Value == nil
	}
	return false
}
