package prompts

import (
	"slices"
	"strings"

	"emend/schemas"
)

// maxListed bounds what nearest lists.
const maxListed = 20

// nearest proposes what an unknown name was meant to be, else lists the allowed names if they are few.
func nearest(name string, known []string) string {
	s := suggest(name, known)
	if s == "" && len(known) > 0 && len(known) <= maxListed {
		s = "; known are " + strings.Join(slices.Sorted(slices.Values(known)), ", ")
	}
	return s
}

// suggest proposes the closest name: "; did you mean permits?", or "".
func suggest(name string, known []string) string {
	best, least := "", 2+len(name)/4
	for _, k := range slices.Sorted(slices.Values(known)) {
		if d := schemas.Distance(strings.ToLower(name), k); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}
