package contract

import (
	"strings"
	"testing"

	"emend/internal/allocs"
)

// A verdict's allocations: scan and schema, of a valid text and of one with a finding.
func TestAllocationsOfAVerdict(t *testing.T) {
	c := schemaContract(t, invoiceSchema)
	for _, v := range []struct {
		name string
		text []byte
		pin  allocs.Pin
	}{
		{"1 KiB", invoice(1 << 10), allocs.Pin{Plain: 441, Race: 441}},
		{"50 KiB", invoice(50 << 10), allocs.Pin{Plain: 20799, Race: 20799}},
		{"1 KiB with a finding", []byte(strings.Replace(string(invoice(1<<10)), `"count":3`, `"count":"3"`, 1)), allocs.Pin{Plain: 690, Race: 690}},
	} {
		allocs.Check(t, "a verdict on "+v.name, v.pin, func() {
			if v := c.Judge(v.text); v.Err != nil {
				t.Fatal(v.Err)
			}
		})
	}
}
