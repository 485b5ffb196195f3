package schemas

import (
	"reflect"
	"slices"
	"strings"
)

// hint proposes what an unknown field was meant to be: a known name of the same object that is close, or the same name
// where it belongs. "" if there is none.
func hint(name string, known []string, root reflect.Type) string {
	best, least := "", 1+len(name)/3
	for _, k := range known {
		if d := Distance(strings.ToLower(name), k); d <= least && (best == "" || d < Distance(strings.ToLower(name), best)) {
			best = k
		}
	}
	if best == "" {
		best = elsewhere(name, root)
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// elsewhere looks for a field with exactly this name at the top of the message or one level down.
func elsewhere(name string, root reflect.Type) string {
	for _, f := range fieldsOf(root) {
		if f.name == name {
			return name
		}
		t := f.typ
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || leaf(t) {
			continue
		}
		if slices.ContainsFunc(fieldsOf(t), func(g field) bool { return g.name == name }) {
			return f.name + "." + name
		}
	}
	return ""
}

// Distance is the number of edits between two names, for messages that propose the name that was meant; a long name is
// far from everything.
func Distance(a, b string) int {
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
