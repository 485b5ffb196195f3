package providertest

import (
	"fmt"
	"strings"
	"testing"

	"emend/engine/provider"
	"emend/schemas"
)

// Cost measures what a dialect itself costs a call: one Build and one Read. The goals for both together: 25 µs and
// MaxAllocations for an answer of 1 KB, 250 µs for one of 20 KB (issue 3, "Speed").
type Cost struct {
	// New makes the dialect.
	New func() provider.Dialect
	// Reply renders a completion with all that a provider says beside the answer.
	Reply func(answer string) string
}

// MaxAllocations of a Build and a Read at 1 KB.
const MaxAllocations = 60

// CheckAllocations fails the test above MaxAllocations.
func (c Cost) CheckAllocations(t *testing.T) {
	t.Helper()
	turn := c.turn(t, 1<<10)
	if n := testing.AllocsPerRun(100, turn); n > MaxAllocations {
		t.Errorf("%v allocations, the goal is %d", n, MaxAllocations)
	}
}

// Benchmark measures both sizes.
func (c Cost) Benchmark(b *testing.B) {
	for _, kb := range []int{1, 20} {
		b.Run(fmt.Sprintf("%dKB", kb), func(b *testing.B) {
			turn := c.turn(b, kb<<10)
			b.ReportAllocs()
			for b.Loop() {
				turn()
			}
		})
	}
}

// turn returns one Build and Read of an answer of a size, about a document of the same size.
func (c Cost) turn(t testing.TB, size int) func() {
	d, ep := c.New(), &provider.Endpoint{Backend: "b"}
	req := &provider.Request{Model: Model, Session: "s-9", Messages: []schemas.Message{{Role: schemas.RoleSystem, Content: "Answer with JSON only."},
		{Role: schemas.RoleUser, Content: strings.Repeat("A line of the document.\n", size/24)}},
		Settings: schemas.Settings{Temperature: new(0.0), MaxOutputTokens: new(int64(800))},
		Schema:   &provider.Schema{Name: "out", Bytes: []byte(`{"type":"object","properties":{"a":{"type":"string","minLength":1}},"required":["a"],"additionalProperties":false}`)}}
	const line = `{"description":"Paper, A4, 80 g","quantity":3,"price":"4.20 EUR"},`
	answer := `{"lines":[` + strings.TrimSuffix(strings.Repeat(line, size/len(line)), ",") + `]}`
	reply := &provider.Reply{Status: 200, Body: []byte(c.Reply(answer))}
	return func() {
		if _, err := d.Build(ep, req); err != nil {
			t.Fatal(err)
		}
		resp, err := d.Read(ep, reply)
		if err != nil || resp.Text != answer {
			t.Fatal(err)
		}
	}
}
