package contract

import (
	"slices"
	"strings"
	"unicode/utf8"

	"emend/schemas"
)

// RuleReason is why a rule rejects, from its findings: its code, and what is wrong with the places where it is. What is beyond
// the bounds is not kept, and the cause says that no correction can be made of it.
func RuleReason(code string, number int, findings []Finding) (reasons []schemas.Reason, cause string) {
	var said []string
	places := map[string][]string{}
	for _, f := range findings {
		if f.Rule != number {
			continue
		}
		if _, known := places[f.Message]; !known {
			said = append(said, f.Message)
		}
		places[f.Message] = append(places[f.Message], DisplayPath(f.Pointer))
	}
	for i, message := range said {
		said[i] = located(message, places[message])
	}
	guidance := strings.Join(said, "; ")
	if len(guidance) > schemas.MaxGuidance || !utf8.ValidString(guidance) {
		return nil, schemas.CauseCorrectionImpossible
	}
	return []schemas.Reason{{Code: code, Guidance: guidance}}, ""
}

// located adds where a fault is, unless that is the whole.
func located(message string, places []string) string {
	if slices.Equal(places, []string{DisplayPath("")}) {
		return message
	}
	return message + " (" + strings.Join(places, ", ") + ")"
}
