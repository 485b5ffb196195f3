package gemini

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// reaches says by plain search whether a path leads from one definition to another.
func reaches(edges []edge, from, to string) bool {
	seen, next := map[string]bool{}, []string{from}
	for len(next) > 0 {
		node := next[0]
		next = next[1:]
		for _, e := range edges {
			if e.from == node && !seen[e.to] {
				seen[e.to] = true
				next = append(next, e.to)
			}
		}
	}
	return seen[to]
}

// TestCyclic: an edge lies on a cycle exactly if its end leads back to its beginning.
func TestCyclic(t *testing.T) {
	node := rapid.IntRange(0, 6)
	rapid.Check(t, func(rt *rapid.T) {
		var edges, want []edge
		for i := range rapid.IntRange(0, 12).Draw(rt, "edges") {
			edges = append(edges, edge{at: fmt.Sprint(i), from: fmt.Sprint(node.Draw(rt, "from")), to: fmt.Sprint(node.Draw(rt, "to"))})
		}
		for _, e := range edges {
			if e.from == e.to || reaches(edges, e.to, e.from) {
				want = append(want, e)
			}
		}
		if got := cyclic(edges); !slices.Equal(got, want) {
			rt.Fatalf("%v\ngave %v\nwant %v", edges, got, want)
		}
	})
}

// TestCyclicTakesTheRoot: the root's name is the empty text.
func TestCyclicTakesTheRoot(t *testing.T) {
	edges := []edge{{at: "/a", from: "", to: "/$defs/x"}, {at: "/b", from: "/$defs/x", to: ""}, {at: "/c", from: "/$defs/x", to: "/$defs/y"}}
	if got := cyclic(edges); len(got) != 2 || got[0].at != "/a" || got[1].at != "/b" {
		t.Errorf("got %v", got)
	}
	if got := cyclic(nil); got != nil {
		t.Errorf("got %v", got)
	}
}
