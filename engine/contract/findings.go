package contract

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// maxFindings bounds the findings of a verdict; Verdict.Omitted counts the rest.
const maxFindings = 1000

// findings renders located faults: sorted, each once, at most maxFindings of them.
func (s *schema) findings(leaves []leaf, value []byte) (list []Finding, omitted int) {
	slices.SortFunc(leaves, compareLeaves)
	leaves = slices.CompactFunc(leaves, func(a, b leaf) bool { return compareLeaves(a, b) == 0 })
	if len(leaves) > maxFindings {
		omitted = len(leaves) - maxFindings
		leaves = leaves[:maxFindings]
	}
	root := spans(string(value))
	for _, l := range leaves {
		list = append(list, s.finding(l, root, value))
	}
	slices.SortStableFunc(list, byPlace)
	return list, omitted
}

// byPlace orders findings by pointer, keyword and key.
func byPlace(a, b Finding) int {
	return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Keyword, b.Keyword), cmp.Compare(a.Key, b.Key))
}

func compareLeaves(a, b leaf) int {
	return cmp.Or(slices.Compare(a.at, b.at), cmp.Compare(a.keyword, b.keyword), cmp.Compare(a.key, b.key),
		slices.Compare(a.schema, b.schema))
}

func (s *schema) finding(l leaf, root *span, value []byte) Finding {
	f := Finding{
		Pointer: pointer(l.at), Masked: root.masked(l.at, s.names), Keyword: l.keyword, Key: l.key,
	}
	place := root.find(l.at...)
	if l.keyed {
		place = place.child(l.key)
	}
	f.Value = place.raw(value)
	wanted := s.formAt(l, place == nil)
	f.Shape, f.Example = wanted.text, wanted.example
	if !l.foreign {
		f.Schema = s.raw(l.schema...)
		f.Expected = s.raw(append(slices.Clone(l.schema), l.keyword)...)
	}
	f.Message = DisplayPath(f.Pointer) + " " + phrase(l, f)
	return f
}

// phrase says what is wrong, quoting bounded excerpts of the schema and the value.
func phrase(l leaf, f Finding) string {
	want, got := excerpt(string(f.Expected)), excerpt(string(f.Value))
	key := quoted(excerpt(l.key))
	switch l.keyword {
	case "type":
		return fmt.Sprintf("must be of type %s, but is the %s %s", strings.ReplaceAll(want, `"`, ""), l.note, got)
	case "const":
		return fmt.Sprintf("must be %s, but is %s", want, got)
	case "enum":
		return fmt.Sprintf("must be one of %s, but is %s", want, got)
	case "required":
		return fmt.Sprintf("lacks the required key %s", key)
	case "dependentRequired":
		return fmt.Sprintf("lacks the key %s, which another key requires", key)
	case "dependencies", "dependentSchemas":
		return fmt.Sprintf("breaks what dependencies say about the key %s", key)
	case "propertyNames":
		return fmt.Sprintf("has the key %s, whose name is not allowed", key)
	case "format":
		return fmt.Sprintf("must have the format %s, but is %s (%s)", want, got, excerpt(l.note))
	case "not":
		return fmt.Sprintf("must not match %s, but is %s", want, got)
	case "false", "schema":
		return "is not allowed by the schema"
	}
	return l.general(want, got, key)
}

func (l leaf) general(want, got, key string) string {
	switch {
	case l.keyed:
		return fmt.Sprintf("has the key %s, which is not allowed", key)
	case l.note != "":
		return fmt.Sprintf("breaks %s: %s", l.keyword, l.note)
	}
	return strings.TrimSuffix("breaks "+l.keyword+" "+want, " ") + ": it is " + got
}

func uniqueNote(k *kind.UniqueItems) string {
	return fmt.Sprintf("the items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
}
