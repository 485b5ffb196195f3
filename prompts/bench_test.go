package prompts

import (
	"strings"
	"testing"

	"emend/schemas"
)

// BenchmarkPlan is what a request of 2 KB costs until it can be executed: decoded, checked, rendered, fingerprinted.
func BenchmarkPlan(b *testing.B) {
	s, err := LoadDir("testdata/good")
	if err != nil {
		b.Fatal(err)
	}
	body := []byte(`{"prompt":"extract-invoice","inputs":{"document":"` + strings.Repeat(`a line of an \"invoice\",\n`, 80) + `"}}`)
	b.ReportAllocs()
	for b.Loop() {
		req, err := schemas.DecodeRequest(body)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Plan(req, carried); err != nil {
			b.Fatal(err)
		}
	}
}
