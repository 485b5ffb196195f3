package gemini

// cyclic returns the edges that lie on a cycle: those whose two ends are in one strongly connected part of the graph. Its
// cost grows with the number of edges, whatever schema a requester sends.
func cyclic(edges []edge) []edge {
	t := tarjan{next: map[string][]string{}, index: map[string]int{}, low: map[string]int{}, part: map[string]int{}}
	for _, e := range edges {
		t.next[e.from] = append(t.next[e.from], e.to)
	}
	for _, e := range edges {
		if t.index[e.from] == 0 {
			t.visit(e.from)
		}
	}
	var out []edge
	for _, e := range edges {
		if t.part[e.from] == t.part[e.to] {
			out = append(out, e)
		}
	}
	return out
}

// tarjan finds strongly connected parts. An index or a part of 0 is none yet.
type tarjan struct {
	next             map[string][]string
	index, low, part map[string]int
	stack            []string
	parts            int
}

func (t *tarjan) visit(node string) {
	t.index[node] = len(t.index) + 1
	t.low[node] = t.index[node]
	t.stack = append(t.stack, node)
	for _, to := range t.next[node] {
		switch {
		case t.index[to] == 0:
			t.visit(to)
			t.low[node] = min(t.low[node], t.low[to])
		case t.part[to] == 0:
			t.low[node] = min(t.low[node], t.index[to])
		}
	}
	if t.low[node] != t.index[node] {
		return
	}
	t.parts++
	for last := ""; last != node || t.part[node] == 0; {
		last = t.stack[len(t.stack)-1]
		t.stack = t.stack[:len(t.stack)-1]
		t.part[last] = t.parts
	}
}
