package prompts

import (
	"slices"
	"strings"
)

// maxListed bounds what nearest lists.
const maxListed = 16

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
		if d := distance(strings.ToLower(name), k); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// distance is the number of edits between two names; a long name is far from everything.
func distance(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
