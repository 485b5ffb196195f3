package prompts

import (
	"strings"
	"testing"

	"emend/internal/allocs"
	"emend/schemas"
)

// What a request of 2 KB allocates until it can be executed: decoded, checked, rendered, fingerprinted.
func TestAllocationsOfAPlan(t *testing.T) {
	s := good(t)
	body := []byte(`{"prompt":"extract-invoice","inputs":{"document":"` + strings.Repeat(`a line of an \"invoice\",\n`, 80) + `"}}`)
	allocs.Check(t, "a plan", allocs.Pin{Plain: 69, Race: 70}, func() {
		req, err := schemas.DecodeRequest(body)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Plan(req, carried); err != nil {
			t.Fatal(err)
		}
	})
}
