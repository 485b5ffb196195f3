package ollama_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"emend/engine/provider"
	"emend/engine/provider/ollama"
	"emend/schemas"
)

// TestBuildAndReadAreCheap holds the goal of 60 allocations for build and read of a 1 KB answer.
func TestBuildAndReadAreCheap(t *testing.T) {
	d, ep, r, reply := exchange(1 << 10)
	if n := testing.AllocsPerRun(100, func() { roundTrip(t, d, ep, r, reply) }); n > 60 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkBuildRead1KB(b *testing.B)  { benchmark(b, 1<<10) }
func BenchmarkBuildRead20KB(b *testing.B) { benchmark(b, 20<<10) }

func benchmark(b *testing.B, size int) {
	d, ep, r, reply := exchange(size)
	b.ReportAllocs()
	for b.Loop() {
		roundTrip(b, d, ep, r, reply)
	}
}

func exchange(size int) (*ollama.Dialect, *provider.Endpoint, *provider.Request, *provider.Reply) {
	r := ask(strings.Repeat("A line of the document.\n", size/24))
	r.Messages = append([]schemas.Message{{Role: "system", Content: "Answer with JSON only."}}, r.Messages...)
	r.Settings = schemas.Settings{Temperature: new(0.0), MaxOutputTokens: new(int64(800))}
	r.Schema = &provider.Schema{Name: "out", Bytes: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","pattern":"^x$"}},"required":["a"],"additionalProperties":false}`)}
	line := `{"description":"Paper, A4, 80 g","quantity":3,"price":"4.20 EUR"},`
	answer := fmt.Sprintf(`{"lines":[%s]}`, strings.TrimSuffix(strings.Repeat(line, size/len(line)), ","))
	body := completion(`"content":`+quote(answer), `"stop"`, usage).Body
	return ollama.New(), &provider.Endpoint{Backend: "b"}, r, &provider.Reply{Status: 200, Body: []byte(body)}
}

func roundTrip(t testing.TB, d *ollama.Dialect, ep *provider.Endpoint, r *provider.Request, reply *provider.Reply) {
	if _, err := d.Build(ep, r); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Read(ep, reply); err != nil {
		t.Fatal(err)
	}
}
